"""RefChecker's figures (Hu et al. 2023): the rate of each label, and the agreement of labels with human ones."""

import statistics
from collections.abc import Sequence

from haluagent.checks.claims.records import RELATIONS, Relation, Verdict
from haluagent.types import Record

Labels = Sequence[Sequence[Relation | None]]  # of the claims of each response
_VERDICTS: tuple[Verdict, ...] = (*RELATIONS, "Abstain")


class Agreement(Record):
    """The agreement of labels with gold ones.

    `accuracy`, `fact_f1` and `nonfact_f1` in [0, 1] are over all claims; an Entailment is a Fact, everything else is
    not. `pearson` and `spearman` in [-1, 1] are over responses, for the rates of each label. None if they are
    undefined: there are no claims, or a rate is the same for every response.
    """

    accuracy: float | None
    fact_f1: float | None
    nonfact_f1: float | None
    pearson: dict[Verdict, float | None]
    spearman: dict[Verdict, float | None]


def rates(labels: Sequence[Relation | None]) -> dict[Verdict, float]:
    """Return the share in [0, 1] of each label among the claims of one response.

    A response without claims has 1 for Abstain. A claim without a label counts in the total, but for no label.
    """
    if not labels:
        return {one: float(one == "Abstain") for one in _VERDICTS}
    return {one: sum(label == one for label in labels) / len(labels) for one in _VERDICTS}


def mean_rates(responses: Labels) -> dict[Verdict, float]:
    """Return the rates averaged over responses of any length. Raise `ValueError` if there are no responses."""
    if not responses:
        raise ValueError("there are no responses to average over")
    each = [rates(labels) for labels in responses]
    return {one: sum(found[one] for found in each) / len(each) for one in _VERDICTS}


def agreement(labels: Labels, gold: Labels) -> Agreement:
    """Return the agreement of labels with gold ones of the same claims.

    A claim without a label is wrong, and neither a Fact nor a non-Fact. Raise `ValueError` if the two are not about the
    same claims.
    """
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
    """Return the correlation of two columns in [-1, 1]; None if one of them does not vary."""
    if len(set(one)) < 2 or len(set(other)) < 2:
        return None
    return statistics.correlation(one, other)


def spearman(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return the rank correlation of two columns in [-1, 1]; equal values share their average rank."""
    return pearson(_ranks(one), _ranks(other))


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the average rank of each value among all of them, from 1."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]
