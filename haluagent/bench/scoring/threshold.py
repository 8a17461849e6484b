"""The threshold of a score that costs least, from labelled results, at given costs and a given base rate (Elkan 2001, The
Foundations of Cost-Sensitive Learning; Provost & Fawcett 2001)."""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from haluagent.errors import ConfigError
from haluagent.types import Record

FOLDS = 5
_LABELS = {"true": True, "1": True, "false": False, "0": False}


class Costs(Record):
    """What a miss and a false alarm cost, in any unit, and the expected share of wrong responses, in (0, 1)."""

    miss: float
    alarm: float
    base_rate: float


class Scored(NamedTuple):
    """A response's score, the probability in [0, 1] that something is wrong, and whether something is."""

    score: float
    wrong: bool


class Operation(NamedTuple):
    """What happens at a threshold, where a score above it is an alarm: the shares in [0, 1] of wrong responses without an
    alarm and of right ones with one, and the cost for each response."""

    threshold: float
    misses: float
    alarms: float
    cost: float


class Advice(NamedTuple):
    """`best` is the threshold that costs least on all results. `held_out` is the cost of thresholds chosen on four fifths and
    applied to the fifth left out, and `chosen` the lowest and highest of these; None for fewer than 10 results of a kind."""

    best: Operation
    held_out: float | None = None
    chosen: tuple[float, float] | None = None


def scored(rows: Sequence[Mapping[str, Any]], label: str) -> list[Scored]:
    """Return the results that have a score and no error. `label` is the field that says whether a response is wrong: true or
    false. Raise `ConfigError` for another label, or if there are not results of both kinds."""
    found = []
    for number, row in enumerate(rows, start=1):
        if row.get("error") or row.get("score") is None:
            continue
        said = _LABELS.get(str(row.get(label)).lower())
        if said is None:
            raise ConfigError(
                f"row {number}: {label!r} is {row.get(label)!r}: it says whether the response is wrong, true or false"
            )
        score = row["score"]
        if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
            raise ConfigError(f"row {number}: the score is {score!r}, not a number from 0 to 1")
        found.append(Scored(float(score), said))
    if len({one.wrong for one in found}) < 2:
        raise ConfigError(
            "both right and wrong responses with a score are needed, 10 of each at least: label some more"
        )
    return found


def operation(results: Sequence[Scored], threshold: float, costs: Costs) -> Operation:
    """Return what happens at a threshold. Raise `ZeroDivisionError` if there are not results of both kinds."""
    wrong = [one.score for one in results if one.wrong]
    right = [one.score for one in results if not one.wrong]
    misses = sum(score <= threshold for score in wrong) / len(wrong)
    alarms = sum(score > threshold for score in right) / len(right)
    return Operation(threshold, misses, alarms, _cost(misses, alarms, costs))


def cheapest(results: Sequence[Scored], costs: Costs) -> Operation:
    """Return what happens at the threshold that costs least. Candidates are the middles between neighbouring scores, 1 (no alarm at
    all), and below 0 (always an alarm); of equally cheap ones the highest is taken, since it gives fewer alarms."""
    wrong = sorted(one.score for one in results if one.wrong)
    right = sorted(one.score for one in results if not one.wrong)
    known = sorted({one.score for one in results})
    candidates = [-math.inf, *((low + high) / 2 for low, high in zip(known, known[1:], strict=False)), 1.0]
    options = []
    for threshold in candidates:
        misses = bisect_right(wrong, threshold) / len(wrong)
        alarms = 1 - bisect_right(right, threshold) / len(right)
        options.append(Operation(threshold, misses, alarms, _cost(misses, alarms, costs)))
    return min(reversed(options), key=lambda one: one.cost)


def _cost(misses: float, alarms: float, costs: Costs) -> float:
    return costs.base_rate * costs.miss * misses + (1 - costs.base_rate) * costs.alarm * alarms


def advise(results: Sequence[Scored], costs: Costs) -> Advice:
    """Return the cheapest threshold, and what it may be expected to cost on results that it was not chosen on."""
    kinds = [[one for one in results if one.wrong is wrong] for wrong in (True, False)]
    best = cheapest(results, costs)
    if min(map(len, kinds)) < 2 * FOLDS:
        return Advice(best)
    tested = []
    for fold in range(FOLDS):
        rest = [one for kind in kinds for at, one in enumerate(kind) if at % FOLDS != fold]
        left_out = [one for kind in kinds for one in kind[fold::FOLDS]]
        tested.append(operation(left_out, cheapest(rest, costs).threshold, costs))
    thresholds = [one.threshold for one in tested]
    return Advice(best, sum(one.cost for one in tested) / FOLDS, (min(thresholds), max(thresholds)))


def report(results: Sequence[Scored], costs: Costs) -> str:
    """Return the advice as a Markdown table and lines that say how far to trust it."""
    advice = advise(results, costs)
    wrong = sum(one.wrong for one in results)
    rows = [
        ("cheapest", advice.best),
        ("0.5", operation(results, 0.5, costs)),
        ("always an alarm", operation(results, -math.inf, costs)),
        ("never an alarm", operation(results, 1.0, costs)),
    ]
    lines = ["| | threshold | misses, % | false alarms, % | cost for 100 responses |", "|---|---:|---:|---:|---:|"]
    for name, one in rows:
        figures = f"{100 * one.misses:.1f} | {100 * one.alarms:.1f} | {100 * one.cost:.2f}"
        lines.append(f"| {name} | {_shown(one.threshold)} | {figures} |")
    lines += ["", f"From {wrong} wrong and {len(results) - wrong} right responses."]
    if advice.held_out is not None and advice.chosen is not None:
        low, high = map(_shown, advice.chosen)
        lines.append(
            f"Chosen on four fifths and tried on the rest: thresholds from {low} to {high}, "
            f"{100 * advice.held_out:.2f} for 100 responses."
        )
    else:
        lines.append("Too few to try the threshold on others than it was chosen on: label at least 10 of each kind.")
    exact = costs.alarm / (costs.alarm + costs.miss)
    lines.append(f"For scores that are exact probabilities where they are used, it would be {exact:.3f}.")
    return "\n".join(lines)


def _shown(threshold: float) -> str:
    return "below 0" if threshold < 0 else f"{threshold:.3f}"
