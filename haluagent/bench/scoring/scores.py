"""Scores of verdicts and probabilities: shares over items, with bootstrap intervals.

A hallucination is the positive class. An item without a verdict (it failed, was left unverified, or its answer could
not be read) counts as wrong in `accuracy`, and as a miss of its own class in `recall` and `balanced`. It was not
flagged, so it is not in the denominator of `precision`: in `f1` = 2 TP / (flagged + hallucinations), a hallucination
without a verdict counts as a miss and a right text without one costs nothing. That is why F1 alone says too little.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from haluagent.bench.rows import VERDICTS, Row
from haluagent.types import Record

RESAMPLES = 1000
BINS = 10
BLOCK = 2_000_000  # weights per block of resamples, so that a large set does not fill the memory

Numbers = NDArray[np.float64]
Interval = tuple[float, float]


class Scores(Record):
    """Shares in [0, 1] over `n` items; None if the denominator of a share is zero.

    `hallucinations` is the share of hallucinations in the gold labels, `balanced` the mean of the two classes' recalls,
    `coverage` the share of items with a verdict, `accuracy_covered` the accuracy on those. `by_score` is the accuracy
    when every score above one half counts as a hallucination and every score below as none; exactly one half is always
    wrong. `auroc` is the probability that a hallucination has a higher score than a right text, with ties counting
    half.

    `calibration_error` is the expected calibration error (Naeini et al. 2015; Guo et al. 2017) of the score as the
    probability of a hallucination: over 10 bins of equal width, [0, 0.1) to [0.9, 1], the mean distance between the
    mean score and the share of hallucinations, weighted by the size of the bins. All items count. With few items, even
    perfect probabilities have an error above 0.

    `intervals` are the 2.5th and 97.5th percentiles over resamples of the items, of whole responses if the items are
    sentences, or of groups. At a share of exactly 0 or 1 such an interval has no width, although with n items a true share of 1 - 3/n
    would not be surprising.
    """

    n: int
    hallucinations: float | None
    accuracy: float | None
    precision: float | None
    recall: float | None
    f1: float | None
    balanced: float | None
    coverage: float | None
    accuracy_covered: float | None
    by_score: float | None = None
    auroc: float | None = None
    calibration_error: float | None = None
    intervals: dict[str, Interval] = {}


class _Items(NamedTuple):
    """The sums that all figures are computed from, one row per cluster. `shares` has a column for each name in `_SUMS`;
    `gaps` has one for each bin, with the sum of score minus label. `labels` and `places` (the cluster) belong to the
    items sorted by increasing score, and `starts` are the positions where a new score begins. The scores carry meaning
    only if `ranked` is True."""

    shares: Numbers
    gaps: Numbers
    ranked: bool
    labels: Numbers
    places: NDArray[np.intp]
    starts: NDArray[np.intp]


_SUMS = ("n", "gold", "flagged", "covered", "found", "cleared", "by_score")


def scores(
    gold: Sequence[bool],
    verdicts: Sequence[bool | None],
    ranks: Sequence[float] | None = None,
    clusters: Sequence[int] | Sequence[str] | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Scores:
    """Score verdicts (None: no verdict) and ranks (None: no ranks) against the gold labels (True: hallucination). Items
    of one cluster are resampled together. The same seed and number of clusters give the same resamples, so methods are
    compared on equal terms. Raises ValueError if the lists differ in length."""
    lengths = {len(gold), len(verdicts), *(len(given) for given in (ranks, clusters) if given is not None)}
    if len(lengths) > 1:
        raise ValueError(f"the lists differ in length: {sorted(lengths)}")
    items = _items(gold, verdicts, ranks, clusters)
    figures = {name: float(values[0]) for name, values in _figures(items, np.ones((1, len(items.shares)))).items()}
    intervals = _intervals(items, resamples, seed) if len(gold) and resamples else {}
    return Scores(
        n=len(gold),
        intervals={name: interval for name, interval in intervals.items() if not np.isnan(figures[name])},
        **{name: None if np.isnan(value) else value for name, value in figures.items()},
    )


def of_responses(rows: Sequence[Row]) -> Scores:
    """Score a method's rows, one item per response. Responses of one group are resampled together."""
    verdicts, ranks = [row.verdict for row in rows], [row.score for row in rows]
    return scores([row.wrong for row in rows], verdicts, ranks, groups(rows))


def groups(rows: Sequence[Row]) -> list[str] | None:
    """Return a name for what each row is resampled with: its set and group. None if no row is in a group."""
    if all(row.group is None for row in rows):
        return None
    return [f"{row.dataset}:{row.id if row.group is None else row.group}" for row in rows]


def of_claims(rows: Sequence[Row]) -> Scores | None:
    """Score the sentences that have a gold label, resampled by response; None if there are none. A sentence that is
    `unverified` or `no_claim` has no verdict."""
    gold, places = gold_claims(rows)
    claims = [claim for row in rows for claim in row.claims if claim.wrong is not None]
    if not claims:
        return None
    return scores(gold, [VERDICTS.get(claim.label) for claim in claims], [claim.score for claim in claims], places)


def gold_claims(rows: Sequence[Row]) -> tuple[list[bool], list[int]]:
    """Return the gold labels of all labelled sentences, and for each of them the index of its row."""
    found = [(claim.wrong, place) for place, row in enumerate(rows) for claim in row.claims if claim.wrong is not None]
    return [wrong for wrong, _ in found], [place for _, place in found]


