"""The catalogue: both languages, the same fields, every key that the code names, and none that it does not."""

import re
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from string import Formatter
from typing import Any

import pytest
from places import ROOT

from haluagent.text.messages import message, templates

CATALOGUE = tomllib.loads(files("haluagent.text").joinpath("messages.toml").read_text("utf-8"))


def entries(table: dict[str, Any], above: str = "") -> Iterator[tuple[str, dict[str, str]]]:
    for name, inner in table.items():
        if all(isinstance(text, str) for text in inner.values()):
            yield above + name, inner
        else:
            yield from entries(inner, f"{above}{name}.")


MESSAGES = dict(entries(CATALOGUE))
SOURCES = "\n".join(
    path.read_text("utf-8") for room in ("haluagent", "tools", "sandbox") for path in (ROOT / room).rglob("*.py")
)
NAMED = re.findall(r'\b(?:message|templates)\(\s*(f?)"([^"{]+)[^"]*"(?: if [^",]+ else "([^"]+)")?', SOURCES)


@pytest.mark.parametrize("key", MESSAGES)
def test_both_languages_have_the_same_fields(key: str) -> None:
    def fields(text: str) -> set[tuple[str, str | None]]:
        # English forms its plural by a letter, where Chinese has none.
        return {(name, spec) for _, name, spec, _ in Formatter().parse(text) if name is not None and name != "s"}

    assert MESSAGES[key].keys() == {"en", "zh"}
    assert fields(MESSAGES[key]["en"]) == fields(MESSAGES[key]["zh"])
    assert all(name and not name.isdigit() for name, _ in fields(MESSAGES[key]["en"]))


def test_the_code_names_every_message_and_no_other() -> None:
    assert len(NAMED) > 50
    whole = {key for formatted, *keys in NAMED if not formatted for key in keys if key}
    begun = {key for formatted, key, _ in NAMED if formatted}
    assert {
        key for key in whole if key not in MESSAGES and not any(name.startswith(f"{key}.") for name in MESSAGES)
    } == set()
    assert {key for key in begun if not any(name.startswith(key) for name in MESSAGES)} == set()
    begun |= {f"{key}." for key in whole - MESSAGES.keys()}
    assert {name for name in MESSAGES if name not in whole and not name.startswith(tuple(begun))} == set()


def test_a_message_has_its_values() -> None:
    assert message("match.number", "zh", numbers="7") == "；其中没有 7"
    assert templates("report.claims", "en") == {"one": "claim", "more": "claims"}
    with pytest.raises(KeyError):
        message("match.number", "en")
    with pytest.raises(KeyError):
        message("match.no_such", "en")
