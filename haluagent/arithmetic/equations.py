"""The arithmetic a text states (`48/2 = 24 clips`, `25% of 80 is 20`), and whether it holds.

Only what is certain is decided: a side that is a name, an unknown, or in another unit makes an equation one that
cannot be computed, never a wrong one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from haluagent.arithmetic.expressions import Value, evaluate_source, same_sources, source
from haluagent.arithmetic.notation import Token, tokenize
from haluagent.arithmetic.sides import Side, side_after, side_before
from haluagent.errors import ToolError
from haluagent.text.numbers import close, rounds_to
from haluagent.text.units import has_unit, is_unit_factor, mixed_units
from haluagent.types import Span

MAX_EQUATIONS = 60
_SYMBOLS = ("=", "≈")
_ALSO_UNKNOWNS = frozenset("sht")
_PI_TEXTS = ("3.14", "3.1416", "3.14159", "3.1415926")


@dataclass(frozen=True)
class Equation:
    """Two neighbouring sides of a stated equation. `left`, `right` are as written; `span` covers both in the text.

    `holds` is None where the equation cannot be computed; `reason` then says why. `value` is what the computed side
    comes to, `computed` and `stated` which side was computed and which one claims the result.
    """

    left: str
    right: str
    span: Span
    right_span: Span
    holds: bool | None
    value: Value | None = None
    computed: str = ""
    stated: str = ""
    reason: str = ""


def find_equations(text: str) -> list[Equation]:
    """Return the equations that `text` states, in order, each checked; at most 60. Blocks, and never raises.

    May start a child process for π, roots and unknowns.
    """
    return list(_find_equations(text))


@lru_cache(maxsize=4096)  # the sentences of a response are read again for each of them
def _find_equations(text: str) -> tuple[Equation, ...]:
    found: list[Equation] = []
    for left, right, sign in _pairs(tokenize(text)):
        if not (_calculates(left) or _calculates(right)):
            continue  # a name and its value, or one unit in another
        found.append(_check(text, left, right, sign))
        if len(found) == MAX_EQUATIONS:
            break
    return tuple(found)


def _calculates(side: Side) -> bool:
    """Return whether there is something to work out: an operator, or a multiple of an unknown (`24x`)."""
    return side.has_operator or (bool(side.unknowns) and any(token.kind == "number" for token in side.tokens))


def _pairs(tokens: Sequence[Token]) -> Iterator[tuple[Side, Side, Token]]:
    for segment in _segments(tokens):
        places = [index for index, token in enumerate(segment) if token.kind == "equals"]
        edges = [-1, *places, len(segment)]
        for number, place in enumerate(places):
            sign = segment[place]
            symbol = sign.text in _SYMBOLS
            left = side_before(segment[edges[number] + 1 : place])
            right = side_after(segment[place + 1 : edges[number + 2]], 3 if symbol else 1)
            if left is None or right is None or (left.named and not left.has_operator):
                continue
            if not left.has_operator and left.tokens[-1].kind == "percent":
                continue  # the share is a name here: 25% = 0.25 * 80
            if symbol or (left.has_operator and not right.has_operator and not right.compared):
                yield left, right, sign


def _segments(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Return the stretches of a text between two stops. A line that begins with an equals sign goes on from the line
    before."""
    segment: list[Token] = []
    depth = 0
    for index, token in enumerate(tokens):
        depth = max(0, depth + {"open": 1, "close": -1}.get(token.kind, 0))
        stop = token.kind == "break" or (token.kind == "comma" and not depth)
        if stop and token.raw.isspace():
            rest = next((later for later in tokens[index + 1 :] if not later.raw.isspace()), None)
            if rest is not None and rest.kind == "equals" and rest.text in _SYMBOLS:
                continue
        if stop:
            yield segment
            segment, depth = [], 0
        else:
            segment.append(token)
    yield segment


def _check(text: str, left: Side, right: Side, sign: Token) -> Equation:
    shown = [text[slice(*side.span)] for side in (left, right)]
    span = (left.span[0], right.span[1])

    def result(holds: bool | None, reason: str = "", value: Value | None = None, swapped: bool = False) -> Equation:
        computed, stated = reversed(shown) if swapped else shown
        return Equation(shown[0], shown[1], span, right.span, holds, value, computed, stated, reason)

    if not (left.computable and right.computable):
        return result(None, "a part of it is a name, not a number")
    if left.unknowns or right.unknowns:
        return _check_identity(left, right, result)
    swapped = right.has_operator and not left.has_operator
    computed, stated = (right, left) if swapped else (left, right)
    try:
        readings = list(_readings(computed, stated))
        value = readings[0][0]
        about = (
            sign.text == "≈"
            or _has_pi(left)
            or _has_pi(right)
            or bool((left.units | right.units) & {"about", "around", "roughly", "approximately", "约", "大约", "左右"})
        )
        if any(_agree(first, second, computed, stated, about) for first, second in readings):
            return result(True, value=value, swapped=swapped)
        second = readings[0][1].number
    except ToolError as error:
        return result(None, str(error))
    if stated.has_operator and _begins_with(stated, value.number):
        return result(None, "its right side goes on calculating with the result", value, swapped)
    if reason := _other_units(computed, stated, value.number, second):
        return result(None, reason, value, swapped)
    return result(False, value=value, swapped=swapped)


