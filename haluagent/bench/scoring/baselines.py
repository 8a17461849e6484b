"""What needs no model: calling everything a hallucination, or nothing, or going by the length of the response.

A detector that is not better than these has found nothing. Skewed sets make the first two look good on accuracy and F1,
and a set whose wrong answers are longer than its right ones gives itself away to the third.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from haluagent.bench.rows import Row
from haluagent.bench.scoring.scores import Scores, gold_claims, scores
from haluagent.types import Record

FOLDS, REPEATS = 5, 10

ALWAYS_YES, ALWAYS_NO, LENGTH = "always yes", "always no", "length rule"


class LengthRule(Record):
    """Responses of more than `threshold` characters (or, where not `longer`, of at most so many) are hallucinations."""

    threshold: int
    longer: bool

    def __call__(self, length: int) -> bool:
        return (length > self.threshold) is self.longer

    def __str__(self) -> str:
        return f"{'longer than' if self.longer else 'at most'} {self.threshold} characters"


class BestLength(Record):
    """The rule that does best on the very items it is scored on, which is what a reader would try first."""

    rule: LengthRule
    scores: Scores


def trivial(rows: Sequence[Row]) -> dict[str, Scores]:
    """Scores on the responses of `rows`, which are those of one set and one method.

    The length rule is cross-validated: each item is judged by the rule that does best on the other four fifths of the
    set, ten times over with other fifths. (To leave out one item only is not fair to it: an item's absence itself turns
    a rule that was even against that item, and on lengths that say nothing the rule falls far below one half.)
    """
    gold = [row.wrong for row in rows]
    found = _always(gold)
    verdicts = cross_validated(gold, [row.length for row in rows])
    items = list(range(len(gold))) * REPEATS
    found[LENGTH] = scores(gold * REPEATS, verdicts, clusters=items).model_copy(update={"n": len(gold)})
    return found


def trivial_claims(rows: Sequence[Row]) -> dict[str, Scores]:
    """The same on the sentences that have a gold label. Their lengths are not recorded, so there is no length rule."""
    return _always(*gold_claims(rows))


def _always(gold: list[bool], clusters: list[int] | None = None) -> dict[str, Scores]:
    return {
        ALWAYS_YES: scores(gold, [True] * len(gold), clusters=clusters),
        ALWAYS_NO: scores(gold, [False] * len(gold), clusters=clusters),
    }


def best_length(rows: Sequence[Row]) -> BestLength | None:
    """The best rule on these rows, scored on the same rows; None where there are none."""
    if not rows:
        return None
    gold = [row.wrong for row in rows]
    rule = fitted(gold, [row.length for row in rows])
    return BestLength(rule=rule, scores=scores(gold, [rule(row.length) for row in rows]))


def fitted(gold: Sequence[bool], lengths: Sequence[int]) -> LengthRule:
    """The rule with the best balanced accuracy, then the best accuracy, then the lowest threshold. A class that has no
    items does not count. The thresholds tried are the lengths themselves: between two of them nothing changes."""
    labels, sizes = np.array(gold), np.array(lengths)
    thresholds = np.unique(sizes)
    longer = sizes[:, None] > thresholds
    recalls = [(longer[labels == label] == label).mean(axis=0) for label in (True, False) if (labels == label).any()]
    balanced, accuracy = np.mean(recalls, axis=0), (longer == labels[:, None]).mean(axis=0)
    # The other direction has the opposite verdict everywhere, so its figures are what is missing to 1.
    quality = np.concatenate([balanced + accuracy / 1e6, 1 - balanced + (1 - accuracy) / 1e6]).round(9)
    place = int(quality.argmax())
    return LengthRule(threshold=int(thresholds[place % len(thresholds)]), longer=place < len(thresholds))


def cross_validated(gold: Sequence[bool], lengths: Sequence[int], seed: int = 0) -> list[bool | None]:
    """The verdicts on all items, ten times one after another: each by the rule fitted to the folds without the item.
    The five folds hold both classes alike. None where there is no other item."""
    labels, sizes = np.array(gold, dtype=bool), np.array(lengths)
    source = np.random.default_rng(seed)
    verdicts: list[bool | None] = []
    for _ in range(REPEATS):
        folds = _folds(labels, source)
        rules = [
            fitted(labels[folds != fold], sizes[folds != fold]) if (folds != fold).any() else None
            for fold in range(FOLDS)
        ]
        chosen = [rules[fold] for fold in folds]
        verdicts += [rule(length) if rule else None for rule, length in zip(chosen, lengths, strict=True)]
    return verdicts


def _folds(gold: NDArray[np.bool_], source: np.random.Generator) -> NDArray[np.int_]:
    """A fold for each item, at random, the classes dealt out one after the other so that the folds are of one size."""
    order = source.permutation(len(gold))
    order = order[np.argsort(gold[order], kind="stable")]
    folds = np.empty(len(gold), dtype=int)
    folds[order] = np.arange(len(gold)) % FOLDS
    return folds
