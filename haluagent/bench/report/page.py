r"""A run as a single self-contained HTML page: no server, no network, no other file.

Data never becomes markup: the template escapes it, the trajectories are JSON in which `<` is written as `\u003c`, and
the script turns them into text nodes. A content security policy allows that one script and no request.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from haluagent.bench.report import cited
from haluagent.bench.report.data import JUDGE, BenchReport, reliability
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
    script = _part("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"percent": percent, "seconds": lambda cost: per_item(cost, "normalised", 1)}
    return environment.from_string(_part("report.html.jinja2")).render(
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
        style=_part("report.css"),
        script=script,
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; "
        "form-action 'none'",
        data=embedded([_entry(row) for row in rows]),
    )


def _charts(rows: Sequence[Row]) -> dict[str, str]:
    """Return the reliability curve of the judge of single claims for each source."""
    judge = [row for row in rows if row.method == JUDGE]
    return {
        name: reliability_chart(reliability([row for row in judge if row.dataset == name]))
        for name in dict.fromkeys(row.dataset for row in judge)
    }


def embedded(value: Any) -> str:
    """Return JSON that is safe inside a script element: without `<`, nothing in it can close the element or open
    another."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _entry(row: Row) -> dict[str, Any]:
    """Return what the page shows of a row. Fields with default values are left out, which halves the page."""
    return row.model_dump(mode="json", exclude_defaults=True) | {"verdict": row.verdict, "score": row.score}


@cache
def _part(name: str) -> str:
    return (files("haluagent.bench.report") / name).read_text(encoding="utf-8")
