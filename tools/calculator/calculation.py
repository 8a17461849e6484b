"""A calculation that a model wrote for a figure: compute it, and compare the result with the figure as people state it."""

import ast
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
from haluagent.text.clocks import AND, HOURS, MINUTES, find_clocks, find_lasting
from haluagent.text.messages import message
from haluagent.text.numbers import Number, find_numbers, show
from haluagent.text.places import covered
from haluagent.types import Language

ROUGHLY = Fraction(3, 100)  # how far, relatively, `about 150` or `over 150` may be off
NEAR = 3  # times: a result that is larger or smaller than that beside the figure is of something else
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
_HOURS_AND, _MINUTES_AND = (re.compile(unit + AND, re.IGNORECASE) for unit in (HOURS, MINUTES))
_IN_HOURS, _IN_MINUTES = (re.compile(unit, re.IGNORECASE) for unit in (HOURS, MINUTES))
_IN_SECONDS = re.compile(r"[\s-]*(?:sec|s\b|秒)", re.IGNORECASE)
_POINTS = re.compile(r"[\s-]*(?:percentage[ -]points?|pp\b|[个個]?百分[点點])", re.IGNORECASE)
_MINUTE = re.compile(r"\bmin|分[钟鐘]", re.IGNORECASE)
_SECOND = re.compile(r"\bsec|秒", re.IGNORECASE)
_FOLD = re.compile(r"\s*折")
_BOUND_BEFORE = re.compile(r"(?:\bover|\bunder|than|超过|超過|不到|不足)\s*[$¥€£]?\s*$", re.IGNORECASE)
_BOUND_AFTER = re.compile(r"\s*\D{0,3}(?:以上|以下|多)")


# Words of a bound or a range beside a number, which is then not what a calculation gives.
_LOOSE_BEFORE = re.compile(
    r"(?:\b(?:over|under|than|above|below|least|most|up to|between|from|just|some)|\d\s*(?:to|and|or|[-–—~～至到])|"
    r"至少|至多|最多|最少|超过|超過|不到|不足|高于|低于|多于|少于)\s*[$¥€£]?\s*$",
    re.IGNORECASE,
)
_LOOSE_AFTER = re.compile(
    r"\s*(?:\+|[-–—~～至到]\s*\d|-?\s?odd\b|or (?:more|less|so)\b|(?:to|and)\s+\d|\D{0,3}(?:以上|以下|以内|多|余|餘|出头))",
    re.IGNORECASE,
)
ROUGHLY_OFF = Fraction(15, 100)  # how far, relatively, `about 150` may be off before it is another number
_FACTORS = [
    *(Fraction(10) ** places for places in range(-9, 10) if places),
    *map(Fraction, ("60", "1/60", "3600", "1/3600", "12", "1/12")),
]


