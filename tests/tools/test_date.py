"""Dates: read, subtracted, and compared with what a sentence states."""

import asyncio
import contextlib
from datetime import date as Day
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haluagent.errors import FormatError, ToolError
from haluagent.protocols import ToolContext
from haluagent.text.dates import find_dates
from haluagent.tools.date import date
from haluagent.types import Language, Sentence, ToolResult

FEBRUARY = "How many days are there from 2020-02-01 to 2020-03-01?"


def context_of(question: str, response: str, language: Language = "en", sentences: int = 1) -> ToolContext:
    parts = [Sentence(index=i + 1, text=response, span=(0, len(response))) for i in range(sentences)]
    model: Any = object()  # this tool calls no model
    return ToolContext(question=question, response=response, language=language, sentences=parts, model=model)


def call(
    question: str, response: str, language: Language = "en", start: str | None = None, end: str | None = None
) -> ToolResult:
    context = context_of(question, response, language)
    return asyncio.run(date.run(context, context.sentence(1), start, end))


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2014年2月6日", Day(2014, 2, 6)),
        ("二〇一四年二月十六日", Day(2014, 2, 16)),
        ("二零二一年十二月廿五日", Day(2021, 12, 25)),
        ("2014-02-06", Day(2014, 2, 6)),
        ("2014.2.6", Day(2014, 2, 6)),
        ("2014/2/6", Day(2014, 2, 6)),
        ("March 3, 2020", Day(2020, 3, 3)),
        ("3 March 2020", Day(2020, 3, 3)),
        ("the 3rd of May, 2021", Day(2021, 5, 3)),
        ("13/4/2020", Day(2020, 4, 13)),
        ("4/13/2020", Day(2020, 4, 13)),
        ("5/5/2020", Day(2020, 5, 5)),
        ("2023-02-30", None),
        ("February 30, 2023", None),
        ("2023年13月1日", None),
    ],
)
def test_dates_are_read(text: str, day: Day | None) -> None:
    assert [item.value for item in find_dates(f"on {text} it was")] == [day]


@pytest.mark.parametrize("text", ["yesterday", "3 days ago", "May", "2020", "1.2.3", "version 2020.1", "12:30"])
def test_no_dates(text: str) -> None:
    assert find_dates(text) == []


def test_a_date_that_can_be_read_in_two_ways_is_an_error() -> None:
    with pytest.raises(ToolError, match="can be Mar 4 or 3 Apr"):
        call("How many days from 3/4/2020 to March 18, 2020?", "14 days")


@pytest.mark.parametrize(
    ("response", "label", "observation"),
    [
        ("There are 29 days.", "supported", "2020-02-01 → 2020-03-01: 29 days"),
        ("29", "supported", "2020-02-01 → 2020-03-01: 29 days"),
        ("There are 28 days.", "contradicted", "2020-02-01 → 2020-03-01: 29 days, but the response says 28 days"),
        ("It is one month.", "supported", "2020-02-01 → 2020-03-01: 1 month"),
        ("From 2020-02-01 to 2020-02-15 there are two weeks.", "supported", "2020-02-01 → 2020-02-15: 2 weeks"),
    ],
)
def test_the_days_between_two_dates(response: str, label: str, observation: str) -> None:
    result = call(FEBRUARY, response)
    assert (result.label, result.observation, result.confidence) == (label, observation, 0.98)


def test_the_inclusive_count_is_no_error_and_explained() -> None:
    result = call(FEBRUARY, "There are 30 days.")
    assert result.label is None and "counts both the first and the last day" in result.observation
    assert result.evidence[0].span == (10, 17)


def test_weekdays() -> None:
    assert call("What day was it?", "2021-05-01 was a Saturday.").label == "supported"
    wrong = call("2021年5月1日是星期几？", "是星期天。", "zh")
    assert wrong.label == "contradicted" and wrong.observation == "2021-05-01 是星期六，但回答写的是 星期天"


def test_an_impossible_date_in_the_response_is_contradicted() -> None:
    result = call("When?", "It was on 2023-02-30.")
    assert result.label == "contradicted" and "2023-02-30" in result.observation


