"""From the log-odds that a model gives to an answer to the probability that the answer is right.

A small model leans to one answer whatever is asked. Every question is asked twice, with its options exchanged, and
the log-odds are averaged, which takes most of that out for any model. A logistic curve (Platt 1999) per wording and
language, fitted to labelled pairs, takes out the rest: `sigmoid(slope * (log_odds - lean) + familiar)`, the last
term only where all words of the claim stand in the text. How it is fitted again, for this or another model, is in
`docs/calibration.md`.
"""

import math
from typing import Literal

Wording = Literal["answer", "statement", "consistency"]

# (wording, language) -> (lean, slope, familiar), for the log-odds of "supported"
CURVES: dict[tuple[str, str], tuple[float, float, float]] = {
    ("answer", "en"): (-0.12, 7.0, 0.0),
    ("answer", "zh"): (-0.06, 10.0, 0.0),
    ("statement", "en"): (0.11, 13.6, 0.0),
    ("statement", "zh"): (-0.01, 5.1, 1.5),
    ("consistency", "en"): (0.0, 3.0, 0.0),
    ("consistency", "zh"): (0.0, 3.0, 0.0),
}


def log_odds(probability: float) -> float:
    """The natural logarithm of the odds, bounded for probabilities of 0 and 1."""
    clipped = min(max(probability, 1e-6), 1 - 1e-6)
    return math.log(clipped / (1 - clipped))


def calibrated(odds: float, wording: Wording, language: str, familiar: bool = False) -> float:
    """The probability in (0, 1) for averaged log-odds; `familiar` where all words of the claim stand in the text."""
    lean, slope, bonus = CURVES[wording, language]
    total = slope * (odds - lean) + (bonus if familiar else 0.0)
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, total))))
