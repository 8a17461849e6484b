"""`web_search`: what is made of the results of a search. The search is a real index elsewhere; here it is a list."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted import Belief, believes, prompt

from haluagent.errors import QuotaExhausted, SearchError, SearchTimeout
from haluagent.protocols import SearchResult, ToolContext
from haluagent.search.index.local import LocalIndex
from haluagent.tools.web_search import READ, web_search
from haluagent.types import Language, ToolResult

ELBE = "The Elbe rises in the Czech Republic. Dresden lies on the Elbe."
QUESTION, RESPONSE = "Which river flows through Dresden?", "The river that flows through Dresden is the Rhine."


class Found:
    """A search whose results, or whose error, are given; it keeps the queries."""

    name = "found"

    def __init__(self, *results: SearchResult, error: Exception | None = None) -> None:
        self.results, self.error = list(results), error
        self.queries: list[str] = []

    async def search(self, query: str, count: int = 5, language: Language = "en") -> list[SearchResult]:
        self.queries.append(query)
        if self.error:
            raise self.error
        return self.results[:count]


def passage(text: str, title: str = "Elbe", offset: int = 0) -> SearchResult:
    return SearchResult(title=title, url=f"file:///{title}.txt", snippet=text[:20], text=text, offset=offset)


@pytest.fixture
def call(scripted: Any, make_context: Any) -> Callable[..., tuple[ToolResult, Any]]:
    def run(
        search: Any, believed: Callable[[str], Belief] | Belief = 0.01, response: str = RESPONSE, free: str = "the Elbe"
    ) -> tuple[ToolResult, Any]:
        model = scripted(choose=believes(believed), free=free)
        base = make_context(QUESTION, response, model=model)
        context = ToolContext(**{**vars(base), "search": search})
        return asyncio.run(web_search.run(context, context.sentence(1), query="river Dresden")), model

    return run


def test_a_passage_supports_with_its_place_in_the_document(call: Any) -> None:
    text = "The river Elbe flows through Dresden. It is long."
    result, _ = call(Found(passage(text, offset=120)), 0.99, response="It is the Elbe.")
    (evidence,) = result.evidence
    assert (result.label, evidence.url) == ("supported", "file:///Elbe.txt")
    assert evidence.span and text[evidence.span[0] - 120 : evidence.span[1] - 120] == evidence.text


def test_a_snippet_has_no_place(call: Any) -> None:
    result, _ = call(Found(SearchResult(title="t", url="http://x", snippet=ELBE)), 0.99, response="It is the Elbe.")
    assert result.label == "supported" and result.evidence[0].span is None


def test_what_a_page_says_word_for_word_needs_no_judgement(call: Any) -> None:
    result, model = call(Found(passage(f"Rivers. {RESPONSE} Indeed.")))
    assert (result.label, model.seen) == ("supported", [])


def test_the_passage_that_is_about_the_question_contradicts(call: Any) -> None:
    found = Found(passage("The river Elbe flows through Dresden."), passage("A river is a stream.", "River"))
    result, _ = call(found, "otherwise")
    assert result.label == "contradicted" and "Elbe" in result.observation
    assert result.evidence[0].url == "file:///Elbe.txt"


def test_a_passage_that_does_not_say_it_contradicts_nothing(call: Any) -> None:
    result, _ = call(Found(passage("The river Elbe flows through Dresden.")), "silent")
    assert (result.label, result.evidence) == (None, ())


def test_an_answer_that_agrees_is_not_contradicted(call: Any) -> None:
    result, _ = call(Found(passage("The river Elbe flows through Dresden.")), "otherwise", response="It is the Elbe.")
    assert result.label is None


@pytest.mark.parametrize("text", ["Dresden has a large church.", "A river is a stream.", "Bananas are yellow."])
def test_a_passage_about_something_else_contradicts_nothing(call: Any, text: str) -> None:
    result, _ = call(Found(passage(text)), "otherwise")
    assert (result.label, result.evidence) == (None, ())


@pytest.mark.parametrize(("believed", "label"), [(0.3, "supported"), (0.01, None)])
def test_an_answer_that_agrees_lifts_a_doubtful_judgement_and_not_a_low_one(
    call: Any, believed: float, label: str | None
) -> None:
    found = Found(passage("The river Elbe flows through Dresden."))
    for agreeing, expected in (("the Elbe", label), ("not mentioned", None)):
        assert call(found, believed, "It is the Elbe.", agreeing)[0].label == expected
    assert call(found, believed, "It is the Elbe, beside a volcano.", "the Elbe")[0].label is None


@pytest.mark.parametrize(("believed", "asked"), [("silent", False), ("otherwise", True), (0.3, True), ("said", True)])
def test_the_passages_own_answer_is_asked_for_where_it_could_decide(call: Any, believed: Belief, asked: bool) -> None:
    _, model = call(Found(passage("The river Elbe flows through Dresden.")), believed)
    assert any("Answer the question" in prompt(seen) for seen in model.seen) is asked


@pytest.mark.parametrize(
    ("response", "believed", "label"),
    [
        ("The bridge of Dresden has three arches.", 0.4, None),  # a number in words that the passage lacks
        ("The bridge of Dresden has three arches.", 0.98, "supported"),
        ("The bridge of Dresden has two arches.", 0.4, "supported"),
        ("One of the bridges of Dresden has two arches.", 0.4, "supported"),
        ("The bridge of Dresden has 3 arches.", 0.9, None),
        ("One crosses the bridge of Dresden in 30 minutes.", 0.9, "supported"),  # half an hour
    ],
)
def test_a_number_that_a_passage_lacks_makes_support_rare(
    call: Any, response: str, believed: float, label: str | None
) -> None:
    text = "The bridge of Dresden has two arches. It takes half an hour to cross it."
    assert call(Found(passage(text)), believed, response, free="")[0].label == label


def test_any_passage_may_support(call: Any) -> None:
    against = passage("The river Elbe flows through Dresden.")
    for_it = passage("Old maps of Dresden: the Rhine.", "Maps")
    result, _ = call(Found(against, for_it), lambda prompt: 0.99 if "Old maps" in prompt else 0.01, free="Rhine")
    assert result.label == "supported" and result.evidence[0].url == "file:///Maps.txt"


def test_a_collection_on_this_machine_is_searched_for_the_sentence_itself_too(call: Any, tmp_path: Path) -> None:
    """The model's query finds nothing; a service, where a query may cost, is only asked for the question instead."""
    (tmp_path / "elbe.txt").write_text("A tributary flows there: the Vltava.")
    index = LocalIndex(tmp_path / "index.db")
    index.add([tmp_path / "elbe.txt"])
    result, _ = call(index, 0.99, "It is a tributary, the Vltava.", "none")
    assert result.label == "supported" and "Vltava" in result.evidence[0].text


