"""Units of measurement as pint knows them (https://pint.readthedocs.io), with Chinese names beside the English ones."""

import re
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pint import UnitRegistry

_WRITTEN = re.compile(r"(?!_)(?:[^\W\d]|°[CF]|[℃℉²³]|(?:\^|\*\*)-?[1-4]\b|[ /*](?!\*))+")
# What people mean several things by: it differs between countries, or has one size by weight and one by volume, or no
# fixed length, or is no multiple (a decibel), or is a thousand or 1024
# (a kilobyte), or is mostly miswritten (ML).
_SEVERAL = frozenset(
    "ton t gallon gal pint pt quart qt cup gill tablespoon tbsp teaspoon tsp ounce oz fluid_ounce floz barrel bbl hundredweight "
    "cwt bushel calorie cal Cal horsepower hp month year yr b B degree deg dB dBm dBW dBu decibel bel Np neper octave decade "
    "kB KB MB GB TB PB kilobyte megabyte gigabyte terabyte petabyte ML Ml "
    "吨 里 两 尺 寸 斗 桶 杯 加仑 品脱 夸脱 盎司 度 马力 卡 大卡".split()
)
# What has one dimension and is not the same: a turn is no cycle of 2 pi, and a gray no sievert.
_KINDS = {
    unit: kind
    for kind, units in {
        "cycles": "hertz",
        "angle": "radian degree turn revolutions_per_minute revolutions_per_second",
        "decays": "becquerel curie counts_per_second",
        "intensity": "candela nit stilb lambert",
        "flux": "lumen lux",
        "absorbed dose": "gray rads",
        "equivalent dose": "sievert rem",
    }.items()
    for unit in units.split()
}


@cache
def registry() -> "UnitRegistry[Fraction]":
    """Return the units. Loading them takes a third of a second, once in a process."""
    from pint import UnitRegistry

    made: UnitRegistry[Fraction] = UnitRegistry(non_int_type=Fraction)
    made.load_definitions(files(__package__).joinpath("units.txt").read_text("utf-8").splitlines())
    return made


@cache
def _line(unit: str, to: str) -> tuple[Fraction, Fraction]:
    """Return how many of the second unit one of the first makes, and what none of it is there (0 °C is 32 °F)."""
    if (kinds := _kinds(unit)) and (others := _kinds(to)) and kinds != others:
        raise ValueError(f"{unit} and {to} measure different things")
    none, one = (Fraction(registry().Quantity(Fraction(value), unit).to(to).magnitude) for value in (0, 1))
    return one - none, none


def _kinds(unit: str) -> set[str]:
    names = [registry().parse_unit_name(part)[0][1] for part in dict(registry().parse_units(unit)._units)]
    return {_KINDS[name] for name in names if name in _KINDS}


def converted(value: Fraction, unit: str, to: str) -> Fraction:
    """Return a value of one unit of `registry` in another, exactly where their sizes are exact. Raises ValueError where they are
    not of one dimension, or measure different things (Gy, Sv)."""
    try:
        size, none = _line(unit, to)
    except Exception as error:  # pint raises many kinds
        raise ValueError(f"{unit} cannot be converted to {to}") from error
    return value * size + none


def unit_named(text: str) -> str:
    """Return what `registry` calls a unit (`km/h`, `square feet`, `平方米`). Raises ValueError where there is none, and where it
    can be read in several ways (`ton`)."""
    if not _WRITTEN.fullmatch(text) or len(text) > 40:
        raise ValueError(f"{text[:40]!r} is no unit")
    name = " ".join(text.split()).replace("℃", "°C").replace("℉", "°F").replace("²", "**2").replace("³", "**3")
    name = re.sub(r"\b(square|cubic) (\w+)", lambda said: f"{said[2]}**{2 if said[1] == 'square' else 3}", name)
    name = re.sub(r"(平方|立方)(\w+)", lambda said: f"{said[2]}**{2 if said[1] == '平方' else 3}", name)
    name = re.sub(r" per |每", "/", name).replace(" ", "_")
    words = {word.removesuffix("s") if len(word) > 2 else word for word in re.split(r"\W+", name)}
    if name in ("m", "M") or words & _SEVERAL:
        raise ValueError(f"{text!r} can be read in several ways")
    try:
        registry().parse_units(name)
    except Exception as error:  # pint and the tokenizer that it uses raise many kinds
        raise ValueError(f"{text!r} is no unit that is known") from error
    return name


def is_temperature(name: str) -> bool:
    """Return whether a unit of `registry` is one of temperature."""
    return dict(registry().get_dimensionality(name)) == {"[temperature]": 1}
