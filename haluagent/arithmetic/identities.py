"""Whether two formulas are equal whatever their unknowns are, found without algebra.

Two quotients of polynomials are equal if they are equal at a point chosen at random from many more than their degree (Schwartz
1980, Zippel 1979). Modulo a prime every step is a step of small numbers, whatever `(x + 1)^100` expands to.
"""

import ast
import secrets

from haluagent.arithmetic.syntax import MAX_EXPONENT, literal

PRIME = 2**521 - 1
POINTS = 3  # tried, where a denominator is zero at one


class _NotRational(Exception):
    """There is more in the formula than + - * / and whole powers."""


def identical(left: ast.expr, right: ast.expr, sources: tuple[str, str]) -> bool | None:
    """Return whether two checked syntax trees are equal, or None where they take algebra: roots, functions, powers that are
    not whole, a division by what is always zero. π counts as an unknown, since no polynomial makes it zero."""
    for _ in range(POINTS):
        point = dict[str, int]()
        try:
            return _at(left, sources[0], point) == _at(right, sources[1], point)
        except ZeroDivisionError:
            continue
        except _NotRational:
            return None
    return None


def _at(node: ast.expr, source: str, point: dict[str, int]) -> int:
    """Return the value at a point, modulo the prime. Raises _NotRational, and ZeroDivisionError."""
    match node:
        case ast.Constant():
            return _divide(*literal(node, source).as_integer_ratio())
        case ast.Name(id=name):
            return point.setdefault(name, secrets.randbelow(PRIME))
        case ast.UnaryOp(op=op, operand=operand):
            value = _at(operand, source, point)
            return -value % PRIME if isinstance(op, ast.USub) else value
        case ast.BinOp(left=base, op=ast.Pow(), right=exponent):
            return _power(_at(base, source, point), _whole(exponent, source))
        case ast.BinOp(left=left, op=op, right=right):
            first, second = _at(left, source, point), _at(right, source, point)
            match op:
                case ast.Add():
                    return (first + second) % PRIME
                case ast.Sub():
                    return (first - second) % PRIME
                case ast.Mult():
                    return first * second % PRIME
            return _divide(first, second)
    raise _NotRational


def _whole(node: ast.expr, source: str) -> int:
    """Return an exponent that is a whole number, written as one."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node, sign = node.operand, -1
    if isinstance(node, ast.Constant) and (value := literal(node, source)).denominator == 1 and value <= MAX_EXPONENT:
        return sign * int(value)
    raise _NotRational


def _power(base: int, exponent: int) -> int:
    return pow(base, exponent, PRIME) if exponent >= 0 else _divide(1, pow(base, -exponent, PRIME))


def _divide(over: int, under: int) -> int:
    if under % PRIME == 0:
        raise ZeroDivisionError
    return over * pow(under, -1, PRIME) % PRIME
