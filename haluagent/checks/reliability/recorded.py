"""Classifying runs that were recorded elsewhere, including those of HaluAgent's own loop, call by call."""

import json
from collections.abc import Iterator
from typing import Any

from haluagent.checks.reliability.classify import classify
from haluagent.checks.reliability.judge import CallJudge, Judge
from haluagent.checks.reliability.records import CallFinding
from haluagent.checks.reliability.separate import SeparateJudge
from haluagent.checks.runs.answers.ground import language_of
from haluagent.checks.runs.forms import reading
from haluagent.checks.runs.records import AgentRun
from haluagent.errors import ConfigError
from haluagent.protocols import Model
from haluagent.types import Record


class Classified(Record):
    """A run's calls with their findings."""

    run_id: str
    calls: tuple[CallFinding, ...]


def runs_in(text: str, place: str, source: str = "haluagent") -> Iterator[AgentRun]:
    """Yield the runs in a text of JSON, or of JSON lines with one run each, in our form or one of `reading.SOURCES`.

    With the source `detection`, the rows that `haluagent batch` and `haluagent bench run` write are read too; rows
    without a detection are left out. Raise a `ConfigError` of one line that names the place.
    """
    whole = _json(text)
    if whole is not None:
        yield from _run(whole, place, source)
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            here = f"{place}, line {number}"
            given = _json(line)
            if given is None:
                raise ConfigError(f"{here} is not JSON")
            yield from _run(given, here, source)


def _json(text: str) -> Any:
    """Return the data of a JSON text, or None if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _run(given: Any, place: str, source: str) -> Iterator[AgentRun]:
    if source == "haluagent":
        yield reading.parse(given, place)
        return
    if source == "detection" and isinstance(given, dict) and "sentences" not in given:
        given = given.get("detection")  # a row, which has no detection if its item failed
        if given is None:
            return
    if source == "toolbench" and isinstance(given, list) and not _is_conversation(given):  # a file of its training data
        for number, one in enumerate(given):
            yield reading.convert(one, source, f"{place}, [{number}]")
        return
    yield reading.convert(given, source, place)


def _is_conversation(given: list[Any]) -> bool:
    return any(isinstance(step, dict) and "from" in step for step in given)


async def classified(run: AgentRun, model: Model | None, judging: Model | None = None) -> Classified:
    """Classify each call of a run by the rules and a judge: the model `judging`, asked in words, else `model`, with one
    token; without both, by the rules alone. Raise `ModelError` if the model fails."""
    judge: CallJudge | None = None
    if judging is not None:
        judge = SeparateJudge(judging, language_of(run))
    elif model is not None:
        judge = Judge(model, language_of(run))
    return Classified(run_id=run.run_id, calls=await classify(run, judge))
