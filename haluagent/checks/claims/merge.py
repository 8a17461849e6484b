"""Merging the findings of passages into a claim's label, and the labels of claims into the verdict on a response."""

from collections.abc import Sequence

from haluagent.checks.claims.checkers import ClaimFinding
from haluagent.checks.claims.records import RELATIONS, Aggregator, CheckedClaim, Claim, Relation, Verdict

# The order of precedence where passages disagree, and where equally many claims stand on either side.
MERGED: tuple[Relation, ...] = ("Entailment", "Contradiction", "Neutral")
_WORST: tuple[Relation, ...] = ("Contradiction", "Neutral", "Entailment")


def merge(claim: Claim, findings: Sequence[ClaimFinding], checker: str) -> CheckedClaim:
    """Return a claim with the label of all its passages: any Entailment, else any Contradiction, else Neutral.

    It cites every passage with that label and has the highest of their probabilities. An Entailment stands whatever
    else failed. Otherwise a passage that could not be checked leaves the claim without a label, because it might have
    supported it. A claim without any passage to read is Neutral.
    """
    label: Relation = next((one for one in MERGED if any(found.label == one for found in findings)), "Neutral")
    errors = [found.error for found in findings if found.label is None]
    if errors and label != "Entailment":
        return CheckedClaim(claim=claim, label=None, checker=checker, error=errors[0] or "no label was found")
    same = [found for found in findings if found.label == label]
    known = [found.probability for found in same if found.probability is not None]
    return CheckedClaim(
        claim=claim,
        label=label,
        probability=max(known, default=None),
        citations=tuple(found.citation for found in same if found.citation is not None),
        checker=checker,
    )


def ratios(labels: Sequence[Relation]) -> dict[Relation, float]:
    """Return the share in [0, 1] of each label; all 0 if there are no labels."""
    return {one: labels.count(one) / len(labels) if labels else 0.0 for one in RELATIONS}


def aggregate(labels: Sequence[Relation | None], aggregator: Aggregator) -> Verdict | None:
    """Return the verdict on a response (Hu et al. 2023): "Abstain" without claims, None if a claim has no label.

    `strict`: any Contradiction, else any Neutral, else Entailment. `major`: the label that most claims have; in a tie,
    Contradiction goes before Neutral, and Neutral before Entailment. `soft` is about the ratios; its verdict is that of
    `major`.
    """
    if not labels:
        return "Abstain"
    if None in labels:
        return None
    if aggregator == "strict":
        return next(one for one in _WORST if one in labels)
    return max(_WORST, key=labels.count)
