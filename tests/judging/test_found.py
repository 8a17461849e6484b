"""What a found passage decides: how certainly it has to say otherwise, and when it supports."""

from dataclasses import replace
from typing import Any

import pytest

from haluagent.judging.found import PassageVerdict, _is_of, speaks_against, subject_words, supports
from haluagent.judging.judge import TextSource
from haluagent.protocols import SearchResult

CLAIM = "Ada designed the Alster Tower in Hamburg."
MOST = "The Alster Tower, a design of Otto Hahn, stands in Hamburg."  # four of the claim's five words, by their stems
SOME = "The Alster is a river in Hamburg."  # two
NONE = "Bananas are yellow."


def verdict(
    text: str, supported: float, against: float, agrees: float | None = None, silent: bool = False
) -> PassageVerdict:
    result = SearchResult(title="t", url="file:///t.txt", snippet=text, text=text)
    source = TextSource("web_search", text, result.url)
    return PassageVerdict(result, source, (0, len(text)), supported, silent, "Otto Hahn", agrees, (), against)


def against(make_context: Any, question: str, found: PassageVerdict, response: str = CLAIM) -> bool:
    context = make_context(question, response)
    return speaks_against(context, context.sentence(1), found)


def test_words_are_the_same_with_other_endings_and_characters() -> None:
    assert subject_words("designed towers") == subject_words("designs a tower")
    assert subject_words("臺灣的颱風") == subject_words("台湾的台风")


@pytest.mark.parametrize(
    ("text", "otherwise", "contradicts"),
    [(MOST, 0.9, False), (MOST, 0.96, True), (SOME, 0.96, False), (SOME, 0.99, True), (NONE, 0.99, False)],
)
def test_the_fewer_words_are_shared_the_more_certainly_a_passage_has_to_say_otherwise(
    make_context: Any, text: str, otherwise: float, contradicts: bool
) -> None:
    assert against(make_context, "", verdict(text, 0.1, otherwise)) is contradicts
    assert not against(make_context, "", verdict(text, 0.4, otherwise))
    assert not against(make_context, "", verdict(text, 0.1, otherwise, silent=True))


@pytest.mark.parametrize(
    ("agrees", "otherwise", "contradicts"),
    [(0.0, 0.6, True), (0.5, 0.6, True), (0.0, 0.4, False), (0.75, 0.99, False), (None, 0.99, False)],
)
def test_an_answer_is_contradicted_by_a_passage_that_gives_another_one(
    make_context: Any, agrees: float | None, otherwise: float, contradicts: bool
) -> None:
    question = "Who designed the Alster Tower in Hamburg?"
    assert against(make_context, question, verdict(MOST, 0.1, otherwise, agrees), "Ada Brunn.") is contradicts


def test_a_passage_with_a_part_of_the_question_has_to_be_certain(make_context: Any) -> None:
    question = "Who designed the oldest tower of the port and the fish market of Hamburg?"
    for otherwise, contradicts in ((0.96, False), (0.99, True)):
        assert against(make_context, question, verdict(MOST, 0.1, otherwise, 0.0), "Ada Brunn.") is contradicts
    assert not against(make_context, question, verdict(NONE, 0.0, 0.99, 0.0), "Ada Brunn.")


def test_support_has_to_be_surer_where_something_speaks_against_it() -> None:
    for found, doubted, confidence in (
        (verdict(MOST, 0.6, 0.5), False, 0.6),
        (verdict(MOST, 0.5, 0.5), False, None),
        (verdict(MOST, 0.6, 0.5), True, None),
        (verdict(MOST, 0.6, 0.5, agrees=0.0), False, None),
        (verdict(MOST, 0.95, 0.5, agrees=0.0), True, 0.95),
        (replace(verdict(MOST, 0.6, 0.5), in_words=True), False, None),
        (replace(verdict(MOST, 0.95, 0.5), in_words=True), False, 0.95),
    ):
        assert supports(found, doubted) == confidence
    for anew in ("not mentioned", "沒有說，是個事實。", "未提及"):
        assert supports(replace(verdict(MOST, 0.97, 0.5), anew=anew)) is None


def test_a_number_that_only_the_question_has_is_no_answer_of_a_passage() -> None:
    text = "It is about sixteen times as large as the city, which has 2,052 square kilometres."
    assert _is_of(text, "16 times", "How large is the island?")
    assert not _is_of(text, "16 times over", "Of what is it about 16 times the size?")
    assert not _is_of(text, "17 times", "How large is the island?")
