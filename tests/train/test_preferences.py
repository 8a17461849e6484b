"""Which branches are better than which, and that a pair is learned where the model spoke."""

import json
from typing import Any

import pytest

from haluagent.train.examples import TrainingExample
from haluagent.train.pack import PackedRow
from haluagent.train.preferences import pairs
from haluagent.train.trajectories import records
from haluagent.train.trajectories.records import Trajectory


def run(label: str, reply: str, gold: bool = True, task: str = "Check S1", **more: Any) -> Trajectory:
    """A run over one sentence, of which the only turn is `reply`."""
    call = {"prompt": "agent", "sentence": 1, "messages": [{"role": "user", "content": task}], "reply": reply}
    row = {
        "id": "a", "group": "a", "source": "hand", "kind": "knowledge", "language": "en", "question": "?", "response": "!",
        "gold": gold, "teacher": "model", "verdict": None, "labels": [label], "calls": [call],
    }  # fmt: skip
    return records.parse(Trajectory, json.loads(json.dumps(row | more)), "here")


def test_right_over_unverified_over_wrong() -> None:
    runs = [run("supported", "w"), run("unverified", "u"), run("contradicted", "r"), run("contradicted", "another")]
    made = [(pair.better[0].reply, pair.worse[0].reply, pair.outcomes) for pair in pairs(runs)]
    assert made == [
        ("r", "u", ("right", "unverified")),
        ("r", "w", ("right", "wrong")),
        ("u", "w", ("unverified", "wrong")),
    ]


def test_what_is_right_depends_on_the_gold() -> None:
    (pair,) = pairs([run("contradicted", "w", gold=False), run("supported", "r", gold=False)])
    assert pair.better[0].reply == "r"
    (pair,) = pairs([run(label, label, gold_labels=["unverified"]) for label in ("supported", "unverified")])
    assert (pair.better[0].reply, pair.outcomes) == ("unverified", ("right", "wrong"))


@pytest.mark.parametrize(
    "other",
    [
        run("supported", "w", task="Check S1 of another"),
        run("supported", "w", id="b"),
        run("supported", "w", labels=["supported", "supported"]),  # which of the two is wrong is not known
        run("supported", "w", error="the endpoint failed"),
        run("contradicted", "w"),
    ],
)
def test_what_cannot_be_compared_makes_no_pair(other: Trajectory) -> None:
    assert pairs([run("contradicted", "r"), other]) == []


def test_a_reply_of_its_own_in_a_tree() -> None:
    row = PackedRow()
    first = row.add_apart(TrainingExample((1, 2, 3, 4, 5), 2))
    again = row.add_apart(TrainingExample((1, 2, 3, 4, 6), 2))
    then = row.add_apart(TrainingExample((1, 2, 3, 4, 5, 7, 8), 1))
    assert row.ids == [1, 2, 3, 4, 5, 3, 4, 6, 7, 8]
    assert (first, again, then) == ([3, 4], [6, 7], [9])
    for said in (first, again, then):
        for place in said:
            assert row.parents[place] == place - 1  # what it follows stands before it
    assert row.parents[8] == 4  # the next turn goes on from the first reply
    assert row.depths == [0, 1, 2, 3, 4, 2, 3, 4, 5, 6]
