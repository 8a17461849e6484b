"""Fit the curves of `match` and the thresholds of `mentions` in a `Calibration` to recorded judgements."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from haluagent.bench.scoring.fit import logistic, sigmoid
from haluagent.judging.probabilities import AGREEMENT_TURNS
from haluagent.models.calibration import Calibration, MatchCurve, Wording
from haluagent.types import Language

JudgementRow = dict[str, Any]
Key = tuple[Wording, Language]

FEWEST = 8  # rows needed to fit a curve


class FittedCurve(NamedTuple):
    """The curve `sigmoid(slope * (log_odds - lean) + familiar + agreement * (agrees - AGREEMENT_TURNS))`; see
    `judging.probabilities`."""

    lean: float
    slope: float
    familiar: float = 0.0
    agreement: float = 0.0

    def probability(self, row: JudgementRow) -> float:
        """Return the probability in [0, 1] that the claim of a row is right; 0.5 if the model's answers were
        uninformative."""
        if row["silent"]:
            return 0.5
        total = self.slope * (odds(row) - self.lean) + (self.familiar if row["familiar"] else 0.0)
        return sigmoid(total + self.agreement * _agrees(row))


def present(calibration: Calibration, wording: Wording, language: Language) -> FittedCurve:
    """Return the curve of the present calibration."""
    curve = calibration.curve(wording, language)
    agreement = calibration.agreement[language] if wording == "answer" else 0.0
    return FittedCurve(curve.lean, curve.slope, curve.familiar, agreement)


def refitted(calibration: Calibration, curves: dict[Key, FittedCurve], mentions: dict[str, float]) -> Calibration:
    """Return the calibration with new curves of `match` and thresholds of `mentions`, rounded to two decimals; the rest
    stays."""
    match, agreement = dict(calibration.match), dict(calibration.agreement)
    for (wording, language), curve in curves.items():
        lean, slope, familiar = (round(value, 2) for value in curve[:3])
        match[f"{wording}:{language}"] = MatchCurve(lean=lean, slope=max(slope, 0.01), familiar=familiar)
        if wording == "answer":
            agreement[language] = round(curve.agreement, 2)
    thresholds = {key: round(value, 2) for key, value in mentions.items()}
    return calibration.model_copy(update={"match": match, "agreement": agreement, "mentions": thresholds})


def fitted(rows: Sequence[JudgementRow], wording: str) -> FittedCurve | None:
    """Return the curve that fits the rows best; None if there are too few rows, all have the same label, or they are
    ranked the wrong way round. A further term beside the log-odds is dropped if its coefficient is negative."""
    if wording == "results":  # a number missing from the results decides, not the curve
        rows = [row for row in rows if not row["missing"]]
    labels = [not row["wrong"] for row in rows]
    if len(rows) < FEWEST or len(set(labels)) < 2:
        return None
    terms: dict[str, tuple[str, Callable[[JudgementRow], float]]] = {
        "answer": ("agreement", _agrees),
        "statement": ("familiar", lambda row: float(row["familiar"])),
    }
    if wording in terms:
        name, value = terms[wording]
        bias, slope, bonus = logistic([(odds(row), value(row)) for row in rows], labels)
        if slope > 0 and bonus > 0:
            return FittedCurve(-bias / slope, slope)._replace(**{name: bonus})
    bias, slope = logistic([(odds(row),) for row in rows], labels)
    return FittedCurve(-bias / slope, slope) if slope > 0 else None


def deciding(row: JudgementRow) -> bool:
    """Return True if the text of a row decides its claim."""
    return bool(row["use"] != "search")


def mention(rows: Sequence[JudgementRow]) -> float | None:
    """Return the log-odds of "the text says enough" above which it more likely does, if deciding and other texts were
    equally frequent. None if there are too few rows, all are of one kind, or they are ranked the wrong way round."""
    labels = [deciding(row) for row in rows]
    if len(rows) < FEWEST or len(set(labels)) < 2:
        return None
    bias, slope = logistic([(row["mentions"],) for row in rows], labels)
    prior = math.log(sum(labels) / (len(labels) - sum(labels)))
    return (prior - bias) / slope if slope > 0 else None


def odds(row: JudgementRow) -> float:
    """Return the mean log-odds of both option orders."""
    return sum(row["odds"]) / 2


def _agrees(row: JudgementRow) -> float:
    """Return how far an answer given anew agrees with the claim, relative to the neutral point; 0 if there is none."""
    found = row.get("agreement")
    return 0.0 if found is None else found - AGREEMENT_TURNS
