"""Charts of a run as inline SVG. Their colours come from the page's style sheet, so that they follow the light or dark
theme."""

from collections.abc import Sequence
from html import escape

from haluagent.bench.report.data import PROMPT, BenchReport, Bin, SetFigures
from haluagent.bench.scoring.scores import wilson

SIDE, MARGIN = 320, 44
NAMES, PLOT, STEP = 190, 460, 26


def reliability_chart(bins: Sequence[Bin]) -> str:
    """Draw the reliability curve: the share of hallucinations in each bin of scores, with its 95 % interval (Wilson
    1927). On the diagonal, scores are calibrated. The area of a dot shows its number of items."""
    most = max((one.n for one in bins), default=1)
    dots = [(MARGIN + one.score * SIDE, _y(one.hallucinations), 3 + 11 * (one.n / most) ** 0.5, one) for one in bins]
    ticks = "".join(_tick(share) for share in (0, 0.25, 0.5, 0.75, 1))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in dots)
    whiskers = "".join(
        f'<line class="interval" x1="{x:.1f}" x2="{x:.1f}" y1="{_y(low):.1f}" y2="{_y(high):.1f}"/>'
        for x, _, _, one in dots
        for low, high in [wilson(one.hallucinations * one.n, one.n)]
    )
    circles = "".join(
        f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"><title>{one.n} items, mean score '
        f"{one.score:.2f}, {100 * one.hallucinations:.0f} % hallucinations</title></circle>"
        for x, y, radius, one in dots
    )
    bottom, right = MARGIN / 2 + SIDE, MARGIN + SIDE
    return (
        f'<svg class="chart" viewBox="0 0 {SIDE + MARGIN + 16} {SIDE + MARGIN + 24}" role="img" '
        f'aria-label="Reliability curve: {_spoken(bins)}">{ticks}'
        f'<line class="ideal" x1="{MARGIN}" y1="{bottom}" x2="{right}" y2="{MARGIN / 2}"/>'
        f'<polyline class="curve" points="{line}"/>{whiskers}{circles}'
        f'<text x="{MARGIN + SIDE / 2}" y="{bottom + 36}" text-anchor="middle">score: P(hallucination)</text>'
        f'<text transform="translate(11 {MARGIN / 2 + SIDE / 2}) rotate(-90)" text-anchor="middle">'
        "share of hallucinations</text></svg>"
    )


def _y(share: float) -> float:
    return MARGIN / 2 + (1 - share) * SIDE


def _tick(share: float) -> str:
    x, y, bottom = MARGIN + share * SIDE, _y(share), MARGIN / 2 + SIDE
    return (
        f'<line class="grid" x1="{x}" y1="{MARGIN / 2}" x2="{x}" y2="{bottom}"/>'
        f'<line class="grid" x1="{MARGIN}" y1="{y}" x2="{MARGIN + SIDE}" y2="{y}"/>'
        f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{share:g}</text>'
        f'<text x="{MARGIN - 6}" y="{y + 4}" text-anchor="end">{share:g}</text>'
    )


def _spoken(bins: Sequence[Bin]) -> str:
    return "; ".join(f"score {one.score:.2f}, {100 * one.hallucinations:.0f} % of {one.n}" for one in bins)


def balanced_chart(report: BenchReport) -> str:
    """Draw balanced accuracy by set: the method shown with its interval, the simple prompt, and the best baseline that needs
    no model."""
    sets = [figures for figures in report.sets if figures.of(report.shown)]
    height = STEP * len(sets) + 30
    grid = "".join(
        f'<line class="{"ideal" if share == 50 else "grid"}" x1="{_x(share / 100)}" y1="4" x2="{_x(share / 100)}" '
        f'y2="{height - 22}"/><text x="{_x(share / 100)}" y="{height - 6}" text-anchor="middle">{share}</text>'
        for share in (0, 25, 50, 75, 100)
    )
    lines = "".join(_set_line(figures, report.shown, STEP * place + STEP / 2 + 4) for place, figures in enumerate(sets))
    return (
        f'<svg class="chart wide" viewBox="0 0 {NAMES + PLOT + 16} {height}" role="img" '
        f'aria-label="Balanced accuracy by set; the table below has the figures">{grid}{lines}</svg>'
    )


def _set_line(figures: SetFigures, shown: str, y: float) -> str:
    parts = [f'<text x="{NAMES - 10}" y="{y + 4}" text-anchor="end">{escape(_short(figures.name))}</text>']
    trivial = figures.best_trivial("balanced")
    if trivial is not None:
        place = f'x1="{_x(trivial)}" y1="{y - 7}" x2="{_x(trivial)}" y2="{y + 7}"'
        parts.append(f'<line class="trivial-mark" {place}>{_title("best trivial", trivial)}</line>')
    prompt, agent = figures.of(PROMPT), figures.of(shown)
    if prompt and prompt.scores.balanced is not None:
        value = prompt.scores.balanced
        parts.append(
            f'<circle class="prompt-mark" cx="{_x(value)}" cy="{y}" r="5">{_title("simple prompt", value)}</circle>'
        )
    if agent and agent.scores.balanced is not None:
        value = agent.scores.balanced
        low, high = agent.scores.intervals["balanced"]
        parts.append(f'<line class="interval" x1="{_x(low)}" y1="{y}" x2="{_x(high)}" y2="{y}"/>')
        parts.append(f'<circle class="dot" cx="{_x(value)}" cy="{y}" r="5.5">{_title(shown, value)}</circle>')
    return "".join(parts)


def _x(share: float) -> float:
    return round(NAMES + share * PLOT, 1)


def _title(name: str, value: float) -> str:
    return f"<title>{name}: {100 * value:.1f}</title>"


def _short(name: str) -> str:
    return name if len(name) <= 30 else name[:29] + "…"
