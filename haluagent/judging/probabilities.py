"""Turn the log-odds that a model gives to an answer into the probability that the answer is right.

A small model leans to one answer whatever is asked. Every question is asked twice, with its options exchanged, and
the log-odds are averaged, which takes most of that out for any model. A logistic curve (Platt 1999) per wording and
language, fitted to labelled pairs, takes out the rest: `sigmoid(slope * (log_odds - lean) + familiar)`, the last
term only where all words of the claim stand in the text. The curves of a model are in its `Calibration`.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from haluagent.models.calibration import MatchCurve

AGREEMENT_TURNS = 0.4  # where the agreement of an answer given anew with the one that is judged says nothing

# A model that prefers a letter whatever is asked: both orders are this far from even, and nearly cancel.
LARGE, CANCELS = 3.0, 0.02
UNCALIBRATED = 0.7  # the most that two answers without log-probabilities are trusted


class Judgement(NamedTuple):
    """The probability of "supported" in [0, 1], 0.5 where the answers say nothing (`silent`); `calibrated` is False
    where the two answers only had votes. Greater is more supported.

    `odds` are the log-odds of "yes" in the two option orders, and `familiar` whether all words of the claim stand in the
    text: what a curve is fitted to. `otherwise` are the log-odds that a text which does not say so says something else,
    rather than nothing.
    """

    supported: float
    silent: bool = False
    calibrated: bool = True
    odds: tuple[float, float] = (0.0, 0.0)
    familiar: bool = False
    otherwise: float = 0.0

    @property
    def against(self) -> float:
        """Return the share in [0, 1] of what does not support that says otherwise; 0.5 where nothing tells."""
        return 1 / (1 + math.exp(-self.otherwise))


def judgement(
    one: float, other: float, curve: MatchCurve, *, familiar: bool = False, scored: bool = True, base_rate: float = 0.5
) -> Judgement:
    """Combine the probabilities of "yes" in the two option orders, where the share `base_rate` of what is judged is
    right: the curves are fitted to as much that is right as is wrong.

    Where they were not `scored` by log-probabilities, both must give the same answer. Where they were, answers that
    depend on the order and on nothing else say nothing, whatever a curve makes of log-odds of zero.
    """
    both = (log_odds(one), log_odds(other))
    if not scored:
        if (one - 0.5) * (other - 0.5) <= 0:
            return Judgement(0.5, silent=True, calibrated=False, odds=both, familiar=familiar)
        supported = UNCALIBRATED if one > 0.5 else 1 - UNCALIBRATED
        return Judgement(supported, calibrated=False, odds=both, familiar=familiar)
    odds = sum(both) / 2
    if abs(odds) < (CANCELS if abs(both[0]) > LARGE else 1e-6):
        return Judgement(0.5, silent=True, odds=both, familiar=familiar)
    supported = at_base_rate(calibrated(odds, curve, familiar), base_rate)
    return Judgement(supported, odds=both, familiar=familiar)


class OutcomeShares(NamedTuple):
    """The probabilities in [0, 1] that a model gives to the three outcomes in one order of the options."""

    said: float
    otherwise: float
    silent: float


def of_outcomes(
    shares: Sequence[OutcomeShares],
    curve: MatchCurve,
    *,
    familiar: bool = False,
    scored: bool = True,
    base_rate: float = 0.5,
) -> Judgement:
    """Combine the three outcomes in one option order or in both. "Said" and "silent" change places between the orders, so a
    model that likes a letter is seen where their log-odds cancel and it does not say "otherwise" both times."""
    found = judgement(shares[0].said, shares[-1].said, curve, familiar=familiar, scored=scored, base_rate=base_rate)
    if len(shares) > 1 and scored and not all(one.otherwise > max(one.said, one.silent) for one in shares):
        lean = [log_odds(one.said / (one.said + one.silent or 1.0)) for one in shares]
        if abs(sum(lean)) / 2 < (CANCELS if abs(lean[0]) > LARGE else 1e-6):
            return found._replace(supported=0.5, silent=True)
    otherwise = [log_odds(share.otherwise / (share.otherwise + share.silent or 1.0)) for share in shares]
    return found._replace(otherwise=sum(otherwise) / len(otherwise))


def at_base_rate(probability: float, base_rate: float) -> float:
    """Correct a probability, fitted where half of what is judged is right, for a share `base_rate` (Bayes' rule)."""
    right, wrong = probability * base_rate, (1 - probability) * (1 - base_rate)
    return right / (right + wrong)


def agreed(probability: float, agreement: float | None, weight: float) -> float:
    """Correct a probability by how far an answer given anew agrees, from 0 to 1, with the weight of a calibration; None
    leaves it as it is."""
    if agreement is None:
        return probability
    total = log_odds(probability) + weight * (agreement - AGREEMENT_TURNS)
    return 1 / (1 + math.exp(-total))


def log_odds(probability: float) -> float:
    """Return the natural logarithm of the odds, bounded for probabilities of 0 and 1."""
    clipped = min(max(probability, 1e-6), 1 - 1e-6)
    return math.log(clipped / (1 - clipped))


def calibrated(odds: float, curve: MatchCurve, familiar: bool = False) -> float:
    """Return the probability in (0, 1) for averaged log-odds; `familiar` where all words of the claim stand in the
    text."""
    total = curve.slope * (odds - curve.lean) + (curve.familiar if familiar else 0.0)
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, total))))
