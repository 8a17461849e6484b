"""The arithmetic a text states (`48/2 = 24 clips`, `25% of 80 is 20`), and whether it holds.

Only what can be read in one way is decided. A side that is a name, an unknown, or in another unit makes an equation one
that cannot be computed, never a wrong one; so does a rounded, a denied or a quoted result. Of several readings the plain
one supports, and any other that agrees keeps an equation from being wrong.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from math import log10

from haluagent.arithmetic.expressions import Value, algebra_left, evaluate_source, same_sources, source
from haluagent.arithmetic.notation import SCALE_PLACES, SIGNS, Token, tokenize
from haluagent.arithmetic.sides import Side, side_after, side_before
from haluagent.arithmetic.stated import why_open
from haluagent.errors import ToolError
from haluagent.text.numbers import close
from haluagent.text.units import dimensions, mixed_units
from haluagent.types import Span

MAX_EQUATIONS = 60
_SYMBOLS = ("=", "≈")
_EXPLICIT = frozenset(("=", "≈", "equals", "is equal to", "等于", "约等于"))
_ALSO_UNKNOWNS = frozenset("sht")
_ABOUT = frozenset("about around roughly approximately nearly almost 约 大约 左右 接近".split())
# Behind a number these make another one of it, and before a formula they say what is done with its value.
_CHANGES = frozenset(
    "squared cubed square cube dozen score pair half halve double twice triple thrice quarter root k bn mn kilo "
    "average mean median log am pm lakh crore 平方 立方 打 倍 半 双 对 成 折".split()
)
_TIMES_100 = re.compile(r"\*100(?![0-9.])|(?<![0-9.])100\*")
_DATE = re.compile(r"(?<![0-9])[0-9]{4}([-/])[0-9]{1,2}\1[0-9]{1,2}(?![0-9])|(?:^|[-/])0[0-9]")
_DOTTED = re.compile(r"[0-9]{1,3}\.[0-9]{3}")
_BASE = re.compile(r"(?<=[0-9])[₀-₉]+")  # 1101₂ is no number to calculate with
_FOOTNOTE = re.compile(r"(?<=[0-9%])\[[0-9]{1,3}\]")


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
    try:
        return list(_find_equations(text, algebra_left()))
    except _Spent:
        return list(_find_equations(text, False))


class _Spent(Exception):
    """The time for algebra ended in the middle of a text. What that left open must not be kept for other detections."""


def calculates_rightly(text: str) -> bool:
    """Return True where a text states an equation that holds, and none that does not. Blocks as `find_equations` does."""
    held = [equation.holds for equation in find_equations(text)]
    return True in held and False not in held


@lru_cache(maxsize=4096)  # the sentences of a response are read again for each of them
def _find_equations(text: str, algebra: bool) -> tuple[Equation, ...]:
    found: list[Equation] = []
    plain = _FOOTNOTE.sub(lambda mark: " " * len(mark[0]), text)
    plain = _BASE.sub(lambda base: "x" * len(base[0]), plain)
    for stated in _pairs(tokenize(plain)):
        equation = _check(text, stated)
        if equation.holds is not None and (reason := why_open(text, equation.span, equation.holds)):
            equation = replace(equation, holds=None, reason=reason)
        found.append(equation)
        if len(found) == MAX_EQUATIONS:
            break
    if algebra and not algebra_left():
        raise _Spent
    return tuple(found)


@dataclass(frozen=True)
class _Stated:
    """Two sides and the sign between them. `words` are those before the left side, `lead` is the last of them, and
    `goes_on` says that another number follows the right side, as in `= 2 hours 15 minutes`. `behind` is a letter right
    behind it, which is a unit."""

    left: Side
    right: Side
    sign: Token
    lead: str
    words: frozenset[str]
    goes_on: bool
    behind: frozenset[str]


def _calculates(side: Side) -> bool:
    """Return whether there is something to work out: an operator, or a multiple of an unknown (`24x`)."""
    return side.has_operator or (bool(side.unknowns) and any(token.kind == "number" for token in side.tokens))


def _pairs(tokens: Sequence[Token]) -> Iterator[_Stated]:
    for segment in _segments(tokens):
        places = [index for index, token in enumerate(segment) if token.kind == "equals"]
        edges = [-1, *places, len(segment)]
        worked_out: Side | None = None  # the right side of the equation before
        for number, place in enumerate(places):
            sign = segment[place]
            left = side_before(segment[edges[number] + 1 : place])
            right = side_after(segment[place + 1 : edges[number + 2]], 3 if sign.text in _SYMBOLS else 1)
            chained = worked_out is not None and left is not None and left.tokens == worked_out.tokens
            worked_out = None
            if left is None or right is None or (left.named and not left.has_operator and not chained):
                continue
            if not left.has_operator and left.tokens[-1].kind == "percent" and not chained:
                continue  # the share is a name here: 25% = 0.25 * 80
            if not (_calculates(left) or _calculates(right) or chained):
                continue  # a name and its value, or one unit in another
            rest = segment[segment.index(right.tokens[-1], place) + 1 : edges[number + 2]]
            before = segment.index(left.tokens[0], edges[number] + 1)
            if sign.text in _SYMBOLS or _worded(left, right, sign, segment[before:place], rest):
                words = frozenset(
                    token.raw.lower().rstrip("s") for token in segment[:before] if token.kind in ("word", "spelled")
                )
                lead = segment[before - 1].text.lower() if before else ""
                yield _Stated(
                    left,
                    right,
                    sign,
                    lead,
                    words,
                    any(token.kind in ("number", "spelled") for token in rest),
                    frozenset(
                        token.raw.lower() for token in rest[:1] if token.kind == "unknown" or token.text in SIGNS
                    ),
                )
                worked_out = right


def _worded(left: Side, right: Side, sign: Token, written: Sequence[Token], rest: Sequence[Token]) -> bool:
    """Return whether a word such as `is` stands between a calculation and its result, and not between a name (`18-24`,
    `2 x 4`) and what is said of it."""
    if not left.has_operator or right.has_operator or right.compared:
        return False
    marks = [token for token in left.tokens if token.kind == "operator"]
    certain = any(token.raw not in "-/–" or token.spaced for token in marks) or not marks
    if sign.raw in _EXPLICIT:
        return certain or not right.units
    said = [token for token in rest if token.kind in ("word", "spelled", "number", "unknown")]
    return certain and len(written) == len(left.tokens) and len(said) <= 1


def _segments(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Return the stretches of a text between two stops. A line that begins with an equals sign goes on from the line
    before."""
    segment: list[Token] = []
    depth = 0
    following = _following(tokens)
    for index, token in enumerate(tokens):
        depth = max(0, depth + {"open": 1, "close": -1}.get(token.kind, 0))
        stop = token.kind == "break" or (token.kind == "comma" and not depth)
        if stop and token.raw.isspace():
            rest = following[index]
            if rest is not None and rest.kind == "equals" and rest.text in _SYMBOLS:
                continue
        if stop:
            yield segment
            segment, depth = [], 0
        else:
            segment.append(token)
    yield segment


