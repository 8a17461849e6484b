"""A calculation that a model wrote for a figure: compute it, and compare the result with the figure as people state it."""

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from haluagent.arithmetic.derivations import gives
from haluagent.arithmetic.expressions import evaluate
from haluagent.arithmetic.known import USUAL_CONSTANTS, calculated_numbers, known_numbers
from haluagent.errors import ToolError
from haluagent.text.clocks import find_clocks
from haluagent.text.messages import message
from haluagent.text.numbers import Number, find_numbers, show
from haluagent.types import Language

ROUGHLY = Fraction(3, 100)  # how far, relatively, `about 150` or `over 150` may be off
IN_WORDS = Fraction(4, 100)  # how far a fraction, such as a third, may be off
_USUAL = USUAL_CONSTANTS | set(map(Fraction, [*range(1, 13), 28, 29, 31, 10**6, 10**8]))
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_DAY = 24 * 60
_NAME = re.compile(r"\[[^\[\]]*\]")
_CLOCK = re.compile(r"(?<![\d:.])(\d{1,2}):([0-5]\d)(?![\d:])")
_FROM_TO = re.compile(rf"\s*{_CLOCK.pattern}\s*-\s*{_CLOCK.pattern}\s*")
_HALVES = re.compile(r"\d\s*[ap]\.?m\b|[上下]午", re.IGNORECASE)
_OPERATOR = re.compile(r"[\d)]\s*[-+*/]")
_TIMES_100 = re.compile(r"\*\s*100(?![\d.])|(?<![\d.])100\s*\*")
_TENTHS = re.compile(r"(?<![\d.])(?:(?P<digits>\d\d?(?:\.\d)?)|(?P<han>[一二两三四五六七八九]{1,2}))\s*[折成]")
_HAN = {sign: str(digit) for digit, sign in enumerate("一二三四五六七八九", start=1)} | {"两": "2"}
# What stands behind a number, and between the two numbers of a duration.
_HOURS = r"[\s-]*(?:hours?\b|hrs?\b|h\b|[个個]?半?小[时時])"
_MINUTES = r"[\s-]*(?:minutes?\b|mins?\b|m\b|分)"
_AND = r"[钟鐘]?(?:,?\s*and|,|零|又)?\s*"
_HOURS_AND, _MINUTES_AND = (re.compile(unit + _AND, re.IGNORECASE) for unit in (_HOURS, _MINUTES))
_IN_HOURS, _IN_MINUTES = (re.compile(unit, re.IGNORECASE) for unit in (_HOURS, _MINUTES))
_IN_SECONDS = re.compile(r"[\s-]*(?:sec|s\b|秒)", re.IGNORECASE)
_POINTS = re.compile(r"[\s-]*(?:percentage[ -]points?|pp\b|[个個]?百分[点點])", re.IGNORECASE)
_MINUTE = re.compile(r"\bmin|分[钟鐘]", re.IGNORECASE)
_SECOND = re.compile(r"\bsec|秒", re.IGNORECASE)
_FOLD = re.compile(r"\s*折")
_BOUND_BEFORE = re.compile(r"(?:\bover|\bunder|than|超过|超過|不到|不足)\s*[$¥€£]?\s*$", re.IGNORECASE)
_BOUND_AFTER = re.compile(r"\s*\D{0,3}(?:以上|以下|多)")


class WorkedOut(NamedTuple):
    """A line with a calculation, its result and whether that is the figure; the same as a truth value; and the result without its
    sign, None where the figure is a percentage and it is none."""

    line: str
    same: bool
    result: str | None


