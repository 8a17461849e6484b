"""The figures of measured files as a table in Markdown: a line for each model, variant and kind of task."""

from collections.abc import Iterable, Sequence

from .metrics import Figures, figures
from .records import KINDS, Row

HEADER = (
    "model", "indecisive", "grammar", "tasks", "n", "hallucinated calls", "type", "timing", "format", "content", "pass", "task hall.",
    "RePR", "utility", "calls", "failed",
)  # fmt: skip


def table(rows: Iterable[Row]) -> str:
    """Shares in percent; utility and calls as means. The last row of a task counts, where it was done again."""
    groups: dict[tuple[str, str, str], dict[str, Row]] = {}
    for row in rows:
        variant = (row.model, _yes(row.settings.indecisive), _yes(row.settings.grammar))
        groups.setdefault(variant, {})[row.task] = row
    lines = [_line(HEADER), _line(["---"] * len(HEADER))]
    for variant, of in groups.items():
        by_kind = {kind: [row for row in of.values() if row.kind == kind] for kind in KINDS}
        for name, some in [*by_kind.items(), ("all", list(of.values()))]:
            if some:
                lines.append(_line([*variant, name, *cells(figures(some))]))
    return "\n".join(lines)


def cells(of: Figures) -> list[str]:
    """One line's figures."""
    shares = [of.hallucination_rate, *(of.rates.get(kind) for kind in ("tool_type", "tool_timing", "tool_format", "tool_content"))]
    shares += [of.pass_rate, of.task_hallucination_rate, of.repr]
    means = ["-" if value is None else f"{value:.1f}" for value in (of.utility, of.calls)]
    return [str(of.n), *("-" if share is None else f"{100 * share:.1f}" for share in shares), *means, str(of.failed)]


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
