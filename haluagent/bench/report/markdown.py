"""The tables of a run as Markdown, with those of the paper beside them."""

from collections.abc import Mapping, Sequence

from haluagent.bench.report import cited
from haluagent.bench.report.data import AGENT, PROMPT, BenchReport, SetFigures
from haluagent.bench.report.text import (
    NONE,
    NOTES,
    QUALITY,
    SOURCE_NOTES,
    TEXT_COLUMNS,
    WITH_INTERVAL,
    lengths,
    per_item,
    percent,
    source_table,
    with_interval,
)
from haluagent.bench.scoring.baselines import LENGTH

Cells = list[str]


def markdown(report: BenchReport) -> str:
    """Return the tables under headings: quality by set, cost, tools, and the paper's columns with cited rows kept apart
    from measured ones."""
    about = report.about
    parts = [
        f"Model `{about.model}`, strategy `{about.strategy}`, autonomy `{about.autonomy}`, haluagent {about.version}.",
        "## Quality\n\n" + table(*quality(report)),
        "\n".join(f"- {note}" for note in NOTES),
        *([by_source(report)] if report.sources else []),
        "## Cost\n\n" + table(*costs(report)),
        *(["## Tools\n\n" + table(*tools(report))] if report.tools else []),
        *paper(report),
    ]
    return "\n\n".join(parts) + "\n"


def by_source(report: BenchReport) -> str:
    """Return the section on the judge of single claims."""
    notes = "\n".join(f"- {note}" for note in SOURCE_NOTES)
    return f"## Claims by source\n\n{table(*source_table(report.sources))}\n\n{notes}"


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; columns of figures are aligned to the right."""
    rule = ["---" if name in TEXT_COLUMNS else "---:" for name in head]
    return "\n".join(f"| {' | '.join(_cell(text) for text in line)} |" for line in (head, rule, *lines))


def _cell(text: str) -> str:
    """Return the text of a cell. Names come from a file and must not break out of their cell."""
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())


def quality(report: BenchReport) -> tuple[Cells, list[Cells]]:
    """Return the head and the lines of the quality table: one line per set and method, the baselines last, then the
    best length rule in words."""
    head = ["set", "method", "n", *(name for name, _ in QUALITY), "s/item", "best length rule on its own items"]
    lines = []
    for figures in report.sets:
        for place, own in enumerate((*figures.methods, *figures.trivial)):
            shares = [
                with_interval(own.scores, field) if field in WITH_INTERVAL else percent(getattr(own.scores, field))
                for _, field in QUALITY
            ]
            last = lengths(figures) if own.method == LENGTH else ""
            name = figures.name if place == 0 else ""
            lines.append([name, own.method, str(own.scores.n), *shares, per_item(own.cost, "normalised", 1), last])
    return head, lines


def costs(report: BenchReport) -> tuple[Cells, list[Cells]]:
    """Return the head and the lines of the cost table: per item by set and method, then the totals of each method."""
    head = ["set", "method", "items", "failed", "model calls", "evaluated", "cached", "generated", "seconds",
            "normalised s", "tool calls"]  # fmt: skip
    names = (("calls", 1), ("evaluated", 0), ("cached", 0), ("generated", 0), ("seconds", 1), ("normalised", 1))
    lines = []
    for figures in report.sets:
        for own in figures.methods:
            if own.cost is not None:
                calls = ", ".join(f"{name} {count}" for name, count in own.cost.tools.items())
                cells = [per_item(own.cost, name, digits) for name, digits in names]
                lines.append([figures.name, own.method, str(own.cost.items), str(own.cost.failed), *cells, calls])
    for method, cost in report.totals.items():
        calls = ", ".join(f"{name} {count}" for name, count in cost.tools.items())
        cells = [f"{getattr(cost, name):,.0f}" for name, _ in names]
        lines.append(["in total", method, str(cost.items), str(cost.failed), *cells, calls])
    return head, lines


def tools(report: BenchReport) -> tuple[Cells, list[Cells]]:
    """Return the head and the lines of the tool table: how often each tool was used, and with what result."""
    head = ["set", "tool", "used on", "verdict right there", "calls", "decided", "undecided", "failed", "rejected"]
    lines = [
        [
            use.dataset, use.tool, f"{percent(use.usage)} ({use.used}/{use.items})", percent(use.success), str(use.calls),
            *(percent(share) for share in (use.decided, use.undecided, use.failed, use.rejected)),
        ]
        for use in report.tools
    ]  # fmt: skip
    return head, lines


def paper(report: BenchReport) -> list[str]:
    """Return Tables 3 and 4 of the paper with its columns, measured rows before cited ones, and the notes on them."""
    parts = []
    heads = {"response": "Whole responses: accuracy / F1", "sentence": "Sentences: accuracy / precision / recall / F1"}
    for level, title in heads.items():
        found = paper_table(report, level)
        if found:
            head, measured, quoted = found
            parts.append(f"### {title}\n\n{table(head, [*measured, *quoted])}")
    if not parts:
        return []
    odd = "\n".join(f"- {note}" for note in cited.notes())
    use = "\n".join(f"- {line}" for line in cited.TOOLS)
    first = (
        f"## Beside the paper\n\nRows marked † are cited from {cited.SOURCE} (Tables 3 and 4). They were measured by its "
        "authors on their own test items, which are not the items of this run; nothing of them was rerun."
    )
    return [
        first,
        *parts,
        f"Figure 2 of the paper, cited:\n\n{use}",
        f"Percentages that are not of all items:\n\n{odd}",
    ]


def paper_table(report: BenchReport, level: str) -> tuple[Cells, list[Cells], list[Cells]] | None:
    """Return the head, the measured rows and the cited rows of Table 3 (`response`) or 4 (`sentence`), limited to the
    columns that the run has; None if it has none of them."""
    quoted: Mapping[str, Mapping[str, tuple[float, ...]]] = cited.RESPONSES if level == "response" else cited.SENTENCES
    fields = ("accuracy", "f1") if level == "response" else ("accuracy", "precision", "recall", "f1")
    known = next(iter(quoted.values()))
    of_level = {figures.dataset: figures for figures in report.sets if figures.level == level}
    sets = [of_level[name] for name in known if name in of_level]
    if not sets:
        return None
    measured = [
        [f"{method}, measured here", *(_measured(figures, method, fields) for figures in sets)]
        for method in (AGENT, PROMPT)
        if any(figures.of(method) for figures in sets)
    ]
    lines = [
        [f"{name} †", *(" / ".join(f"{value:.2f}" for value in row[figures.dataset]) for figures in sets)]
        for name, row in quoted.items()
    ]
    return ["", *(f"{figures.dataset} (n = {_n(figures)})" for figures in sets)], measured, lines


def _n(figures: SetFigures) -> int:
    return (figures.of(AGENT) or figures.methods[0]).scores.n


def _measured(figures: SetFigures, method: str, fields: Sequence[str]) -> str:
    own = figures.of(method)
    if own is None:
        return NONE
    values = [getattr(own.scores, field) for field in fields]
    return " / ".join(NONE if value is None else f"{100 * value:.2f}" for value in values)