def _following(tokens: Sequence[Token]) -> list[Token | None]:
    """Return for each token the next one that is no line end."""
    found: list[Token | None] = []
    rest: Token | None = None
    for token in reversed(tokens):
        found.append(rest)
        rest = rest if token.raw.isspace() else token
    return found[::-1]


def _check(text: str, stated: _Stated) -> Equation:
    left, right = stated.left, stated.right
    shown = [text[slice(*side.span)] for side in (left, right)]
    span = (left.span[0], right.span[1])

    def result(holds: bool | None, reason: str = "", value: Value | None = None, swapped: bool = False) -> Equation:
        computed, claimed = reversed(shown) if swapped else shown
        return Equation(shown[0], shown[1], span, right.span, holds, value, computed, claimed, reason)

    if not (left.computable and right.computable):
        return result(None, "a part of it is a name, not a number")
    if left.unknowns or right.unknowns:
        return _check_identity(left, right, result)
    swapped = right.has_operator and not left.has_operator
    computed, claimed = (right, left) if swapped else (left, right)
    try:
        value, claim = _value(computed.tokens), _value(claimed.tokens).number
        if reason := _unclear(computed, claimed, stated):
            return result(None, reason, value, swapped)
        if _agree(value.number, claim, computed, claimed, stated.sign):
            return result(True, value=value, swapped=swapped)
        if reason := _excuse(value.number, claim, computed, claimed, stated):
            return result(None, reason, value, swapped)
    except ToolError as error:
        return result(None, str(error))
    return result(False, value=value, swapped=swapped)


