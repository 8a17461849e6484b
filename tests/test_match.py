"""`match`: a sentence against a text, by scored choices in both option orders."""

import asyncio
import math
from collections.abc import Callable, Sequence
from itertools import pairwise, product
from typing import Any

import pytest
from haluagent.tools._calibration import CURVES, calibrated
from haluagent.tools._words import words
from haluagent.tools.match import WINDOW_TOKENS, WINDOWS, match, missing_numbers, passage, quoted
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from haluagent.errors import ToolError
from haluagent.protocols import Message, ToolContext
from haluagent.types import Language, ToolResult

ELBE = "The Elbe rises in the Giant Mountains of the Czech Republic. It flows into the North Sea near Cuxhaven."
ELBE_ZH = "易北河发源于捷克的克尔科诺谢山。它在库克斯港附近流入北海。"
WHERE = {"en": "Where does the Elbe rise?", "zh": "易北河发源于哪里？"}
RISES = {"en": "The Elbe rises in the Giant Mountains of the Czech Republic.", "zh": "易北河发源于捷克的克尔科诺谢山。"}
REFERENCE = {"en": ELBE, "zh": ELBE_ZH}
ANSWER = {"en": "The Elbe rises in the Czech Republic.", "zh": "易北河发源于捷克。"}
TWO = {"en": "The Elbe rises in Poland. It is a river.", "zh": "易北河发源于波兰。它是一条河。"}
LANGUAGES: tuple[Language, ...] = ("en", "zh")


def prompt(messages: Sequence[Message]) -> str:
    return "\n".join(message["content"] for message in messages)


def turned(messages: Sequence[Message]) -> bool:
    """Whether option A is the one that denies."""
    return any(denial in prompt(messages) for denial in ("\nA: no", "\nA：不"))


def believes(probability: float | Callable[[str], float]) -> Callable[[Sequence[Message]], float]:
    """What a model without a lean gives to option A, where it holds the sentence for right with `probability`."""

    def choose(messages: Sequence[Message]) -> float:
        found = probability if isinstance(probability, float) else probability(prompt(messages))
        return 1 - found if turned(messages) else found

    return choose


def call(context: ToolContext, where: str = "reference", index: int = 1) -> ToolResult:
    return asyncio.run(match.run(context, context.sentence(index), where))


def verbatim(context: ToolContext, result: ToolResult) -> str:
    """The text of the one evidence, which stands where its span says."""
    (evidence,) = result.evidence
    sources = {"question": context.question, "response": context.response, "reference": context.reference}
    assert evidence.span is not None
    assert (sources[evidence.source] or "")[slice(*evidence.span)] == evidence.text
    return evidence.text


# Both orders -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("language", "several"), list(product(LANGUAGES, (False, True))))
def test_both_option_orders_are_asked(scripted: Any, make_context: Any, language: Language, several: bool) -> None:
    model = scripted(choose=believes(0.9))
    response = TWO[language] if several else ANSWER[language]
    call(make_context(WHERE[language], response, language=language, reference=REFERENCE[language], model=model))
    assert [turned(messages) for messages in model.seen] == [False, True]
    first, second = (prompt(messages).splitlines() for messages in model.seen)
    (a, other_a), (b, other_b) = ((one, other) for one, other in zip(first, second, strict=True) if one != other)
    assert (a[0], b[0]) == (other_a[0], other_b[0]) == ("A", "B")
    assert (a[1:], b[1:]) == (other_b[1:], other_a[1:])


@pytest.mark.parametrize(("language", "several"), list(product(LANGUAGES, (False, True))))
@pytest.mark.parametrize("always", [0.01, 0.99])
def test_a_model_that_always_says_the_same_option_says_nothing(
    scripted: Any, make_context: Any, language: Language, several: bool, always: float
) -> None:
    response = TWO[language] if several else ANSWER[language]

    def result(choose: float) -> ToolResult:
        model = scripted(choose=choose)
        return call(make_context(WHERE[language], response, language=language, reference=REFERENCE[language], model=model))

    assert result(always).observation == result(0.5).observation
    neutral = calibrated(0.0, "statement" if several else "answer", language)
    assert f"{neutral:.0%}" in result(always).observation


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_two_answers_are_averaged(scripted: Any, make_context: Any, language: Language) -> None:
    """One option order says yes with odds of 3, the other with even odds: together the square root of 3."""
    model = scripted(choose=lambda messages: 0.5 if turned(messages) else 0.75)
    context = make_context(WHERE[language], ANSWER[language], language=language, reference=REFERENCE[language], model=model)
    even = scripted(choose=believes(3**0.5 / (1 + 3**0.5)))
    other = make_context(WHERE[language], ANSWER[language], language=language, reference=REFERENCE[language], model=even)
    assert call(context).evidence[0].score == pytest.approx(call(other).evidence[0].score)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_bare_answer_is_judged_as_the_answer(scripted: Any, make_context: Any, language: Language) -> None:
    model = scripted(choose=believes(0.99))
    call(make_context(WHERE[language], ANSWER[language], language=language, reference=REFERENCE[language], model=model))
    for messages in model.seen:
        assert WHERE[language] in prompt(messages) and f"<response>\n{ANSWER[language]}" in prompt(messages)
        assert "<statement>" not in prompt(messages)