def _begins_with(side: Side, value: Fraction) -> bool:
    """Return whether `value` is the first number of a side, as in `20 - 12 = 8 * 2 = 16`."""
    first = next((token for token in side.tokens if token.kind == "number"), None)
    return first is not None and _value([first]).number == value


def _other_units(computed: Side, stated: Side, value: Fraction, claim: Fraction) -> str:
    """Return why the numbers of an equation that does not hold may still be right; empty where nothing speaks for
    that."""
    both = computed.measures | stated.measures
    if both & _ALSO_UNKNOWNS:
        return "a letter in it may be a unit or an unknown"
    if mixed_units(computed.measures) and any(token.text in "+-" for token in computed.tokens):
        return "it adds different units"
    if computed.measures != stated.measures and has_unit(both) and is_unit_factor(value, claim):
        return "its sides may be in different units"
    return ""


def _check_identity(left: Side, right: Side, result: Callable[..., Equation]) -> Equation:
    if left.unknowns != right.unknowns or len(left.unknowns) != 1:
        return result(None, "it has an unknown")
    try:
        sources = source(left.tokens), source(right.tokens)
        if same_sources(*sources):
            return result(True)
        # 3x = 45 - 2x is a condition; 2x * 3 = 5x, where one step was worked out, is a claim.
        products = all(_only_products(side) for side in (left, right))
        return result(False) if products else result(None, "it has an unknown")
    except ToolError as error:
        return result(None, str(error))


def _only_products(side: Side) -> bool:
    return all(token.text in "*/" for token in side.tokens if token.kind == "operator")


def _readings(computed: Side, stated: Side) -> Iterator[tuple[Value, Value]]:
    """Yield the values of both sides, as written first, then as writers also mean it. Raises ToolError."""
    yield _value(computed.tokens), _value(stated.tokens)
    yield from _without_percent(computed, stated)
    for tokens in (computed.tokens, stated.tokens):
        if source(tokens) != source(tokens, mixed=True):
            yield _value(computed.tokens, True), _value(stated.tokens, True)
    grouped = [_group_fractions(side.tokens) for side in (computed, stated)]
    if len(grouped[0]) > len(computed.tokens) or len(grouped[1]) > len(stated.tokens):
        yield _value(grouped[0]), _value(grouped[1])


def _group_fractions(tokens: Sequence[Token]) -> list[Token]:
    """Put brackets around fractions that are written close together after a spaced sign: `28 / 1/5`."""
    grouped: list[Token] = []
    index = 0
    while index < len(tokens):
        three = tokens[index : index + 3]
        fraction = [token.kind for token in three] == ["number", "operator", "number"] and three[1].text == "/"
        if fraction and not three[1].spaced and not three[2].spaced and index and tokens[index - 1].text == "/":
            place = three[0].span
            grouped += [Token("open", "(", place, False, "("), *three, Token("close", ")", place, False, ")")]
            index += 3
        else:
            grouped.append(tokens[index])
            index += 1
    return grouped


def _without_percent(computed: Side, stated: Side) -> Iterator[tuple[Value, Value]]:
    """Leave out percent signs, which may be a unit: `40 / 80 * 100 = 50%`, `100 - 25% = 75%`."""
    bare = [tuple(token for token in side.tokens if token.kind != "percent") for side in (computed, stated)]
    if len(bare[1]) < len(stated.tokens):
        yield _value(computed.tokens), _value(bare[1])
        yield _value(bare[0]), _value(bare[1])
    elif len(bare[0]) < len(computed.tokens) and all(
        token.text in "+-" for token in computed.tokens if token.kind == "operator"
    ):
        yield _value(bare[0]), _value(stated.tokens)


def _value(tokens: Sequence[Token], mixed: bool = False) -> Value:
    return evaluate_source(source(tokens, mixed=mixed))


def _agree(first: Value, second: Value, computed: Side, stated: Side, about: bool) -> bool:
    """Return whether the stated value is the computed one, exactly or rounded as people round."""
    value, claim = first.number, second.number
    if value == claim or (about and close(value, claim)):
        return True
    if stated.has_operator:  # a rounded number went into it
        return value.denominator != 1 and claim.denominator != 1 and close(value, claim)
    decimals = _decimals(stated)
    if not rounds_to(value, claim, decimals):
        return False
    # 0.2 + 0.88 = 1.1 is wrong, although 1.08 rounds to 1.1: the digits were there. 2 / 3 = 0.7 is rounded.
    ends = _terminates(value) and decimals < _decimals(computed)
    return about or not (ends or decimals == 0) or close(value, claim)


def _terminates(value: Fraction) -> bool:
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def _decimals(side: Side) -> int:
    """Return the most decimal places among the numbers of a side."""
    return max((len(token.text.partition(".")[2]) for token in side.tokens if token.kind == "number"), default=0)


def _has_pi(side: Side) -> bool:
    return any(token.kind == "pi" or token.text in _PI_TEXTS for token in side.tokens)