def worked_out(written: str, figure: Number, said: str, known: str, language: Language) -> WorkedOut | None:
    """Return what a calculation gives, and whether that is the figure of a sentence; None if it cannot be computed,
    calculates nothing, or has a number that is neither in what is known nor elsewhere in the sentence. Small whole numbers
    may stand in it, such as the 3 of an average. Names in brackets before the numbers are left out, and times of day
    count in minutes."""
    plain = _NAME.sub(" ", written)
    formula = _CLOCK.sub(r"(\1*60+\2)", plain)
    numbers = {abs(number.value) for number in calculated_numbers(formula)}
    given = _given(known)
    own = known_numbers(said) - {abs(figure.value)}
    if "**" in formula or not _OPERATOR.search(plain) or not numbers & given or numbers - given - own - _USUAL:
        return None
    try:
        value = evaluate(formula).number
    except ToolError:
        return None
    stated = _stated(figure, said)
    if value < 0 and _FROM_TO.fullmatch(plain) and not _is(value, stated, said):  # past midnight or past noon
        value += _DAY // 2 if _HALVES.search(known) else _DAY
    if figure.is_percent:
        readings = list(_in_percent(value, formula, numbers, known))
    else:
        readings = list(_in_units(value, formula, figure, said, known))
    same = next((one for one in readings if _is(one, stated, said)), None)
    in_percent = figure.is_percent and readings
    shown = f"{show(readings[0] if same is None else same)}%" if in_percent else show(value)
    if formula != plain and abs(value) >= 60:
        shown += f" = {abs(value) // 60}*60 + {show(abs(value) % 60)}"
    key = "differs" if same is None else "match"
    line = message(f"calculator.{key}", language, formula=written, value=shown, stated=figure.text)
    return WorkedOut(line, same=same is not None, result=shown.lstrip("-") if readings else None)


@lru_cache(maxsize=16)
def _given(text: str) -> frozenset[Fraction]:
    """Return the numbers of a text, also in other forms: the hours and minutes of times of day, and the percent that Chinese
    discounts and shares leave (85 for 八五折 and 8.5折, 70 for 七成)."""
    clocks = {Fraction(part) for clock in find_clocks(text) for part in divmod(clock.minutes, 60)}
    tenths = _tenths(text)
    return frozenset(known_numbers(text) | clocks | tenths | {percent / 100 for percent in tenths})


def _tenths(text: str) -> set[Fraction]:
    found = (
        Fraction(match["digits"] or "".join(map(_HAN.__getitem__, match["han"]))) for match in _TENTHS.finditer(text)
    )
    return {number * 10 if number < 10 else number for number in found}


def _stated(figure: Number, said: str) -> Number:
    """Return the number to compare with: a percentage as a number of percent, `2 hours and 28 minutes` as 148."""
    if figure.is_percent:
        return replace(figure, value=figure.value * 100, is_percent=False)
    for large, small in pairwise(find_numbers(said)):
        between = said[large.span[1] : small.span[0]]
        hours = _HOURS_AND.fullmatch(between) and _IN_MINUTES.match(said, small.span[1])
        minutes = _MINUTES_AND.fullmatch(between) and _IN_SECONDS.match(said, small.span[1])
        if figure.span in (large.span, small.span) and (hours or minutes):
            return replace(figure, value=large.value * 60 + small.value, decimals=0)
    return figure


def _in_percent(value: Fraction, formula: str, numbers: set[Fraction], known: str) -> Iterator[Fraction]:
    """Yield a result in percent; nothing if it is no share."""
    percents = {abs(number.value) * 100 for number in find_numbers(known) if number.is_percent} | _tenths(known)
    times_100 = _TIMES_100.search(formula)
    if not times_100 and ("/" in formula or numbers & {percent / 100 for percent in percents}):
        yield value * 100
    if times_100 or numbers & percents:
        yield value


def _in_units(value: Fraction, formula: str, figure: Number, said: str, known: str) -> Iterator[Fraction]:
    """Yield a result as it is and in the units that a figure may have: those of the text's scales (330 of millions), minutes
    as hours and hours as minutes, a share as percentage points or as a Chinese discount."""
    yield value
    yield from (value * scale for word, scale in _SCALES.items() if word in known)
    after = figure.span[1]
    if "/" in formula:
        if _POINTS.match(said, after):
            yield value * 100
        if _FOLD.match(said, after):
            yield value * 10
        if _IN_MINUTES.match(said, after):
            yield value * 60
    if _TIMES_100.search(formula):
        yield value / 100
    if _SECOND.search(known) or (_IN_HOURS.match(said, after) and (_MINUTE.search(known) or _CLOCK.search(known))):
        yield value / 60


def _is(value: Fraction, number: Number, said: str) -> bool:
    """Return whether a number states a value, ignoring the sign; roughly, if it is stated so."""
    bounded = _BOUND_BEFORE.search(said[: number.span[0]]) or _BOUND_AFTER.match(said, number.span[1])
    off = ROUGHLY * (number.approximate or bool(bounded))
    off += IN_WORDS * (number.decimals is None and abs(number.value) < 1)
    return gives(value, number) or abs(abs(value) - abs(number.value)) <= off * abs(value)
