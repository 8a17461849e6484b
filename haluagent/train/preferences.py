"""Pairs of branches of which one is better: right over `unverified` over wrong."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from haluagent.train.examples import Encoder
from haluagent.train.pack import Row
from haluagent.train.trajectories.records import Call, Said, Trajectory, branches
from haluagent.types import Label

Outcome = Literal["right", "unverified", "wrong"]
ORDER: tuple[Outcome, ...] = ("right", "unverified", "wrong")  # best first


@dataclass(frozen=True)
class Pair:
    """Two branches about one sentence of one item, which begin with the same messages."""

    item: str
    better: tuple[Call, ...]
    worse: tuple[Call, ...]
    outcomes: tuple[Outcome, Outcome]


@dataclass(frozen=True)
class Branch:
    """A branch as a tree of tokens; `said` are the indices of the tokens that the model wrote."""

    row: Row
    said: tuple[int, ...]


def pairs(trajectories: Iterable[Trajectory]) -> list[Pair]:
    """Return one pair for every two outcomes of a sentence, in file order. If several branches have the same outcome,
    the first one is taken. Branches whose right outcome is unknown are left out."""
    found: dict[tuple[str, tuple[Said, ...]], dict[Outcome, tuple[Call, ...]]] = {}
    for trajectory in trajectories:
        for branch, outcome in outcomes(trajectory):
            found.setdefault((trajectory.id, branch[0].messages), {}).setdefault(outcome, branch)
    made = []
    for (item, _), of in found.items():
        for better, worse in combinations([outcome for outcome in ORDER if outcome in of], 2):
            made.append(Pair(item, of[better], of[worse], (better, worse)))
    return made


def outcomes(trajectory: Trajectory) -> Iterator[tuple[tuple[Call, ...], Outcome]]:
    """Yield the branches of a trajectory about single sentences, each with its outcome."""
    if trajectory.error is not None:
        return
    gold = gold_labels(trajectory)
    for branch in branches(trajectory.calls):
        index = branch[0].sentence
        if not index or index > len(trajectory.labels) or index > len(gold) or not all(call.learn for call in branch):
            continue
        label = trajectory.labels[index - 1]
        yield tuple(branch), "right" if label == gold[index - 1] else "unverified" if label == "unverified" else "wrong"


def gold_labels(trajectory: Trajectory) -> tuple[Label, ...]:
    """Return the right label of each sentence if it is known: from the item's own labels, or because the response is
    one sentence. A right response is not enough, since some of its sentences may state nothing."""
    if trajectory.gold_labels:
        return trajectory.gold_labels
    if len(trajectory.labels) == 1 and trajectory.gold is not None:
        return ("contradicted",) if trajectory.gold else ("supported",)
    return ()


def branch_of(calls: Iterable[Call], encoder: Encoder) -> Branch:
    """Return a branch as tokens. Its turns share their common prefix; each turn is learned where it was written."""
    row, said = Row(), []
    for call in calls:
        said += row.add_apart(encoder.example(call))
    return Branch(row, tuple(said))
