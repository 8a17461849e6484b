"""Arithmetic that a text states: found, and decided only where that is certain."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haluagent.arithmetic.equations import find_equations


@pytest.mark.parametrize(
    "text",
    [
        "0.5m × 0.4m = 0.2平方米",
        "3 x $16.50 = $49.50",
        "cost of 3 pairs = 3 x 5 = 15 dollars",
        "V = π*10^2*20 = 2000π立方厘米",
        "$0.10/candle * 1080379 candles = $108037.90",
        "60千克/12 = 5倍",
        "31 / (1 - 7/38) ≈ 38",
        "25% of 80 is 20",
        "6吨 + (1/6) * 6吨 = 6吨 + 1吨 = 7吨",
        "12加8等于20",
        "5 times 3 is 15",
        "2x * 3 = 6x",
        "50 * 6 / 100 = 3m",
        "5元/千克 × 3千克 = 15元",
        "5/20 * 100 = 25%",
        "100 - 25% = 75%",
        "2/3 = 0.67",
        "2/3 = 0.66",
        "1(1/2) + 1(1/2) = 3",
        "3(4 + 5) = 27",
        "\\frac{1}{2} \\times 8 = 4",
        "**3 * 4 = 12**",
        "- 3 * 4 = 12",
        "(2) 3 + 4 = 7",
        "28 / 1/5 = 28 * 5",
        "4 / 3 = 1 and 1/3",
        "3.14 * 5^2 = 78.54",
        "So 3 (apples) + 4 (pears) = 7",
        "3 × 4\n= 12",
        "1/2 of 80 = 40",
        "$2,430 – $330 = $2,100",
        "3 plus 4 equals 7",
    ],
)
def test_equations_that_hold(text: str) -> None:
    equations = find_equations(text)
    assert equations and {equation.holds for equation in equations} - {None} == {True}


@pytest.mark.parametrize(
    ("text", "left", "right"),
    [
        ("总面积是 0.2 + 0.68 + 0.2 = 1.1 平方米", "0.2 + 0.68 + 0.2", "1.1"),
        ("She has 48/2 = 25 clips.", "48/2", "25"),
        ("1. 3+4=8", "3+4", "8"),
        ("三加五等于九", "三加五", "九"),
        ("2x*3 = 5x", "2x*3", "5x"),
        ("S=ab=5×4=21", "5×4", "21"),
        ("总价 = 单价 × 数量 = 5 × 3 = 16元", "5 × 3", "16"),
        ("There are 3 + 4 = 7 apples and 9 - 2 = 6 pears", "9 - 2", "6"),
        ("10 / 3 = 3", "10 / 3", "3"),
        ("20/2 = 20 books", "20/2", "20"),
        ("3*4 = **13**", "3*4", "13"),
        ("15 = 3 * 4", "15", "3 * 4"),
    ],
)
def test_equations_that_do_not_hold(text: str, left: str, right: str) -> None:
    (wrong,) = [equation for equation in find_equations(text) if equation.holds is False]
    assert (wrong.left, wrong.right) == (left, right)
    assert text[slice(*wrong.span)].startswith(left) and text[slice(*wrong.span)].endswith(right)
    assert text[slice(*wrong.right_span)] == right


@pytest.mark.parametrize(
    "text",
    [
        "38 = 3x - 7",
        "9s + 13 = 130",
        "f(3 + 4) = 2",
        "profit - 5 + 3 = 20",
        "5 * hours = 20",
        "1小时 + 30分钟 = 90分钟",
        "3 hours * 2 = 360 minutes",
        "20 - 12 = 7 * b",
        "$80 000 x 20/100 = $16 000",
        "V = abh",
        "8 packs of 5 bags * $4 = $160",
        "(2/3)* original amount = 192",
        "20 + 0 = 20 * 2 = 40",
        "40 books - 20 = 20 * 3",
    ],
)
def test_what_is_not_certain_is_not_called_wrong(text: str) -> None:
    assert all(equation.holds is not False for equation in find_equations(text))


@pytest.mark.parametrize(
    "text",
    ["x = 15", "面积 = 20", "60 minutes = 1 hour", "Day 3 = 5", "a <= 3+4", "It is 3:30", "15 (3 x 5)", "", "=", "= ="],
)
def test_names_definitions_and_comparisons_are_no_equations(text: str) -> None:
    assert find_equations(text) == []


def test_the_value_and_the_sides_of_a_wrong_equation() -> None:
    (equation,) = find_equations("16 = 3 * 5")
    assert equation.value is not None and equation.value.number == 15
    assert (equation.computed, equation.stated) == ("3 * 5", "16")


@given(st.integers(0, 500), st.integers(1, 500), st.sampled_from("+-×*"), st.integers(-3, 3))
def test_integers(first: int, second: int, sign: str, error: int) -> None:
    value = {"+": first + second, "-": first - second}.get(sign, first * second)
    (equation,) = find_equations(f"So we get {first} {sign} {second} = {value + error} in all.")
    assert equation.holds is (error == 0)


@settings(max_examples=300, deadline=None)
@given(st.text() | st.text("0123456789+-*/=≈%().,x π$是等于of个m\n", max_size=60))
def test_any_text_is_read_and_spans_fit(text: str) -> None:
    for equation in find_equations(text):
        written = text[slice(*equation.span)]
        assert written.startswith(equation.left) and written.endswith(equation.right)
