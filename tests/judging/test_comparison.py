"""`match`: the judgement. Scored choices in both option orders, and an answer given anew."""

import asyncio
import math
import re
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from scripted import Belief, always, believes, prompt, turned

from haluagent.judging.comparison import judge
from haluagent.judging.probabilities import UNCALIBRATED
from haluagent.models.calibration import EMBEDDED
from haluagent.protocols import Choice, Message, ToolContext
from haluagent.tools.match import match
from haluagent.types import Language, ToolResult

ELBE = "The Elbe rises in the Giant Mountains of the Czech Republic. It flows into the North Sea near Cuxhaven."
ELBE_ZH = "易北河发源于捷克的克尔科诺谢山。它在库克斯港附近流入北海。"
WHERE = {"en": "Where does the Elbe rise?", "zh": "易北河发源于哪里？"}
REFERENCE = {"en": ELBE, "zh": ELBE_ZH}
ANSWER = {"en": "The Elbe rises in the Czech Republic.", "zh": "易北河发源于捷克。"}
TWO = {"en": "The Elbe rises in Poland. It is a river.", "zh": "易北河发源于波兰。它是一条河。"}
LANGUAGES: tuple[Language, ...] = ("en", "zh")


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


# Both orders ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("language", "several"), list(product(LANGUAGES, (False, True))))
def test_both_option_orders_are_asked(scripted: Any, make_context: Any, language: Language, several: bool) -> None:
    model = scripted(choose=believes(0.9))
    response = TWO[language] if several else ANSWER[language]
    call(make_context(WHERE[language], response, language=language, reference=REFERENCE[language], model=model))
    assert [turned(messages) for messages in choices(model)] == [False, True]
    assert len(model.seen) == (2 if several else 3)
    first, second = (re.findall(r"^[ABC][:：] ?(.+)$", prompt(messages), re.M) for messages in choices(model))
    assert second == first[::-1] and len(set(first)) == 3


@pytest.mark.parametrize(("language", "several"), list(product(LANGUAGES, (False, True))))
@pytest.mark.parametrize("letter", ["A", "C"])
@pytest.mark.parametrize("share", [0.5, 0.99, 1.0])
@pytest.mark.parametrize("scored", [True, False])
def test_a_model_that_always_says_the_same_option_says_nothing(
    scripted: Any, make_context: Any, language: Language, several: bool, letter: str, share: float, scored: bool
) -> None:
    """Not even where an answer given anew agrees or a number is missing."""
    response = (TWO if several else ANSWER)[language].replace(".", " in 1905.", 1).replace("。", "1905年。", 1)
    free = "the Czech Republic" if language == "en" else "捷克"
    options: dict[str, Any] = {"choose": always(letter, share), "free": free}
    model = scripted(**options) if scored else unscored(scripted, **options)
    context = make_context(WHERE[language], response, language=language, reference=REFERENCE[language], model=model)
    result = call(context)
    assert (result.label, result.reason_code, result.evidence) == (None, None, ())
    assert ("does not decide" if language == "en" else "不足以判定") in result.observation
    assert "50%" in result.observation and "1905" in result.observation
    assert len(model.seen) == 2  # there is nothing that an answer given anew could confirm
    if several:
        assert call(context, "response", 2).label is call(context, "question", 2).label is None


def test_answers_that_almost_cancel_say_nothing(scripted: Any, make_context: Any) -> None:
    """Log-odds of 5 and -4.97: for the curve, whose lean is 0.11, that would be a clear no."""
    model = scripted(choose=lambda messages: believes(1 / (1 + math.exp(4.97 if turned(messages) else -5)))(messages))
    result = call(make_context(WHERE["en"], TWO["en"], reference=ELBE, model=model))
    assert (result.label, result.observation) == (None, "the reference does not decide this (50%)")


@pytest.mark.parametrize(("language", "several"), list(product(LANGUAGES, (False, True))))
@pytest.mark.parametrize(("belief", "label"), [(1.0, "supported"), (0.0, "contradicted"), ("silent", None)])
def test_without_log_probabilities_two_equal_answers_decide_with_less_confidence(
    scripted: Any, make_context: Any, language: Language, several: bool, belief: Belief, label: str | None
) -> None:
    model = unscored(scripted, choose=believes(belief), free="no")
    response = TWO[language] if several else ANSWER[language]
    context = make_context(WHERE[language], response, language=language, reference=REFERENCE[language], model=model)
    result = call(context)
    assert (result.label, result.confidence) == (label, pytest.approx(UNCALIBRATED))
    assert result.reason_code == (None if label else "not_in_reference") and len(model.seen) == 2
    assert not label or verbatim(context, result)
    if several:
        found = call(context, "response", 2)
        assert found.label is None  # without probabilities nothing is clear enough for this


def test_without_log_probabilities_one_even_answer_is_not_enough(scripted: Any, make_context: Any) -> None:
    model = unscored(scripted, choose=lambda messages: believes(0.5 if turned(messages) else 1.0)(messages))
    assert call(make_context(WHERE["en"], TWO["en"], reference=ELBE, model=model)).label is None


