"""From the log-odds that a model gives to an answer to the probability that the answer is right.

A small model leans to one answer whatever is asked. Every question is asked twice, with its options exchanged, and
the log-odds are averaged, which takes most of that out for any model. A logistic curve (Platt 1999) per wording and
language, fitted to labelled pairs, takes out the rest: `sigmoid(slope * (log_odds - lean) + familiar)`, the last
term only where all words of the claim stand in the text. How it is fitted again, for this or another model, is in
`docs/calibration.md`.
"""

import math
from typing import Literal, NamedTuple

Wording = Literal["answer", "statement", "consistency"]

# (wording, language) -> (lean, slope, familiar), for the log-odds of "supported"
CURVES: dict[tuple[str, str], tuple[float, float, float]] = {
    ("answer", "en"): (-0.17, 13.0, 0.0),
    ("answer", "zh"): (-0.05, 16.0, 0.0),
    ("statement", "en"): (0.11, 13.6, 0.0),
    ("statement", "zh"): (-0.01, 5.1, 1.5),
    ("consistency", "en"): (0.0, 3.0, 0.0),
    ("consistency", "zh"): (0.0, 3.0, 0.0),
}

# What it adds to the log-odds that an answer given anew agrees with the one that is judged, and where it turns.
AGREEMENT = {"en": 3.8, "zh": 3.5}
AGREEMENT_TURNS = 0.4

# Mean log-odds above which a text says enough to answer a question ("answer"), or to decide a statement.
MENTIONS = {
    ("answer", "en"): -0.20,
    ("answer", "zh"): 0.4,
    ("statement", "en"): -0.33,
    ("statement", "zh"): 0.4,
}

# A model that prefers a letter whatever is asked: both orders are this far from even, and nearly cancel.
LARGE, CANCELS = 3.0, 0.02
UNCALIBRATED = 0.7  # the most that two answers without log-probabilities are trusted


class Judgement(NamedTuple):
    """The probability of "supported" in [0, 1], 0.5 where the answers say nothing (`silent`); `calibrated` is False
    where the two answers only had votes. Greater is more supported.

    `odds` are the log-odds of "yes" in the two option orders, and `familiar` whether all words of the claim stand in the
    text: what a curve is fitted to.
    """

    supported: float
    silent: bool = False
    calibrated: bool = True
    odds: tuple[float, float] = (0.0, 0.0)
    familiar: bool = False


def judgement(
    one: float, other: float, wording: Wording, language: str, *, familiar: bool = False, scored: bool = True
) -> Judgement:
    """What the probabilities of "yes" in the two option orders say together.

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
    return Judgement(calibrated(odds, wording, language, familiar), odds=both, familiar=familiar)


def agreed(probability: float, agreement: float | None, language: str) -> float:
    """A probability moved by how far an answer given anew agrees, from 0 to 1; None leaves it as it is."""
    if agreement is None:
        return probability
    total = log_odds(probability) + AGREEMENT[language] * (agreement - AGREEMENT_TURNS)
    return 1 / (1 + math.exp(-total))


def log_odds(probability: float) -> float:
    """The natural logarithm of the odds, bounded for probabilities of 0 and 1."""
    clipped = min(max(probability, 1e-6), 1 - 1e-6)
    return math.log(clipped / (1 - clipped))


def calibrated(odds: float, wording: Wording, language: str, familiar: bool = False) -> float:
    """The probability in (0, 1) for averaged log-odds; `familiar` where all words of the claim stand in the text."""
    lean, slope, bonus = CURVES[wording, language]
    total = slope * (odds - lean) + (bonus if familiar else 0.0)
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, total))))
