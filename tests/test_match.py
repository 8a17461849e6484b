"""`match`: a sentence against a text, by scored choices in both option orders."""

import asyncio
import math
import re
from collections.abc import Callable, Sequence
from itertools import pairwise, product
from typing import Any

import pytest
from haluagent.tools._calibration import CURVES, UNCALIBRATED
from haluagent.tools._judge import WINDOW_TOKENS, agreement
from haluagent.tools._passages import best_windows, missing_numbers, passage, quoted
from haluagent.tools._words import words
from haluagent.tools.match import WINDOWS, match
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from haluagent.errors import ToolError
from haluagent.protocols import Choice, Message, ToolContext
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


def choices(model: Any) -> list[list[Message]]:
    """The conversations that asked for a choice; where a bare answer is judged, one more asks for an answer."""
    return [messages for messages in model.seen if "\nB" in prompt(messages)]


def unscored(scripted: Any, **options: Any) -> Any:
    """A model behind a server that gives no log-probabilities."""

    class Unscored(scripted):  # type: ignore[misc]
        async def choose(self, messages: Sequence[Message], choices: Sequence[str]) -> Choice:
            choice: Choice = await super().choose(messages, choices)
            return choice.model_copy(update={"calibrated": False})

    return Unscored(**options)


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
    assert [turned(messages) for messages in choices(model)] == [False, True]
    assert len(model.seen) == (2 if several else 3)
    first, second = (prompt(messages).splitlines() for messages in choices(model))
    (a, other_a), (b, other_b) = ((one, other) for one, other in zip(first, second, strict=True) if one != other)
    assert (a[0], b[0]) == (other_a[0], other_b[0]) == ("A", "B")
    assert (a[1:], b[1:]) == (other_b[1:], other_a[1:])


