"""Numbers that follow from others by one calculation."""

import random

import pytest

from haluagent.arithmetic.derivations import derivation
from haluagent.text.numbers import find_numbers


@pytest.mark.parametrize(
    ("text", "stated", "line"),
    [
        ("Revenue rose from 4.0 to 4.5 billion.", "12.5 %", "4.0 → 4.5 billion: 12.5 %"),
        ("Doors open at 9 and close at 17.", "8", "17 - 9 = 8"),
        ("There are 12 adults and 30 children.", "42", "12 + 30 = 42"),
        ("Seats: 120. Sold: 90.", "75%", "90 / 120 = 75%"),
        ("每箱24瓶，共5箱。", "120瓶", "24 × 5 = 120"),
        ("North 11, south 23, east 37.", "71", "11 + 23 + 37 = 71"),
        ("Doors open at 9 and close at 17.", "11", None),
        ("Nobody counted.", "30", None),
        ("Rooms 12 and 14 are free.", "2", None),
    ],
)
def test_a_number_follows_from_two_or_from_several_in_a_row(text: str, stated: str, line: str | None) -> None:
    (number,) = find_numbers(stated)
    assert derivation(number, find_numbers(text)) == line


def test_a_random_amount_seldom_follows_from_a_few() -> None:
    chance = random.Random(3)
    known = find_numbers(" and ".join(str(chance.randrange(100, 100_000)) for _ in range(6)))
    amounts = [find_numbers(f"{chance.randrange(100, 100_000)}")[0] for _ in range(300)]
    assert sum(derivation(amount, known) is not None for amount in amounts) <= 3
