"""Baselines that need no model: calling everything a hallucination, or nothing, or going by the length of the response.

A detector that does not beat them has found nothing. Skewed sets make the first two look good on accuracy and F1, and
the third exploits sets whose wrong answers are longer than the right ones.
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
    """Responses of more than `threshold` characters are hallucinations; if `longer` is False, those of at most that
    many."""

    threshold: int
    longer: bool

    def __call__(self, length: int) -> bool:
        return (length > self.threshold) is self.longer

    def __str__(self) -> str:
        return f"{'longer than' if self.longer else 'at most'} {self.threshold} characters"


class BestLength(Record):
    """The rule that does best on the same items it is scored on, which is what a reader would try first."""

    rule: LengthRule
    scores: Scores


def trivial(rows: Sequence[Row]) -> dict[str, Scores]:
    """Return the scores of the baselines on the responses in `rows`, which belong to one set and one method.

    The length rule is cross-validated: each item is judged by the rule that does best on the other four fifths of the
    set, repeated ten times with different folds. (Leaving out a single item would be unfair to the rule: where it is
    evenly balanced, removing an item turns it against that very item, so on uninformative lengths it falls far below
    one half.)
    """
    gold = [row.wrong for row in rows]
    found = _always(gold)
    verdicts = cross_validated(gold, [row.length for row in rows])
    items = list(range(len(gold))) * REPEATS
    found[LENGTH] = scores(gold * REPEATS, verdicts, clusters=items).model_copy(update={"n": len(gold)})
    return found


def trivial_claims(rows: Sequence[Row]) -> dict[str, Scores]:
    """Return the baselines' scores on the sentences with a gold label. Sentence lengths are not recorded, so there is
    no length rule."""
    return _always(*gold_claims(rows))


def _always(gold: list[bool], clusters: list[int] | None = None) -> dict[str, Scores]:
    return {
        ALWAYS_YES: scores(gold, [True] * len(gold), clusters=clusters),
        ALWAYS_NO: scores(gold, [False] * len(gold), clusters=clusters),
    }


def best_length(rows: Sequence[Row]) -> BestLength | None:
    """Return the best rule on these rows, scored on the same rows; None if there are none."""
    if not rows:
        return None
    gold = [row.wrong for row in rows]
    rule = fitted(gold, [row.length for row in rows])
    return BestLength(rule=rule, scores=scores(gold, [rule(row.length) for row in rows]))


def fitted(gold: Sequence[bool], lengths: Sequence[int]) -> LengthRule:
    """Return the rule with the best balanced accuracy, then the best accuracy, then the lowest threshold. A class
    without items is ignored. Only the lengths that occur are tried as thresholds, since nothing changes between two of
    them."""
    labels, sizes = np.array(gold), np.array(lengths)
    thresholds = np.unique(sizes)
    longer = sizes[:, None] > thresholds
    recalls = [(longer[labels == label] == label).mean(axis=0) for label in (True, False) if (labels == label).any()]
    balanced, accuracy = np.mean(recalls, axis=0), (longer == labels[:, None]).mean(axis=0)
    # The opposite direction inverts every verdict, so its figures are 1 minus these.
    quality = np.concatenate([balanced + accuracy / 1e6, 1 - balanced + (1 - accuracy) / 1e6]).round(9)
    place = int(quality.argmax())
    return LengthRule(threshold=int(thresholds[place % len(thresholds)]), longer=place < len(thresholds))


def cross_validated(gold: Sequence[bool], lengths: Sequence[int], seed: int = 0) -> list[bool | None]:
    """Return the verdicts on all items, for ten repetitions one after another. Each verdict comes from the rule fitted
    to the folds without the item; None if there is no other item. The five folds are stratified by class."""
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
    """Assign a random fold to each item. The items of each class are dealt out in turn, so that the folds are
    stratified and of equal size."""
    order = source.permutation(len(gold))
    order = order[np.argsort(gold[order], kind="stable")]
    folds = np.empty(len(gold), dtype=int)
    folds[order] = np.arange(len(gold)) % FOLDS
    return folds
