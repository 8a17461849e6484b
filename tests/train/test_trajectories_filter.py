"""What is filtered away, and that each filter counts what it took."""

from typing import Any

import pytest

from haluagent.train.trajectories.filter import failing, keep
from haluagent.train.trajectories.records import ModelCall, RecordedMessage, Trajectory
from haluagent.train.trajectories.stats import shortcuts, table


def call(text: str, reply: str = "A", *, learn: bool = True) -> ModelCall:
    return ModelCall(prompt="match", messages=(RecordedMessage(role="user", content=text),), reply=reply, learn=learn)


def made(name: str, gold: bool | None = False, **changes: Any) -> Trajectory:
    fields: dict[str, Any] = {
        "id": name, "group": name, "source": "set", "kind": "knowledge", "language": "en", "question": "q", "response": "r",
        "gold": gold, "teacher": "t", "verdict": gold, "calls": (call(name),),
    }  # fmt: skip
    return Trajectory(**fields | changes)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, None),
        ({"error": "the endpoint failed"}, "ended"),
        ({"stop": "step_limit"}, "ended"),
        ({"invalid_calls": 1}, "calls"),
        ({"format_errors": 1}, "format"),
        ({"verdict": True}, "verdict"),
        ({"verdict": None}, "verdict"),
        ({"gold": None, "verdict": False}, "verdict"),
        ({"gold": None, "verdict": None}, None),
        ({"gold_labels": ("supported",), "labels": ("supported",)}, None),
        ({"gold_labels": ("supported",), "labels": ("no_claim",)}, "sentences"),
        ({"gold_labels": ("supported",), "labels": ()}, "sentences"),
    ],
)
def test_what_is_wrong_is_removed_and_counted_once(changes: dict[str, Any], why: str | None) -> None:
    one = made("a", **changes)
    assert failing(one) == why
    found = keep([one])
    assert len(found.kept) == (why is None)
    assert dict(found.removed) == ({("set", why): 1} if why else {})


def test_of_several_samples_the_shortest_is_kept() -> None:
    long, short, other = (made("a", sample=n, calls=(call("x", reply),)) for n, reply in enumerate(["AAAA", "A", "AA"]))
    found = keep([long, short, other])
    assert [one.sample for one in found.kept] == [1]
    assert found.removed["set", "sample"] == 2


def test_a_sample_without_a_hint_is_preferred_however_long() -> None:
    found = keep([made("a", hinted=True), made("a", calls=(call("x", "A" * 99),))])
    assert [one.hinted for one in found.kept] == [False]


def test_what_is_not_taught_makes_no_sample_longer() -> None:
    found = keep(
        [
            made("a", calls=(call("x", "AA"),)),
            made("a", sample=1, calls=(call("x", "A"), call("y", "A" * 99, learn=False))),
        ]
    )
    assert [one.sample for one in found.kept] == [1]


def test_an_item_goes_where_its_twin_went() -> None:
    found = keep(
        [
            made("a:right"),
            made("a:wrong", gold=True, verdict=None),
            made("b:right"),
            made("b:wrong", gold=True),
            made("c"),
        ]
    )
    assert [one.id for one in found.kept] == ["b:right", "b:wrong", "c"]
    assert dict(found.removed) == {("set", "verdict"): 1, ("set", "twin"): 1}


def test_a_call_is_taught_once() -> None:
    found = keep([made("a", calls=(call("x"), call("y"))), made("b", calls=(call("x"), call("x", "B"), call("y")))])
    assert [[one.learn for one in trajectory.calls] for trajectory in found.kept] == [
        [True, True],
        [False, True, False],
    ]


def test_a_call_that_was_not_taught_the_first_time_is_taught_the_second() -> None:
    found = keep([made("a", calls=(call("x", learn=False),)), made("b", calls=(call("x"),))])
    assert [trajectory.calls[0].learn for trajectory in found.kept] == [False, True]


def test_the_table_counts_by_source() -> None:
    everything = [made("a"), made("b", source="other", verdict=None), made("c", gold=True, hinted=True)]
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table(everything, keep(everything)).splitlines()]
    assert [row[:3] + row[10:] for row in rows[2:]] == [
        ["other", "en", "1", "0", "0", "0", "0", "0", "0"],
        ["set", "en", "2", "2", "1", "1", "0", "1", "2"],
        ["in total", "en", "3", "2", "1", "1", "0", "1", "2"],
    ]
    assert rows[2][rows[0].index("removed: verdict")] == "1"


def responses(form: dict[bool, str]) -> list[Trajectory]:
    """Right and wrong ones of each of 40 groups."""
    return [
        made(f"{number}:{gold}", gold, group=f"g{number}", response=text.format(number))
        for number in range(40)
        for gold, text in form.items()
    ]


def test_a_rule_of_length_is_found() -> None:
    found = shortcuts(responses({True: "number {} and more of it", False: "number {}"}))
    assert found["length"] > 90 and found["source"] <= 50


def test_a_word_that_gives_it_away_is_found() -> None:
    found = shortcuts(responses({True: "falsely {} given", False: "rightly {} given"}))
    assert found["words"] > 90 and found["length"] < 60


def test_a_source_with_one_label_is_found() -> None:
    trajectories = [one.model_copy(update={"source": str(one.gold)}) for one in responses({True: "{}", False: "{}"})]
    assert shortcuts(trajectories)["source"] == 100


def test_nothing_is_found_where_there_is_nothing() -> None:
    assert shortcuts([]) == {"length": 50.0, "words": 50.0, "source": 50.0}
    assert all(share < 60 for share in shortcuts(responses({True: "number {}", False: "number {}"})).values())
