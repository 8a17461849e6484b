"""Formulas: from text, through an allow-list, to exact values.

Text is read into tokens, the tokens are written as an expression in Python's syntax, and its syntax tree may hold
nothing but numbers, unknowns, + - * / ** and a few functions. Plain arithmetic is then done here in fractions; roots,
π and unknowns are left to SymPy, in a child process under limits. No text is ever executed.
"""

import ast
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from haluagent.arithmetic.identities import identical
from haluagent.arithmetic.notation import SIGNS, Token, tokenize
from haluagent.arithmetic.syntax import EXAMPLES, LETTERS, MAX_EXPONENT, literal, syntax
from haluagent.errors import ToolError
from haluagent.sandbox.worker.limited import LimitedWorker

MAX_LENGTH = 300
MAX_BRACKETS = 30
MAX_DIGITS = 30
MAX_FACTORIAL = 100
MAX_BITS = 1000  # so that every value fits into a float

# The seconds that the equations of one detection may take together; one that is left over is not decided.
ALGEBRA_SECONDS = 5.0

_worker = LimitedWorker("haluagent.arithmetic.symbolic:answer", together=ALGEBRA_SECONDS)


@dataclass(frozen=True)
class Value:
    """A number that a formula gives. Where it is not `exact`, `number` is right to 30 digits and `text` says what it
    is the value of, such as `2000*pi`."""

    number: Fraction
    exact: bool
    text: str


def evaluate(formula: str) -> Value:
    """Return the value of a formula. Exact: 0.1 + 0.2 is 3/10. `log` is to base 10, angles are in radians unless marked
    °.

    Raises ToolError with one line that says what is wrong and what would be right.
    """
    tokens = _formula_tokens(formula)
    if any(token.kind == "equals" for token in tokens):
        raise ToolError("this is an equation, not a formula; write one side only, such as 15 * 6")
    return evaluate_source(source(tokens))


def solve(equation: str) -> list[Value]:
    """Return the real values of the one unknown in an equation (`3x + 5 = 63`), at most 8. Raises ToolError."""
    left, right = _sides(equation)
    return [_read(value) for value in _ask("solve", left, right)]


def same(left: str, right: str) -> bool:
    """Return whether two formulas are equal whatever their unknowns are: `4x * 2` and `8x`. Raises ToolError."""
    return same_sources(source(_formula_tokens(left)), source(_formula_tokens(right)))


def evaluate_source(text: str) -> Value:
    """Return the value of an expression that `source` made. Raises ToolError."""
    tree = syntax(text)
    names = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in LETTERS})
    if names:
        raise ToolError(f"{names[0]} has no value; write numbers only, or an equation such as 3x + 5 = 63")
    number = _fraction(tree, text)
    if number is not None:
        return Value(number, True, str(number))
    return _read(_ask("evaluate", text))


def same_sources(left: str, right: str) -> bool:
    """Do what `same` does for expressions that `source` made. Raises ToolError."""
    equal = identical(syntax(left), syntax(right), (left, right))
    return bool(_ask("same", left, right)) if equal is None else equal


def algebra_left() -> bool:
    """Return whether the current detection has time left for what takes SymPy."""
    return _worker.left() > 0


@lru_cache(maxsize=1024)  # an error is not kept: it may come from what else the machine does
def _ask(task: str, *sources: str) -> Any:
    return _worker.call({"task": task, "sources": sources})


def _read(value: dict[str, Any]) -> Value:
    number = Fraction(value["number"])
    _bounded(number)
    return Value(number, value["exact"], value["text"])


def _formula_tokens(formula: str) -> list[Token]:
    if len(formula) > MAX_LENGTH:
        raise ToolError(f"the formula is longer than {MAX_LENGTH} characters; write a shorter one")
    tokens = tokenize(formula)
    while tokens and tokens[0].kind in ("word", "equals") and tokens[0].text not in SIGNS:
        if not any(token.kind == "equals" for token in tokens):
            break  # only a name before an equals sign is left out: total = 3 * 5
        tokens = tokens[1:]
    while tokens and tokens[-1].kind in ("equals", "break") and tokens[-1].raw in "=?？.。":
        tokens = tokens[:-1]
    if not tokens:
        raise ToolError(f"the formula is empty; write one such as {EXAMPLES}")
    return tokens