@pytest.mark.parametrize("language", LANGUAGES)
def test_one_sentence_of_several_is_judged_as_a_statement(scripted: Any, make_context: Any, language: Language) -> None:
    model = scripted(choose=believes(0.99))
    context = make_context(WHERE[language], TWO[language], language=language, reference=REFERENCE[language], model=model)
    call(context)
    for messages in model.seen:
        assert f"<statement>\n{context.sentences[0].text}" in prompt(messages)
        assert WHERE[language] not in prompt(messages) and context.sentences[1].text not in prompt(messages)


# The reference ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("belief", "label"), [(0.99, "supported"), (0.01, "contradicted")])
def test_the_reference_decides_and_is_quoted(
    scripted: Any, make_context: Any, language: Language, belief: float, label: str
) -> None:
    model = scripted(choose=believes(belief))
    context = make_context(WHERE[language], TWO[language], language=language, reference=REFERENCE[language], model=model)
    result = call(context)
    assert result.label == label and result.confidence > 0.9
    assert verbatim(context, result) == RISES[language]
    assert result.read == ((0, len(REFERENCE[language])),)


LONG = ("Where does the river Elbe rise?", "The Elbe rises in the mountains. It is long.")
@pytest.mark.parametrize(
    ("language", "says"), [("en", "the reference says this word for word"), ("zh", "参考资料原文就是这样写的")]
)
def test_what_stands_in_the_reference_word_for_word_needs_no_judgement(
    scripted: Any, make_context: Any, language: Language, says: str
) -> None:
    model = scripted(choose=believes(0.01))
    response = f"{RISES[language]} {TWO[language]}"
    context = make_context(WHERE[language], response, language=language, reference=f"A. {REFERENCE[language]}", model=model)
    result = call(context)
    assert (result.label, result.observation, model.seen) == ("supported", says, [])
    assert verbatim(context, result) == RISES[language].rstrip(".。")
    assert call(context, "reference", 2).label == "contradicted"


def test_a_bare_answer_is_judged_though_its_name_stands_in_the_reference(scripted: Any, make_context: Any) -> None:
    model = scripted(choose=believes(0.01))
    reference = "Marie Curie discovered radium. Henri Becquerel discovered radioactivity."
    result = call(make_context("Who discovered radium?", "Henri Becquerel.", reference=reference, model=model))
    assert result.label == "contradicted"


PLACES = ("harbour", "castle", "bridge", "market", "garden", "mill")