def test_arguments() -> None:
    question = "From 2020-01-01, 2020-02-01 and 2020-03-01: how many days between the last two?"
    assert call(question, "29 days", start="2020-02-01", end="March 1, 2020").label == "supported"
    with pytest.raises(FormatError, match="neither"):
        call(question, "29 days", start="2019-02-01", end="2020-03-01")
    with pytest.raises(ToolError, match="not a day"):
        call(question, "29 days", start="2020-02-30", end="2020-03-01")
    with pytest.raises(ToolError, match="no complete date"):
        call(question, "29 days", start="last week", end="2020-03-01")


def test_missing_parts_are_errors() -> None:
    with pytest.raises(ToolError, match="two dates"):
        call("How long?", "5 days")
    with pytest.raises(ToolError, match="states no distance"):
        call(FEBRUARY, "Many.")


@pytest.mark.parametrize("demo", date.demos, ids=lambda demo: demo.language)
def test_the_demos_are_what_the_tool_answers(demo: Any) -> None:
    assert call(demo.question, demo.response, demo.language).observation == demo.observation


def test_when_it_is_offered() -> None:
    two = context_of(FEBRUARY, "29 days", sentences=2)  # the first may be a step to the second
    assert [date.when(two, two.sentence(index)) for index in (0, 1, 2)] == [False, False, True]
    assert date.adds(two, two.sentence(1)) and asyncio.run(date.run(two, two.sentence(1))).label is None
    one = context_of(FEBRUARY, "29 days")
    assert [date.when(one, one.sentence(index)) for index in (0, 1)] == [False, True]
    for question, response in (
        ("Who was born on 2020-01-01?", "Ann, 5 days old"),
        ("Hi", "5 days"),
        (FEBRUARY, "Hello"),
    ):
        context = context_of(question, response)
        assert not date.when(context, context.sentence(1))


@pytest.mark.parametrize(
    ("response", "reference", "label"),
    [
        ("It starts on Thursday, 22 October.", "The water is off on 22 October 2024, from 9 to 15.", "contradicted"),
        ("It starts on Tuesday, 22 October.", "The water is off on 22 October 2024, from 9 to 15.", "supported"),
        ("It starts on Thursday, 29 October.", "The water is off on 22 October 2024.", None),  # of which year?
        ("It starts on Thursday, 22 October.", "In 2024 it is off from 20 to 22 October.", "contradicted"),
        (
            "It starts on Thursday, 22 October.",
            "It was off on 3 May 2023 and 4 June 2024, and is from 22 October.",
            None,
        ),
    ],
)
def test_a_day_without_a_year_is_that_of_the_reference(response: str, reference: str, label: str | None) -> None:
    sentence = Sentence(index=1, text=response, span=(0, len(response)))
    model: Any = object()
    context = ToolContext(
        question="When?", response=response, language="en", sentences=[sentence], model=model,
        reference=reference,
    )  # fmt: skip
    assert date.when(context, sentence) is (label is not None)
    if label:
        assert asyncio.run(date.run(context, sentence)).label == label


_days = st.dates(Day(1900, 1, 1), Day(2100, 1, 1))


@given(_days, st.integers(1, 5000), st.integers(-2, 2))
def test_agrees_with_the_calendar(start: Day, length: int, error: int) -> None:
    end = start + timedelta(days=length)
    question = f"从{start.year}年{start.month}月{start.day}日到{end:%Y-%m-%d}有多少天？"
    if length + error > 0:
        result = call(question, f"共{length + error}天。", "zh")
        labels = {0: "supported", 1: None}  # one more: both days are counted
        assert result.label == labels.get(error, "contradicted")


@given(st.text() | st.text("0123456789年月日-/. 天星期一二March ", max_size=50), st.text(max_size=20))
def test_any_text_gives_a_label_or_an_error(response: str, start: str) -> None:
    context = context_of(FEBRUARY, response)
    date.when(context, context.sentence(1))
    for argument in (None, start):
        with contextlib.suppress(ToolError, FormatError):
            assert call(FEBRUARY, response, start=argument).label in ("supported", "contradicted", None)
