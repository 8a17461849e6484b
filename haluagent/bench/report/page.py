"""The page of a benchmark run, with every trajectory."""

from collections.abc import Sequence
from typing import Any

from haluagent.bench.report import cited
from haluagent.bench.report.data import JUDGE, BenchReport, reliability
from haluagent.bench.report.html import render
from haluagent.bench.report.markdown import costs, paper_table, tools
from haluagent.bench.report.svg import balanced_chart, reliability_chart
from haluagent.bench.report.text import (
    NOTES,
    QUALITY,
    SOURCE_NOTES,
    TEXT_COLUMNS,
    WITH_INTERVAL,
    lengths,
    per_item,
    percent,
    source_table,
)
from haluagent.bench.rows import Row


def page(report: BenchReport, rows: Sequence[Row]) -> str:
    """Return the HTML page of a run."""
    return render(
        "report.html.jinja2",
        [_entry(row) for row in rows],
        {"percent": percent, "seconds": lambda cost: per_item(cost, "normalised", 1)},
        report=report,
        columns=QUALITY,
        with_interval=WITH_INTERVAL,
        lengths=lengths,
        text_columns=TEXT_COLUMNS,
        notes=NOTES,
        source_table=source_table(report.sources),
        source_notes=SOURCE_NOTES,
        source_charts=_charts(rows),
        cost_table=costs(report),
        tool_table=tools(report),
        paper={level: paper_table(report, level) for level in ("response", "sentence")},
        cited=cited,
        balanced_chart=balanced_chart(report),
        reliability_chart=reliability_chart(report.reliability),
    )


def _charts(rows: Sequence[Row]) -> dict[str, str]:
    """Return the reliability curve of the judge of single claims for each source."""
    judge = [row for row in rows if row.method == JUDGE]
    return {
        name: reliability_chart(reliability([row for row in judge if row.dataset == name]))
        for name in dict.fromkeys(row.dataset for row in judge)
    }


def _entry(row: Row) -> dict[str, Any]:
    """Return what the page shows of a row. Fields with default values are left out, which halves the page."""
    return row.model_dump(mode="json", exclude_defaults=True) | {"verdict": row.verdict, "score": row.score}
