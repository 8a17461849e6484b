"""Where the numbers, the times of day and the days of a claim come from that a text does not have."""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from haluagent.arithmetic.conversions import converted_from, line_at
from haluagent.arithmetic.derivations import derivation
from haluagent.arithmetic.figures import is_figure, plain_numbers
from haluagent.judging.passages import missing_numbers
from haluagent.text.calendar_facts import calendar_facts, new_days
from haluagent.text.clock_facts import clock_facts
from haluagent.text.clocks import find_clocks, find_lasting, new_clocks
from haluagent.text.dates import find_days
from haluagent.text.numbers import Number, find_numbers
from haluagent.text.places import Taken
from haluagent.types import Language

YEAR_DIGITS = 4


class NumbersTraced(NamedTuple):
    """The numbers, times and days of a claim that a text neither has nor gives; the lines that give those that it does not have, each a
    conversion or a calculation with a few; and whether one of these may be chance: a calculation of a figure in digits, or a day."""

    missing: tuple[str, ...]
    lines: tuple[str, ...]
    by_chance: bool


def in_digits(numbers: Iterable[str]) -> tuple[str, ...]:
    """Return the numbers that are written in digits and are not 0: one in words, and none, are often the text's, written another way."""
    return tuple(one for one in numbers if any(character.isdecimal() and int(character) for character in one))


def absent_numbers(claim: str, text: str) -> list[Number]:
    """Return the numbers of a claim that a text does not have, nor the same length of time in another form."""
    absent = set(missing_numbers(claim, text))
    return [one for one in find_numbers(claim) if one.text in absent and not _is_same_length(one, claim, text)]


def trace_numbers(claim: str, text: str, language: Language) -> NumbersTraced:
    """Return where the numbers of a claim come from that a text does not have. A time of day and a day count as a whole."""
    traced: dict[str, str | None] = {}
    by_chance = False
    clocks, days = new_clocks(claim, text), new_days(claim, text)
    outside = _outside_times(claim)
    lost = [one for one in absent_numbers(claim, text) if one in outside]
    facts = clock_facts(claim, text, language) if lost or clocks else []
    if lost:
        converted, known, numbers = converted_from(claim, text), _outside_times(text), outside
        figures = {one.span for one in plain_numbers(claim) if is_figure(one)}
        for one in lost:
            given = (fact for fact in facts if one.text not in missing_numbers(claim, fact))
            traced[one.text] = line = line_at(converted, one.span[0]) or next(given, None)
            if line is None:
                others = [other for other in numbers if other is not one]
                traced[one.text] = line = derivation(one, known, others)
                by_chance = by_chance or (one.span in figures and line is not None and bool(in_digits([one.text])))
    for clock in clocks:
        traced[clock.text] = next((fact for fact in facts if fact.endswith(f" = {clock.text}")), None)
    facts = calendar_facts(claim, text, language) if days else []
    for day in days:
        traced[day.text.rstrip(".")] = line = next((fact for fact in facts if day not in new_days(claim, fact)), None)
        by_chance = by_chance or line is not None
    missing = tuple(text for text, line in traced.items() if line is None)
    return NumbersTraced(missing, tuple(dict.fromkeys(line for line in traced.values() if line)), by_chance)


def _is_same_length(number: Number, claim: str, text: str) -> bool:
    """Return whether a number belongs to hours and minutes that the text has in another form: 90 minutes for an hour and a half."""
    for length in find_lasting(claim):
        if length.span[0] <= number.span[0] < length.span[1]:
            return any(length.minutes == one.minutes for one in find_lasting(text))
    return False


@lru_cache(maxsize=64)  # the reference is read again for each sentence
def _outside_times(text: str) -> tuple[Number, ...]:
    """Return the numbers of a text that belong to no time of day and to no day of a month; the year of a day is one of them."""
    whole = Taken(len(text))
    for span in (*(one.span for one in find_clocks(text)), *(one.span for one in find_days(text))):
        whole.add(span)
    return tuple(one for one in find_numbers(text) if len(one.text) == YEAR_DIGITS or not whole.meets(one.span))