def auroc(gold: Sequence[bool], ranks: Sequence[float]) -> float:
    """Return the probability that a hallucination ranks above a right item, with ties counting half (Mann-Whitney); 0.5
    if there is only one class. The ranks may be any numbers. Raises ValueError if the lists differ in length."""
    value = scores(gold, [None] * len(gold), ranks, resamples=0).auroc
    return 0.5 if value is None else value


def wilson(count: float, n: int) -> Interval:
    """Return the 95 % interval of a share, `count` of `n` (Wilson 1927): it does not shrink to nothing at 0 or 1."""
    z, share = 1.96, count / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
    return max(0.0, middle - half), min(1.0, middle + half)


def bins(score: Sequence[float] | Numbers) -> NDArray[np.intp]:
    """Return the bin of each score, 0 to 9: [0, 0.1) to [0.9, 1]."""
    return np.digitize(score, np.arange(1, BINS) / BINS)


def _items(
    gold: Sequence[bool],
    verdicts: Sequence[bool | None],
    ranks: Sequence[float] | None,
    clusters: Sequence[int] | Sequence[str] | None,
) -> _Items:
    label = np.array(gold, dtype=bool)
    flagged = np.array([verdict is True for verdict in verdicts], dtype=bool)
    passed = np.array([verdict is False for verdict in verdicts], dtype=bool)
    score = np.array(ranks if ranks is not None else [0.5] * len(label), dtype=np.float64)
    places = np.arange(len(label)) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    count = len(np.unique(places))
    by_score = np.where(label, score > 0.5, score < 0.5)
    columns = (np.ones(len(label)), label, flagged, flagged | passed, flagged & label, passed & ~label, by_score)
    shares, gaps = np.zeros((count, len(_SUMS))), np.zeros((count, BINS))
    np.add.at(shares, places, np.column_stack(columns).astype(np.float64))
    np.add.at(gaps, (places, bins(score)), score - label)
    order = np.argsort(score, kind="stable")
    starts = np.flatnonzero(np.diff(score[order], prepend=-np.inf))
    return _Items(shares, gaps, ranks is not None, label[order].astype(np.float64), places[order], starts)


def _figures(items: _Items, weights: Numbers) -> dict[str, Numbers]:
    """Return each figure for every row of `weights` (how often each cluster counts); NaN if its denominator is zero."""
    sums = dict(zip(_SUMS, (weights @ items.shares).T, strict=True))
    right = sums["found"] + sums["cleared"]
    recall = _ratio(sums["found"], sums["gold"])
    figures = {
        "hallucinations": _ratio(sums["gold"], sums["n"]),
        "accuracy": _ratio(right, sums["n"]),
        "precision": _ratio(sums["found"], sums["flagged"]),
        "recall": recall,
        "f1": _ratio(2 * sums["found"], sums["flagged"] + sums["gold"]),
        "balanced": (recall + _ratio(sums["cleared"], sums["n"] - sums["gold"])) / 2,
        "coverage": _ratio(sums["covered"], sums["n"]),
        "accuracy_covered": _ratio(right, sums["covered"]),
    }
    if items.ranked:
        figures["by_score"] = _ratio(sums["by_score"], sums["n"])
        figures["auroc"] = _area(items, weights)
        figures["calibration_error"] = _ratio(np.abs(weights @ items.gaps).sum(axis=1), sums["n"])
    return figures


def _area(items: _Items, weights: Numbers) -> Numbers:
    if not len(items.labels):
        return np.full(len(weights), np.nan)
    each = weights[:, items.places]
    high = np.add.reduceat(each * items.labels, items.starts, axis=1)
    low = np.add.reduceat(each * (1 - items.labels), items.starts, axis=1)
    below = np.cumsum(low, axis=1) - low
    return _ratio((high * (below + low / 2)).sum(axis=1), high.sum(axis=1) * low.sum(axis=1))


def _ratio(part: Numbers, whole: Numbers) -> Numbers:
    ratio: Numbers = np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
    return ratio


def _intervals(items: _Items, resamples: int, seed: int) -> dict[str, Interval]:
    """Return percentile intervals. Resamples in which a figure is undefined are left out for that figure."""
    blocks = [_figures(items, weights) for weights in _resampled(items, resamples, seed)]
    intervals = {}
    for name in blocks[0]:
        values = np.concatenate([block[name] for block in blocks])
        values = values[~np.isnan(values)]
        if len(values):
            low, high = np.percentile(values, (2.5, 97.5))
            intervals[name] = (float(low), float(high))
    return intervals


def _resampled(items: _Items, resamples: int, seed: int) -> Iterator[Numbers]:
    """Yield blocks of resamples: how often each cluster is drawn when as many clusters as there are are drawn with
    replacement."""
    count = len(items.shares)
    source = np.random.default_rng(seed)
    size = max(1, BLOCK // len(items.labels))
    for start in range(0, resamples, size):
        block = min(size, resamples - start)
        drawn = source.integers(0, count, (block, count)) + count * np.arange(block)[:, None]
        yield np.bincount(drawn.ravel(), minlength=block * count).reshape(block, count).astype(np.float64)
