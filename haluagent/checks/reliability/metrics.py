"""The figures of Relign (sections 2.1 and 2.2), over rows of tasks that were run and judged."""

from collections.abc import Sequence
from statistics import fmean

from haluagent.checks.reliability.records import HALLUCINATIONS, CallFinding, CallKind, ReliabilityRow
from haluagent.types import Record

SUCCESS = 20
MOST_CALLS = 10
HALLUCINATED = 10


class TaskSample(Record):
    """The figures of one task.

    `rates` gives each kind of hallucination's share of the calls, 0 if no call was made; `rate` is their sum.
    `reliable` is 1 if passed, less 1 if the task is hallucinated; its mean is RePR.
    """

    calls: int
    rate: float
    rates: dict[CallKind, float]
    passed: bool
    task_hallucinated: bool
    reliable: int
    utility: float


class Figures(Record):
    """Means over `n` tasks; `failed` counts those with an error, which are left out.

    Rates are in [0, 1], `repr` in [-1, 1], `utility` in [-20, 21] per task, `calls` a number per task. None if there is
    no task.
    """

    n: int
    failed: int
    hallucination_rate: float | None
    rates: dict[CallKind, float]
    pass_rate: float | None
    task_hallucination_rate: float | None
    repr: float | None
    utility: float | None
    calls: float | None


def shares(calls: Sequence[CallFinding]) -> dict[CallKind, float]:
    """Return each kind of hallucination's share of the calls, in [0, 1]; 0 if no call was made."""
    return {kind: sum(call.kind == kind for call in calls) / max(len(calls), 1) for kind in HALLUCINATIONS}


def sample(row: ReliabilityRow) -> TaskSample:
    """Return the figures of one task.

    Utility is 20 · success − min(calls − necessary, 10) − 10 · hallucinated; one call is necessary if the task can be
    solved, otherwise none. It is `hallucinated` if any call is. The paper's table 2 allows no other reading: with the
    task's hallucination in its place, GPT-4o's utility of 13.4 would imply a pass rate below its RePR.
    """
    total = len(row.calls)
    rates = shares(row.calls)
    necessary = 1 if row.kind == "original" else 0
    utility = SUCCESS * row.passed - min(total - necessary, MOST_CALLS) - HALLUCINATED * any(rates.values())
    return TaskSample(
        calls=total,
        rate=sum(rates.values()),
        rates=rates,
        passed=row.passed,
        task_hallucinated=row.task_hallucinated,
        reliable=row.passed - row.task_hallucinated,
        utility=utility,
    )


def figures(rows: Sequence[ReliabilityRow]) -> Figures:
    """Return the figures of several tasks."""
    samples = [sample(row) for row in rows if row.error is None]

    def mean(values: Sequence[float]) -> float | None:
        return fmean(values) if values else None

    return Figures(
        n=len(samples),
        failed=len(rows) - len(samples),
        hallucination_rate=mean([one.rate for one in samples]),
        rates={kind: fmean([one.rates[kind] for one in samples]) for kind in HALLUCINATIONS} if samples else {},
        pass_rate=mean([one.passed for one in samples]),
        task_hallucination_rate=mean([one.task_hallucinated for one in samples]),
        repr=mean([one.reliable for one in samples]),
        utility=mean([one.utility for one in samples]),
        calls=mean([one.calls for one in samples]),
    )