def test_an_answer_shares_words_with_the_question_too(call: Any) -> None:
    """Any page may hold a bare number."""
    for text, label in (("On page 18 there is nothing.", None), ("18 rivers flow through Dresden.", "supported")):
        assert call(Found(passage(text, "x")), 0.99, "18.", "18")[0].label == label


def test_a_number_written_another_way_is_the_passages_own_answer(call: Any) -> None:
    said = "The river that flows through Dresden is 18 fathoms deep."
    found = Found(passage("The river that flows through Dresden is fifteen fathoms deep."))
    assert call(found, 0.05, said, "15 fathoms")[0].label == "contradicted"
    assert call(found, 0.05, said, "16 fathoms")[0].label is None


@pytest.mark.parametrize(("alone", "label"), [("otherwise", None), ("silent", "supported")])
def test_two_passages_are_not_read_together_where_the_nearest_says_otherwise(
    call: Any, alone: Belief, label: str | None
) -> None:
    near, other = "The river in Dresden is the Elbe.", "The Rhine is wide and flows far."

    def believed(text: str) -> Belief:
        if near in text:
            return 0.99 if other in text else alone
        return "silent"

    found = Found(passage(near, "a"), passage(other, "b"))
    assert call(found, believed, "The river in Dresden is the Rhine.", "an ocean")[0].label == label


def test_half_of_the_words_of_a_short_passage_make_it_worth_reading(call: Any) -> None:
    said = "The river that flows through Dresden and many other old cities of Saxony and of its neighbours is long: the Elbe."
    assert call(Found(passage("Elbe, Saxony.", "x")), 0.99, said, "none")[0].label == "supported"
    assert (
        call(Found(passage("Elbe, or else the Nile, the Congo, the Volga.", "x")), 0.99, said, "none")[0].label is None
    )


@pytest.mark.parametrize(("surely", "label"), [(0.7, "contradicted"), (0.95, "supported")])
def test_where_the_nearest_passage_contradicts_another_has_to_support_more_surely(
    call: Any, surely: float, label: str
) -> None:
    near, other = "The river Elbe flows through Dresden.", "The Rhine is the river of Dresden, a poem says."

    def believed(text: str) -> Belief:
        return surely if other in text else "otherwise"

    assert call(Found(passage(near), passage(other, "Poem")), believed)[0].label == label
    assert call(Found(passage(other, "Poem")), believed)[0].label == "supported"


