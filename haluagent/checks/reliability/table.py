"""The figures of measured files as a Markdown table: a line for each model, variant and kind of task."""

from collections.abc import Iterable, Sequence
from statistics import fmean

from haluagent.checks.reliability.metrics import Figures, figures, shares
from haluagent.checks.reliability.recorded import Classified
from haluagent.checks.reliability.records import HALLUCINATIONS, KINDS, ReliabilityRow

HEADER = (
    "model", "judge", "indecisive", "grammar", "tasks", "n", "hallucinated calls", "type", "timing", "format", "content",
    "pass", "task hall.", "RePR", "utility", "calls", "failed",
)  # fmt: skip
SHOWN = 20  # calls with something wrong


def table(rows: Iterable[ReliabilityRow]) -> str:
    """Return the table; shares are in percent, utility and calls are means.

    If a task was repeated, its last row counts.
    """
    groups: dict[tuple[str, ...], dict[str, ReliabilityRow]] = {}
    for row in rows:
        given = row.settings
        variant: tuple[str, ...] = (row.model, given.judge or "itself", _yes(given.indecisive), _yes(given.grammar))
        groups.setdefault(variant, {})[row.task] = row
    lines = [_line(HEADER), _line(["---"] * len(HEADER))]
    for key, of in groups.items():
        by_kind = {kind: [row for row in of.values() if row.kind == kind] for kind in KINDS}
        for name, some in [*by_kind.items(), ("all", list(of.values()))]:
            if some:
                lines.append(_line([*key, name, *cells(figures(some))]))
    return "\n".join(lines)


def recorded_table(runs: Sequence[Classified]) -> str:
    """Return the same shares for recorded runs, followed by the first wrong calls, a line each."""
    each = [shares(run.calls) for run in runs]
    columns = [[sum(one.values()) for one in each], *([one[kind] for one in each] for kind in HALLUCINATIONS)]
    means = [fmean(column) if column else None for column in columns]
    header = ("runs", "calls", *HEADER[6:11])
    row = (str(len(runs)), str(sum(len(run.calls) for run in runs)), *map(_percent, means))
    wrong = [
        f"{run.run_id}: {call.tool}: {call.kind}: {call.reason}"
        for run in runs
        for call in run.calls
        if call.kind != "none"
    ]
    shown = wrong[:SHOWN] + ([f"and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else [])
    return "\n".join([*map(_line, (header, ["---"] * len(header), row)), *([""] if wrong else []), *shown])


def cells(of: Figures) -> list[str]:
    """Return one line's figures."""
    rates = [
        of.hallucination_rate,
        *(of.rates.get(kind) for kind in HALLUCINATIONS),
        of.pass_rate,
        of.task_hallucination_rate,
        of.repr,
    ]
    means = ["-" if value is None else f"{value:.1f}" for value in (of.utility, of.calls)]
    return [str(of.n), *map(_percent, rates), *means, str(of.failed)]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
