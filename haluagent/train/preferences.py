"""Pairs of branches of which one is better: right over `unverified` over wrong."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from haluagent.train.examples import Encoder
from haluagent.train.pack import PackedRow
from haluagent.train.trajectories.records import ModelCall, RecordedMessage, Trajectory, branches
from haluagent.types import Label

PairOutcome = Literal["right", "unverified", "wrong"]
ORDER: tuple[PairOutcome, ...] = ("right", "unverified", "wrong")  # best first


@dataclass(frozen=True)
class PreferencePair:
    """Two branches about one sentence of one item, which begin with the same messages."""

    item: str
    better: tuple[ModelCall, ...]
    worse: tuple[ModelCall, ...]
    outcomes: tuple[PairOutcome, PairOutcome]


@dataclass(frozen=True)
class Branch:
    """A branch as a tree of tokens; `said` are the indices of the tokens that the model wrote."""

    row: PackedRow
    said: tuple[int, ...]


def pairs(trajectories: Iterable[Trajectory]) -> list[PreferencePair]:
    """Return one pair for every two outcomes of a sentence, in file order. If several branches have the same outcome,
    the first one is taken. Branches whose right outcome is unknown are left out."""
    found: dict[tuple[str, tuple[RecordedMessage, ...]], dict[PairOutcome, tuple[ModelCall, ...]]] = {}
    for trajectory in trajectories:
        for branch, outcome in outcomes(trajectory):
            found.setdefault((trajectory.id, branch[0].messages), {}).setdefault(outcome, branch)
    made = []
    for (item, _), of in found.items():
        for better, worse in combinations([outcome for outcome in ORDER if outcome in of], 2):
            made.append(PreferencePair(item, of[better], of[worse], (better, worse)))
    return made


def outcomes(trajectory: Trajectory) -> Iterator[tuple[tuple[ModelCall, ...], PairOutcome]]:
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


def branch_of(calls: Iterable[ModelCall], encoder: Encoder) -> Branch:
    """Return a branch as tokens. Its turns share their common prefix; each turn is learned where it was written."""
    row, said = PackedRow(), []
    for call in calls:
        said += row.add_apart(encoder.example(call))
    return Branch(row, tuple(said))
