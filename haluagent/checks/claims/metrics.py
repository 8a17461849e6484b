"""RefChecker's figures (Hu et al. 2023): the rate of each label, and the agreement of labels with human ones."""

import statistics
from collections.abc import Sequence

from haluagent.checks.claims.records import RELATIONS, Relation, Verdict
from haluagent.types import Record

Labels = Sequence[Sequence[Relation | None]]  # of the claims of each response
_VERDICTS: tuple[Verdict, ...] = (*RELATIONS, "Abstain")


class Agreement(Record):
    """The agreement of labels with gold ones.

    `accuracy`, `macro_f1`, `fact_f1` and `nonfact_f1` in [0, 1] are over all claims; `macro_f1` is the mean over the
    labels that occur; an Entailment is a Fact, everything else is not. `pearson` and `spearman` in [-1, 1] are over
    responses, for the rates of each label. None if they are undefined: there are no claims, or a rate is the same for every response.
    """

    accuracy: float | None
    macro_f1: float | None
    fact_f1: float | None
    nonfact_f1: float | None
    pearson: dict[Verdict, float | None]
    spearman: dict[Verdict, float | None]


class ResponseAgreement(Record):
    """The agreement on whole responses (the tables of Hu et al. 2024), whose claims need not be the same.

    A response is a Fact if all of its claims are Entailments. `accuracy`, `fact_f1`, `nonfact_f1` and `macro_f1`, the mean
    of the two, in [0, 1] are over `n` responses; `pearson` and `spearman` in [-1, 1] are those of the hallucination rate, the
    share of claims that are no Entailment. None if undefined.
    """

    n: int
    accuracy: float | None
    macro_f1: float | None
    fact_f1: float | None
    nonfact_f1: float | None
    pearson: float | None
    spearman: float | None


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
    known = [one for one in RELATIONS if any(one in pair for pair in pairs)]
    return Agreement(
        accuracy=sum(said == true for said, true in pairs) / len(pairs) if pairs else None,
        macro_f1=_mean([_f1([(said == one, true == one) for said, true in pairs]) for one in known]),
        fact_f1=_f1([(said == "Entailment", true == "Entailment") for said, true in pairs]),
        nonfact_f1=_f1([(said in ("Neutral", "Contradiction"), true != "Entailment") for said, true in pairs]),
        pearson={one: pearson(*column) for one, column in columns.items()},
        spearman={one: spearman(*column) for one, column in columns.items()},
    )


def response_agreement(labels: Sequence[Sequence[Relation] | None], gold: Labels) -> ResponseAgreement:
    """Return the agreement of labels with gold ones, response by response.

    A response that could not be labelled (None) is wrong, neither a Fact nor a non-Fact, and has no rate. One without gold
    claims is left out, as nobody judged it; one in which no claim was found is a Fact, as in RefChecker. Raise `ValueError`
    if there are not as many labels as gold ones.
    """
    judged = [(said, true) for said, true in zip(labels, gold, strict=True) if true]
    pairs = [(None if said is None else _is_fact(said), _is_fact(true)) for said, true in judged]
    rated = [(_hallucinated(said), _hallucinated(true)) for said, true in judged if said is not None]
    columns = [one for one, _ in rated], [other for _, other in rated]
    fact_f1 = _f1([(said is True, true) for said, true in pairs])
    nonfact_f1 = _f1([(said is False, not true) for said, true in pairs])
    return ResponseAgreement(
        n=len(pairs),
        accuracy=sum(said == true for said, true in pairs) / len(pairs) if pairs else None,
        macro_f1=_mean([fact_f1, nonfact_f1]),
        fact_f1=fact_f1,
        nonfact_f1=nonfact_f1,
        pearson=pearson(*columns),
        spearman=spearman(*columns),
    )


def _is_fact(labels: Sequence[Relation | None]) -> bool:
    return all(label == "Entailment" for label in labels)


def _hallucinated(labels: Sequence[Relation | None]) -> float:
    return sum(label != "Entailment" for label in labels) / len(labels) if labels else 0.0


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


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
