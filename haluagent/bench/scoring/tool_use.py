"""Measure how often each tool is used, and how successfully: Figure 2 of the HaluAgent paper, for every tool and
set."""

from collections.abc import Sequence
from typing import Literal

from haluagent.bench.rows import Row
from haluagent.bench.scoring.cost import checks
from haluagent.types import Record, Step

ToolOutcome = Literal["decided", "undecided", "failed", "rejected"]


class ToolFigures(Record):
    """The use of a tool on a set. `usage` is the share of items with a report in which it was called; `success` is the
    share of those items with a right verdict on the whole response (no verdict counts as wrong).

    A call is `decided` (it gave a label), `undecided` (it ran but could not tell), `failed`, or `rejected` before it
    ran; each is given as a share of `calls`.
    """

    dataset: str
    tool: str
    items: int
    used: int
    usage: float
    success: float
    calls: int
    decided: float
    undecided: float
    failed: float
    rejected: float


def tool_use(rows: Sequence[Row]) -> list[ToolFigures]:
    """Return one record for each tool that was called on each set, the most used first. Rows without a report are
    ignored."""
    reported = [row for row in rows if row.detection is not None]
    found = []
    for dataset in dict.fromkeys(row.dataset for row in reported):
        own = [row for row in reported if row.dataset == dataset]
        names = dict.fromkeys(step.call.name for row in own for step in checks(row.detection) if step.call)
        found += sorted((_use(dataset, name, own) for name in names), key=lambda use: -use.used)
    return found


def outcome(step: Step) -> ToolOutcome:
    """Return the outcome of a call."""
    if step.rejected:
        return "rejected"
    if step.result is None:
        return "failed"
    return "undecided" if step.result.label in (None, "unverified") else "decided"


def _use(dataset: str, tool: str, rows: Sequence[Row]) -> ToolFigures:
    steps = {row.id: [step for step in checks(row.detection) if step.call and step.call.name == tool] for row in rows}
    users = [row for row in rows if steps[row.id]]
    outcomes = [outcome(step) for row in users for step in steps[row.id]]
    shares: dict[str, float] = {
        name: outcomes.count(name) / len(outcomes) for name in ("decided", "undecided", "failed", "rejected")
    }  # fmt: skip
    return ToolFigures(
        dataset=dataset,
        tool=tool,
        items=len(rows),
        used=len(users),
        usage=len(users) / len(rows),
        success=sum(row.verdict is row.wrong for row in users) / len(users),
        calls=len(outcomes),
        **shares,
    )
