"""Where the numbers, the times of day and the days of a claim come from that a text does not have."""

from typing import NamedTuple

from haluagent.arithmetic.conversions import converted_from, line_at
from haluagent.arithmetic.derivations import derivation
from haluagent.arithmetic.figures import is_figure, plain_numbers
from haluagent.judging.passages import missing_numbers
from haluagent.text.calendar_facts import calendar_facts, new_days
from haluagent.text.clock_facts import clock_facts
from haluagent.text.clocks import find_clocks, new_clocks
from haluagent.text.dates import find_days
from haluagent.text.numbers import Number, find_numbers
from haluagent.types import Language

YEAR_DIGITS = 4


class NumbersTraced(NamedTuple):
    """The numbers, times and days of a claim that a text neither has nor gives; the lines that give those that it does not have, each a
    conversion or a calculation with a few; and whether one of these may be chance: a calculation of a figure, a time or a day."""

    missing: tuple[str, ...]
    lines: tuple[str, ...]
    by_chance: bool


def trace_numbers(claim: str, text: str, language: Language) -> NumbersTraced:
    """Return where the numbers of a claim come from that a text does not have. A time of day and a day count as a whole."""
    traced: dict[str, str | None] = {}
    by_chance = False
    numbers, absent = _outside_times(claim), set(missing_numbers(claim, text))
    lost = [one for one in numbers if one.text in absent]
    clocks, days = new_clocks(claim, text), new_days(claim, text)
    facts = clock_facts(claim, text, language) if lost or clocks else []
    if lost:
        converted, known = converted_from(claim, text), _outside_times(text)
        figures = {one.span for one in plain_numbers(claim) if is_figure(one)}
        for one in lost:
            if line := line_at(converted, one.span[0]):
                traced[one.text] = line
                continue
            others = [other for other in numbers if other is not one]
            given = (fact for fact in facts if one.text not in missing_numbers(claim, fact))
            traced[one.text] = line = next(given, None) or derivation(one, known, others)
            by_chance = by_chance or (one.span in figures and line is not None)
    facts += calendar_facts(claim, text, language) if days else []
    for clock in clocks:
        traced[clock.text] = next((fact for fact in facts if clock not in new_clocks(claim, fact)), None)
    for day in days:
        traced[day.text] = next((fact for fact in facts if day not in new_days(claim, fact)), None)
    whole = [*(clock.text for clock in clocks), *(day.text for day in days)]
    by_chance = by_chance or any(traced[text] is not None for text in whole)
    missing = tuple(text for text, line in traced.items() if line is None)
    return NumbersTraced(missing, tuple(line for line in traced.values() if line is not None), by_chance)


def _outside_times(text: str) -> list[Number]:
    """Return the numbers of a text that belong to no time of day and to no day of a month; the year of a day is one of them."""
    whole = [*(one.span for one in find_clocks(text)), *(one.span for one in find_days(text))]
    return [
        one
        for one in find_numbers(text)
        if len(one.text) == YEAR_DIGITS or not any(start <= one.span[0] < end for start, end in whole)
    ]
