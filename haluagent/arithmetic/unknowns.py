"""Equations with an unknown: the value that a response gives it, put to the test (`38 = 3x - 7`, and further on `x =
15`)."""

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from haluagent.arithmetic.equations import Equation
from haluagent.arithmetic.expressions import solve
from haluagent.errors import ToolError
from haluagent.text.numbers import Number, find_numbers, matches

_ASSIGNED = re.compile(r"(?<![A-Za-z0-9*/×÷+\-.])([A-Za-z])\s*[=＝≈]\s*(?=-?\d)")
_GOES_ON = re.compile(r"\s*[-+*/×÷^(A-Za-z]")
_WORD = re.compile(r"[\u3400-\u9fff]|(?<!\\)(?<![A-Za-z])(?!sqrt|pi)[A-Za-z]{2,}")
_LETTER = re.compile(r"(?<![A-Za-z])([A-Za-z])(?![A-Za-z])")


@lru_cache(maxsize=16)  # of a response, for each of its sentences
def assigned(text: str) -> Mapping[str, Number]:
    """Return the unknowns that a text gives one number, and only one."""
    found: dict[str, list[Number]] = {}
    numbers = {number.span[0]: number for number in find_numbers(text)}
    for match in _ASSIGNED.finditer(text):
        number = numbers.get(match.end())
        if number is not None and not _GOES_ON.match(text, number.span[1]):
            found.setdefault(match.group(1), []).append(number)
    return {name: values[0] for name, values in found.items() if len({value.value for value in values}) == 1}


def solved(equation: Equation, values: Mapping[str, Number]) -> tuple[Number, list[Fraction]] | None:
    """Return the value that is given for an equation's one unknown, and its solutions; None where they cannot be told.

    Starts a child process for the algebra; blocking.
    """
    names = set(_LETTER.findall(f"{equation.left} {equation.right}"))
    if _WORD.search(f"{equation.left} {equation.right}"):
        return None  # x的平方, 3x apples: a word in it may change a number
    if equation.holds is not None or len(names) != 1 or not names <= values.keys():
        return None
    try:
        found = [value.number for value in solve(f"{equation.left} = {equation.right}")]
    except ToolError:
        return None
    return values[names.pop()], found


def agrees(number: Number, found: list[Fraction]) -> bool:
    """Return whether the stated number is one of the solutions, as far as it is stated."""
    return any(matches(value, number) for value in found)
