"""Formulas: exact values, and nothing but arithmetic."""

import asyncio
import os
import subprocess
import sys
from fractions import Fraction
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from haluagent.arithmetic.expressions import evaluate, same, solve
from haluagent.errors import ToolError
from haluagent.sandbox.worker.limited import LimitedWorker


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("0.1 + 0.2", "0.3"),
        ("3 x 5", "15"),
        ("3×4÷2", "6"),
        ("7 − 9", "-2"),
        ("2^10", "1024"),
        ("2**3", "8"),
        ("20% * 80", "16"),
        ("25% of 80", "20"),
        ("3(4+5)", "27"),
        ("(2)(3)", "6"),
        ("【3+4】*[1+1]", "14"),
        ("1,234,567 + 1", "1234568"),
        ("$16.50 x 3", "49.5"),
        ("15元 * 6个", "90"),
        ("0.5m × 0.4m", "0.2"),
        ("12加8", "20"),
        ("三十除以五", "6"),
        ("3万 * 2", "60000"),
        ("三分之二 * 9", "6"),
        ("5!", "120"),
        ("10²", "100"),
        ("2½ + ½", "3"),
        ("2 1/2 + 1", "3.5"),
        ("\\frac{3}{4} + 1", "1.75"),
        ("max(3, 4) - min(1, 2)", "3"),
        ("round(2.5) + floor(1.9) + ceil(1.1)", "6"),
        ("1e3 * 2", "2000"),
        ("half of 80", "40"),
        ("６＋７", "13"),
        ("six times seven", "42"),
        ("total = 3 * 5", "15"),
        ("6/2(1+2)", "9"),
        ("-3 + 5", "2"),
    ],
)
def test_exact_values(formula: str, value: str) -> None:
    result = evaluate(formula)
    assert (result.number, result.exact) == (Fraction(value), True)


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("2π", 6.283185307),
        ("√(9+16)", 5),
        ("sqrt(2)", 1.414213562),
        ("sin(30°)", 0.5),
        ("log(100)", 2),
        ("ln(exp(2))", 2),
    ],
)
def test_values_of_roots_and_functions(formula: str, value: float) -> None:
    assert float(evaluate(formula).number) == pytest.approx(value)


@pytest.mark.parametrize(
    "formula",
    [
        "",
        "abc",
        "9**9**9",
        "2**(9**9)",
        "__import__('os')",
        "(1).__class__",
        "[].append(1)",
        "lambda: 1",
        "1 if 2 else 3",
        "(" * 200 + "1" + ")" * 200,
        "(" * 20,
        "200!",
        "5!!",
        "3!!!!",
        "٣+٤",
        "1/0",
        "0**-1",
        "3 4",
        "x + 1",
        "10 % 3",
        "1e999 * 3",
        "9" * 400,
        "1" * 200,
        "sqrt(-1)",
        "min()",
        "f(3)",
        "3 +",
        "*",
        "%",
        "√",
        "'a' * 9",
        "exp(exp(exp(5)))",
        "a.b",
        "3 = 4",
        "print(1)",
        "1_000",
        "{1: 2}",
        "x := 3",
    ],
)
def test_what_is_no_arithmetic_ends_quickly_in_one_line(formula: str) -> None:
    with pytest.raises(ToolError) as caught:
        evaluate(formula)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 200


def test_equations_with_one_unknown_are_solved() -> None:
    assert [value.number for value in solve("3x + 5 = 63")] == [Fraction(58, 3)]
    assert [value.number for value in solve("x^2 = 4")] == [-2, 2]
    assert [value.number for value in solve("x = (63 - 3) / 5")] == [12]


@pytest.mark.parametrize("equation", ["x = y", "3 = 3", "x^2 = -1", "3x + 5", "x = 1 = 2", "x ="])
def test_what_cannot_be_solved(equation: str) -> None:
    with pytest.raises(ToolError):
        solve(equation)


def test_identities() -> None:
    assert same("4x * 2", "8x")
    assert same("(x + 1)^2", "x^2 + 2x + 1")
    assert not same("2x * 3", "5x")


_numbers = st.integers(0, 999).map(str) | st.decimals(0, 999, places=2).map(str)
_expressions = st.recursive(
    _numbers,
    lambda inner: st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda parts: f"({' '.join(parts)})"),
    max_leaves=8,
)


def by_hand(text: str) -> Fraction:
    """The value of a fully bracketed expression, worked out without the parser under test."""
    if not text.startswith("("):
        return Fraction(text)
    depths = accumulate({"(": 1, ")": -1}.get(character, 0) for character in text)
    place = next(at for at, depth in enumerate(depths) if depth == 1 and text[at] in "+-*/")
    left, right = by_hand(text[1 : place - 1]), by_hand(text[place + 2 : -1])
    return {"+": left.__add__, "-": left.__sub__, "*": left.__mul__, "/": left.__truediv__}[text[place]](right)


@given(_expressions)
def test_agrees_with_fractions(text: str) -> None:
    try:
        expected = by_hand(text)
    except ZeroDivisionError:
        with pytest.raises(ToolError):
            evaluate(text)
    else:
        assert evaluate(text).number == expected


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60) | st.text("0123456789+-*/^!%().,xπ√=加减百万 {}\\$", max_size=40))
@example("0!!π")
@example("\ue000")
def test_any_text_gives_a_value_or_a_tool_error(text: str) -> None:
    for function in (evaluate, solve):
        try:
            function(text)
        except ToolError as error:
            assert str(error)


def test_a_call_that_takes_too_long_is_killed_and_the_next_one_works() -> None:
    worker = LimitedWorker("time:sleep", seconds=1.0)
    with pytest.raises(ToolError, match="takes more than"):
        worker.call(30)
    assert worker.call(0) is None
    worker.close()


def test_errors_and_memory_limits_come_back_as_tool_errors() -> None:
    worker = LimitedWorker("builtins:bytearray", seconds=5, memory=2**29)
    with pytest.raises(ToolError, match="memory"):
        worker.call(2**31)
    with pytest.raises(ToolError, match="TypeError"):
        worker.call(None)
    worker.close()
    with pytest.raises(ToolError, match="could not be started"):
        LimitedWorker("no_such_module:f").call(1)


def test_many_calls_at_once_get_their_own_answers() -> None:
    async def ask() -> list[Fraction]:
        calls = [asyncio.to_thread(evaluate, f"sqrt({number * number})") for number in range(30)]
        return [value.number for value in await asyncio.gather(*calls)]

    assert asyncio.run(ask()) == list(range(30))


def test_importing_the_calculator_is_cheap_and_leaves_no_child_behind(tmp_path: Path) -> None:
    code = (
        "import sys, haluagent.tools.calculator.tool as c; "
        "assert not {'sympy', 'cn2an', 'dateparser'} & set(sys.modules); "
        "from haluagent.arithmetic import expressions as a; a.evaluate('sqrt(2)'); print(a._worker._child.pid)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with pytest.raises(OSError):
        os.kill(int(done.stdout), 0)