def test_a_number_in_words_that_a_passage_lacks_is_left_to_the_judgement(call: Any) -> None:
    found = Found(passage("The river Elbe flows through Dresden."))
    labels = [
        call(found, 0.9, f"The Elbe flows through Dresden, {how} time.", "the Elbe")[0].label
        for how in ("one", "for 250")
    ]
    assert labels == ["supported", None]


def test_only_the_best_passages_are_read(call: Any) -> None:
    _, model = call(Found(*(passage(f"The river at Dresden {number}.", f"d{number}") for number in range(5))), 0.5)
    assert len([seen for seen in model.seen if "\nB" in seen[-1]["content"]]) == 2 * READ


def test_what_shares_no_words_is_not_read(call: Any) -> None:
    _, model = call(Found(passage("Bananas are yellow."), passage("Dresden has a church.")), 0.99)
    assert model.seen == []


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_page_without_a_text_decides_nothing(call: Any, text: str) -> None:
    result, model = call(Found(passage(text, title="The river that flows through Dresden")), 0.99)
    assert (result.label, model.seen) == (None, [])


def test_the_question_is_searched_where_the_query_found_nothing_about_it(call: Any) -> None:
    search = Found(passage("Bananas are yellow."))
    call(search)
    assert search.queries == ["river Dresden", QUESTION]
    search = Found(passage("The river Elbe flows through Dresden."))
    call(search)
    assert search.queries == ["river Dresden"]


@pytest.mark.parametrize(
    ("search", "says"),
    [
        (Found(), "found nothing for: river Dresden"),
        (Found(error=QuotaExhausted("100 a day")), "no more queries: 100 a day"),
        (Found(error=SearchTimeout("10 s")), "not answer in time: 10 s"),
        (Found(error=SearchError("broken JSON")), "the search failed: broken JSON"),
        (None, "there is no search"),
    ],
)
def test_what_went_wrong_is_told_apart_and_decides_nothing(call: Any, search: Any, says: str) -> None:
    result, model = call(search)
    assert says in result.observation
    assert (result.label, result.evidence, model.seen) == (None, (), [])


def test_it_is_offered_where_there_is_a_search(make_context: Any) -> None:
    context = make_context(QUESTION, RESPONSE)
    assert not web_search.when(context, context.sentence(1))
    context = ToolContext(**{**vars(context), "search": Found()})
    assert web_search.when(context, context.sentence(1)) and not web_search.when(context, context.sentence(0))


# Texts in the other language ---------------------------------------------------------------------------------------

ELBE_ZH = "易北河流经德累斯顿，最后注入北海。这条河的上游在捷克。"
TURNED = "流经德累斯顿的河是易北河。"


@pytest.fixture
def library(tmp_path: Path) -> Callable[..., LocalIndex]:
    def make(**texts: str) -> LocalIndex:
        for name, text in texts.items():
            (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
        index = LocalIndex(tmp_path / "index.db")
        index.add([tmp_path / f"{name}.txt" for name in texts])
        return index

    return make


@pytest.mark.parametrize(("believed", "label"), [(0.99, "supported"), ("otherwise", None)])
def test_a_passage_in_the_other_language_supports_and_never_contradicts(
    call: Any, library: Any, believed: Belief, label: str | None
) -> None:
    index = library(river=ELBE_ZH, cake="The cake of the house is made of apples.")
    result, model = call(index, believed, response="The river that flows through Dresden is the Elbe.", free=TURNED)
    assert result.label == label
    judged = [str(messages) for messages in model.seen if "易北河流经德累斯顿" in str(messages)]
    assert judged and all(QUESTION in prompt for prompt in judged)  # a bare answer says nothing without it
    if label:
        assert result.evidence[0].url.endswith("river.txt") and result.evidence[0].text in ELBE_ZH


def test_without_texts_in_the_other_language_nothing_is_translated(call: Any, library: Any) -> None:
    result, model = call(library(cake="The cake of the house is made of apples."), 0.99, free=TURNED)
    assert result.label is None and not model.seen


def test_a_translation_that_fails_leaves_the_sentence_open(call: Any, library: Any) -> None:
    index = library(river=ELBE_ZH, cake="The cake of the house is made of apples.")
    result, model = call(index, 0.99, free="")
    assert result.label is None and result.again and len(model.seen) == 1


def test_an_index_knows_its_languages(library: Any) -> None:
    assert asyncio.run(library(cake="The cake of the house.").languages()) == {"en"}
    assert asyncio.run(library(river=ELBE_ZH).languages()) == {"en", "zh"}
