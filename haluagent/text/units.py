"""Units of measurement, as far as it takes to see that two numbers are not in the same one."""

from collections.abc import Iterable
from fractions import Fraction

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
_FACTORS = frozenset([7, 10, 12, 16, 24, 30, 36, 52, 60, 100, 365, 1000, 1440, 3600, 10**4, 10**5, 10**6, 10**8])


def mixed_units(units: Iterable[str]) -> bool:
    """Whether two different units of one dimension are among them (`cm` and `m`): numbers alone then say nothing."""
    seen: dict[str, str] = {}
    for name in units:
        dimension, unit = _UNITS.get(name.replace("^", ""), (name, name))
        if seen.setdefault(dimension, unit) != unit:
            return True
    return False


def has_unit(units: Iterable[str]) -> bool:
    """Whether a unit of measurement is among the words."""
    return any(name.replace("^", "") in _UNITS for name in units)


def is_unit_factor(left: Fraction, right: Fraction) -> bool:
    """Whether one number is a usual factor between units (60, 100, 1000 …) times the other."""
    if not left or not right:
        return False
    return max(left / right, right / left) in _FACTORS
