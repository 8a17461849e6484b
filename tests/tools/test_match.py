"""`match`: what a reference, the question and the rest of the response decide about a sentence."""

import asyncio
import math
import re
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scripted import Belief, always, believes, prompt, turned

from haluagent.errors import ToolError
from haluagent.judging.comparison import WINDOWS
from haluagent.judging.judge import WINDOW_TOKENS
from haluagent.judging.passages import best_windows
from haluagent.models.calibration import EMBEDDED
from haluagent.protocols import Message, ToolContext
from haluagent.tools.match import match
from haluagent.types import Language, ToolResult

ELBE = "The Elbe rises in the Giant Mountains of the Czech Republic. It flows into the North Sea near Cuxhaven."
ELBE_ZH = "易北河发源于捷克的克尔科诺谢山。它在库克斯港附近流入北海。"
WHERE = {"en": "Where does the Elbe rise?", "zh": "易北河发源于哪里？"}
RISES = {"en": "The Elbe rises in the Giant Mountains of the Czech Republic.", "zh": "易北河发源于捷克的克尔科诺谢山。"}
REFERENCE = {"en": ELBE, "zh": ELBE_ZH}
TWO = {"en": "The Elbe rises in Poland. It is a river.", "zh": "易北河发源于波兰。它是一条河。"}
LANGUAGES: tuple[Language, ...] = ("en", "zh")


def choices(model: Any) -> list[list[Message]]:
    """The conversations that asked for a choice; where a bare answer is judged, one more asks for an answer."""
    return [messages for messages in model.seen if "\nB" in prompt(messages)]


def call(context: ToolContext, where: str = "reference", index: int = 1) -> ToolResult:
    return asyncio.run(match.run(context, context.sentence(index), where))


def verbatim(context: ToolContext, result: ToolResult) -> str:
    """The text of the one evidence, which stands where its span says."""
    (evidence,) = result.evidence
    sources = {"question": context.question, "response": context.response, "reference": context.reference}
    assert evidence.span is not None
    assert (sources[evidence.source] or "")[slice(*evidence.span)] == evidence.text
    return evidence.text


# The reference ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("belief", "label"), [(0.99, "supported"), (0.01, "contradicted")])
def test_the_reference_decides_and_is_quoted(
    scripted: Any, make_context: Any, language: Language, belief: float, label: str
) -> None:
    model = scripted(choose=believes(belief))
    context = make_context(
        WHERE[language], TWO[language], language=language, reference=REFERENCE[language], model=model
    )
    result = call(context)
    assert result.label == label and result.confidence > 0.9
    assert verbatim(context, result) == RISES[language]
    assert result.read == ((0, len(REFERENCE[language])),)


@pytest.mark.parametrize(
    ("language", "says"), [("en", "the reference says nothing about this"), ("zh", "参考资料没有提到这件事")]
)
@pytest.mark.parametrize("response", [TWO, {"en": "Mozart composed operas.", "zh": "莫扎特写歌剧。"}])
def test_what_the_reference_does_not_say_has_a_reason_instead_of_a_label(
    scripted: Any, make_context: Any, language: Language, says: str, response: dict[Language, str]
) -> None:
    def result(belief: Belief) -> ToolResult:
        model = scripted(choose=believes(belief))
        options = {"language": language, "reference": REFERENCE[language], "model": model}
        return call(make_context(WHERE[language], response[language], **options))

    silent, otherwise = result("silent"), result("otherwise")
    assert (silent.observation, silent.label, silent.reason_code, silent.evidence) == (
        says,
        None,
        "not_in_reference",
        (),
    )
    assert silent.confidence > 0.9 and silent.read == ((0, len(REFERENCE[language])),)
    assert (otherwise.label, otherwise.reason_code) == ("contradicted", None)  # also where no word is shared


LONG = ("Where does the river Elbe rise?", "The Elbe rises in the mountains. It is long.")


@pytest.mark.parametrize(
    ("language", "says"), [("en", "the reference says this word for word"), ("zh", "参考资料原文就是这样写的")]
)
def test_what_stands_in_the_reference_word_for_word_needs_no_judgement(
    scripted: Any, make_context: Any, language: Language, says: str
) -> None:
    model = scripted(choose=believes(0.01))
    response = f"{RISES[language]} {TWO[language]}"
    context = make_context(
        WHERE[language], response, language=language, reference=f"A. {REFERENCE[language]}", model=model
    )
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


def test_a_window_that_leaves_it_open_keeps_the_others_from_contradicting(scripted: Any, make_context: Any) -> None:
    reference = long_reference(2, WINDOWS)
    against = scripted(choose=believes(0.01))
    assert call(make_context(*LONG, reference=reference, model=against)).label == "contradicted"
    undecided = 1 / (1 + math.exp(-EMBEDDED.curve("statement", "en").lean))  # where the curve says one half
    one_open = scripted(choose=believes(lambda text: undecided if "Giant Mountains" in text else 0.01))
    result = call(make_context(*LONG, reference=reference, model=one_open))
    assert (result.label, result.evidence) == (None, ())
    assert "does not decide" in result.observation and "read" not in result.observation
    lean = scripted(
        choose=lambda messages: (always("A", 1.0) if "castle" in prompt(messages) else believes(0.01))(messages)
    )
    result = call(make_context(*LONG, reference=reference, model=lean))
    assert (result.label, result.reason_code) == (None, None)


