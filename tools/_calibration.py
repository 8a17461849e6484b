"""From the probability that a model gives to an answer to the probability that the answer is right.

A small model leans to one answer whatever is asked. A logistic curve (Platt 1999) per wording and language takes
that out: `sigmoid(slope * (logit(p) - lean))`.
"""

import math
from typing import Literal

Wording = Literal["reference", "problem", "context"]

# (wording, language, turned) -> (lean, slope)
CURVES: dict[tuple[str, str, bool], tuple[float, float]] = {
    ("reference", "en", False): (0.4, 2.0),
    ("reference", "zh", False): (0.4, 2.0),
}


def probability(p: float, wording: Wording, language: str, turned: bool = False) -> float:
    """The calibrated probability in (0, 1). A wording without a curve is taken as it is."""
    lean, slope = CURVES.get((wording, language, turned), (0.0, 1.0))
    clipped = min(max(p, 1e-6), 1 - 1e-6)
    return 1 / (1 + math.exp(-slope * (math.log(clipped / (1 - clipped)) - lean)))