def test_a_missing_number_is_named_and_keeps_from_support_alone(scripted: Any, make_context: Any) -> None:
    for belief, label in ((1.0, None), (0.0, "contradicted")):
        model = scripted(choose=believes(belief))
        result = call(make_context("When?", "It flows since 1905. It is long.", reference=ELBE, model=model))
        assert result.label == label and "1905 is not in it" in result.observation


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_two_answers_are_averaged(scripted: Any, make_context: Any, language: Language) -> None:
    """One option order says yes with odds of 3, the other with even odds: together the square root of 3."""
    model = scripted(choose=lambda messages: believes(0.5 if turned(messages) else 0.75)(messages))
    context = make_context(
        WHERE[language], ANSWER[language], language=language, reference=REFERENCE[language], model=model
    )
    even = scripted(choose=believes(3**0.5 / (1 + 3**0.5)))
    other = make_context(
        WHERE[language], ANSWER[language], language=language, reference=REFERENCE[language], model=even
    )
    assert call(context).evidence[0].score == pytest.approx(call(other).evidence[0].score)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_bare_answer_is_judged_as_the_answer(scripted: Any, make_context: Any, language: Language) -> None:
    model = scripted(choose=believes(0.99))
    call(make_context(WHERE[language], ANSWER[language], language=language, reference=REFERENCE[language], model=model))
    for messages in choices(model):
        assert f"<question>\n{WHERE[language]}" in prompt(messages)
        assert f"<claim>\n{ANSWER[language]}" in prompt(messages)


@pytest.mark.parametrize("language", LANGUAGES)
def test_one_sentence_of_several_is_judged_without_the_others(
    scripted: Any, make_context: Any, language: Language
) -> None:
    model = scripted(choose=believes(0.99))
    context = make_context(
        WHERE[language], TWO[language], language=language, reference=REFERENCE[language], model=model
    )
    call(context)
    for messages in model.seen:
        assert f"<claim>\n{context.sentences[0].text}\n" in prompt(messages)
        assert context.sentences[1].text not in prompt(messages)


# An answer given anew ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("language", "gives"), [("en", "asked anew, it gives: Poland"), ("zh", "重新作答得到：波兰")])
def test_a_bare_answer_is_compared_with_one_given_anew(
    scripted: Any, make_context: Any, language: Language, gives: str
) -> None:
    model = scripted(choose=believes(0.99), free=" Poland\n" if language == "en" else " 波兰\n")
    response = ANSWER[language]
    result = call(
        make_context(WHERE[language], response, language=language, reference=REFERENCE[language], model=model)
    )
    assert gives in result.observation and "\n" not in result.observation
    asked = prompt(model.seen[-1])
    assert model.seen[-1] not in choices(model) and model.grammars == [None]
    assert WHERE[language] in asked and REFERENCE[language] in asked
    assert response not in asked and "<claim>" not in asked


def rather(language: Language) -> float:
    """What a model believes of an answer of which the curve says 55 %."""
    curve = EMBEDDED.curve("answer", language)
    assert curve.familiar == 0
    return 1 / (1 + math.exp(-(curve.lean + 0.2 / curve.slope)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_answer_given_anew_moves_the_judgement(scripted: Any, make_context: Any, language: Language) -> None:
    free = {"en": ("The Czech Republic.", "Poland", ""), "zh": ("捷克", "波兰", "")}[language]

    def result(free: str) -> ToolResult:
        model = scripted(choose=believes(rather(language)), free=free)
        context = make_context(
            WHERE[language], ANSWER[language], language=language, reference=REFERENCE[language], model=model
        )
        return call(context)

    same, other, none = map(result, free)
    assert (same.label, other.label, none.label) == ("supported", "contradicted", None)
    assert "55%" in none.observation and none.observation.endswith((")", "）"))


@pytest.mark.parametrize(
    ("language", "answer", "added"),
    [("en", "the Czech Republic", "the Czech Republic, beside a volcano"), ("zh", "捷克", "捷克，火山旁边")],
)
def test_an_answer_given_anew_does_not_vouch_for_what_is_added(
    scripted: Any, make_context: Any, language: Language, answer: str, added: str
) -> None:
    def label(response: str) -> str | None:
        model = scripted(choose=believes(rather(language)), free=answer)
        return call(
            make_context(WHERE[language], response, language=language, reference=REFERENCE[language], model=model)
        ).label

    assert (label(answer), label(added)) == ("supported", None)


def test_one_sentence_of_several_is_not_answered_anew(scripted: Any, make_context: Any) -> None:
    model = scripted(choose=believes(0.99), free="Poland")
    assert "anew" not in call(make_context(WHERE["en"], TWO["en"], reference=ELBE, model=model)).observation
    assert model.grammars == []


@pytest.mark.parametrize(
    ("language", "sentence", "reference"),
    [
        ("en", "The documents do not mention the CEO's salary.", "Acme Corp was founded in 1990. It makes rockets."),
        ("zh", "资料没有提到首席执行官的工资。", "艾克公司成立于1990年，生产火箭。"),
    ],
)
def test_what_the_reference_does_not_mention(
    make_context: Any, scripted: Any, language: Language, sentence: str, reference: str
) -> None:
    for belief, label in ((0.02, "supported"), (0.45, None)):
        model = scripted(choose=believes(belief))
        context = make_context("", sentence, language=language, reference=reference, model=model)
        result = asyncio.run(judge(context, context.sentence(1)))
        assert result.label == label and bool(result.evidence) == bool(label)
    model = scripted(choose=lambda messages: believes(0.98 if "<question>" in prompt(messages) else 0.01)(messages))
    context = make_context("", sentence, language=language, reference=reference, model=model)
    assert asyncio.run(judge(context, context.sentence(1))).label != "supported"
