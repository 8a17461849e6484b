"""Parsing the reply of a judge in Lynx's form: `{"REASONING": …, "SCORE": "PASS" or "FAIL"}`, or something like it.

Small models write invalid JSON: unescaped or single quotes, superfluous commas, text around it. A reply that cannot be
read is no verdict, and never a PASS.
"""

import json
import re
from typing import Any, NamedTuple

from haluagent.checks.faithfulness.records import Score

# The form repeated, which is no score.
_FORM = re.compile(r"\bPASS\b[\"'”’\s]*(?:or\b|/|\||或)[\"'“‘\s]*FAIL\b", re.IGNORECASE)
_KEY = r"[\"'*`“”]*\s*[:：=]\s*"
_SCORE = re.compile(rf"SCORE{_KEY}[\"'*`“\[]*\s*(PASS|FAIL)\b", re.IGNORECASE)
_WORD = re.compile(r"\b(PASS|FAIL)\b")
_LAST = re.compile(r"\b(PASS|FAIL)\W*\Z")
_REASONING = re.compile(rf"REASONING{_KEY}(.*?)(?=[\"'*`“,\s]*\bSCORE{_KEY}|\Z)", re.IGNORECASE | re.DOTALL)
_BETWEEN = re.compile(r"[\"'”’]\s*,\s*[\"'“‘]")  # between the items of a list that is not JSON
_BULLET = re.compile(r"^(?:[-*•·]|\d{1,2}[.)、])\s*")
_EDGES = " \t\r\n\"'“”‘’`,[]{}"


class JudgeReply(NamedTuple):
    """A parsed reply. `score` is None if the reply gives none, or both."""

    score: Score | None
    reasoning: tuple[str, ...]


def read(text: str) -> JudgeReply:
    """Parse a reply.

    The score comes from its JSON if it has any, else from the value after its last SCORE, else from the only one of the
    two words in it, or from the one that it ends with.
    """
    found = _json(text)
    if found is not None and "SCORE" in found:
        return JudgeReply(_one_of(str(found["SCORE"]).upper()), _bullets(found.get("REASONING", "")))
    said = _FORM.sub("?", text)
    if scores := _SCORE.findall(said):
        score = _one_of(str(scores[-1]).upper())
    else:
        last = _LAST.search(said)
        score = _one_of(said) or (_one_of(last[1]) if last else None)
    body = _REASONING.search(text)
    written = (body[1] if body else text).replace("\\n", "\n").replace('\\"', '"')
    return JudgeReply(score, _bullets(_BETWEEN.split(written)))


def _json(text: str) -> dict[str, Any] | None:
    """Return the JSON object from the first bracket to the last, with its keys in capitals."""
    body = text[text.find("{") : text.rfind("}") + 1]
    for one in (body, re.sub(r",\s*([}\]])", r"\1", body)):
        try:
            found = json.loads(one, strict=False)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return {key.strip().upper(): value for key, value in found.items()}
    return None


def _one_of(text: str) -> Score | None:
    words = set(_WORD.findall(text))
    if len(words) != 1:
        return None
    return "FAIL" if "FAIL" in words else "PASS"


def _bullets(value: Any) -> tuple[str, ...]:
    """Return reasons as bullet points, whether they were written as a text, a list or an object."""
    if isinstance(value, dict):
        parts = [f"{key}: {' '.join(_bullets(inner))}" for key, inner in value.items()]
    elif isinstance(value, list):
        parts = [bullet for inner in value for bullet in _bullets(inner)]
    else:
        parts = str(value).split("\n")
    cleaned = (_BULLET.sub("", " ".join(part.split()).strip(_EDGES)).strip(_EDGES) for part in parts)
    return tuple(part for part in cleaned if any(map(str.isalnum, part)))