@pytest.mark.parametrize(("language", "several"), list(product(LANGUAGES, (False, True))))
@pytest.mark.parametrize("first", [0.0, 0.01, 0.2, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("scored", [True, False])
def test_a_model_that_always_says_the_same_option_says_nothing(
    scripted: Any, make_context: Any, language: Language, several: bool, first: float, scored: bool
) -> None:
    """Not even where an answer given anew agrees or a number is missing."""
    response = (TWO if several else ANSWER)[language].replace(".", " in 1905.", 1).replace("。", "1905年。", 1)
    options: dict[str, Any] = {"choose": first, "free": "the Czech Republic" if language == "en" else "捷克"}
    model = scripted(**options) if scored else unscored(scripted, **options)
    context = make_context(WHERE[language], response, language=language, reference=REFERENCE[language], model=model)
    result = call(context)
    assert (result.label, result.evidence) == (None, ())
    assert ("does not decide" if language == "en" else "不足以判定") in result.observation
    assert "50%" in result.observation and "1905" in result.observation
    assert len(model.seen) == 2  # there is nothing that an answer given anew could confirm
    if several:
        assert call(context, "response", 2).label is call(context, "question", 2).label is None


def test_answers_that_almost_cancel_say_nothing(scripted: Any, make_context: Any) -> None:
    """Log-odds of 5 and -4.97: for the curve, whose lean is 0.11, that would be a clear no."""
    model = scripted(choose=lambda messages: 1 / (1 + math.exp(-4.97 if turned(messages) else -5)))
    result = call(make_context(WHERE["en"], TWO["en"], reference=ELBE, model=model))
    assert (result.label, result.observation) == (None, "the reference does not decide this (50%)")


@pytest.mark.parametrize(("language", "several"), list(product(LANGUAGES, (False, True))))
@pytest.mark.parametrize(("belief", "label"), [(1.0, "supported"), (0.0, "contradicted")])
def test_without_log_probabilities_two_equal_answers_decide_with_less_confidence(
    scripted: Any, make_context: Any, language: Language, several: bool, belief: float, label: str
) -> None:
    model = unscored(scripted, choose=believes(belief), free="no")
    response = TWO[language] if several else ANSWER[language]
    context = make_context(WHERE[language], response, language=language, reference=REFERENCE[language], model=model)
    result = call(context)
    assert (result.label, result.confidence) == (label, pytest.approx(UNCALIBRATED))
    assert verbatim(context, result) and len(model.seen) == 2
    if several:
        found = call(context, "response", 2)
        assert found.label is None  # without probabilities nothing is clear enough for this


def test_without_log_probabilities_one_even_answer_is_not_enough(scripted: Any, make_context: Any) -> None:
    model = unscored(scripted, choose=lambda messages: 0.5 if turned(messages) else 1.0)
    assert call(make_context(WHERE["en"], TWO["en"], reference=ELBE, model=model)).label is None


def test_a_missing_number_without_log_probabilities_keeps_the_cap(scripted: Any, make_context: Any) -> None:
    model = unscored(scripted, choose=believes(1.0))
    result = call(make_context("When?", "It flows since 1905. It is long.", reference=ELBE, model=model))
    assert (result.label, result.confidence) == ("contradicted", pytest.approx(UNCALIBRATED))


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
    for messages in choices(model):
        if language == "zh":
            assert WHERE[language] in prompt(messages) and f"<response>\n{ANSWER[language]}" in prompt(messages)
        assert ("<statement>" in prompt(messages)) is (language == "en")  # as calibrated: see docs/calibration.md


@pytest.mark.parametrize("language", LANGUAGES)
def test_one_sentence_of_several_is_judged_as_a_statement(scripted: Any, make_context: Any, language: Language) -> None:
    model = scripted(choose=believes(0.99))
    context = make_context(WHERE[language], TWO[language], language=language, reference=REFERENCE[language], model=model)
    call(context)
    for messages in model.seen:
        assert f"<statement>\n{context.sentences[0].text}" in prompt(messages)
        assert WHERE[language] not in prompt(messages) and context.sentences[1].text not in prompt(messages)


# An answer given anew --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("language", "gives"), [("en", "asked anew, it gives: Poland"), ("zh", "重新作答得到：波兰")])
def test_a_bare_answer_is_compared_with_one_given_anew(
    scripted: Any, make_context: Any, language: Language, gives: str
) -> None:
    model = scripted(choose=believes(0.99), free=" Poland\n" if language == "en" else " 波兰\n")
    response = ANSWER[language]
    result = call(make_context(WHERE[language], response, language=language, reference=REFERENCE[language], model=model))
    assert gives in result.observation and "\n" not in result.observation
    asked = prompt(model.seen[-1])
    assert model.seen[-1] not in choices(model) and model.grammars == [None]
    assert WHERE[language] in asked and REFERENCE[language] in asked
    assert response not in asked and "<response>" not in asked


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_answer_given_anew_moves_the_judgement(scripted: Any, make_context: Any, language: Language) -> None:
    lean, slope, bonus = CURVES["answer", language]
    assert bonus == 0
    even = 1 / (1 + math.exp(-(lean + 0.2 / slope)))  # where the curve says 55%
    free = {"en": ("The Czech Republic.", "Poland", ""), "zh": ("捷克", "波兰", "")}[language]

    def result(free: str) -> ToolResult:
        model = scripted(choose=believes(even), free=free)
        context = make_context(WHERE[language], ANSWER[language], language=language, reference=REFERENCE[language], model=model)
        return call(context)

    same, other, none = map(result, free)
    assert (same.label, other.label, none.label) == ("supported", "contradicted", None)
    assert "55%" in none.observation and none.observation.endswith((")", "）"))


def test_another_answer_is_not_enough_where_a_window_said_nothing(scripted: Any, make_context: Any) -> None:
    lean, slope, _ = CURVES["answer", "en"]
    even = 1 / (1 + math.exp(-(lean + 0.1 / slope)))  # where the curve says 52%
    labels = []
    for elsewhere in (0.01, 0.5):
        belief = believes(lambda text, other=elsewhere: even if "Giant Mountains" in text else other)  # type: ignore[misc]
        model = scripted(choose=belief, free="Poland")
        context = make_context("Where?", "The mountains.", reference=long_reference(2, WINDOWS), model=model)
        labels.append(call(context).label)
    assert labels == ["contradicted", None]


def test_one_sentence_of_several_is_not_answered_anew(scripted: Any, make_context: Any) -> None:
    model = scripted(choose=believes(0.99), free="Poland")
    assert "anew" not in call(make_context(WHERE["en"], TWO["en"], reference=ELBE, model=model)).observation
    assert model.grammars == []


def test_of_a_long_reference_the_window_that_supports_most_answers_anew(scripted: Any, make_context: Any) -> None:
    model = scripted(choose=believes(lambda text: 0.99 if "Giant Mountains" in text else 0.01), free="Giant Mountains")
    question = "In which mountains does the river Elbe rise?" + " Please say it." * 1000
    call(make_context(question, "The mountains.", reference=long_reference(2), model=model))
    assert RISES["en"] in prompt(model.seen[-1])
    assert model.count_tokens(prompt(model.seen[-1])) < 2 * WINDOW_TOKENS + 100


@pytest.mark.parametrize(
    ("one", "other", "question", "share"),
    [
        ("Paris", "It is Paris.", "", 1.0),
        ("Paris", "London", "", 0.0),
        ("red wine", "red and white", "", 0.5),
        ("the Elbe rises in Poland", "the Elbe rises in Saxony", "Where does the Elbe rise?", 1 / 2),  # "rises"
        ("the Elbe", "the Elbe", "What is the Elbe?", 1.0),  # nothing but words of the question
        ("", "Paris", "", None),
        ("Paris", "the", "", None),
        ("捷克", "易北河发源于捷克。", "易北河发源于哪里？", 1.0),
        ("波兰", "易北河发源于捷克。", "易北河发源于哪里？", 0.0),
    ],
)
def test_agreement(one: str, other: str, question: str, share: float | None) -> None:
    assert agreement(one, other, question) == agreement(other, one, question) == share


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


def long_reference(relevant: int, stretches: int = len(PLACES)) -> str:
    """Stretches of almost a window each; one of them is about the Elbe, and the first four name a river."""
    parts = []
    for number, place in enumerate(PLACES[:stretches]):
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
    reference = long_reference(2, WINDOWS)
    against = scripted(choose=believes(0.01))
    assert call(make_context(*LONG, reference=reference, model=against)).label == "contradicted"
    undecided = 1 / (1 + math.exp(-CURVES["statement", "en"][0]))  # where the curve says one half
    one_open = scripted(choose=believes(lambda text: undecided if "Giant Mountains" in text else 0.01))
    result = call(make_context(*LONG, reference=reference, model=one_open))
    assert (result.label, result.evidence) == (None, ())
    assert "does not decide" in result.observation and "read" not in result.observation
    silent = scripted(choose=lambda messages: 0.5 if "castle" in prompt(messages) else believes(0.01)(messages))
    assert call(make_context(*LONG, reference=reference, model=silent)).label is None


@pytest.mark.parametrize(
    ("language", "says"),
    [("en", r"does not decide this .*; about 5\d% of it was read$"), ("zh", r"不足以判定.*；只读了其中约 5\d%$")],
)
@pytest.mark.parametrize("several", [False, True])
def test_what_was_not_read_is_not_said_to_contradict(
    scripted: Any, make_context: Any, language: Language, says: str, several: bool
) -> None:
    response = "The river Elbe rises in the mountains. It is long." if several else "The Elbe rises in the mountains in 1905."
    context = make_context(
        LONG[0], response, language=language, reference=long_reference(-1), model=scripted(choose=believes(0.01))
    )
    result = call(context)
    assert (result.label, result.evidence, len(result.read)) == (None, (), WINDOWS)
    assert re.search(says, result.observation)


def test_a_window_about_the_same_may_contradict_though_not_all_was_read(scripted: Any, make_context: Any) -> None:
    context = make_context(*LONG, reference=long_reference(2), model=scripted(choose=believes(0.01)))
    result = call(context)
    assert result.label == "contradicted" and verbatim(context, result) == RISES["en"]
    assert re.search(r"about 5\d% of it was read$", result.observation)


def test_the_share_that_was_read_is_never_none_or_all(scripted: Any, make_context: Any) -> None:
    model = scripted(choose=believes(0.01))
    long = make_context(*LONG, reference=long_reference(2) * 100, model=model)
    assert call(long).observation.endswith("; about 1% of it was read")
    text = "Elbe. " * 3000  # so short that no window has room left
    spans, _ = best_windows(text, "", 100, WINDOW_TOKENS, model.count_tokens)
    rest = make_context(*LONG, reference=text[: spans[WINDOWS - 1][1]] + "It is so.", model=model)
    assert call(rest).observation.endswith("; about 99% of it was read")


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


@pytest.mark.parametrize("where", ["question", "response"])
def test_of_a_long_question_or_response_the_best_window_is_read(scripted: Any, make_context: Any, where: str) -> None:
    model = scripted(choose=believes(0.01))
    text, claim = long_reference(3), "The Elbe rises in the mountains of Poland."
    question, response = (text, f"It is. {claim}") if where == "question" else (WHERE["en"], f"{text} {claim}")
    context = make_context(question, response, model=model)
    result = call(context, where, len(context.sentences))
    assert (result.label, verbatim(context, result)) == ("contradicted", RISES["en"])
    assert len(model.seen) == 2
    for messages in model.seen:
        assert RISES["en"] in prompt(messages) and PLACES[0] not in prompt(messages)
        assert model.count_tokens(prompt(messages)) < WINDOW_TOKENS + 100


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
        ("The bridge was built in 1905.", "The bridge was built in 1905, 20 years ago.", "The bridge was built in 1905"),
        ("The bridge was built in Rome.", "So,the bridge,The bridge was built in Rome,20", "The bridge was built in Rome"),
        ("北京是中华人民共和国的首都。", "北京是中华人民共和国的首都，2010年", "北京是中华人民共和国的首都"),
        ("12 people live in this town.", "In 2010, 12 people live in this town.", "12 people live in this town"),
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
        ("The city has a population of 12.", "The city has a population of 12,500."),
        ("The city has a population of 12.", "The city has a population of 12.5 thousand."),
        ("500 people live in this town.", "12,500 people live in this town."),
        ("5 million people live in this town.", "3.5 million people live in this town."),
        ("这座城市的总人口一共是12。", "这座城市的总人口一共是12,500。"),
        ("这座城市的总人口一共是12。", "这座城市的总人口一共是12，500。"),
        ("Paris is big.", "Nobody says that Paris is big."),
    ],
)
def test_a_part_of_something_else_is_not_quoted(claim: str, text: str) -> None:
    assert quoted(claim, text) is None


def test_best_windows() -> None:
    text = "The sea is blue. The river is long. The sea and the river meet."
    assert best_windows(text, "river", 1, 100, len) == ([(0, len(text))], True)
    spans, whole = best_windows(text, "river sea", 1, 30, len)
    assert [text[slice(*span)].strip() for span in spans] == ["The sea and the river meet."] and not whole
    spans, whole = best_windows(text, "river", 2, 30, len)
    assert [text[slice(*span)].strip() for span in spans] == ["The river is long.", "The sea and the river meet."]
    assert best_windows(text, "", 3, 30, len)[1]


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
