"""Figures as text: the cells shared by all forms of the report, and the short table shown after a run."""

from collections.abc import Sequence

from haluagent.bench.report.data import AGENT, PROMPT, BenchReport, SetFigures
from haluagent.bench.scoring.cost import Cost
from haluagent.bench.scoring.scores import Scores
from haluagent.bench.scoring.sources import Estimate, SourceFigures

NONE = "–"

# Heading and field of the quality columns, in percent; the first four are shown with their interval.
QUALITY = (
    ("accuracy", "accuracy"), ("balanced", "balanced"), ("F1", "f1"), ("AUROC", "auroc"), ("precision", "precision"),
    ("recall", "recall"), ("ECE", "calibration_error"), ("coverage", "coverage"), ("acc. covered", "accuracy_covered"),
    ("acc. by score", "by_score"),
)  # fmt: skip
WITH_INTERVAL = ("accuracy", "balanced", "f1", "auroc")

NOTES = (
    "Percent, with 95 % bootstrap intervals in brackets (percentiles over 1,000 resamples of the items; of whole responses "
    "where the items are sentences, of texts where claims share them). At exactly 0 or 100 such an interval has no width: "
    "with n items, read 100 as “above 100 − 300/n”.",
    "A hallucination is the positive class. An item that failed, was left unverified or could not be read counts as wrong "
    "in accuracy and as a miss of its own class in balanced accuracy and recall; it was not flagged, so it is not in "
    "precision's denominator.",
    "ECE: expected calibration error of the score as the probability of a hallucination, 10 bins of equal width. "
    "“By score” takes every item with a score above one half for a hallucination.",
    "The length rule is the one threshold on the number of characters, in either direction, with the best balanced accuracy "
    "on the other items of the set (5-fold cross-validation, ten times); beside it stands what the best one does on the very "
    "items it was chosen on.",
    "Normalised seconds are evaluated/64 + generated/12: the tokens at the embedded engine's speeds on two cores.",
)
SOURCE_NOTES = (
    "Claims judged one by one beside their text by the comparison of `match`, at the shipped thresholds. Percent, with 95 % "
    "bootstrap intervals in brackets; claims beside one text are resampled together.",
    "False alarms: right claims that were not called right. Misses: wrong claims that were called right. Undecided: no "
    "verdict; it counts against both labels in balanced accuracy, and among right claims as a false alarm.",
    "“Others' curve”: the recorded scores of a source after a logistic curve that was fitted to all other sources only (each "
    "source and label with the same weight), read at one half, so that every claim is decided.",
    "Costs are means per claim.",
)

TEXT_COLUMNS = ("", "set", "source", "method", "tool", "tool calls", "best length rule on its own items")


def percent(share: float | None) -> str:
    """Format a share in percent with one decimal."""
    return NONE if share is None else f"{100 * share:.1f}"


def with_interval(scores: Scores, name: str) -> str:
    """Format a share with its interval, as in `71.4 [60.2, 82.0]`."""
    value, interval = getattr(scores, name), scores.intervals.get(name)
    return percent(value) + (_brackets(interval) if interval else "")


def per_item(cost: Cost | None, name: str, digits: int = 0) -> str:
    """Format the cost `name` per item."""
    return NONE if cost is None else f"{cost.per_item(name):,.{digits}f}"


def lengths(figures: SetFigures) -> str:
    """Describe the best length rule and its result on the items it was chosen on; empty if there is none."""
    best = figures.best_length
    if best is None:
        return ""
    return f"“{best.rule}”: {percent(best.scores.accuracy)} accuracy, {percent(best.scores.balanced)} balanced"


def source_table(sources: Sequence[SourceFigures]) -> tuple[list[str], list[list[str]]]:
    """Return the head and the lines of the table of the judge of single claims: one line a source."""
    head = [
        "source", "n", "wrong", "balanced", "AUROC", "ECE", "false alarms", "misses", "undecided",
        "balanced, others' curve", "ECE, others' curve", "evaluated", "generated", "norm. s",
    ]  # fmt: skip
    return head, [_source_line(figures) for figures in sources]


def _source_line(figures: SourceFigures) -> list[str]:
    scores, moved = figures.scores, figures.transferred
    wrong = round((scores.hallucinations or 0) * scores.n)
    return [
        figures.source, str(scores.n), str(wrong),
        *(with_interval(scores, name) for name in ("balanced", "auroc", "calibration_error")),
        *map(_share, (figures.false_alarms, figures.misses, figures.undecided)),
        *(with_interval(moved, name) if moved else NONE for name in ("balanced", "calibration_error")),
        per_item(figures.cost, "evaluated"), per_item(figures.cost, "generated", 1), per_item(figures.cost, "normalised", 1),
    ]  # fmt: skip


def short(share: Estimate) -> str:
    """Format a share in percent with its interval in whole percent."""
    text = percent(share.value)
    return text if share.interval is None else f"{text} [{100 * share.interval[0]:.0f}, {100 * share.interval[1]:.0f}]"


def _share(share: Estimate) -> str:
    return percent(share.value) + (_brackets(share.interval) if share.interval else "")


def _brackets(interval: tuple[float, float]) -> str:
    return f" [{percent(interval[0])}, {percent(interval[1])}]"


def source_summary(sources: Sequence[SourceFigures]) -> str:
    """Return the short table of the judge of single claims: no intervals."""
    head, lines = source_table(sources)
    return aligned([head, *([cell.split(" [")[0] for cell in line] for line in lines)])


def summary(report: BenchReport) -> str:
    """Return the short table: for each set the agent, the simple prompt, and the best baseline that needs no model."""
    head = [
        "set",
        "n",
        "accuracy",
        "balanced",
        "F1",
        "AUROC",
        "coverage",
        "prompt acc/bal",
        "trivial acc/bal",
        "s/item",
    ]
    return aligned([head, *(_line(figures) for figures in report.sets)])


def _line(figures: SetFigures) -> list[str]:
    agent, prompt = figures.of(AGENT), figures.of(PROMPT)
    shown = agent or figures.methods[0]
    name = figures.name if agent else f"{figures.name} ({shown.method})"
    scores = shown.scores
    return [
        name,
        str(scores.n),
        with_interval(scores, "accuracy"),
        *(percent(getattr(scores, field)) for field in ("balanced", "f1", "auroc", "coverage")),
        f"{percent(prompt.scores.accuracy)}/{percent(prompt.scores.balanced)}" if prompt else NONE,
        f"{percent(figures.best_trivial('accuracy'))}/{percent(figures.best_trivial('balanced'))}",
        per_item(shown.cost, "normalised", 1),
    ]


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Align columns two spaces apart, the first to the left and the others to the right."""
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )
