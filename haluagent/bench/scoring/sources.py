"""The figures of a judge of single claims, source by source, and how it does with a curve from the other sources."""

from collections import Counter
from collections.abc import Callable, Sequence

from haluagent.bench.rows import Row
from haluagent.bench.scoring.cost import Cost, cost
from haluagent.bench.scoring.fit import logistic, sigmoid
from haluagent.bench.scoring.scores import Interval, Scores, groups, of_responses, scores
from haluagent.judging.probabilities import log_odds
from haluagent.types import Record

ALL = "all sources"


class Estimate(Record):
    """A share in [0, 1] with its 95 % interval; None if there is nothing to take it of."""

    value: float | None = None
    interval: Interval | None = None


class SourceFigures(Record):
    """The figures of the claims of one source. `scores` are those of the shipped thresholds and probabilities.

    `false_alarms` is the share of right claims that were not called right, `misses` that of wrong claims that were
    called right, `undecided` that of all claims without a verdict. `transferred` are the scores with a curve that was
    fitted to all other sources; None if those do not have both labels.
    """

    source: str
    scores: Scores
    false_alarms: Estimate
    misses: Estimate
    undecided: Estimate
    transferred: Scores | None
    cost: Cost


def by_source(rows: Sequence[Row]) -> list[SourceFigures]:
    """Return the figures of each source, by name, and of all claims together; none without rows.
    `rows` are those of one method."""
    names = sorted({row.dataset for row in rows})
    moved = {name: transferred(rows, name) for name in names}
    found = [_figures(name, [row for row in rows if row.dataset == name], moved[name]) for name in names]
    if len(names) > 1:
        every = [row for own in moved.values() for row in own or ()]
        found.append(_figures(ALL, rows, every if all(moved.values()) else None))
    return found


def transferred(rows: Sequence[Row], source: str) -> list[Row] | None:
    """Return the rows of a source with the scores and verdicts of a curve that was fitted to the scores of all others.
    None if those do not have both labels.

    The curve is logistic in the log-odds of the recorded score (Platt 1999), so that its threshold of one half is the
    threshold that the other sources call for. Right and wrong claims count the same in the fit, and so does every source
    among them. A row that failed stays without a verdict.
    """
    others = [row for row in rows if row.dataset != source and row.error is None]
    cells = Counter((row.dataset, row.wrong) for row in others)
    sources = Counter(wrong for _, wrong in cells)
    if len(sources) < 2:
        return None
    weights = [len(others) / (2 * sources[row.wrong] * cells[row.dataset, row.wrong]) for row in others]
    intercept, slope = logistic(
        [[log_odds(row.score)] for row in others], [row.wrong for row in others], weights=weights
    )

    def moved(row: Row) -> Row:
        score = sigmoid(intercept + slope * log_odds(row.score))
        return row.model_copy(update={"score": score, "verdict": score > 0.5})

    return [row if row.error else moved(row) for row in rows if row.dataset == source]


def _figures(source: str, rows: Sequence[Row], moved: Sequence[Row] | None) -> SourceFigures:
    return SourceFigures(
        source=source,
        scores=of_responses(rows),
        false_alarms=share([row for row in rows if not row.wrong], lambda row: row.verdict is not False),
        misses=share([row for row in rows if row.wrong], lambda row: row.verdict is False),
        undecided=share(rows, lambda row: row.verdict is None),
        transferred=of_responses(moved) if moved else None,
        cost=cost(rows),
    )


def share(rows: Sequence[Row], counts: Callable[[Row], bool]) -> Estimate:
    """Return the share of the rows that count, resampled as the scores are."""
    return estimate([counts(row) for row in rows], groups(rows))


def estimate(counts: Sequence[bool], clusters: Sequence[str] | None) -> Estimate:
    """Return the share of what counts, with its interval; what is of one cluster is resampled together."""
    if not counts:
        return Estimate()
    found = scores([True] * len(counts), counts, clusters=clusters)
    return Estimate(value=found.accuracy, interval=found.intervals.get("accuracy"))
