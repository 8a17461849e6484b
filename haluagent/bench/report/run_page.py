"""The page of a file of results: those of `haluagent batch` and of `haluagent check`."""

from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from haluagent.batch.files import BatchRow, last_rows
from haluagent.bench.report.html import render
from haluagent.checks.faithfulness.batch import CheckRow
from haluagent.errors import ConfigError

BINS, WIDTH, HEIGHT, EDGE = 10, 480, 160, 24
LABELS = ("supported", "contradicted", "unverified", "no_claim")
ResultRow = BatchRow | CheckRow


def read_results(path: Path) -> list[ResultRow]:
    """Return the rows of a file of results, the last of each line, by line. Raise `ConfigError` if it is none."""
    if not path.is_file():
        raise ConfigError(f"{path} is no file: give the JSON lines that `haluagent batch` or `haluagent check` wrote")

    def parse(fields: dict[str, Any]) -> ResultRow:
        return CheckRow.model_validate(fields) if "SCORE" in fields else BatchRow.model_validate(fields)

    try:
        rows = last_rows(path, parse)
    except (UnicodeDecodeError, ValidationError) as error:
        raise ConfigError(
            f"{path} does not hold results of `haluagent batch` or `check`: a table has them in {path.name}.jsonl, and "
            "those of a benchmark are for `haluagent bench report`"
        ) from error
    if not rows:
        raise ConfigError(f"{path} holds no results yet")
    return rows


def run_page(rows: Sequence[ResultRow], name: str) -> str:
    """Return the HTML page of results; `name` is its title."""
    checks = isinstance(rows[0], CheckRow)
    found, clear = ("not faithful", "faithful") if checks else ("hallucination", "no hallucination")
    entries = [_entry(row) for row in rows]
    scores = [row.score for row in rows if row.score is not None]
    return render(
        "run.html.jinja2",
        entries,
        name=name,
        facts=_facts(rows, entries, found, clear),
        chart=histogram(scores),
        unscored=len(rows) - len(scores),
        total=len(rows),
        labels=_labels(rows),
        found=found,
        clear=clear,
    )


def _entry(row: ResultRow) -> dict[str, Any]:
    """Return what the page shows of a row. Fields with default values are left out, which halves the page."""
    name = f"line {row.line}" if row.id is None else str(row.id)
    entry: dict[str, Any] = {"id": row.line, "name": name, "score": row.score, "error": row.error, "verdict": None}
    if isinstance(row, BatchRow):
        entry |= {"verdict": row.hallucination, "seconds": row.seconds}
        if row.detection:
            entry |= {
                "language": row.detection.language,
                "usage": row.detection.usage.model_dump(exclude_defaults=True),
                "detection": row.detection.model_dump(mode="json", exclude_defaults=True),
            }
    elif check := row.check:
        # A detection without sentences: only the question and the answer are known by themselves.
        entry |= {
            "verdict": None if row.SCORE is None else row.SCORE == "FAIL",
            "seconds": check.seconds,
            "language": check.language,
            "usage": check.usage.model_dump(exclude_defaults=True),
            "detection": {"question": check.question, "response": check.answer, "error": check.error},
            "reasons": check.reasoning,
            "evidence": [one.model_dump(mode="json", exclude_defaults=True) for one in check.evidence],
        }
    return entry


def _facts(
    rows: Sequence[ResultRow], entries: Sequence[dict[str, Any]], found: str, clear: str
) -> list[tuple[str, str]]:
    verdicts = Counter("failed" if one["error"] is not None else one["verdict"] for one in entries)
    usage = [row.usage for row in rows]
    counts = [("items", len(rows)), (found, verdicts[True]), (clear, verdicts[False]), ("no verdict", verdicts[None])]
    return [
        *((name, f"{n:,}" + (f" ({n / len(rows):.0%})" if name != "items" else "")) for name, n in counts),
        ("failed", f"{verdicts['failed']:,}"),
        (
            "tokens",
            f"{sum(one.evaluated_tokens for one in usage):,} evaluated, {sum(one.generated_tokens for one in usage):,} generated",
        ),
    ]


def _labels(rows: Sequence[ResultRow]) -> tuple[list[str], list[list[str]]]:
    """Return the head and the lines of the table of labels: one line a tool."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        if isinstance(row, BatchRow) and row.detection:
            for entry in row.detection.sentences:
                counts.setdefault(entry.tool or "none", Counter())[entry.label] += 1
    head = ["tool", *(label.replace("_", " ") for label in LABELS)]
    return head, [[tool, *(f"{own[label]:,}" for label in LABELS)] for tool, own in sorted(counts.items())]


def histogram(scores: Sequence[float]) -> str:
    """Draw the number of scores in each of ten bins of equal width from 0 to 1, as inline SVG."""
    counts = Counter(min(int(score * BINS), BINS - 1) for score in scores)
    most = max(counts.values(), default=1)
    step = WIDTH / BINS
    bars = "".join(
        _bar(place, counts[place], EDGE + place * step, step, HEIGHT * counts[place] / most) for place in range(BINS)
    )
    ticks = "".join(
        f'<text x="{EDGE + place * step:.0f}" y="{HEIGHT + 36}" text-anchor="middle">{place / BINS:.1f}</text>'
        for place in range(BINS + 1)
    )
    told = "; ".join(f"{place / BINS:.1f} to {(place + 1) / BINS:.1f}: {counts[place]}" for place in range(BINS))
    return (
        f'<svg class="chart wide" viewBox="0 0 {WIDTH + 2 * EDGE} {HEIGHT + 44}" role="img" '
        f'aria-label="{escape(f"Number of items by score: {told}")}">{bars}{ticks}</svg>'
    )


def _bar(place: int, count: int, x: float, width: float, height: float) -> str:
    top = HEIGHT + 18 - height
    return (
        f'<rect class="dot" x="{x + 1:.1f}" y="{top:.1f}" width="{width - 2:.1f}" height="{height:.1f}">'
        f"<title>{count} from {place / BINS:.1f} to {(place + 1) / BINS:.1f}</title></rect>"
        + (f'<text x="{x + width / 2:.1f}" y="{top - 4:.1f}" text-anchor="middle">{count}</text>' if count else "")
    )
