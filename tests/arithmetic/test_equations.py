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
        "31 / (1 - 7/38) ≈ 38",
        "25% of 80 is 20",
        "6吨 + (1/6) * 6吨 = 6吨 + 1吨 = 7吨",
        "12加8等于20",
        "5 times 3 is 15",
        "2x * 3 = 6x",
        "50 * 6 / 100 = 3m",
        "5元/千克 × 3千克 = 15元",
        "5/20 * 100 = 25%",
        "2/3 = 0.67",
        "3(4 + 5) = 27",
        "\\frac{1}{2} \\times 8 = 4",
        "**3 * 4 = 12**",
        "- 3 * 4 = 12",
        "(2) 3 + 4 = 7",
        "4 / 3 = 1 and 1/3",
        "So 3 (apples) + 4 (pears) = 7",
        "3 × 4\n= 12",
        "1/2 of 80 = 40",
        "$2,430 – $330 = $2,100",
        "3 plus 4 equals 7",
        "17/31 = 54.8%",
        "5/9 = 56%",
        "100% - 35% = 65%",
        "7.2 billion / 9 = 800 million",
        "12 万元 + 6000 元 = 12.6 万元",
        "7000 × 15 = 10.5 万元",
        "4 千米 × 3 = 12 千米",
        "1200 × 1.04^3 = $1,349.84",
        "6 + 5 = 11[3]",
        "35 percent of 60 is 21",
        "14 times 14 is 196",
        "3 + 3 = 6 = 2 × 3",
        "4 squared + 1 = 17",
        "4的平方+1=17",
        "2的5次方等于32",
    ],
)
def test_equations_that_hold(text: str) -> None:
    equations = find_equations(text)
    assert equations and {equation.holds for equation in equations} - {None} == {True}


@pytest.mark.parametrize(
    ("text", "left", "right"),
    [
        ("She has 48/2 = 25 clips.", "48/2", "25"),
        ("1. 3+4=8", "3+4", "8"),
        ("三加五等于九", "三加五", "九"),
        ("S=ab=5×4=21", "5×4", "21"),
        ("总价 = 单价 × 数量 = 5 × 3 = 16元", "5 × 3", "16"),
        ("There are 3 + 4 = 7 apples and 9 - 2 = 6 pears", "9 - 2", "6"),
        ("20/2 = 20 books", "20/2", "20"),
        ("3*4 = **13**", "3*4", "13"),
        ("15 = 3 * 4", "15", "3 * 4"),
        ("总面积是 0.2 + 0.68 + 0.2 = 1.18 平方米", "0.2 + 0.68 + 0.2", "1.18"),
        ("22 / 3 = 9", "22 / 3", "9"),
        ("$1.5 million × 4 = $6 billion", "$1.5 million × 4", "$6 billion"),
        ("2 亿 + 6000 万 = 6002 亿", "2 亿 + 6000 万", "6002 亿"),
        ("3 + 4 = 7 = 9", "7", "9"),
        ("1/2 + 1/4 = 2/6", "1/2 + 1/4", "2/6"),
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
        "x = x * 3",
        "The 25-34 age group is 9% of the voters.",
        "A reading of 120/80 is normal.",
        "The 2021-2022 season is 38 games long.",
        "2023-05-01 is 4 days before 2023-05-05.",
        "The 5-3-2 is 11 players in formation.",
        "2015-2019年是5年。",
        "8-10点是2个小时",
        "比赛2-2得1分",
        "The 4 x 100 relay is 1 of 5 races.",
    ],
)
def test_what_is_not_certain_is_not_called_wrong(text: str) -> None:
    assert all(equation.holds is not False for equation in find_equations(text))


@pytest.mark.parametrize(
    "text",
    [
        "3 + 3 is not 7.",
        "It is a mistake that 3 + 3 = 7.",
        "Nobody should write “3 + 3 = 7” here.",
        "2 + 3 不等于 6",
        "有人说 2 + 3 = 6，这是错的。",
        "If 3 + 3 = 7, I am a pope.",
        "Is 3 + 3 = 7?",
        "17 ÷ 5 = 3 remainder 2",
        "17÷5=3……2",
        "17÷5=3余2",
        "31 / 4 = 7 boxes with 3 left over",
        "50 / 8 = 7 vans (rounded up)",
        "Integer division: 9 / 2 = 4",
        "155 / 60 = 2 hours 35 minutes",
        "3 km + 400 m = 3.4 km",
        "3 km + 400 m = 403 km",
        "$7 + 20 cents = $27",
        "2 hours + 15 minutes = 17 minutes",
        "6 千米 + 200 米 = 6.2 千米",
        "$60 + 7.5% tax = $64.50",
        "$40 - 25% = $30",
        "$300 + 10% = $310",
        "100 - 25% = 75%",
        "1/8 = 0.125%",
        "12 × 5% = 60%",
        "6,50 + 1 = 7,50",
        "900 - 1,100 = (200)",
        "$\\sqrt[3]{64} = 4$",
        "b1 = 4 and b2 = b1 + 3 = 7",
        "1 + 1 = 10 in binary",
        "9 + 5 = 2 (mod 12)",
        "Twice 3 + 1 = 8",
        "60千克/12 = 5倍",
        "2/3 = 0.66",
        "3 wins + 1 draw = 10 points",
        "A 3/4 bar = 3 beats",
        "24/7 equals 168 hours a week",
        "2 × 300 mA = 0.6 A",
        "2 × 300 mA = 600 A",
        "900 × 2.5 = 2.25 kN",
        "5 May + 20 days = 25 June",
        "2/10 + 30 days = 3/12",
        "340° + 30° = 10°",
        "0xF + 1 = 0x10",
        "4 + 1 = 101₂",
        "4 × 20 ct = 1 €",
        "51 × 19 ≈ 1000",
        "sin(90) = 1",
        "8 ÷ 2(1 + 3) = 1",
        "-3^2 = 9",
        "1.500 + 250 = 1.750",
        "0.1 + 0.7 = 0.7999999999999999",
        "100 + 20% + 20% = 144",
        "5元+30分=5.3元",
        "8点+6小时=2点",
        "$4 × 3 = €12",
        "3 m × 5 = 15 cm",
        "4×20分=80元",
        "10^300 * 10^300 = 10^9 km",
        "1(1/2) + 1(1/2) = 3",
        "28 / 1/5 = 28 * 5",
        "3.14 * 5^2 = 78.54",
        "10 / 3 = 3",
        "0.2 + 0.68 + 0.2 = 1.1",
        "19 / 8 = 2.3",
        "1001 / 2 = 500",
        "$3.14 × 200 = $625",
    ],
)
def test_what_can_be_read_in_two_ways_is_not_decided(text: str) -> None:
    assert {equation.holds for equation in find_equations(text)} <= {None}


def test_a_denial_is_one_of_its_own_clause_for_what_holds_and_of_the_sentence_for_what_does_not() -> None:
    assert [equation.holds for equation in find_equations("6 × 9 = 54, not 6 × 9 = 56.")] == [True, None]
    assert [equation.holds for equation in find_equations("6 × 9 = 56, which is wrong.")] == [None]


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
