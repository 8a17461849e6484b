"""RefChecker's figures (Hu et al. 2023): how often each label comes up, and how far labels agree with those of people."""

from collections.abc import Sequence

import numpy as np

from haluagent.checks.claims.records import RELATIONS, Relation, Verdict
from haluagent.types import Record

Labels = Sequence[Sequence[Relation | None]]  # of the claims of each response
_VERDICTS: tuple[Verdict, ...] = (*RELATIONS, "Abstain")


class Agreement(Record):
    """How far labels agree with gold ones. `accuracy`, `fact_f1` and `nonfact_f1` in [0, 1] are over all claims: a Fact is an
    Entailment, everything else is none. `pearson` and `spearman` in [-1, 1] are over responses, for the rates of each label.
    None where there is nothing to divide by: no claims, or a rate that is the same for every response."""

    accuracy: float | None
    fact_f1: float | None
    nonfact_f1: float | None
    pearson: dict[Verdict, float | None]
    spearman: dict[Verdict, float | None]


def rates(labels: Sequence[Relation | None]) -> dict[Verdict, float]:
    """The share in [0, 1] of each label among the claims of one response; of one without claims, Abstain has 1. A claim
    without a label counts as one, and for none of them."""
    if not labels:
        return {one: float(one == "Abstain") for one in _VERDICTS}
    return {one: sum(label == one for label in labels) / len(labels) for one in _VERDICTS}


def mean_rates(responses: Labels) -> dict[Verdict, float]:
    """The rates averaged over responses, long and short ones alike. Raises ValueError where there are none."""
    if not responses:
        raise ValueError("there are no responses to average over")
    each = [rates(labels) for labels in responses]
    return {one: sum(found[one] for found in each) / len(each) for one in _VERDICTS}


def agreement(labels: Labels, gold: Labels) -> Agreement:
    """How far labels agree with gold ones of the same claims. A claim without a label is wrong, and neither Fact nor none.
    Raises ValueError where the two are not about the same claims."""
    if [len(one) for one in labels] != [len(one) for one in gold]:
        raise ValueError("the labels and the gold labels are not of the same claims")
    pairs = [pair for said, true in zip(labels, gold, strict=True) for pair in zip(said, true, strict=True)]
    found, wanted = ([rates(one) for one in side] for side in (labels, gold))
    columns = {one: ([row[one] for row in found], [row[one] for row in wanted]) for one in _VERDICTS}
    return Agreement(
        accuracy=sum(said == true for said, true in pairs) / len(pairs) if pairs else None,
        fact_f1=_f1([(said == "Entailment", true == "Entailment") for said, true in pairs]),
        nonfact_f1=_f1([(said in ("Neutral", "Contradiction"), true != "Entailment") for said, true in pairs]),
        pearson={one: pearson(*column) for one, column in columns.items()},
        spearman={one: spearman(*column) for one, column in columns.items()},
    )


def _f1(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    either = sum(said + true for said, true in pairs)
    return 2 * sum(said and true for said, true in pairs) / either if either else None


def pearson(one: Sequence[float], other: Sequence[float]) -> float | None:
    """The correlation of two columns in [-1, 1]; None where one of them does not vary."""
    first, second = (np.asarray(column, dtype=np.float64) for column in (one, other))
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    first, second = first - first.mean(), second - second.mean()
    return float(first @ second / np.sqrt((first @ first) * (second @ second)))


def spearman(one: Sequence[float], other: Sequence[float]) -> float | None:
    """The correlation of the ranks of two columns in [-1, 1], where equal values share their average rank."""
    return pearson(_ranks(one), _ranks(other))


def _ranks(values: Sequence[float]) -> list[float]:
    """The average place of each value among all of them, from 1."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]