def long_reference(relevant: int) -> str:
    """Six stretches of almost a window each; one of them is about the Elbe, and the first four name a river."""
    parts = []
    for number, place in enumerate(PLACES):
        about = "the river" if number < 4 else "the town"
        line = f"The {place} near {about} was painted again and again by many visitors. "
        parts.append(line * (4 * WINDOW_TOKENS // len(line) - 2) + (RISES["en"] if number == relevant else "") + "\n")
    return "".join(parts)


@pytest.mark.parametrize("relevant", range(len(PLACES)))
def test_any_window_may_support(scripted: Any, make_context: Any, relevant: int) -> None:
    reference = long_reference(relevant)
    model = scripted(choose=believes(lambda text: 0.99 if "Giant Mountains" in text else 0.01))
    context = make_context(*LONG, reference=reference, model=model)
    result = call(context)
    assert result.label == "supported"
    assert verbatim(context, result) == RISES["en"]


def test_all_windows_must_speak_against(scripted: Any, make_context: Any) -> None:
    reference = long_reference(2)
    against = scripted(choose=believes(0.01))
    assert call(make_context(*LONG, reference=reference, model=against)).label == "contradicted"
    undecided = 1 / (1 + math.exp(-CURVES["statement", "en"][0]))  # where the curve says one half
    one_open = scripted(choose=believes(lambda text: undecided if "Giant Mountains" in text else 0.01))
    result = call(make_context(*LONG, reference=reference, model=one_open))
    assert (result.label, result.evidence) == (None, ())
    assert "does not decide" in result.observation


@pytest.mark.parametrize("relevant", range(len(PLACES)))
def test_of_a_long_reference_the_best_windows_are_read(scripted: Any, make_context: Any, relevant: int) -> None:
    reference = long_reference(relevant)
    model = scripted(choose=believes(0.99))
    read = call(make_context(*LONG, reference=reference, model=model)).read
    assert len(read) == WINDOWS and len(model.seen) == 2 * WINDOWS
    assert all(0 <= start < end <= len(reference) for start, end in read)
    assert all(one[1] <= other[0] for one, other in pairwise(read))
    assert all(model.count_tokens(reference[slice(*span)]) <= WINDOW_TOKENS for span in read)
    assert any(RISES["en"] in reference[slice(*span)] for span in read)


@pytest.mark.parametrize(
    ("language", "reference", "response", "note"),
    [
        ("en", "The bridge was built in 1905 by Anna Hall.", "The bridge was built in 1915.", "; 1915 is not in it"),
        ("zh", "这座桥由王工于1905年建成。", "这座桥于1915年建成。", "；其中没有 1915"),
    ],
)
def test_a_number_that_is_not_in_the_reference_caps_the_support(
    scripted: Any, make_context: Any, language: Language, reference: str, response: str, note: str
) -> None:
    question = "When was it built?" if language == "en" else "何时建成？"
    model = scripted(choose=believes(0.99))
    context = make_context(question, response, language=language, reference=reference, model=model)
    result = call(context)
    assert (result.label, result.confidence) == ("contradicted", 0.75)
    assert result.observation.endswith(note) and "25%" in result.observation
    verbatim(context, result)
    known = make_context(f"{question} 1915?", response, language=language, reference=reference, model=model)
    assert call(known).label == "supported"


@pytest.mark.parametrize(
    ("language", "response", "says"),
    [("en", "Mozart composed operas.", "the reference says nothing about this"), ("zh", "莫扎特写歌剧。", "参考资料没有提到这件事")],
)
def test_where_nothing_is_shared_there_is_no_label(
    scripted: Any, make_context: Any, language: Language, response: str, says: str
) -> None:
    model = scripted(choose=believes(0.01))
    result = call(make_context("?", response, language=language, reference=REFERENCE[language], model=model))
    assert (result.observation, result.label, result.evidence) == (says, None, ())
    assert result.read == ((0, len(REFERENCE[language])),)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.floats(0, 1), st.floats(0, 1))
def test_any_judgement_gives_a_consistent_result(scripted: Any, make_context: Any, first: float, second: float) -> None:
    model = scripted(choose=lambda messages: second if turned(messages) else first)
    context = make_context(WHERE["en"], TWO["en"], reference=ELBE, model=model)
    result = call(context)
    if result.label is None:
        assert not result.evidence
    else:
        score = result.evidence[0].score
        assert score is not None and result.confidence == max(score, 1 - score)
        assert (score > 0.5) is (result.label == "supported")
        verbatim(context, result)


# The question and the response -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("language", "where"), list(product(LANGUAGES, ("question", "response"))))
@pytest.mark.parametrize(("belief", "label"), [(0.99, None), (0.5, None), (0.4, None), (0.01, "contradicted")])
def test_the_question_and_the_response_can_only_contradict_clearly(
    scripted: Any, make_context: Any, language: Language, where: str, belief: float, label: str | None
) -> None:
    context = make_context(WHERE[language], TWO[language], language=language, model=scripted(choose=believes(belief)))
    result = call(context, where, 2)
    assert (result.label, result.read) == (label, ())
    assert bool(result.evidence) is (label is not None)
    if label:
        text = verbatim(context, result)
        assert text == (context.question if where == "question" else context.sentences[0].text)


def test_a_sentence_is_compared_with_what_stands_before_it_and_the_first_with_what_follows(
    scripted: Any, make_context: Any
) -> None:
    model = scripted(choose=believes(0.01))
    context = make_context("Why?", "It was cold. It was warm. It was wet.", model=model)
    assert verbatim(context, call(context, "response", 3)) in ("It was cold.", "It was warm.")
    assert "<text>\nIt was cold. It was warm. \n</text>" in prompt(model.seen[-1])
    call(context, "response", 1)
    assert "<text>\n It was warm. It was wet.\n</text>" in prompt(model.seen[-1])


@pytest.mark.parametrize(
    ("question", "where", "says"),
    [
        ("Why?", "reference", "no reference was given"),
        (" ", "question", "no question to compare with"),
        ("Why?", "response", "no response to compare with"),
    ],
)
def test_without_a_text_it_is_an_error(make_context: Any, question: str, where: str, says: str) -> None:
    with pytest.raises(ToolError, match=says):
        call(make_context(question, "It was cold."), where)


def test_when_it_is_offered(make_context: Any) -> None:
    alone, together = make_context("Why?", "It was cold."), make_context("Why?", "It was cold. It was wet.")
    checked = make_context("Why?", "It was cold.", reference="It was.")
    assert [match.when(context, context.sentence(1)) for context in (alone, together, checked)] == [False, True, True]
    assert not match.when(checked, checked.sentence(0))


# What they are made of -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "text", "found"),
    [
        ("It flows into the North Sea near Cuxhaven!", ELBE, "It flows into the North Sea near Cuxhaven"),
        (" The Elbe rises in the Giant Mountains of the Czech Republic ", ELBE, ELBE.split(".")[0]),
        ("The Elbe rises in the Giant Mountains.", ELBE, None),  # a part of a clause may say something else
        ("易北河发源于捷克的克尔科诺谢山；", ELBE_ZH, "易北河发源于捷克的克尔科诺谢山"),
        ("The Elbe rises in Poland, in the north.", ELBE, None),
        ("North Sea", ELBE, None),  # too short to be said
        ("流入北海。", ELBE_ZH, None),
        ("", ELBE, None),
    ],
)
def test_quoted(claim: str, text: str, found: str | None) -> None:
    span = quoted(claim, text)
    assert (text[slice(*span)] if span else None) == found


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The bridge has a length of 12.", "The bridge has a length of 120 metres."),
        ("这座桥的总长度一共是12。", "这座桥的总长度一共是120米。"),
        ("Paris is big.", "Nobody says that Paris is big."),
    ],
)
def test_a_part_of_something_else_is_not_quoted(claim: str, text: str) -> None:
    assert quoted(claim, text) is None


