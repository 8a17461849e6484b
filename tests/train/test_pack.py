"""Rows of examples: trees of tokens, with what they have in common once."""

from haluagent.train.examples import TrainingExample
from haluagent.train.pack import ROOT, PackedRow, pack


def ancestors(row: PackedRow, place: int) -> list[int]:
    """The tokens up to a place, the first one first."""
    found = []
    while place != ROOT:
        found.insert(0, row.ids[place])
        place = row.parents[place]
    return found


def test_common_tokens_stand_once() -> None:
    (row,) = pack(
        [TrainingExample((1, 2, 3, 4, 5), 2), TrainingExample((1, 2, 3, 6, 7), 2), TrainingExample((1, 9, 8), 1)], 100
    )
    assert row.ids == [1, 2, 3, 4, 6, 9]  # a sequence's last token is said, never read
    assert row.parents == [ROOT, 0, 1, 2, 2, 0]
    assert row.depths == [0, 1, 2, 3, 3, 1]


def test_each_target_has_its_own_sequence_before_it() -> None:
    examples = [
        TrainingExample((1, 2, 3, 4, 5), 2),
        TrainingExample((1, 2, 3, 6, 7), 2, 3.0),
        TrainingExample((1, 2, 3, 4, 5), 1),
        TrainingExample((9, 1), 1),
    ]
    (row,) = pack(examples, 100)
    learned = [
        (ancestors(row, place), target, weight)
        for place, target, weight in zip(row.sources, row.targets, row.weights, strict=True)
    ]
    assert learned == [
        ([1, 2, 3], 4, 1.0),
        ([1, 2, 3, 4], 5, 1.0),
        ([1, 2, 3], 6, 3.0),
        ([1, 2, 3, 6], 7, 3.0),
        ([1, 2, 3, 4], 5, 1.0),  # said twice, so learned twice
        ([9], 1, 1.0),
    ]


def test_a_row_is_filled_in_order_and_never_above_its_size() -> None:
    examples = [
        TrainingExample((1, 2, 3, 4, 0), 1),
        TrainingExample((1, 2, 3, 5, 0), 1),
        TrainingExample((6, 7, 0), 1),
        TrainingExample((1, 2, 3, 4, 9), 1),
    ]
    rows = pack(examples, 5)
    assert [row.ids for row in rows] == [[1, 2, 3, 4, 5], [6, 7], [1, 2, 3, 4]]
    assert sum(len(row.targets) for row in rows) == len(examples)


def test_how_many_tokens_a_sequence_would_add() -> None:
    row = PackedRow()
    row.add(TrainingExample((1, 2, 3, 0), 1))
    assert row.new_tokens((1, 2, 3)) == 0
    assert row.new_tokens((1, 2, 4, 3)) == 2
    assert row.new_tokens((2, 3)) == 2  # in the row, but not at its beginning