@pytest.mark.parametrize(
    ("language", "says"),
    [("en", r"does not decide this .*; about 5\d% of it was read$"), ("zh", r"不足以判定.*；只读了其中约 5\d%$")],
)
@pytest.mark.parametrize("several", [False, True])
def test_what_was_not_read_may_say_it(
    scripted: Any, make_context: Any, language: Language, says: str, several: bool
) -> None:
    response = (
        "The river Elbe rises in the mountains. It is long." if several else "The Elbe rises in the mountains in 1905."
    )
    context = make_context(
        LONG[0], response, language=language, reference=long_reference(-1), model=scripted(choose=believes("silent"))
    )
    result = call(context)
    assert (result.label, result.reason_code, result.evidence) == (None, None, ())
    assert len(result.read) == WINDOWS
    assert re.search(says, result.observation)


@pytest.mark.parametrize("relevant", range(WINDOWS))
def test_a_window_that_says_otherwise_contradicts_though_not_all_was_read(
    scripted: Any, make_context: Any, relevant: int
) -> None:
    model = scripted(choose=believes(lambda text: "otherwise" if "Giant Mountains" in text else "silent"))
    context = make_context(*LONG, reference=long_reference(relevant), model=model)
    result = call(context)
    assert result.label == "contradicted" and verbatim(context, result) == RISES["en"]
    assert re.search(r"about 5\d% of it was read$", result.observation)


def test_the_share_that_was_read_is_never_none_or_all(scripted: Any, make_context: Any) -> None:
    model = scripted(choose=believes(0.01))
    long = make_context(*LONG, reference=long_reference(2) * 70, model=model)
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
def test_a_number_that_is_not_in_the_reference_keeps_a_sentence_from_support(
    scripted: Any, make_context: Any, language: Language, reference: str, response: str, note: str
) -> None:
    question = "When was it built?" if language == "en" else "何时建成？"
    model = scripted(choose=believes(0.99))
    context = make_context(question, response, language=language, reference=reference, model=model)
    result = call(context)
    assert (result.label, result.evidence) == (None, ()) and result.observation.endswith(note)
    known = make_context(f"{question} 1915?", response, language=language, reference=reference, model=model)
    assert call(known).label == "supported"


TOWERS = "The old tower is 25 metres high, the new one 27 metres."


@pytest.mark.parametrize(
    ("claim", "read_too"),
    [
        ("Together the towers are 25 + 27 = 52 metres high.", "\n25 + 27 = 52"),
        ("Together the towers are 25 + 27 = 54 metres high.", ""),  # wrong
        ("Together the towers are 30 + 22 = 52 metres high.", ""),  # of other numbers
    ],
)
def test_a_right_sum_over_the_numbers_of_the_reference_is_read_with_it(
    scripted: Any, make_context: Any, claim: str, read_too: str
) -> None:
    model = scripted(choose=believes(0.9))
    result = call(make_context("How high are the towers?", f"Yes. {claim}", reference=TOWERS, model=model), index=2)
    texts = {re.findall(r"<reference>\n(.*?)\n</reference>", prompt(messages), re.S)[0] for messages in model.seen}
    assert texts == {TOWERS + read_too}
    assert (result.label == "supported") == bool(read_too)
    assert all(one.span is None or one.span[1] <= len(TOWERS) for one in result.evidence)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.floats(0, 1), st.floats(0, 1))
def test_any_judgement_gives_a_consistent_result(scripted: Any, make_context: Any, first: float, second: float) -> None:
    model = scripted(choose=lambda messages: believes(second if turned(messages) else first)(messages))
    context = make_context(WHERE["en"], TWO["en"], reference=ELBE, model=model)
    result = call(context)
    if result.label is None:
        assert not result.evidence
    else:
        score = result.evidence[0].score
        assert score is not None and result.confidence == max(score, 1 - score)
        assert (score > 0.5) is (result.label == "supported")
        verbatim(context, result)


def test_another_answer_is_not_enough_where_a_window_said_nothing(scripted: Any, make_context: Any) -> None:
    curve = EMBEDDED.curve("answer", "en")
    even = 1 / (1 + math.exp(-(curve.lean + 0.1 / curve.slope)))  # where the curve says 52%
    labels = []
    for elsewhere in (0.01, 0.5):
        belief = believes(lambda text, other=elsewhere: even if "Giant Mountains" in text else other)  # type: ignore[misc]
        model = scripted(choose=belief, free="Poland")
        context = make_context("Where?", "The mountains.", reference=long_reference(2, WINDOWS), model=model)
        labels.append(call(context).label)
    assert labels == ["contradicted", None]


def test_of_a_long_reference_the_window_that_supports_most_answers_anew(scripted: Any, make_context: Any) -> None:
    model = scripted(choose=believes(lambda text: 0.99 if "Giant Mountains" in text else 0.01), free="Giant Mountains")
    question = "In which mountains does the river Elbe rise?" + " Please say it." * 1000
    call(make_context(question, "The mountains.", reference=long_reference(2), model=model))
    assert RISES["en"] in prompt(model.seen[-1])
    assert model.count_tokens(prompt(model.seen[-1])) < 2 * WINDOW_TOKENS + 100


# The question and the response ------------------------------------------------------------------------------------


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
