"""What a tool has left open of a sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haluagent.tooling.coverage import left_open, open_parts
from haluagent.types import CheckedPart, Sentence, Span


def sentence(text: str, start: int = 0) -> Sentence:
    return Sentence(index=1, text=text, span=(start, start + len(text)))


def left(text: str, *checked: str) -> list[str]:
    spans = [(text.index(one), text.index(one) + len(one)) for one in checked]
    return [text[start:end] for start, end in open_parts(sentence(text), spans)]


@pytest.mark.parametrize(
    ("text", "checked", "open_"),
    [
        ("3 + 4 = 7, and the capital of Spain is Lisbon.", ["3 + 4 = 7"], ["the capital of Spain is Lisbon"]),
        ("Ada Byron won 3 + 4 = 7 medals.", ["3 + 4 = 7"], ["Ada Byron won 3 + 4 = 7 medals"]),
        ("Kant died on Sunday, February 12, 1804 in Riga.", ["Sunday, February 12, 1804"], None),
        ("3+4=7，西班牙的首都是里斯本。", ["3+4=7"], ["西班牙的首都是里斯本"]),
        ("In 2024, 3 + 4 = 7.", ["3 + 4 = 7"], ["In 2024"]),
        ("There are 3 + 4 = 7 continents.", ["3 + 4 = 7"], ["There are 3 + 4 = 7 continents"]),
    ],
)
def test_what_stands_beside_a_checked_part_is_open(text: str, checked: list[str], open_: list[str] | None) -> None:
    assert left(text, *checked) == ([text.rstrip(".")] if open_ is None else open_)


@pytest.mark.parametrize(
    ("text", "checked"),
    [
        ("So it is 3 + 4 = 7 metres.", ["3 + 4 = 7"]),
        ("3 pears + 4 pears = 7 pears.", ["3 pears + 4 pears = 7"]),
        ("一共：3+4=7（元）", ["3+4=7"]),
        ("1. Therefore the total is 3 + 4 = 7.", ["3 + 4 = 7"]),
        ("因此一共有3+4=7个。", ["3+4=7"]),
        ("February 12, 1804 was a Sunday.", ["February 12, 1804", "Sunday"]),
        ("1804年2月12日是星期日。", ["1804年2月12日", "星期日"]),
        ("There are 9 days between May 1, 2020 and May 10, 2020.", ["9 days", "May 1, 2020", "May 10, 2020"]),
    ],
)
def test_function_words_units_and_words_of_calculation_claim_nothing(text: str, checked: list[str]) -> None:
    assert left(text, *checked) == []


@pytest.mark.parametrize(
    ("text", "question", "whole"),
    [
        ("3 + 4 = 7.", "How many moons does the planet have?", True),
        ("3 + 4 = 7.", "What is 3 + 4?", False),
        ("3 + 4 = 7.", "Show a sum.", False),
        ("3+4=7。", "这颗行星有几颗卫星？", True),
    ],
)
def test_a_sum_is_no_answer_to_another_question(text: str, question: str, whole: bool) -> None:
    assert open_parts(sentence(text), [(0, len(text) - 1)], question) == (((0, len(text)),) if whole else ())


def test_spans_are_those_of_the_response() -> None:
    assert open_parts(sentence("3 + 4 = 7, and Riga is in Peru.", 100), [(0, 9)]) == ((115, 130),)


@pytest.mark.parametrize(
    ("parts", "open_"),
    [
        ([((0, 5), (8, 12))], ((0, 5), (8, 12))),
        ([((0, 5), (8, 12)), ((3, 9),)], ((3, 5), (8, 9))),
        ([((0, 5),), ((5, 9),)], ()),
        ([((0, 5),), ()], ()),
    ],
)
def test_parts_together_leave_open_what_each_of_them_does(
    parts: list[tuple[Span, ...]], open_: tuple[Span, ...]
) -> None:
    assert left_open(CheckedPart(tool="t", label="supported", confidence=1, open=spans) for spans in parts) == open_


@given(st.text(alphabet="ab 1+=,.，。好A", max_size=80), st.integers(0, 80), st.integers(0, 80))
def test_open_parts_are_ordered_and_lie_in_the_sentence(text: str, start: int, end: int) -> None:
    checked = [(min(start, end, len(text)), min(max(start, end), len(text)))]
    spans = open_parts(sentence(text), checked)
    assert all(0 <= a < b <= len(text) for a, b in spans)
    assert list(spans) == sorted(spans) and all(b <= c for (_, b), (c, _) in zip(spans, spans[1:], strict=False))
