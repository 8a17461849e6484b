"""Numbers in running text, and when a calculated value is what a text states."""

from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from haluagent.arithmetic.equations import find_equations
from haluagent.text.lengths import length_requirement
from haluagent.text.numbers import find_numbers, matches, numbers_named, show


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12 apples, 1,234.5 m", {"12": 12, "1,234.5": "1234.5"}),
        ("-5, 3-5 and 负2", {"-5": -5, "3": 3, "5": 5, "负2": -2}),
        ("20%, 百分之二十, 15 percent", {"20%": "1/5", "百分之二十": "1/5", "15 percent": "3/20"}),
        ("3/4, (2/3), 1(1/2), 2½", {"3/4": "3/4", "(2/3)": "2/3", "1(1/2)": "3/2", "2½": "5/2"}),
        (
            "约六成五, 六成半; 三成群 and 五成员工",
            {"六成五": "13/20", "六成半": "13/20", "三": "3", "五": "5"},
        ),
        ("三分之二 and 二又三分之一", {"三分之二": "2/3", "二又三分之一": "7/3"}),
        ("3万, 1.5亿, 3万5千, 2 million", {"3万": 30000, "1.5亿": 150000000, "3万5千": 35000, "2 million": 2000000}),
        ("二十五，三百零五，两只，十分钟", {"二十五": 25, "三百零五": 305, "两": 2, "十": 10}),
        ("三加五等于八", {"三": 3, "五": 5, "八": 8}),
        (
            "twenty-five, three hundred and five, two dozen",
            {"twenty-five": 25, "three hundred and five": 305, "two dozen": 24},
        ),
        ("half a dozen", {"half a dozen": 6}),
        ("Two thirds, one-fifth, a third of it", {"Two thirds": "2/3", "one-fifth": "1/5", "a third": "1/3"}),
        ("$16.50 ￥20 ２５个", {"16.50": "16.5", "20": 20, "２５": 25}),
        ("10²", {"10": 10, "²": 2}),
    ],
)
def test_numbers_and_their_places(text: str, expected: dict[str, object]) -> None:
    assert {number.text: number.value for number in find_numbers(text)} == {
        k: Fraction(str(v)) for k, v in expected.items()
    }


@pytest.mark.parametrize(
    "text",
    [
        "一心一意",
        "一样",
        "第一",
        "一些人",
        "万一",
        "十分满意",
        "七上八下",
        "一个",
        "①②",
        "第3",
        "2nd",
        "H2O",
        "no one",
        "a third person",
        "the third of May",
        "星期三",
    ],
)
def test_idioms_ordinals_and_names_are_no_numbers(text: str) -> None:
    assert find_numbers(text) == []


def test_how_precisely_a_number_is_stated() -> None:
    decimals = {n.text: n.decimals for n in find_numbers("2.50, 7, 1.5亿, 3/4, 12.5%")}
    assert decimals == {"2.50": 2, "7": 0, "1.5亿": -7, "3/4": None, "12.5%": 1}


@pytest.mark.parametrize(
    "text", ["约12个", "大约12个", "12个左右", "≈12", "about 12", "nearly 12", "roughly $12", "12 or so"]
)
def test_approximate(text: str) -> None:
    assert [number.approximate for number in find_numbers(text)] == [True]


def test_rounding_truncation_and_percent() -> None:
    def stated(value: str, text: str) -> bool:
        (number,) = find_numbers(text)
        return matches(Fraction(value), number)

    assert stated("2/3", "0.67") and stated("2/3", "0.66") and not stated("2/3", "0.68")
    assert stated("1/5", "20%") and stated("20", "20%") and not stated("2", "20%")
    assert stated("150000001", "1.5亿")
    assert stated("3.1416", "about 3.14") and stated("1003", "about 1000") and not stated("1010", "about 1000")
    assert not stated("1.08", "1.2") and not stated("-5", "5")


def test_show() -> None:
    assert [show(Fraction(text)) for text in ("15", "0.25", "-0.5", "1/3", "1e40")] == [
        "15",
        "0.25",
        "-0.5",
        "0.333333",
        "1" + "0" * 40,
    ]


@given(st.text() | st.text("0123456789.,/%-()一二三十百千万亿点半分之个约左右 abouthalfdozn", max_size=60))
@example("十十十十十十十十十十十十十十十十十十十十十十")
@example("0/0 1/0 零分之一")
@example("¼÷")
def test_any_text_has_ordered_spans_that_hold_their_text(text: str) -> None:
    numbers = find_numbers(text)
    for number in numbers:
        assert text[slice(*number.span)] == number.text != ""
    assert all(first.span[1] <= second.span[0] for first, second in zip(numbers, numbers[1:], strict=False))


@given(st.integers(-(10**12), 10**12))
def test_integers_are_read_back(value: int) -> None:
    assert [number.value for number in find_numbers(f"= {value}")] == [value]
    assert [number.value for number in find_numbers(f"= {value:,}")] == [value]


@pytest.mark.parametrize("piece", ["1", "1,", "一二三百", "two ", "3+4=7 ", " ", "不超过", "about ", "((", "**a "])
def test_long_texts_are_read_in_time(piece: str) -> None:
    """A search that tries every end is not done before the test's limit."""
    text = piece * (20000 // len(piece))
    find_numbers(text)
    find_equations(text)
    length_requirement(text)


def test_a_kilogram_is_no_thousand() -> None:
    assert [number.value for number in find_numbers("12千克、10千米、3千人")] == [12, 10, 3000]


def test_an_ordinal_is_no_number_and_neither_is_its_beginning() -> None:
    assert [number.text for number in find_numbers("the 12th lab, the 21st, the 103rd and 7 more")] == ["7"]


def test_whole_numbers_in_whatever_role() -> None:
    assert numbers_named("On 3.5.2024 at 9.30, for 19.80 euros, the third of 十二 rooms, 2,500 seats.") >= {
        3,
        5,
        2024,
        9,
        30,
        12,
        2500,
    }
    assert not numbers_named("It costs 19.80 or 82.4, not 1.5.") & {19, 80, 82, 4, 1, 5}
