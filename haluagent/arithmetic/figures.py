"""Which numbers of a text are figures that a calculation may give."""

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from haluagent.text.clocks import find_clocks
from haluagent.text.dates import find_days
from haluagent.text.numbers import Number, find_numbers
from haluagent.types import Span

LARGEST_COUNT = 12  # a count up to this is seen, not calculated
HALF = Fraction(1, 2)
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
# Telephone, order and version numbers, and ranges.
_CHAIN = re.compile(r"(?<![\d.,])(?:\d+(?:[-–]\d+| \d{2,})+|\d+(?:\.\d+){2,}|0\d+)")


def is_figure(number: Number) -> bool:
    """Return whether a number is more than a small count or a half (of an hour)."""
    if number.is_percent:
        return True
    return number.value != HALF and (number.value.denominator > 1 or abs(number.value) > LARGEST_COUNT)


@lru_cache(maxsize=256)  # the reference is read again for each sentence
def plain_numbers(text: str) -> tuple[Number, ...]:
    """Return the numbers of a text that are no years, and belong to no date, time of day, range or number of several groups."""
    taken = [*(day.span for day in find_days(text)), *(clock.span for clock in find_clocks(text))]
    taken += [chain.span() for chain in _CHAIN.finditer(text)]
    return tuple(numbers_outside(text, taken))


def numbers_outside(text: str, taken: Sequence[Span]) -> list[Number]:
    """Return the numbers of a text that are no years and begin in none of the spans."""
    return [
        number
        for number in find_numbers(text)
        if not any(start <= number.span[0] < end for start, end in taken) and not _YEAR.fullmatch(number.text)
    ]
