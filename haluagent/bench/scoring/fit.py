"""Logistic regression on labelled log-odds, and measures of the quality of probabilities."""

import math
from collections.abc import Sequence

import numpy as np

L2 = 1.0  # on the coefficients of standardized features: keeps them finite if the labels are separable
_STEPS, _DONE = 50, 1e-9


def logistic(
    features: Sequence[Sequence[float]],
    labels: Sequence[bool],
    l2: float = L2,
    weights: Sequence[float] | None = None,
) -> list[float]:
    """Return the intercept and the coefficients of a logistic regression (Platt 1999, for one or more features), found
    by Newton's method. The coefficients of the standardized features are penalized by `l2`; the intercept is not.
    `weights` say how often each row counts; once, if there are none.

    A constant feature gets the coefficient 0. Raises ValueError if the labels are all the same.
    """
    if len(set(labels)) < 2:
        raise ValueError("right and wrong ones are needed")
    rows = np.array(features, dtype=np.float64)
    counts = np.ones(len(rows)) if weights is None else np.array(weights, dtype=np.float64)
    means = np.average(rows, axis=0, weights=counts)
    deviations = np.sqrt(np.average((rows - means) ** 2, axis=0, weights=counts))
    scales = np.where(np.ptp(rows, axis=0) > 0, deviations, 0.0)
    standardized = np.divide(rows - means, scales, out=np.zeros_like(rows), where=scales > 0)
    columns = np.column_stack([np.ones(len(rows)), standardized])
    penalty = np.array([1e-6, *(l2 for _ in means)])
    found = np.zeros(len(penalty))
    for _ in range(_STEPS):
        chances = 1 / (1 + np.exp(-np.clip(columns @ found, -50.0, 50.0)))
        gradient = columns.T @ (counts * (np.array(labels) - chances)) - penalty * found
        hessian = (columns.T * (counts * chances * (1 - chances))) @ columns + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        found += step
        if np.abs(step).max() < _DONE:
            break
    slopes = np.divide(found[1:], scales, out=np.zeros_like(means), where=scales > 0)
    return [float(found[0] - slopes @ means), *slopes.tolist()]


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, value))))


def log_loss(probabilities: Sequence[float], labels: Sequence[bool]) -> float:
    """Return the mean negative log-probability of the right label, in nats: 0.693 for a constant 0.5."""
    given = (p if label else 1 - p for p, label in zip(probabilities, labels, strict=True))
    return -sum(math.log(max(p, 1e-6)) for p in given) / len(labels)


def calibration_error(probabilities: Sequence[float], labels: Sequence[bool], bins: int = 5) -> float:
    """Return the expected calibration error (Guo et al. 2017) over bins of equal width: the mean distance between the
    probabilities of a bin and its share of right labels. With few items, even perfect probabilities have an error above
    0."""
    total = 0.0
    for number in range(bins):
        inside = [
            (p, label) for p, label in zip(probabilities, labels, strict=True) if min(int(p * bins), bins - 1) == number
        ]
        total += abs(sum(p - label for p, label in inside))
    return total / len(labels)