def _sides(equation: str) -> tuple[str, str]:
    tokens = _formula_tokens(equation)
    places = [index for index, token in enumerate(tokens) if token.kind == "equals"]
    if len(places) != 1:
        raise ToolError("an equation has exactly one equals sign, such as 3x + 5 = 63")
    left, right = source(tokens[: places[0]]), source(tokens[places[0] + 1 :])
    syntax(left)
    syntax(right)
    return left, right


# From tokens to an expression ---------------------------------------------------------------------------------------


class _Writer:
    """Writes tokens as an expression. `pieces` is what is written, `open` where brackets, roots and fractions began."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.open: list[tuple[str, int]] = []
        self.atom: int | None = None  # where the operand that ends here begins; None after an operator

    def begin(self, text: str) -> None:
        """Begin an operand: it is a factor where another operand stands right before it."""
        if self.atom is not None:
            self.pieces.append("*")
            self.atom = None
        self.pieces.append(text)

    def end(self, start: int) -> None:
        """End an operand: complete the roots and fractions that were waiting for it."""
        self.atom = start
        while self.open and self.open[-1][0] != "(":
            kind, place = self.open.pop()
            if kind == "over":
                self.pieces.append("/")
                self.open.append(("under", place))
                self.atom = None
                return
            self.pieces.append(")")
            self.atom = place

    def wrap(self, before: str, after: str) -> None:
        assert self.atom is not None
        self.pieces.insert(self.atom, before)
        self.pieces.append(after)


def source(tokens: Sequence[Token], *, mixed: bool = False) -> str:
    """Write tokens as an expression in Python's syntax; units are left out.

    `mixed` reads `1(1/2)` as one and a half, as some schoolbooks write it. Raises ToolError where the tokens are no
    formula.
    """
    writer = _Writer()
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else None
        if before is not None and before.kind == "percent" and token.kind == "number":
            raise ToolError("% means percent here; write an operator after it, such as 20% * 80")
        _write(writer, token, before, mixed and _is_mixed(tokens, index))
    if writer.open:
        raise ToolError("a bracket is not closed; write as many ) as (")
    if writer.atom is None:
        raise ToolError(f"the formula ends too early; write one such as {EXAMPLES}")
    return "".join(writer.pieces)


def _write(writer: _Writer, token: Token, before: Token | None, mixed: bool) -> None:
    match token.kind:
        case "number" | "pi" | "unknown":
            if (
                writer.atom is not None
                and before is not None
                and (before.kind == "word" or (before.kind == "number" and token.kind == "number"))
            ):
                raise ToolError(f"{before.raw} and {token.raw} stand side by side; write an operator between them")
            text = _checked(token) if token.kind == "number" else token.text
            writer.begin(text)
            writer.end(len(writer.pieces) - 1)
        case "function" | "root" | "fraction":
            writer.begin({"root": "sqrt(", "fraction": "("}.get(token.kind, token.text))
            if token.kind != "function":
                writer.open.append(("root" if token.kind == "root" else "over", len(writer.pieces) - 1))
        case "open":
            if mixed:
                writer.atom = None
                writer.pieces.append("+")
            called = before is not None and before.kind == "function"
            writer.begin("(")
            writer.open.append(("(", len(writer.pieces) - (2 if called else 1)))
            if sum(kind == "(" for kind, _ in writer.open) > MAX_BRACKETS:
                raise ToolError(f"more than {MAX_BRACKETS} brackets inside each other; write a simpler formula")
        case "close":
            if not writer.open or writer.open[-1][0] != "(" or writer.atom is None:
                raise ToolError("a bracket ) has no formula before it; write as many ( as )")
            _, place = writer.open.pop()
            writer.pieces.append(")")
            writer.end(place)
        case "percent" | "factorial" | "degree":
            if writer.atom is None:
                raise ToolError(f"{token.raw} must stand after a number, such as 20% or 5!")
            writer.wrap(*{"percent": ("(", "/100)"), "degree": ("(", "*pi/180)")}.get(token.kind, ("factorial(", ")")))
        case "operator":
            writer.atom = None
            writer.pieces.append(token.text)
        case "comma":
            writer.atom = None
            writer.pieces.append(", ")
        case "word" if writer.atom is not None or token.text in SIGNS:
            pass  # a unit
        case _:
            raise ToolError(f"{token.raw!r} is not arithmetic; write only numbers and operators, such as {EXAMPLES}")


def _is_mixed(tokens: Sequence[Token], index: int) -> bool:
    """Return whether `(a/b)` opens at `index` right after a whole number, with a < b."""
    if index == 0 or tokens[index].spaced or not tokens[index - 1].text.isdigit():
        return False
    group = tokens[index : index + 5]
    if [token.kind for token in group] != ["open", "number", "operator", "number", "close"] or group[2].text != "/":
        return False
    return group[1].text.isdigit() and group[3].text.isdigit() and int(group[1].text) < int(group[3].text)


def _checked(token: Token) -> str:
    if sum(character.isdigit() for character in token.text) > MAX_DIGITS:
        raise ToolError(f"{token.raw[:12]}… has more than {MAX_DIGITS} digits; write a shorter number")
    return token.text.lstrip("0") or "0" if token.text.isdigit() else token.text


# From a checked tree to a fraction ----------------------------------------------------------------------------------


def _fraction(node: ast.expr, text: str) -> Fraction | None:
    """Return the exact value, None where it takes SymPy. Raises ToolError."""
    match node:
        case ast.Constant():
            return _bounded(literal(node, text))
        case ast.UnaryOp(op=op, operand=operand):
            value = _fraction(operand, text)
            return -value if value is not None and isinstance(op, ast.USub) else value
        case ast.BinOp(left=left, op=op, right=right):
            first, second = _fraction(left, text), _fraction(right, text)
            return None if first is None or second is None else _bounded(_operate(first, op, second))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            values = [_fraction(argument, text) for argument in arguments]
            known = [value for value in values if value is not None]
            return _bounded(_call(name, known)) if len(known) == len(values) else None
    return None


def _operate(first: Fraction, op: ast.operator, second: Fraction) -> Fraction | None:
    match op:
        case ast.Add():
            return first + second
        case ast.Sub():
            return first - second
        case ast.Mult():
            return first * second
        case ast.Div():
            if not second:
                raise ToolError("division by zero; write another formula")
            return first / second
    if abs(second) > MAX_EXPONENT:
        raise ToolError(f"the exponent must be at most {MAX_EXPONENT}")
    if second.denominator != 1:
        return None
    if not first and second < 0:
        raise ToolError("division by zero; write another formula")
    if max(first.numerator.bit_length(), first.denominator.bit_length()) * abs(second) > MAX_BITS:
        raise ToolError("this power is too large to be meant; write a smaller one")
    return first ** int(second)


def _half_up(value: Fraction, digits: Fraction = Fraction(0)) -> Fraction:
    unit = Fraction(10) ** max(-MAX_DIGITS, min(MAX_DIGITS, int(digits)))
    return math.floor(value * unit + Fraction(1, 2)) / unit


_EXACT: dict[str, tuple[Callable[..., Fraction], Iterable[int]]] = {
    "abs": (abs, (1,)), "min": (min, range(2, 50)), "max": (max, range(2, 50)), "round": (_half_up, (1, 2)),
    "floor": (lambda value: Fraction(math.floor(value)), (1,)),
    "ceil": (lambda value: Fraction(math.ceil(value)), (1,)),
}  # fmt: skip


def _call(name: str, values: list[Fraction]) -> Fraction | None:
    if name == "factorial":
        if len(values) != 1 or values[0].denominator != 1 or not 0 <= values[0] <= MAX_FACTORIAL:
            raise ToolError(f"a factorial needs a whole number from 0 to {MAX_FACTORIAL}, such as 5!")
        return Fraction(math.factorial(int(values[0])))
    if name not in _EXACT:
        return None
    function, counts = _EXACT[name]
    if len(values) not in counts:
        raise ToolError(f"{name} was given {len(values)} value(s); write for example {name}(3, 4) or {name}(3)")
    return function(*values)


def _bounded(value: Fraction | None) -> Fraction | None:
    if value is not None and max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise ToolError("the result is too large to be meant; write a smaller formula")
    return value