def _unclear(computed: Side, claimed: Side, stated: _Stated) -> str:
    """Return why nothing is said about two sides, whatever their numbers are; empty where they are plain."""
    both = computed.measures | claimed.measures
    if both & _CHANGES:
        return "a word in it changes a number"
    adds = any(token.text in "+-" for token in computed.tokens)
    if adds and len(computed.measures - _ABOUT) > 1:
        return "it adds different things"
    if _percents(computed) and not _all_percents(computed) and (adds or _percents(claimed)):
        return "its percent may be of a number or a unit"
    if not _may_result(dimensions(computed.measures), dimensions(claimed.measures)):
        return "its result is of another kind"
    if stated.behind and computed.measures and not stated.behind <= computed.measures:
        return "a letter behind it may be another unit"
    if stated.goes_on and (_divides(computed) or mixed_units(both)):
        return "its result may go on"
    if _DATE.search("".join(token.raw for token in computed.tokens)):
        return "it may be a date"
    if mixed_units(both) and (computed.measures & claimed.measures != claimed.measures or adds):
        return "its sides may be in different units"
    return ""


def _may_result(given: set[str], claimed: set[str]) -> bool:
    """Return whether a result may be of these kinds: of those it was worked out from, or an area or a volume of lengths."""
    return not given or claimed <= given or given <= {"length", "area"}


def _agree(value: Fraction, claim: Fraction, computed: Side, claimed: Side, sign: Token) -> bool:
    """Return whether the stated value is the computed one, exactly or rounded as far as it has to be."""
    if value == claim:
        return True
    if _percents(claimed) and not _percents(computed) and _TIMES_100.search(source(computed.tokens)):
        claim *= 100  # 40 / 80 * 100 = 50%
        if value == claim:
            return True
    if claimed.has_operator:
        return False
    decimals = _decimals(claimed)
    rounded = abs(value - claim) * 2 <= Fraction(10) ** -decimals
    enough = 0 if _about(computed, claimed, sign) else 2 if _terminates(value) else 1
    return rounded and decimals >= enough


def _about(computed: Side, claimed: Side, sign: Token) -> bool:
    return sign.text == "≈" or bool((computed.units | claimed.units) & _ABOUT)


