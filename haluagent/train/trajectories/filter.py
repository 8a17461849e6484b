"""The filters of the paper (Cheng et al. 2024, section 2.4.1), each with a count, and one that keeps a set balanced.

Trajectories are removed if they have wrong tool calls or unreadable turns, or if the verdict is not the gold label; if
sentences have gold labels, those must match as well. Of several samples of an item, the shortest is kept. If the right
or the wrong answer of a pair is removed, so is the other one; otherwise, what fails would give the labels away.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from haluagent.train.trajectories.records import ModelCall, Trajectory

FILTERS = ("ended", "calls", "format", "verdict", "sentences", "sample", "twin")
SIDES = ("right", "wrong")


class Filtered(NamedTuple):
    """The trajectories that were kept, and how many were removed, by source and filter."""

    kept: list[Trajectory]
    removed: Counter[tuple[str, str]]


def failing(trajectory: Trajectory) -> str | None:
    """Return the first filter that removes a trajectory by itself; None if it passes all of them."""
    if trajectory.error is not None or trajectory.stop != "answer":
        return "ended"
    if trajectory.invalid_calls:
        return "calls"
    if trajectory.format_errors:
        return "format"
    if trajectory.verdict is not trajectory.gold:
        return "verdict"
    if trajectory.gold_labels and trajectory.labels != trajectory.gold_labels:
        return "sentences"
    return None


def keep(trajectories: Iterable[Trajectory]) -> Filtered:
    """Filter trajectories, keeping their order. A call that occurs more than once is learned only once."""
    removed: Counter[tuple[str, str]] = Counter()
    best: dict[str, Trajectory] = {}
    for trajectory in trajectories:
        why = failing(trajectory)
        known = best.get(trajectory.id)
        if why is None and known is not None:
            why = "sample"
        if why is None or (why == "sample" and known is not None and _rank(trajectory) < _rank(known)):
            best[trajectory.id] = trajectory
        if why is not None:
            removed[trajectory.source, why] += 1
    kept = []
    for trajectory in best.values():
        twin = _twin(trajectory.id)
        if twin is not None and twin not in best:
            removed[trajectory.source, "twin"] += 1
        else:
            kept.append(trajectory)
    return Filtered(_each_call_once(kept), removed)


def _rank(trajectory: Trajectory) -> tuple[bool, int]:
    """Return the sort key of a sample, where smaller is better: unhinted, and with less text for the model to write."""
    return trajectory.hinted, sum(len(call.reply) for call in trajectory.calls if call.learn)


def _twin(name: str) -> str | None:
    """Return the id of the item of the same form with the other label; None if the item was not made as one of a
    pair."""
    stem, _, side = name.rpartition(":")
    return f"{stem}:{SIDES[side == SIDES[0]]}" if side in SIDES else None


def _each_call_once(trajectories: Iterable[Trajectory]) -> list[Trajectory]:
    """Return the trajectories with every repeated call marked as not to be learned."""
    seen: set[tuple[object, str]] = set()
    result = []
    for trajectory in trajectories:
        calls: list[ModelCall] = []
        for call in trajectory.calls:
            key = (call.messages, call.reply)
            calls.append(call.model_copy(update={"learn": False}) if call.learn and key in seen else call)
            if call.learn:
                seen.add(key)
        result.append(trajectory.model_copy(update={"calls": tuple(calls)}))
    return result
