"""Variants of tasks are made by a model, held against rules, and made once."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from gbnf_sentences import Sentences
from scripted import prompt
from typer.testing import CliRunner

from haluagent.checks.reliability import toolbench, variants
from haluagent.cli.reliability import app
from haluagent.errors import ConfigError

QUERY = "What is the weather in Osk on 12 May?"


def row(number: int, query: str, name: str, *required: str) -> dict[str, Any]:
    parameters = [{"name": one, "type": "STRING", "description": "", "default": ""} for one in required]
    api = {
        "tool_name": "Made", "api_name": name, "api_description": f"{name} of a place", "required_parameters": parameters,
        "optional_parameters": [],
    }  # fmt: skip
    return {"kind": "original", "query_id": number, "query": query, "api_list": [api]}


WEATHER = row(1, QUERY, "Weather", "city")


@pytest.mark.parametrize(
    ("query", "hidden", "dropped"),
    [
        ("What is the weather in my town on 12 May?", [{"parameter": "city", "value": "Osk"}], None),
        (QUERY, [], "nothing was hidden"),
        (QUERY, [{"parameter": "city", "value": "Osk"}], "nothing was hidden"),
        ("What is the weather in Osk?", [{"parameter": "date", "value": "12 May"}], "required"),
        ("What is the weather there on 12 May?", [{"parameter": "city", "value": "Brod"}], "not in the request"),
        ("What is the weather in old Osk on 12 May?", [{"parameter": "city", "value": "Osk"}], "still in"),
        ("What is the weather there on 13 May?", [{"parameter": "city", "value": "Osk"}], "figure"),
        ("Tell me a poem about rain.", [{"parameter": "city", "value": "Osk"}], "too much"),
        ("", [{"parameter": "city", "value": "Osk"}], "form"),
        (None, None, "form"),
        ("What is it?", "city", "form"),
    ],
)
def test_a_rewritten_request_is_held_against_rules(query: Any, hidden: Any, dropped: str | None) -> None:
    found = variants.wrong_with(toolbench.parse(WEATHER, "here"), query, hidden)
    assert found is None if dropped is None else dropped in (found or "")


def test_the_grammar_writes_what_is_read() -> None:
    import random

    sentences = Sentences(variants.GRAMMAR)
    for seed in range(20):
        found = json.loads(sentences.draw(random.Random(seed)), strict=False)
        assert set(found) == {"hidden", "query"} and all(set(one) == {"parameter", "value"} for one in found["hidden"])


def hides(messages: Any) -> str:
    """A model that hides the name of a place."""
    query = re.findall(r"<question>\n(.*)\n", prompt(messages))[-1]
    place = next((one for one in ("Osk", "Brod") if one in query), None)
    hidden = [{"parameter": "city", "value": place}] if place else []
    return json.dumps({"hidden": hidden, "query": query.replace(place or "?", "my town")})


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.jsonl"
    rows = [WEATHER, row(2, "Find a hotel in Brod.", "Hotels", "city"), row(3, "Tell me a poem.", "Poems")]
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return path


def test_variants_are_made_once_and_can_be_run(
    endpoint: Any, tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALUAGENT_CACHE", str(tmp_path / "cache"))
    endpoint.say = hides
    out = tmp_path / "made" / "variants.jsonl"
    given = ["build", "--data", str(tasks), "--out", str(out), "--base-url", endpoint.base_url]
    first = CliRunner().invoke(app, [*given, "--limit", "2"])
    assert first.exit_code == 3 and "the same command goes on" in first.output
    with out.open("a") as file:
        file.write('{"kind": "missing_par')  # killed while it was writing
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    assert f"missing_parameter: 2 of 3 are in {out}" in done.output and "nothing was hidden" in done.output
    # This endpoint says yes to every question, so any tools are of use.
    assert f"unmatched_tools: 0 of 3 are in {out}" in done.output
    before = endpoint.chats
    assert CliRunner().invoke(app, given).exit_code == 0 and endpoint.chats == before
    found = toolbench.read(out)
    assert [(task.id, task.query) for task in found] == [
        ("missing_parameter/1", "What is the weather in my town on 12 May?"),
        ("missing_parameter/2", "Find a hotel in my town."),
    ]
    tasks.write_text(json.dumps(WEATHER | {"query": "Another one?"}) + "\n", encoding="utf-8")
    other = CliRunner().invoke(app, given)
    assert isinstance(other.exception, ConfigError) and "other rows" in str(other.exception)


def test_unmatched_tools_are_those_that_the_model_finds_useless(scripted: Any, tasks: Path) -> None:
    import asyncio

    class Strict(scripted):  # type: ignore[misc]
        async def choose(self, messages: Any, choices: Any) -> Any:
            asked = prompt(messages)
            yes = 0.9 if "Hotels" in asked and "weather" in asked else 0.1
            choice = await super().choose(messages, choices)
            first = 1 - yes if "A: no" in asked else yes
            return choice.model_copy(update={"probabilities": dict(zip(choices, (first, 1 - first), strict=True))})

    originals = [variants.Original(row=one, task=task) for one, task in toolbench.rows(tasks)]
    for seed in range(4):
        found = asyncio.run(variants.unmatched_tools(Strict(), originals[0], originals, seed))
        assert found.row["tools_of"] == 3 and found.row["query"] == QUERY and found.usage.calls >= 2
        assert toolbench.parse(found.row, "here").tools[0].name == "poems_for_made"
    alone = asyncio.run(variants.unmatched_tools(Strict(), originals[0], originals[:2], 0))
    assert "no other task" in alone.row["dropped"]
