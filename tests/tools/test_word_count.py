"""Length: what a question asks for, and what is counted."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haluagent.errors import FormatError, ToolError
from haluagent.protocols import ToolContext
from haluagent.text.lengths import length_requirement
from haluagent.tools.word_count import count, word_count
from haluagent.types import Language, Sentence, ToolResult


def context_of(question: str, response: str, language: Language = "en", sentences: int = 1) -> ToolContext:
    parts = [Sentence(index=i + 1, text=response, span=(0, len(response))) for i in range(sentences)]
    model: Any = object()  # this tool calls no model
    return ToolContext(question=question, response=response, language=language, sentences=parts, model=model)


def call(question: str, response: str, language: Language = "en", length: int | None = None) -> ToolResult:
    context = context_of(question, response, language)
    return asyncio.run(word_count.run(context, context.sentence(0), length))


def words(number: int) -> str:
    return " ".join(["sea"] * number) + "."


def test_what_is_counted() -> None:
    assert count("海水很蓝，望不到边际。", "字") == 11
    assert count(" a b\n", "characters") == 3
    assert count("Don't count well-known words twice: 3.5 海水", "words") == 8


@pytest.mark.parametrize("demo", word_count.demos, ids=lambda demo: demo.language)
def test_the_demos_are_what_the_tool_answers(demo: Any) -> None:
    result = call(demo.question, demo.response, demo.language)
    assert (result.label, result.confidence) == ("contradicted", 0.99)
    assert result.observation == demo.observation


def test_a_length_that_fits_is_supported_with_both_sides_as_evidence() -> None:
    result = call("Describe the sea in at most 5 words.", "Deep blue water.")
    assert result.label == "supported" and [item.source for item in result.evidence] == ["word_count", "question"]
    assert "at most 5 words" in result.observation


@pytest.mark.parametrize(
    ("question", "response", "label"),
    [
        ("Describe the sea in 50 words.", words(49), "supported"),
        ("Describe the sea in 50 words.", words(45), "supported"),
        ("Describe the sea in 50 words.", words(56), "contradicted"),
        ("Describe the sea in exactly 50 words.", words(49), "contradicted"),
        ("Don't write more than 50 words.", words(20), "supported"),
        ("Don't write more than 50 words.", words(60), "contradicted"),
        ("Write at most 100 words about bees.", words(3), "supported"),
        ("Write at most 100 words about bees.", words(101), "contradicted"),
        ("介绍大海，不得超过20字", "海" * 12 + "。", "supported"),
        ("介绍大海，不得超过20字", "海" * 30 + "。", "contradicted"),
        ("介绍大海，不得少于20字", "海" * 12 + "。", "contradicted"),
        ("介绍大海，大于10字小于20字", "海" * 12 + "。", "supported"),
        ("介绍大海，大于10字小于20字", "海" * 9, "contradicted"),
        ("概括下面这篇1000字的文章，不超过100字。", "海" * 90 + "。", "supported"),
        # Counted without its punctuation it fits, with it it does not: nothing is decided.
        ("介绍大海，不得超过20字", "海" * 10 + "，" + "浪" * 10 + "。", None),
        ("Describe the sea in at least 5 words.", "A deep-blue far-off sea.", None),
        ("Write at most 10 words.", "A well-known, far-off, deep-blue, ever-rolling sea is calm.", "supported"),
        ("请用100字写一段英文", words(100), None),
    ],
)
def test_only_what_fits_by_no_way_of_counting_is_contradicted(question: str, response: str, label: str | None) -> None:
    assert call(question, response).label == label


def test_of_a_sentence_the_lengths_are_facts_without_a_label() -> None:
    """For `match` to read: whether they are what the sentence means, or what was asked for, is not for a rule to say."""
    context = context_of("Put it in at most 6 words.", "“The shop is shut on Mondays.” That is five words.")
    found = asyncio.run(word_count.run(context, context.sentence(1)))
    assert found.label is None
    assert (
        "“The shop is shut on Mond…”: words 6, characters 28 (22 without spaces and punctuation), sentences 1"
        in found.facts
    )
    assert (
        found.facts[0] == "the whole response: words 10, characters 50 (37 without spaces and punctuation), sentences 2"
    )


def test_errors() -> None:
    with pytest.raises(ToolError, match="no length"):
        call("Describe the sea.", "Blue.")
    with pytest.raises(FormatError, match="not a number of the question"):
        call("Describe the sea in 5 words.", "Blue.", length=6)
    assert call("Describe the sea in five words.", "Blue.", length=5).label == "contradicted"


def test_when_it_is_offered() -> None:
    one, two = context_of("用10字描述", "海。"), context_of("用10字描述", "海。", sentences=2)
    assert [word_count.when(one, one.sentence(index)) for index in (0, 1)] == [True, False]
    assert [word_count.when(two, two.sentence(index)) for index in (0, 1, 2)] == [True, False, False]
    none = context_of("描述大海", "海。")
    assert not word_count.when(none, none.sentence(0))


@given(st.text() | st.text("0123456789十百一字个不超过至少到-words in between and ", max_size=40), st.text())
def test_any_text_gives_a_label_or_a_tool_error(question: str, response: str) -> None:
    try:
        result = call(question, response)
    except ToolError:
        assert length_requirement(question) is None
    else:
        assert result.label in ("supported", "contradicted", None)