class WorkedOut(NamedTuple):
    """A line with a calculation, its result and whether that is the figure; the same as a truth value; and the result without its
    sign, None where the figure may be meant to be that, the sentence states it elsewhere, or the two are not to be compared."""

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
    own = known_numbers(covered(said, [figure.span], " "))
    if "**" in formula or not _OPERATOR.search(plain) or not numbers & given or numbers - given - own - _USUAL:
        return None
    try:
        value = evaluate(formula).number
    except ToolError:
        return None
    values, clear = [value], True
    if _FROM_TO.fullmatch(plain):
        halves = _HALVES.search(known)
        clear = not halves and 0 < value <= _DAY // 2
        if value < 0:  # past midnight, or past noon
            values.append(value + (_DAY // 2 if halves else _DAY))
    if figure.is_percent:
        readings = [(value, one) for one in _in_percent(value, formula, numbers, known)]
    else:
        readings = [(one, two) for one in values for two in _in_units(one, formula, figure, said, known)]
    stated = _stated(figure, said)
    same = next((pair for pair in readings if _is(pair[1], stated, said)), None)
    value, reading = same or (readings[0] if readings else (value, value))
    shown = f"{show(reading)}%" if figure.is_percent and readings else show(value)
    if formula != plain and abs(value) >= 60:
        shown += f" = {abs(value) // 60}*60 + {show(abs(value) % 60)}"
    key = "match" if same else "differs"
    line = message(f"calculator.{key}", language, formula=written, value=shown, stated=figure.text)
    ways = ((one, number) for _, one in readings for number in (stated, figure))
    others = [number for number in find_numbers(said) if number.span != figure.span]
    of_another = any(gives(one, number) for _, one in readings for number in others)
    far = readings and not any(_near(reading, stated) for _, reading in readings)
    another = readings and clear and not (far or of_another or any(may_be(one, number, said) for one, number in ways))
    return WorkedOut(line, same=bool(same), result=shown.lstrip("-") if another else None)


@lru_cache(maxsize=16)
def _given(text: str) -> frozenset[Fraction]:
    """Return the numbers of a text, also in other forms: the hours and minutes of times of day, what something takes in minutes,
    and the percent that Chinese discounts and shares leave (85 for 八五折 and 8.5折, 70 for 七成)."""
    times = {Fraction(part) for clock in find_clocks(text) for part in divmod(clock.minutes, 60)}
    times |= {lasting.minutes for lasting in find_lasting(text)}
    tenths = _tenths(text)
    return frozenset(known_numbers(text) | times | tenths | {percent / 100 for percent in tenths})


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
    points = _POINTS.match(said, figure.span[1])
    if points and "/" in formula and not _is_difference(formula):
        return  # the change of an amount, not of a share
    yield value
    yield from (value * scale for word, scale in _SCALES.items() if word in known)
    after = figure.span[1]
    if "/" in formula:
        if points:
            yield value * 100
        if _FOLD.match(said, after):
            yield value * 10
        if _IN_MINUTES.match(said, after):
            yield value * 60
    if _TIMES_100.search(formula):
        yield value / 100
    if _SECOND.search(known) or (_IN_HOURS.match(said, after) and (_MINUTE.search(known) or _CLOCK.search(known))):
        yield value / 60


def _is_difference(formula: str) -> bool:
    """Return whether a calculation subtracts one thing from another, perhaps in percent: 7.4/84.6 - 8.1/79.2."""
    body = ast.parse(formula.strip(), mode="eval").body
    while isinstance(body, ast.BinOp) and isinstance(body.op, ast.Mult):
        body = body.left if isinstance(body.right, ast.Constant) else body.right
    return isinstance(body, ast.BinOp) and isinstance(body.op, ast.Sub)


def may_be(value: Fraction, number: Number, said: str) -> bool:
    """Return whether a number that does not state a value may still be meant to: as a bound or a range, roughly, with fewer digits,
    or in another unit."""
    if _LOOSE_BEFORE.search(said[: number.span[0]]) or _LOOSE_AFTER.match(said, number.span[1]):
        return True
    off = abs(abs(value) - abs(number.value))
    if off <= (ROUGHLY_OFF * abs(number.value) if number.approximate else _last_place(number) / 2):
        return True
    return any(_is(value * factor, number, said) for factor in _FACTORS)


def _near(value: Fraction, number: Number) -> bool:
    """Return whether a value is of the size of a number: else it is of something else."""
    return abs(number.value) <= NEAR * abs(value) and abs(value) <= NEAR * abs(number.value)


def _last_place(number: Number) -> Fraction:
    """Return the size of the last digit of a number that is not a zero at its end: 1000 for 22,000."""
    place = Fraction(1, 10 ** max(number.decimals or 0, 0))
    while number.value and number.value % (place * 10) == 0:
        place *= 10
    return place


def _is(value: Fraction, number: Number, said: str) -> bool:
    """Return whether a number states a value, ignoring the sign; roughly, if it is stated so."""
    bounded = _BOUND_BEFORE.search(said[: number.span[0]]) or _BOUND_AFTER.match(said, number.span[1])
    off = ROUGHLY * (number.approximate or bool(bounded))
    off += IN_WORDS * (number.decimals is None and abs(number.value) < 1)
    return gives(value, number) or abs(abs(value) - abs(number.value)) <= off * abs(value)
