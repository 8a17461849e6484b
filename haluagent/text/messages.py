"""The catalogue of what users and models are told, in both languages: `messages.toml`."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from haluagent.types import Language


def message(key: str, language: Language, /, **values: object) -> str:
    """Return the message `key` (`match.supported`) in a language, with its values. Raises KeyError for one that is missing."""
    text: str = _entry(key)[language]
    return text.format(**values)


def templates(room: str, language: Language) -> dict[str, str]:
    """Return the messages of a room (`report.words`) by their names, without their values."""
    return {name: texts[language] for name, texts in _entry(room).items()}


def _entry(key: str) -> dict[str, Any]:
    entry = _catalogue()
    for name in key.split("."):
        entry = entry[name]
    return entry


@cache
def _catalogue() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("messages.toml").read_text("utf-8"))
