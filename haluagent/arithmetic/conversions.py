"""Conversions between units that a text states: 42.195 km, about 26.2 miles; 100 °F is about 38 °C; 5公里约合3.1英里.

Only what can be read in one way is read: two numbers with units of one dimension, and nothing but a connecting word
between them. What lies between right and clearly wrong is left out, and so is what a text denies or supposes. Only a plain
equality at the beginning of a sentence is wrong: elsewhere a share, a count, a scale or a recipe's rounding may be meant.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise

from haluagent.arithmetic.stated import why_open
from haluagent.types import Span

# How many of the first unit of a dimension make one; several where a unit has several sizes.
_TABLE: dict[str, dict[str, str]] = {
    "length": {
        "millimetres? millimeters? mm 毫米": "1/1000",
        "centimetres? centimeters? cm 厘米 公分": "1/100",
        "decimetres? decimeters? dm 分米": "1/10",
        "metres? meters? m 米": "1",
        "kilometres? kilometers? km 千米 公里": "1000",
        "inch(?:es)? 英寸": "127/5000",
        "foot feet ft 英尺": "381/1250",
        "yards? yd 码": "1143/1250",
        "nautical_miles? 海里": "1852",
        "miles? mi 英里": "201168/125",
    },
    "mass": {
        "milligrams? mg 毫克": "1/1000",
        "grams? g 克": "1",
        "kilograms? kg 千克 公斤": "1000",
        "tonnes? metric_tons? 公吨": "1000000",
        "tons? 吨": "1000000 907184.74 1016046.9088",
        "ounces? oz 盎司": "28.349523125",
        "pounds? lbs? 磅": "453.59237",
        "斤": "500",
    },
    "volume": {
        "millilitres? milliliters? ml mL 毫升": "1/1000",
        "litres? liters? L 升": "1",
        "cubic_metres? cubic_meters? m³ m3 立方米": "1000",
        "pints? 品脱": "0.473176473 0.56826125",
        "quarts? 夸脱": "0.946352946 1.1365225",
        "gallons? 加仑": "3.785411784 4.54609",
    },
    "area": {
        "square_metres? square_meters? m² m2 平方米": "1",
        "square_kilometres? square_kilometers? km² km2 平方公里 平方千米": "1000000",
        "hectares? ha 公顷": "10000",
        "acres? 英亩": "4046.8564224",
        "square_miles? sq_mi 平方英里": "2589988.110336",
        "square_feet sq_ft 平方英尺": "0.09290304",
        "亩": "2000/3",
    },
    "speed": {
        "metres?_per_second meters?_per_second m/s 米每秒 米/秒": "1",
        "kilometres?_per_hour kilometers?_per_hour km/h kph 公里每小时 千米每小时 公里/小时 千米/小时 公里/时 千米/时": "5/18",
        "miles?_per_hour mph 英里每小时 英里/小时": "0.44704",
        "knots?": "463/900",
    },
    "time": {
        "seconds? secs? 秒 秒钟": "1",
        "minutes? mins? 分钟": "60",
        "hours? hrs? h 小时": "3600",
    },
    "temperature": {
        "°C ℃ degrees?_Celsius degrees?_C 摄氏度": "1",
        "°F ℉ degrees?_Fahrenheit degrees?_F 华氏度": "5/9",
        "kelvins? K": "1",
    },
}
_ZERO = {"°F": Fraction(-160, 9), "kelvins?": Fraction(-27315, 100)}  # in °C


@dataclass(frozen=True)
class _Unit:
    dimension: str
    sizes: tuple[Fraction, ...]
    zero: Fraction = Fraction(0)


_UNITS: list[tuple[str, _Unit]] = [
    (
        spelling.replace("_", r"[ -]"),
        _Unit(dimension, tuple(map(Fraction, sizes.split())), _ZERO.get(spellings.split()[0], Fraction(0))),
    )
    for dimension, units in _TABLE.items()
    for spellings, sizes in units.items()
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
class _Quantity:
    span: Span
    text: str
    value: Fraction
    last: Fraction  # the size of its last digit
    name: str
    unit: _Unit


def find_conversions(text: str) -> list[Conversion]:
    """Return the conversions that a text states and that are right or clearly wrong, in order. The time is linear."""
    quantities = [_quantity(match) for match in _QUANTITY.finditer(text)]
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


def converted_from(said: str, known: str) -> list[tuple[Span, str]]:
    """Return the quantities of a text that another text has in another unit: their places, and what they are converted from
    (`42.195 km = 26.2 miles`)."""
    given = [_quantity(match) for match in _QUANTITY.finditer(known)]
    found = []
    for other in map(_quantity, _QUANTITY.finditer(said)):
        for one in given:
            same = one.unit.dimension == other.unit.dimension and one.unit != other.unit
            if same and _compare(one, other, about=False, loose=True):
                found.append((other.span, f"{one.text.strip()} = {other.text.strip()}"))
                break
    return found


def line_at(converted: Sequence[tuple[Span, str]], place: int) -> str | None:
    """Return what the quantity at a place is converted from (`converted_from`); None if there is none."""
    return next((line for (start, end), line in converted if start <= place < end), None)


def _quantity(match: re.Match[str]) -> _Quantity:
    if match["scale"]:
        name = {"摄氏": "摄氏度", "华氏": "华氏度"}[match["scale"]]
        digits, sign = match["degrees"], -1 if match["below"] else 1
    else:
        name, digits, sign = match["unit"], match["number"].replace(",", "").replace("−", "-"), 1
    scale = _SCALES.get(match["unit1"] or "", 1)
    decimals = len(digits.partition(".")[2])
    unit = _unit(name)
    value = sign * Fraction(digits) * scale
    return _Quantity(match.span(), match[0], value, Fraction(scale, 10**decimals), name, unit)


@cache
def _unit(name: str) -> _Unit:
    return next(unit for spelling, unit in _UNITS if re.fullmatch(spelling, name))


def _converted(one: _Quantity, unit: _Unit) -> list[Fraction]:
    """Return the quantity in another unit, once for each pair of their sizes."""
    return [
        ((one.value * mine + one.unit.zero) - unit.zero) / other
        for mine in one.unit.sizes
        for other in unit.sizes
    ]  # fmt: skip


def _compare(one: _Quantity, other: _Quantity, about: bool, loose: bool) -> bool | None:
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


def _compare_degrees(one: _Quantity, other: _Quantity, loose: bool, about: bool) -> bool | None:
    """Compare temperatures. As a difference, 5 °C are 9 °F: then it is left open which is meant."""
    (value,) = _converted(one, other.unit)
    if abs(other.value - value) <= other.last / 2:
        return True
    difference = one.value * one.unit.sizes[0] / other.unit.sizes[0]
    if abs(other.value - difference) <= max(other.last / 2, DEGREES):
        return None
    clear = max(DEGREES_ABOUT if loose else DEGREES, _coarse(other) / 2 if about else other.last)
    return False if abs(other.value - value) > clear else None


def _coarse(quantity: _Quantity) -> Fraction:
    """Return the size of the last digit that is not a closing zero: about 300 may be 280."""
    size = quantity.last
    while quantity.value and (quantity.value / size) % 10 == 0:
        size *= 10
    return size


def _shown(value: Fraction, like: _Quantity) -> str:
    """Return a value with two digits more than a quantity has, and its unit."""
    digits = len(str(like.last.denominator)) + 1
    number = f"{float(value):,.{digits}f}".rstrip("0").rstrip(".")
    return f"{number} {like.name}" if like.name.isascii() or like.name[0] in "°℃℉" else f"{number}{like.name}"