def _excuse(value: Fraction, claim: Fraction, computed: Side, claimed: Side, stated: _Stated) -> str:
    """Return why the numbers of an equation that does not hold may still be right; empty where nothing speaks for
    that."""
    tokens = computed.tokens + claimed.tokens
    if claimed.has_operator and _begins_with(claimed, value):
        return "its right side goes on calculating with the result"
    if (computed.measures | claimed.measures) & _ALSO_UNKNOWNS:
        return "a letter in it may be a unit or an unknown"
    if not _same_kind(computed, claimed, stated.behind, value, claim):
        return "its result may be in another unit, or of another kind"
    if (
        stated.words & _CHANGES
        or stated.lead in ("of", "that")
        or (stated.right.named and not stated.right.units & _ABOUT)
    ):
        return "a word beside it may change it"
    if any(token.kind == "degree" or (token.kind == "function" and token.text != "sqrt") for token in tokens):
        return "its angles or logarithms may be of another kind"
    if _about(computed, claimed, stated.sign) and abs(value - claim) * 10 <= abs(value):
        return "it is about that"
    whole = value.denominator == 1 and all(token.text.isdigit() for token in computed.tokens if token.kind == "number")
    exact = claimed.has_operator or any("/" in token.text for token in claimed.tokens if token.kind == "number")
    if not exact and (not whole or _divides(computed)):
        off, last = abs(value - claim), Fraction(10) ** -_decimals(claimed)
        if 2 * off <= last or (off < last and _divides(computed)):
            return "its result may be rounded, or without its remainder"
    only_adds = all(token.text in "+-" for token in tokens if token.kind == "operator")
    if not (whole or only_adds) and close(value, claim):
        return "it may have been worked out with more digits"
    if _ambiguous(computed) or _ambiguous(claimed):
        return "its order of operations may be another"
    if any(token.raw in "·∙•⋅" for token in computed.tokens):
        return "its point may be that of a decimal"
    if abs(value - claim) * 10**9 <= abs(value):
        return "it may be a computer's fraction"
    _, *others = product((value, *_other_values(computed)), (claim, *_other_values(claimed)))
    if any(_same(first, second) for first, second in others):
        return "its signs can be read in another way"
    return ""


def _same_kind(computed: Side, claimed: Side, behind: frozenset[str], value: Fraction, claim: Fraction) -> bool:
    """Return whether a result is in the unit that it was worked out in, as far as both are named: 3 wins + 2 draws are no
    11 points. Where names stand beside numbers that are written close together, they may be a name: a 4/4 bar."""
    given, stated = computed.measures - _ABOUT, (claimed.measures | behind) - _ABOUT
    if stated - SIGNS and (_percents(computed) or _is_power_of_ten(value, claim)):
        return False  # 0.25% × 4 = 100 bps, 1200 × 2.5 = 3 kN
    marks = [token for token in computed.tokens if token.kind == "operator"]
    if given and not stated <= given:
        return False
    if claimed.has_operator and given and not stated:
        return False  # 3/15 + 30 days = 4/14
    close_marks = [token.raw for token in marks if token.raw in "-/–" and not token.spaced]
    if not given | stated or len(close_marks) < len(marks):
        return True
    return "-" not in close_marks and "–" not in close_marks and abs(_value(computed.tokens).number) >= 1


def _is_power_of_ten(value: Fraction, claim: Fraction) -> bool:
    """Return whether one is ten, a hundred, a thousand … times the other, to three digits."""
    if value <= 0 or claim <= 0:
        return False
    digits = log10(value.numerator * claim.denominator) - log10(value.denominator * claim.numerator)  # of any size
    return round(digits) != 0 and abs(digits - round(digits)) < 0.001


def _ambiguous(side: Side) -> bool:
    """Return whether a side is read in several ways: -2^2, 6 ÷ 2(1 + 2), 3 + 4 squared, 3 × 10^8 / 6 × 10^14."""
    marks = [token.raw.strip() for token in side.tokens if token.kind == "operator"]
    texts = [token.text for token in side.tokens]
    powers = texts.count("**")
    if 0 < sum(mark.endswith(("方", "squared", "cubed")) for mark in marks) < len(marks):
        return True
    joined = any(second.kind == "open" and first.kind in ("number", "close") for first, second in pairwise(side.tokens))
    return (texts[0] == "-" and powers > 0) or ("/" in texts and (joined or powers > 1))


def _same(value: Fraction, claim: Fraction) -> bool:
    return value == claim or close(value, claim)


