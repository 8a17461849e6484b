"""Formulas as SymPy nodes. Loaded only in the child process of `expressions`, since SymPy is slow to import.

Nodes are built one by one from a checked syntax tree: SymPy never sees text, because its own readers of text run code.
"""

import ast
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import sympy

from haluagent.arithmetic.expressions import MAX_FACTORIAL
from haluagent.arithmetic.syntax import MAX_EXPONENT, literal, syntax
from haluagent.errors import ToolError

DIGITS = 30
MAX_SOLUTIONS = 8
ZERO, TEN = sympy.Integer(0), sympy.Integer(10)

_FUNCTIONS: dict[str, Callable[..., sympy.Expr]] = {
    "sqrt": sympy.sqrt, "abs": sympy.Abs, "min": sympy.Min, "max": sympy.Max, "ln": sympy.log, "exp": sympy.exp,
    "sin": sympy.sin, "cos": sympy.cos, "tan": sympy.tan, "floor": sympy.floor, "ceil": sympy.ceiling,
    "log": lambda x, base=TEN: sympy.log(x, base),
    "round": lambda x, digits=ZERO: sympy.floor(x * 10**digits + sympy.Rational(1, 2)) / 10**digits,
}  # fmt: skip


def answer(request: dict[str, Any]) -> Any:
    """Do `request["task"]` with `request["sources"]`.

    `evaluate` returns a value, `solve` (left side, right side) the values of the one unknown, `same` (left, right)
    whether they are equal whatever the unknowns are. A value is `{"number": "3/4", "exact": true, "text": "3/4"}`.
    Raises ToolError.
    """
    nodes = [node(syntax(source), source) for source in request["sources"]]
    if request["task"] == "evaluate":
        return _value(nodes[0])
    difference = nodes[0] - nodes[1]
    if request["task"] == "same":
        return bool(sympy.expand(difference) == 0 or sympy.simplify(difference) == 0)
    return [_value(solution) for solution in _solutions(difference)]


def node(tree: ast.expr, source: str) -> sympy.Expr:
    """Return the SymPy node of a checked syntax tree. Raises ToolError for a power or factorial that is too large."""
    match tree:
        case ast.Constant():
            number = literal(tree, source)
            return sympy.Rational(number.numerator, number.denominator)
        case ast.Name(id=name):
            return sympy.pi if name == "pi" else sympy.Symbol(name, real=True)
        case ast.UnaryOp(op=op, operand=operand):
            value = node(operand, source)
            return -value if isinstance(op, ast.USub) else value
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(node(left, source), op, node(right, source))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _call(name, [node(argument, source) for argument in arguments])
    raise ToolError("this formula has a part that is not arithmetic")


def _binary(left: sympy.Expr, op: ast.operator, right: sympy.Expr) -> sympy.Expr:
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div():
            if right == 0:
                raise ToolError("division by zero")
            return left / right
    if not right.is_number or abs(right) > MAX_EXPONENT:
        raise ToolError(f"the exponent must be a number of at most {MAX_EXPONENT}")
    if left.is_Rational and max(abs(left.p), left.q) > 10**DIGITS:
        raise ToolError("this power is too large")
    if left == 0 and right < 0:
        raise ToolError("division by zero")
    return left**right


def _call(name: str, arguments: list[sympy.Expr]) -> sympy.Expr:
    if name == "factorial":
        value = arguments[0]
        if not (value.is_Integer and 0 <= value <= MAX_FACTORIAL):
            raise ToolError(f"a factorial needs a whole number from 0 to {MAX_FACTORIAL}")
        return sympy.factorial(value)
    try:
        return _FUNCTIONS[name](*arguments)
    except TypeError:
        raise ToolError(f"{name} was given {len(arguments)} values; give it one") from None


def _solutions(difference: sympy.Expr) -> list[sympy.Expr]:
    unknowns = sorted(difference.free_symbols, key=str)
    if len(unknowns) != 1:
        raise ToolError("an equation to solve needs exactly one unknown, such as 3x + 5 = 63")
    try:
        found = sympy.solve(difference, unknowns[0])
    except NotImplementedError:
        raise ToolError("this equation is too hard to solve; rearrange it") from None
    real = [solution for solution in found if solution.is_number and solution.is_real]
    if not real:
        raise ToolError("this equation has no solution among the real numbers")
    return real[:MAX_SOLUTIONS]


def _value(value: sympy.Expr) -> dict[str, Any]:
    if value.free_symbols:
        raise ToolError(f"{min(map(str, value.free_symbols))} has no value; write numbers only")
    if value.is_Rational:
        return {"number": f"{value.p}/{value.q}", "exact": True, "text": str(value)}
    approximate = sympy.N(value, DIGITS)
    if not (approximate.is_Float and approximate.is_finite):
        raise ToolError("this formula has no value among the real numbers")
    return {"number": str(Fraction(str(approximate))), "exact": False, "text": str(value)}
