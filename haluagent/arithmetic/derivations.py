"""How a number may follow from others: by one calculation with two of them, or as the sum of several in a row."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations, product
from typing import Literal, NamedTuple

from haluagent.text.numbers import Number, matches

Sign = Literal["+", "-", "×", "/", "→"]
MOST = 40  # numbers that are combined: pairs of more would explain any number
LONGEST = 8  # numbers of one sum
SMALL = 3  # a count that any pair of numbers gives
_DIGITS = re.compile(r"\d+(?:\.\d+)?(?![\d,.]*\d)")


class FromTwo(NamedTuple):
    """A calculation with two numbers, by their places in the pair: `→` is the change from the second to the first as a share
    of the second."""

    first: int
    sign: Sign
    second: int


def gives(value: Fraction, number: Number) -> bool:
    """Return whether a number states a value, ignoring the sign: an expense of -48.2 is one of 48.2."""
    return matches(value, number) or matches(-value, number)


def from_two(one: Fraction, other: Fraction, number: Number) -> Iterator[FromTwo]:
    """Yield the calculations with two values that give a number as precisely as it is stated, without its sign."""
    low, high = (0, 1) if one <= other else (1, 0)
    values = (one, other)
    if gives(one + other, number):
        yield FromTwo(0, "+", 1)
    if matches(values[high] - values[low], number):
        yield FromTwo(high, "-", low)
    if not values[low] or not values[high]:
        return
    if number.is_percent:
        for first, second in ((0, 1), (1, 0)):
            if matches(values[first] / values[second], number):
                yield FromTwo(first, "/", second)
            if matches(abs(values[first] - values[second]) / values[second], number):
                yield FromTwo(first, "→", second)
    elif values[high] / values[low] != 1 and matches(values[high] / values[low], number):
        yield FromTwo(high, "/", low)


def derivation(number: Number, known: Sequence[Number], beside: Sequence[Number] = ()) -> str | None:
    """Return a calculation that gives a number from those of a text, as a line (`4.5 - 4.0 = 0.5`), or as one of them times one
    that stands `beside` it (three visits at 60); None if there is none.

    Many numbers explain any number, so only the first `MOST` are combined, in pairs or, up to `LONGEST` in a row, as a sum.
    Whether the calculation is what a sentence means is not known.
    """
    if number.value.denominator == 1 and abs(number.value) <= SMALL:
        return None
    terms = list({one.value: one for one in known if one.value}.values())[:MOST]
    for one, other in combinations(terms, 2):
        for first, sign, second in chain.from_iterable(from_two(*values, number) for values in _values(one, other)):
            pair = (one, other)
            if sign == "→":
                return f"{pair[second].text} → {pair[first].text}: {number.text}"
            return f"{pair[first].text} {sign} {pair[second].text} = {number.text}"
        if matches(one.value * other.value, number):
            return f"{one.text} × {other.text} = {number.text}"
    for one, other in product(terms, beside):
        if 1 not in (abs(one.value), abs(other.value)) and matches(one.value * other.value, number):
            return f"{one.text} × {other.text} = {number.text}"
    for start in range(len(terms)):
        for end in range(start + 3, min(start + LONGEST, len(terms)) + 1):
            if gives(sum((term.value for term in terms[start:end]), Fraction(0)), number):
                return f"{' + '.join(term.text for term in terms[start:end])} = {number.text}"
    return None


def _values(one: Number, other: Number) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield the values of two numbers, and their digits where one of them may have the scale of the other: `from 4.0 to 4.5
    billion`."""
    yield one.value, other.value
    first, second = _DIGITS.match(one.text), _DIGITS.match(other.text)
    if first and second and (first[0] == one.text) is not (second[0] == other.text):
        yield Fraction(first[0]), Fraction(second[0])