def _other_values(side: Side) -> Iterator[Fraction]:
    """Yield what a side comes to as people also mean it: a percent without its sign, 1(1/2) as one and a half, `28 / 1/5` with
    the fraction first, `(300)` for a loss of 300, 1101 in binary, and 2.500 for two thousand five hundred. Raises ToolError."""
    tokens = side.tokens
    bare = tuple(token for token in tokens if token.kind != "percent")
    if len(bare) < len(tokens):
        yield _value(bare).number
        yield _value(bare).number / 100
    elif not side.has_operator:
        yield _value(tokens).number / 100
    if source(tokens) != source(tokens, mixed=True):
        yield _value(tokens, True).number
    if len(grouped := _group_fractions(tokens)) > len(tokens):
        yield _value(grouped).number
    if [token.kind for token in tokens] == ["open", "number", "close"]:
        yield -_value(tokens).number
    if len(tokens) == 1 and set(tokens[0].text) <= {"0", "1"}:
        yield Fraction(int(tokens[0].text, 2))
    if any(_DOTTED.fullmatch(token.text) for token in tokens):
        yield _value([replace(token, text=_undotted(token.text)) for token in tokens]).number


def _undotted(text: str) -> str:
    return text.replace(".", "") if _DOTTED.fullmatch(text) else text


def _begins_with(side: Side, value: Fraction) -> bool:
    """Return whether `value` is the first number of a side, as in `20 - 12 = 8 * 2 = 16`."""
    first = next((token for token in side.tokens if token.kind == "number"), None)
    return first is not None and _value([first]).number == value


def _check_identity(left: Side, right: Side, result: Callable[..., Equation]) -> Equation:
    if left.unknowns != right.unknowns or len(left.unknowns) != 1:
        return result(None, "it has an unknown")
    try:
        sources = source(left.tokens), source(right.tokens)
        if same_sources(*sources):
            return result(True)
        return result(None, "it has an unknown")  # 3x = 45 - 2x is a condition
    except ToolError as error:
        return result(None, str(error))


def _group_fractions(tokens: Sequence[Token]) -> list[Token]:
    """Put brackets around fractions that are written close together after a spaced sign: `28 / 1/5`."""
    grouped: list[Token] = []
    index = 0
    while index < len(tokens):
        three = tokens[index : index + 3]
        fraction = [token.kind for token in three] == ["number", "operator", "number"] and three[1].text == "/"
        if (
            fraction
            and three[1].raw == "/"
            and not three[1].spaced
            and not three[2].spaced
            and index
            and tokens[index - 1].text == "/"
        ):
            place = three[0].span
            grouped += [Token("open", "(", place, False, "("), *three, Token("close", ")", place, False, ")")]
            index += 3
        else:
            grouped.append(tokens[index])
            index += 1
    return grouped


def _value(tokens: Sequence[Token], mixed: bool = False) -> Value:
    return evaluate_source(source(tokens, mixed=mixed))


def _terminates(value: Fraction) -> bool:
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def _decimals(side: Side) -> int:
    """Return the most decimal places among the numbers of a side: 3 for `66.7%`, -8 for `1.5 billion`."""
    found = []
    for token in side.tokens:
        if token.kind == "number" and (number := _WRITTEN.match(token.raw)):
            found.append(len(number["decimals"] or "") - SCALE_PLACES.get(number["scale"] or "", 0))
    return max(found, default=0) + 2 * _percents(side)


_WRITTEN = re.compile(r"[0-9,]*(?:\.(?P<decimals>[0-9]+))?\s?(?P<scale>[^0-9\s]+)?")


def _percents(side: Side) -> bool:
    return any(token.kind == "percent" for token in side.tokens)


def _all_percents(side: Side) -> bool:
    kinds = [token.kind for token in side.tokens]
    return kinds.count("number") == kinds.count("percent")


def _divides(side: Side) -> bool:
    return any(token.kind == "fraction" or token.text == "/" for token in side.tokens if token.kind != "number") or any(
        token.kind == "number" and "/" in token.text for token in side.tokens
    )
