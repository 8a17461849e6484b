"""Write the report of a run: Markdown, JSON, and one HTML page with every trajectory."""

import json
from collections.abc import Sequence
from pathlib import Path

from haluagent.bench.report.data import as_json, figures
from haluagent.bench.report.markdown import markdown as as_markdown
from haluagent.bench.report.markdown import quality
from haluagent.bench.report.page import page
from haluagent.bench.report.text import aligned, source_summary, summary
from haluagent.bench.rows import Row, RunInfo, read
from haluagent.errors import ConfigError


def write(run_path: Path, out_stem: Path) -> list[Path]:
    """Write the report of the run to `out_stem` plus `.md`, `.json` and `.html`, and return these paths. Raises
    ConfigError if the run cannot be read."""
    about, rows = read(run_path)
    report = figures(about, rows)
    texts = {
        ".md": as_markdown(report),
        ".json": json.dumps(as_json(report), ensure_ascii=False, indent=1) + "\n",
        ".html": page(report, rows),
    }
    out_stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [out_stem.with_name(out_stem.name + ending) for ending in texts]
    if any(path.exists() and path.samefile(run_path) for path in paths):
        raise ConfigError(f"{run_path} is the run itself: name the report otherwise with --out")
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text, encoding="utf-8", errors="replace")
    return paths


def markdown(about: RunInfo, rows: Sequence[Row]) -> str:
    """Return the tables of a run as Markdown."""
    return as_markdown(figures(about, rows))


def table(rows: Sequence[Row]) -> str:
    """Return the short table for a terminal: one line per set, with the simple prompt and the best trivial baseline
    beside the agent."""
    return summary(figures(RunInfo(version="", model=""), rows))


def judge_table(rows: Sequence[Row]) -> str:
    """Return the short table of a run of the judge of single claims, and below it, where other methods judged some of its
    claims, the table of all methods."""
    report = figures(RunInfo(version="", model=""), rows)
    tables = [source_summary(report.sources)] if report.sources else []
    if len(report.totals) > 1:
        head, lines = quality(report)
        tables.append(aligned([head[:10], *(line[:10] for line in lines if line[1] in report.totals)]))
    return "\n\n".join(tables)
