"""Fit the curves of `match` and the thresholds of a `Calibration` to recorded judgements."""

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


def refitted(
    calibration: Calibration, curves: dict[Key, FittedCurve], thresholds: dict[str, dict[Language, float]]
) -> Calibration:
    """Return the calibration with new curves of `match` and new thresholds by field and language, rounded to two decimals;
    the rest stays."""
    match, agreement = dict(calibration.match), dict(calibration.agreement)
    for (wording, language), curve in curves.items():
        lean, slope, familiar = (round(value, 2) for value in curve[:3])
        match[f"{wording}:{language}"] = MatchCurve(lean=lean, slope=max(slope, 0.01), familiar=familiar)
        if wording == "answer":
            agreement[language] = round(curve.agreement, 2)
    found: dict[str, Any] = {"match": match, "agreement": agreement}
    for name, values in thresholds.items():
        found[name] = {language: round(value, 2) for language, value in values.items()}
    return calibration.model_copy(update=found)


def of_wording(rows: Sequence[JudgementRow], wording: str, language: str) -> list[JudgementRow]:
    """Return the rows to which the curve of a wording is fitted: those of this use, and claims judged so beside a text that
    decides nothing."""
    return [
        row for row in rows
        if row["language"] == language and (row["use"] == wording or (row["use"] == "search" and row["wording"] == wording))
    ]  # fmt: skip


def supported(row: JudgementRow) -> bool:
    """Return True if the text of a row says its claim."""
    return deciding(row) and not row["wrong"]


def fitted(rows: Sequence[JudgementRow], wording: str) -> FittedCurve | None:
    """Return the curve that fits the rows best, as if half of them were supported; None if there are too few rows, all have
    the same label, or they are ranked the wrong way round. A further term beside the log-odds is dropped if its
    coefficient is negative."""
    if wording == "results":  # a number missing from the results decides, not the curve
        rows = [row for row in rows if not row["missing"]]
    labels = [supported(row) for row in rows]
    if len(rows) < FEWEST or len(set(labels)) < 2:
        return None
    prior = math.log(sum(labels) / (len(labels) - sum(labels)))
    terms: dict[str, tuple[str, Callable[[JudgementRow], float]]] = {
        "answer": ("agreement", _agrees),
        "statement": ("familiar", lambda row: float(row["familiar"])),
    }
    if wording in terms:
        name, value = terms[wording]
        bias, slope, bonus = logistic([(odds(row), value(row)) for row in rows], labels)
        if slope > 0 and bonus > 0:
            return FittedCurve((prior - bias) / slope, slope)._replace(**{name: bonus})
    bias, slope = logistic([(odds(row),) for row in rows], labels)
    return FittedCurve((prior - bias) / slope, slope) if slope > 0 else None


def deciding(row: JudgementRow) -> bool:
    """Return True if the text of a row decides its claim."""
    return bool(row["use"] != "search")


def threshold(rows: Sequence[JudgementRow], name: str) -> float | None:
    """Return the log-odds `name` above which a text more likely decides a claim than not, if both were equally frequent.
    None if there are too few rows, all are of one kind, or they are ranked the wrong way round."""
    labels = [deciding(row) for row in rows]
    if len(rows) < FEWEST or len(set(labels)) < 2:
        return None
    bias, slope = logistic([(row[name],) for row in rows], labels)
    prior = math.log(sum(labels) / (len(labels) - sum(labels)))
    return (prior - bias) / slope if slope > 0 else None


def odds(row: JudgementRow) -> float:
    """Return the mean log-odds of both option orders."""
    return sum(row["odds"]) / 2


def _agrees(row: JudgementRow) -> float:
    """Return how far an answer given anew agrees with the claim, relative to the neutral point; 0 if there is none."""
    found = row.get("agreement")
    return 0.0 if found is None else found - AGREEMENT_TURNS