@pytest.mark.parametrize(
    ("text", "window", "query", "found"),
    [
        (ELBE, None, "North Sea", "It flows into the North Sea near Cuxhaven."),
        (ELBE, None, "the Giant Mountains", "The Elbe rises in the Giant Mountains of the Czech Republic."),
        (ELBE_ZH, None, "流入北海", "它在库克斯港附近流入北海。"),
        (ELBE, (0, 20), "North Sea", "The Elbe rises in th"),  # only inside the window
        ("---", None, "North Sea", "---"),
    ],
)
def test_passage(text: str, window: tuple[int, int] | None, query: str, found: str) -> None:
    assert text[slice(*passage(text, window or (0, len(text)), query))] == found


@pytest.mark.parametrize(
    ("claim", "text", "missing"),
    [
        ("It took 3 days and 12 nights.", "It took three days.", ["12"]),
        ("It took twenty days.", "It took 20 days.", []),
        ("It cost 1,200 dollars.", "It cost 1200 dollars.", []),
        ("占百分之二十，共三十个。", "占20%，共30个。", []),
        ("共有35人，分5组。", "共有三十五人。", ["5"]),
        ("It took long.", "", []),
    ],
)
def test_missing_numbers(claim: str, text: str, missing: list[str]) -> None:
    assert missing_numbers(claim, text) == missing


def test_a_digit_of_another_number_is_not_the_number() -> None:
    assert missing_numbers("He had 5 sons.", "In 1950 he had 3 sons.") == ["5"]


def test_words() -> None:
    assert words("The River Elbe, it doesn't end at 3.5 km.") == {"river", "elbe", "doesn't", "end", "3.5", "km"}
    assert words("青海省的山脉") == {"青海", "海省", "山脉"}
    assert words("青海省的山脉") <= words("青海省山脉")  # function words part the runs
    assert words("山和海") == {"山", "海"}
    assert words("用Python写的2.5版") == {"用", "python", "写", "2.5", "版"}
    assert words("的了，。 the of") == words("") == frozenset()
