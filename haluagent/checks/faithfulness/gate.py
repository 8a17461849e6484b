"""Answers as a test, that a change of a prompt or a document passes or fails: compared with an earlier run if there is
one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ValidationError

from haluagent.batch.files import last_rows
from haluagent.checks.faithfulness.batch import CheckRow
from haluagent.checks.faithfulness.records import Score
from haluagent.errors import ConfigError

Outcome = Literal["passed", "failed", "known", "undecided", "error"]


class GatedAnswer(NamedTuple):
    """An answer and what came of it: `known` is a failure that the earlier run had too. `before` is its earlier score."""

    row: CheckRow
    outcome: Outcome
    before: float | None


def outcome_of(verdict: Score, score: float, threshold: float, margin: float, before: float | None) -> Outcome:
    """Return what comes of an answer with a verdict and a score.

    Alone a FAIL is a failure unless its score is above the threshold by `margin` at most. Beside an earlier score it is one
    if that was not above the threshold, and the score rose by more than `margin`.
    """
    if verdict == "PASS":
        return "passed"
    if before is None:
        return "passed" if threshold < score <= threshold + margin else "failed"
    if before > threshold:
        return "known"
    return "failed" if score - before > margin else "passed"


def read_rows(path: Path) -> list[CheckRow]:
    """Return the results in a file of `haluagent check`, by line. Raise `ConfigError` if it is none."""
    if not path.is_file():
        raise ConfigError(f"{path} is no file: give the results of an earlier `haluagent check` as JSON lines")
    try:
        rows = last_rows(path, CheckRow.model_validate)
    except (UnicodeDecodeError, ValidationError) as error:
        raise ConfigError(
            f"{path} does not hold results of `haluagent check` (a table has them in OUT.jsonl)"
        ) from error
    if not rows:
        raise ConfigError(f"{path} holds no results of `haluagent check`")
    return rows


def compare(
    rows: Sequence[CheckRow], earlier: Sequence[CheckRow], *, threshold: float, margin: float
) -> list[GatedAnswer]:
    """Return what comes of each answer beside its `earlier` result: the one with the same id, or else question. Raise
    `ConfigError` if one has several."""
    known = _by_name(earlier)
    _by_name(rows)
    tested = []
    for row in rows:
        old = known.get(name_of(row))
        before = old.score if old and old.SCORE else None
        if row.error is not None:
            outcome: Outcome = "error"
        elif row.SCORE is None:
            outcome = "undecided"
        else:
            outcome = outcome_of(row.SCORE, row.score or 0.0, threshold, margin, before)
        tested.append(GatedAnswer(row, outcome, before))
    return tested


def name_of(row: CheckRow) -> str:
    """Return what an answer is found by in another run: its id, or else its question, or else its line."""
    if row.id is not None:
        return str(row.id)
    return row.check.question if row.check and row.check.question.strip() else f"line {row.line}"


def _by_name(rows: Sequence[CheckRow]) -> dict[str, CheckRow]:
    found: dict[str, CheckRow] = {}
    for row in rows:
        if (other := found.setdefault(name_of(row), row)) is not row:
            raise ConfigError(
                f"lines {other.line} and {row.line} have the same id or question {name_of(row)[:80]!r}: give each answer "
                "an id of its own"
            )
    return found
