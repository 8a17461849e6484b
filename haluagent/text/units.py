"""Units of measurement: which two numbers may say the same in different ones."""

import re
from collections.abc import Iterable, Iterator

_DIMENSIONS = {
    "time": "s=sec=second=秒 min=minute=分=分钟 h=hr=hour=时=小时 day=天=日 week=周=星期 month=月=个月 year=年 decade "
    "century=世纪",
    "length": "mm=毫米 cm=厘米 dm=分米 m=meter=metre=米 km=kilometer=kilometre=千米=公里 "
    "inch=inche=in foot=feet=ft yard=yd mile=mi",
    "mass": "mg=毫克 g=gram=克 kg=kilogram=千克=公斤 斤 ton=tonne=吨 lb=pound ounce=oz",
    "volume": "ml=mL=毫升=cm3=立方厘米 l=L=liter=litre=升=dm3=立方分米 "
    "m3=立方米 cup pint quart gallon tablespoon teaspoon",
    "area": "cm2=平方厘米 dm2=平方分米 m2=平方米 km2=平方千米=平方公里 hectare=公顷 acre 亩",
    "money": "$=dollar=美元 ¥=元=yuan 角 分钱 cent penny=pennie dime nickel €=euro £",
    "count": "dozen pair",
}
_UNITS = {
    spelling: (dimension, unit)
    for dimension, units in _DIMENSIONS.items()
    for unit in units.split()
    for spelling in unit.split("=")
}
# The unit in the name of a value, another unit behind a number, and how many of the first make one of the other.
_CONVERSIONS = [
    (re.compile(name, re.IGNORECASE), re.compile(rf"\s*(?:{unit})", re.IGNORECASE), factor)
    for name, unit, factor in (
        (r"sec", r"min|分", 60),
        (r"sec", r"h(?:ou)?rs?\b|小时", 3600),
        (r"min", r"h(?:ou)?rs?\b|小时", 60),
        (r"hour|hrs", r"days?\b|天", 24),
        (r"days?$", r"weeks?\b|周|个?星期", 7),
        (r"cents?|fen", r"", 100),
        (r"(?:_m|met(?:er|re)s?|distance)$", r"km|kilomet|公里|千米", 1000),
        (r"_(?:g|grams?|ml)$", r"kg|kilo|公斤|千克|l\b|升|lit", 1000),
        (r"_mb$", r"gb", 1000),
        (r"_mb$", r"gb", 1024),
    )
]


def conversions(name: str, after: str) -> Iterator[int]:
    """Yield the factors that convert the value `name` (`duration_sec`) to the unit at the start of `after`."""
    return (factor for pattern, unit, factor in _CONVERSIONS if pattern.search(name) and unit.match(after))


def mixed_units(units: Iterable[str]) -> bool:
    """Return whether two different units of one dimension are among them (`cm` and `m`): numbers alone then say nothing."""
    seen: dict[str, str] = {}
    for name in units:
        dimension, unit = _UNITS.get(name.replace("^", ""), (name, name))
        if seen.setdefault(dimension, unit) != unit:
            return True
    return False


def dimensions(units: Iterable[str]) -> set[str]:
    """Return the dimensions of the units among the words, such as `length` and `time`."""
    return {_UNITS[name.replace("^", "")][0] for name in units if name.replace("^", "") in _UNITS}


def has_unit(units: Iterable[str]) -> bool:
    """Return whether a unit of measurement is among the words."""
    return any(name.replace("^", "") in _UNITS for name in units)
