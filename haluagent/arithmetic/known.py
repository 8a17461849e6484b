"""Numbers that a model may calculate with: those of the texts it was given, and a few that everyone knows."""

import re
from collections.abc import Iterable
from fractions import Fraction

from haluagent.arithmetic.notation import OPERATOR_WORDS
from haluagent.text.numbers import Number, find_numbers

USUAL_CONSTANTS = frozenset(
    Fraction(text)
    for text in "0 1 2 7 10 12 24 30 52 60 100 360 365 366 1000 3600 10000 3.14 3.1416 3.14159 1/2".split()
)
_SEPARATOR = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_DIGITS = re.compile(r"(?<![0-9.])[0-9]{1,30}(?:\.[0-9]{1,30})?(?![0-9])")


def foreign_numbers(text: str, sources: Iterable[str], constants: Iterable[Fraction] = ()) -> list[Number]:
    """Return the numbers of `text` that are neither in the sources, by value and without their sign, nor constants."""
    known = set(constants).union(*map(known_numbers, sources))
    return [number for number in calculated_numbers(text) if abs(number.value) not in known]


def known_numbers(source: str) -> set[Fraction]:
    """Return the values that a source gives, without their signs; those of digits also without their scale (4,860万 as 4860)."""
    return _spoken(find_numbers(source)) | set(map(Fraction, _DIGITS.findall(_SEPARATOR.sub("", source))))


def calculated_numbers(text: str) -> list[Number]:
    """Return the numbers of a formula. Operators are set apart, so that `12/4-3` is read as the numbers 12, 4 and 3."""
    for operator in OPERATOR_WORDS:
        text = text.replace(operator, f" {operator} ")
    return find_numbers(re.sub(r"([-−–+*×·/÷^()=])", r" \1 ", text))


def _spoken(numbers: Iterable[Number]) -> set[Fraction]:
    """Return the values, and those that a percent can be used as: 20% as 0.2 and as 20."""
    found: set[Fraction] = set()
    for number in numbers:
        found.add(abs(number.value))
        if number.decimals is None:
            found.update((Fraction(abs(number.value.numerator)), Fraction(number.value.denominator)))
        if number.is_percent:
            found.update((abs(number.value) * 100, abs(1 - number.value), 1 + abs(number.value)))
    return found
