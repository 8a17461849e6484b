"""Conversions between units that a text states: 42.195 km, about 26.2 miles; 100 °F is about 38 °C; 5公里约合3.1英里.

Only what can be read in one way is read: two numbers with units of one dimension, and nothing but a connecting word
between them. What lies between right and clearly wrong is left out, and so is what a text denies or supposes. Only a plain
equality at the beginning of a sentence is wrong: elsewhere a share, a count, a scale or a recipe's rounding may be meant.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise

from haluagent.arithmetic.stated import why_open
from haluagent.arithmetic.units import converted, is_temperature, unit_named
from haluagent.types import Span

# The units of a dimension as `units.registry` has them, each with its spellings; several where one has several sizes.
_TABLE: dict[str, dict[str, str]] = {
    "length": {
        "millimeter": "millimetres? millimeters? mm 毫米",
        "centimeter": "centimetres? centimeters? cm 厘米 公分",
        "decimeter": "decimetres? decimeters? dm 分米",
        "meter": "metres? meters? m 米",
        "kilometer": "kilometres? kilometers? km 千米 公里",
        "inch": "inch(?:es)? 英寸",
        "foot": "foot feet ft 英尺",
        "yard": "yards? yd 码",
        "nautical_mile": "nautical_miles? 海里",
        "mile": "miles? mi 英里",
    },
    "mass": {
        "milligram": "milligrams? mg 毫克",
        "gram": "grams? g 克",
        "kilogram": "kilograms? kg 千克 公斤",
        "metric_ton": "tonnes? metric_tons? 公吨",
        "metric_ton US_ton long_ton": "tons? 吨",
        "ounce": "ounces? oz 盎司",
        "pound": "pounds? lbs? 磅",
        "jin": "斤",
    },
    "volume": {
        "milliliter": "millilitres? milliliters? ml mL 毫升",
        "liter": "litres? liters? L 升",
        "meter**3": "cubic_metres? cubic_meters? m³ m3 立方米",
        "pint imperial_pint": "pints? 品脱",
        "quart imperial_quart": "quarts? 夸脱",
        "gallon imperial_gallon": "gallons? 加仑",
    },
    "area": {
        "meter**2": "square_metres? square_meters? m² m2 平方米",
        "kilometer**2": "square_kilometres? square_kilometers? km² km2 平方公里 平方千米",
        "hectare": "hectares? ha 公顷",
        "acre": "acres? 英亩",
        "mile**2": "square_miles? sq_mi 平方英里",
        "foot**2": "square_feet sq_ft 平方英尺",
        "mu": "亩",
    },
    "speed": {
        "meter/second": "metres?_per_second meters?_per_second m/s 米每秒 米/秒",
        "kilometer/hour": "kilometres?_per_hour kilometers?_per_hour km/h kph 公里每小时 千米每小时 公里/小时 千米/小时 公里/时 千米/时",
        "mile/hour": "miles?_per_hour mph 英里每小时 英里/小时",
        "knot": "knots?",
    },
    "time": {
        "second": "seconds? secs? 秒 秒钟",
        "minute": "minutes? mins? 分钟",
        "hour": "hours? hrs? h 小时",
    },
    "temperature": {
        "degree_Celsius": "°C ℃ degrees?_Celsius degrees?_C 摄氏度",
        "degree_Fahrenheit": "°F ℉ degrees?_Fahrenheit degrees?_F 华氏度",
        "kelvin": "kelvins? K",
    },
}


@dataclass(frozen=True)
class Unit:
    """A unit by its name in `units.registry`, or by several if it has several sizes."""

    dimension: str
    names: tuple[str, ...]


_UNITS: list[tuple[str, Unit]] = [
    (spelling.replace("_", r"[ -]"), Unit(dimension, tuple(names.split())))
    for dimension, units in _TABLE.items()
    for names, spellings in units.items()
    for spelling in spellings.split()
]
_SPELLED = "|".join(f"(?:{spelling})" for spelling, _ in sorted(_UNITS, key=lambda item: -len(item[0])))
_NUMBER = r"[-−]?(?:\d{1,3}(?:,\d{3}){1,5}|\d{1,15})(?:\.\d{1,12})?"
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "万": 10**4, "亿": 10**8}
_QUANTITY = re.compile(
    rf"(?<![\d.,/:$€£¥^~–—_])(?<!\d[-− ])(?<![-–—~至到] )(?<![A-Za-z][-−])(?<![A-Za-z])(?P<number>{_NUMBER})(?!\d)"
    rf"(?:[ -]?(?P<unit1>(?:{'|'.join(_SCALES)})))?(?:[ \u00a0\u202f-]{{0,2}})(?P<unit>{_SPELLED})(?![A-Za-z\d²³^/·*%])"
    rf"|(?P<scale>摄氏|华氏)(?P<below>零下|-|−)?(?P<degrees>\d{{1,4}}(?:\.\d{{1,6}})?)度",
)
_ABOUT = r"(?:about|approximately|approx\.?|roughly|around|nearly|almost|just over|just under|some|circa|ca\.|大约|大概|约|近)"
_CONNECTED = re.compile(
    rf"""\s{{0,3}}(?:
      (?P<equal>={{1,2}}|≈|≃|≅|~|equals?|(?:is|are)(?:[ ](?:equal|equivalent)[ ]to|[ ]the[ ]same[ ]as)?|corresponds?[ ]to|converts?[ ]to
        |(?:大约|约)?(?:等于|相当于|为|是|合|即|就是|折合|换算(?:成|为))|约)
    | (?P<bracket>[(（])(?:or|i\.e\.,?|equal[ ]to|即|合|约合|相当于)?
    | (?P<comma>[,，])[ ]?(?P<or>or|i\.e\.,?|that[ ]is,?|即|合|约合|相当于)?
    )[ ]?(?P<about>{_ABOUT})?\s{{0,3}}""",
    re.VERBOSE,
)
_BEHIND = re.compile(
    r"\s{0,3}(?:$|[.。!！?？;；:：,，)）\]】\"”’\n]|(?:and|but|so|while|which|whereas|左右)(?![A-Za-z]))"
)
_JOINS = re.compile(r"(?:[ ,，]|and|又|零){0,4}")
_NEAR = 20
_IN_FORMULA = re.compile(rf"(?:[-+*/=^×÷−·]|\d\s?(?:{_SPELLED}))\s*$")
_BEGINS = re.compile(rf"(?:^|[.!?。！？\n])\s*(?:so,?\s+|thus,?\s+|所以|因此)?(?:{_ABOUT}\s*)?$", re.IGNORECASE)
_SAID_ABOUT = re.compile(rf"{_ABOUT}\s{{0,3}}$", re.IGNORECASE)
RIGHT, RIGHT_ABOUT, WRONG, WRONG_ABOUT, FAR = (Fraction(1, parts) for parts in (200, 50, 100, 20, 5))  # of the value
NEAR_DEGREES = 30
_WRITTEN = re.compile(rf"(?P<number>{_NUMBER})\s?(?P<unit>[^\d\s].{{0,40}})")
DEGREES, DEGREES_ABOUT = Fraction(1), Fraction(3)


@dataclass(frozen=True)
class Conversion:
    """A conversion in a text: `source` is what is converted and `stated` what it is said to be, as written; `computed` is
    what it is, in the stated unit. `span` is the place of all of it."""

    span: Span
    source: str
    stated: str
    computed: str
    holds: bool


@dataclass(frozen=True)
class Quantity:
    """A number with a unit: where it stands, as written, and how the unit is written."""

    span: Span
    text: str
    value: Fraction
    last: Fraction  # the size of its last digit
    name: str
    unit: Unit


def find_conversions(text: str) -> list[Conversion]:
    """Return the conversions that a text states and that are right or clearly wrong, in order. The time is linear."""
    quantities = find_quantities(text)
    gaps = [
        text[one.span[1] : other.span[0]] if other.span[0] - one.span[1] < 40 else "…"
        for one, other in pairwise(quantities)
    ]
    joined = [
        one.unit.dimension == other.unit.dimension and _JOINS.fullmatch(gap) is not None
        for (one, other), gap in zip(pairwise(quantities), gaps, strict=True)
    ]
    found = []
    for index, (one, other) in enumerate(pairwise(quantities)):
        if one.unit.dimension != other.unit.dimension or one.unit == other.unit:
            continue
        parts = joined[max(index - 1, 0) : index] + joined[index + 1 : index + 2]  # 5 feet 10 inches is 178 cm
        connected = _CONNECTED.fullmatch(gaps[index])
        if connected is None or any(parts) or not _BEHIND.match(text, other.span[1]):
            continue
        if connected["bracket"] and text[other.span[1] : other.span[1] + 1] not in (")", "）"):
            continue
        about = bool(connected["about"]) or (connected["equal"] or "=")[0] in "≈≃≅~约大"
        about = about or bool(_SAID_ABOUT.search(text, max(one.span[0] - _NEAR, 0), one.span[0]))
        right = _compare(one, other, about, loose=about or not connected["equal"])
        plain = connected["equal"] and _BEGINS.search(text, max(one.span[0] - _NEAR, 0), one.span[0])
        if right is None or not (right or plain) or why_open(text, (one.span[0], other.span[1]), right):
            continue  # 5 km, 10 miles; 10 bags of 500 g (5 kg); on a map, 1 cm is 5 km
        if _IN_FORMULA.search(text, max(one.span[0] - _NEAR, 0), one.span[0]):
            continue  # 2 km + 500 m = 2.5 km, 5英尺10英寸
        computed = _shown(_converted(one, other.unit)[0], other)
        found.append(Conversion((one.span[0], other.span[1]), one.text, other.text, computed, right))
    return found


def find_quantities(text: str) -> list[Quantity]:
    """Return the numbers with a unit of the table in a text, in order."""
    return [_quantity(match) for match in _QUANTITY.finditer(text)]


def quantity_named(text: str) -> Quantity:
    """Return a quantity that is all of a text, with any unit of `units.registry` that has one size. Raises ValueError."""
    if (
        (match := _QUANTITY.fullmatch(text))
        and match["unit"] != "m"
        and len((found := _quantity(match)).unit.names) == 1
    ):
        return found
    written = _WRITTEN.fullmatch(text)
    if written is None:
        raise ValueError(f"{text[:40]!r} is no number with a unit")
    number, name = written["number"].replace(",", "").replace("−", "-"), unit_named(written["unit"])
    dimension = "temperature" if is_temperature(name) else ""
    last = Fraction(1, 10 ** len(number.partition(".")[2]))
    return Quantity((0, len(text)), text, Fraction(number), last, written["unit"], Unit(dimension, (name,)))


def in_unit_of(one: Quantity, other: Quantity) -> tuple[str, bool | None]:
    """Return the first quantity in the unit of the second, as text, and whether it is that one, rounded; None where it is
    neither that nor clearly another one. Raises ValueError where their dimensions differ."""
    return _shown(_converted(one, other.unit)[0], other), _compare(one, other, about=False, loose=True)


def is_same(one: Quantity, other: Quantity) -> bool:
    """Return whether two quantities have one number and one unit, however that is written."""
    try:
        return one.value == other.value and _converted(one, other.unit) == [other.value]
    except ValueError:
        return False


def facts(said: str, known: str) -> list[str]:
    """Return what the quantities of a text are in the units of another text's (`42.195 km = 26.22 miles`), as far as that is
    near what it says and has one reading."""
    given, lines = find_quantities(known), []
    for other in find_quantities(said):
        same = [one for one in given if one.unit.dimension == other.unit.dimension]
        if any(one.unit == other.unit and one.value == other.value for one in same):
            continue  # it stands there as it is
        for one in same:
            if one.unit != other.unit and len(one.unit.names) == len(other.unit.names) == 1 and _near(one, other):
                computed, holds = in_unit_of(one, other)
                if holds is not None or one.unit.dimension != "temperature":  # it may be a difference
                    lines.append(f"{one.text.strip()} = {computed}")
    return list(dict.fromkeys(lines))


def _near(one: Quantity, other: Quantity) -> bool:
    """Return whether two quantities may be meant to be the same: one is at most twice the other."""
    (value,) = _converted(one, other.unit)
    if one.unit.dimension == "temperature":
        return abs(other.value - value) <= NEAR_DEGREES
    return abs(value) <= 2 * abs(other.value) and abs(other.value) <= 2 * abs(value)


def converted_from(said: str, known: str) -> list[tuple[Span, str]]:
    """Return the quantities of a text that another text has in another unit: their places, and what they are converted from
    (`42.195 km = 26.2 miles`)."""
    given = find_quantities(known)
    found = []
    for other in find_quantities(said):
        for one in given:
            same = one.unit.dimension == other.unit.dimension and one.unit != other.unit
            if same and _compare(one, other, about=False, loose=True):
                found.append((other.span, f"{one.text.strip()} = {other.text.strip()}"))
                break
    return found


def line_at(converted: Sequence[tuple[Span, str]], place: int) -> str | None:
    """Return what the quantity at a place is converted from (`converted_from`); None if there is none."""
    return next((line for (start, end), line in converted if start <= place < end), None)


def _quantity(match: re.Match[str]) -> Quantity:
    if match["scale"]:
        name = {"摄氏": "摄氏度", "华氏": "华氏度"}[match["scale"]]
        digits, sign = match["degrees"], -1 if match["below"] else 1
    else:
        name, digits, sign = match["unit"], match["number"].replace(",", "").replace("−", "-"), 1
    scale = _SCALES.get(match["unit1"] or "", 1)
    decimals = len(digits.partition(".")[2])
    unit = _unit(name)
    value = sign * Fraction(digits) * scale
    return Quantity(match.span(), match[0], value, Fraction(scale, 10**decimals), name, unit)


@cache
def _unit(name: str) -> Unit:
    return next(unit for spelling, unit in _UNITS if re.fullmatch(spelling, name))


def _converted(one: Quantity, unit: Unit) -> list[Fraction]:
    """Return the quantity in another unit, once for each pair of their sizes."""
    return [converted(one.value, mine, other) for mine in one.unit.names for other in unit.names]


def _compare(one: Quantity, other: Quantity, about: bool, loose: bool) -> bool | None:
    """Return whether the second quantity is the first one, rounded; None where it is neither that nor clearly wrong. It
    may be further off where the text says `about`, or gives it `loose`, in brackets or after a comma."""
    if one.unit.dimension == "temperature":
        return _compare_degrees(one, other, loose, about)
    wrong = True
    for value in _converted(one, other.unit):
        off, scale = abs(other.value - value), abs(value)
        rounded = off <= other.last / 2
        if (rounded and off <= WRONG_ABOUT * scale) or off <= (RIGHT_ABOUT if loose else RIGHT) * scale:
            return True
        far = off > _coarse(other) / 2 if about else off > other.last or off > FAR * scale
        wrong = wrong and far and not rounded and off > (WRONG_ABOUT if loose else WRONG) * scale
    return False if wrong else None


def _compare_degrees(one: Quantity, other: Quantity, loose: bool, about: bool) -> bool | None:
    """Compare temperatures. As a difference, 5 °C are 9 °F: then it is left open which is meant."""
    (value,) = _converted(one, other.unit)
    if abs(other.value - value) <= other.last / 2:
        return True
    difference = value - converted(Fraction(0), one.unit.names[0], other.unit.names[0])
    if abs(other.value - difference) <= max(other.last / 2, DEGREES):
        return None
    clear = max(DEGREES_ABOUT if loose else DEGREES, _coarse(other) / 2 if about else other.last)
    return False if abs(other.value - value) > clear else None


def _coarse(quantity: Quantity) -> Fraction:
    """Return the size of the last digit that is not a closing zero: about 300 may be 280."""
    size = quantity.last
    while quantity.value and (quantity.value / size) % 10 == 0:
        size *= 10
    return size


def _shown(value: Fraction, like: Quantity) -> str:
    """Return a value with two digits more than a quantity has, and at least four that are significant below one, and its unit."""
    size, digits = float(value), len(str(like.last.denominator)) + 1
    if 0 < abs(size) < 1:
        digits = max(digits, 3 - math.floor(math.log10(abs(size))))
    number = f"{size:,.{digits}f}".rstrip("0").rstrip(".")
    return f"{number} {like.name}" if like.name.isascii() or like.name[0] in "°℃℉" else f"{number}{like.name}"
