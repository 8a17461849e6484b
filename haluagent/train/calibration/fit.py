"""Logistic regression on labelled log-odds, and measures of the quality of probabilities, in plain Python: there are
only a few parameters."""

import math
from collections.abc import Sequence

L2 = 1.0  # on the coefficients of standardized features: keeps them finite if the labels are separable
_STEPS, _DONE = 50, 1e-9


def logistic(features: Sequence[Sequence[float]], labels: Sequence[bool], l2: float = L2) -> list[float]:
    """Return the intercept and the coefficients of a logistic regression (Platt 1999, for one or more features), found
    by Newton's method. The coefficients of the standardized features are penalized by `l2`; the intercept is not.

    A constant feature gets the coefficient 0. Raises ValueError if the labels are all the same.
    """
    if len(set(labels)) < 2:
        raise ValueError("right and wrong ones are needed")
    means, scales = zip(*map(_spread, zip(*features, strict=True)), strict=True)
    rows = [
        [
            1.0,
            *((value - mean) / scale if scale else 0.0 for value, mean, scale in zip(row, means, scales, strict=True)),
        ]
        for row in features
    ]
    weights = [0.0] * len(rows[0])
    penalty = [1e-6, *(l2 for _ in means)]
    for _ in range(_STEPS):
        step = _newton(rows, labels, weights, penalty)
        weights = [weight + change for weight, change in zip(weights, step, strict=True)]
        if max(map(abs, step)) < _DONE:
            break
    slopes = [weight / scale if scale else 0.0 for weight, scale in zip(weights[1:], scales, strict=True)]
    return [weights[0] - sum(slope * mean for slope, mean in zip(slopes, means, strict=True)), *slopes]


def _spread(values: Sequence[float]) -> tuple[float, float]:
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))


def _newton(
    rows: Sequence[Sequence[float]], labels: Sequence[bool], weights: Sequence[float], penalty: Sequence[float]
) -> list[float]:
    """Return one step towards the maximum of the penalized likelihood."""
    size = range(len(weights))
    gradient = [-penalty[i] * weights[i] for i in size]
    hessian = [[penalty[i] if i == j else 0.0 for j in size] for i in size]
    for row, label in zip(rows, labels, strict=True):
        chance = sigmoid(sum(weight * value for weight, value in zip(weights, row, strict=True)))
        for i in size:
            gradient[i] += (label - chance) * row[i]
            for j in size:
                hessian[i][j] += chance * (1 - chance) * row[i] * row[j]
    return _solve(hessian, gradient)


def _solve(matrix: list[list[float]], vector: Sequence[float]) -> list[float]:
    """Solve a positive definite system by Gaussian elimination."""
    rows = [[*row, value] for row, value in zip(matrix, vector, strict=True)]
    for i, pivot in enumerate(rows):
        for row in rows[i + 1 :]:
            factor = row[i] / pivot[i]
            for j in range(i, len(row)):
                row[j] -= factor * pivot[j]
    solution = [0.0] * len(rows)
    for i in reversed(range(len(rows))):
        known = sum(rows[i][j] * solution[j] for j in range(i + 1, len(rows)))
        solution[i] = (rows[i][-1] - known) / rows[i][i]
    return solution


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
