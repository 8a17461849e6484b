"""The calculator: stated equations first, then a formula of known numbers."""

import asyncio
from typing import Any

import pytest
from haluagent.tools.calculator import calculator, final_answer, stated_results
from hypothesis import given, settings
from hypothesis import strategies as st

from haluagent.errors import FormatError, ToolError
from haluagent.protocols import ToolContext
from haluagent.registry import Registry
from haluagent.types import Language, Sentence, ToolCall, ToolResult

BOTTLES = "A crate holds 15 bottles. How many bottles are in 6 crates?"


def context_of(question: str, sentences: list[str], language: Language = "en") -> ToolContext:
    response, parts = " ".join(sentences), list[Sentence]()
    for index, text in enumerate(sentences, start=1):
        start = parts[-1].span[1] + 1 if parts else 0
        parts.append(Sentence(index=index, text=text, span=(start, start + len(text))))
    model: Any = object()  # this tool calls no model
    return ToolContext(question=question, response=response, language=language, sentences=parts, model=model)


def call(context: ToolContext, index: int = 1, formula: str | None = None) -> ToolResult:
    return asyncio.run(calculator.run(context, context.sentence(index), formula))


def test_a_wrong_stated_equation_is_contradicted_where_it_stands() -> None:
    context = context_of("面积是多少？", ["先求总和。", "0.2 + 0.68 + 0.2 = 1.1 平方米。"], "zh")
    result = call(context, 2, "0.2+0.2")
    assert (result.label, result.confidence) == ("contradicted", 0.97)
    assert result.observation == "0.2 + 0.68 + 0.2 = 1.08，但回答写的是 1.1"
    (evidence,) = result.evidence
    assert evidence.source == "calculator" and evidence.span is not None
    assert context.response[slice(*evidence.span)] == "0.2 + 0.68 + 0.2 = 1.1"


def test_a_right_stated_equation_is_not_overruled_by_a_formula() -> None:
    context = context_of(BOTTLES, ["15 x 6 = 90 bottles."])
    for formula in (None, "15 + 6"):
        assert (call(context, 1, formula).label, call(context, 1, formula).confidence) == ("supported", 0.97)


@pytest.mark.parametrize(
    ("formula", "stated", "label", "confidence"),
    [
        ("15*6", "There are 90 bottles.", "supported", 0.75),
        ("15*6", "There are ninety bottles.", "supported", 0.75),
        ("x = 15 * 6", "There are 90 bottles.", "supported", 0.75),
        ("15*6=80", "There are 90 bottles.", "supported", 0.75),
        ("15*6", "There are 80 bottles.", "contradicted", 0.6),
    ],
)
def test_a_formula_is_compared_with_what_the_sentence_states(
    formula: str, stated: str, label: str, confidence: float
) -> None:
    result = call(context_of(BOTTLES, [stated]), 1, formula)
    assert (result.label, result.confidence) == (label, confidence)


def test_index_zero_compares_with_the_final_answer() -> None:
    context = context_of(BOTTLES, ["One crate has 15 bottles.", "So there are 80 bottles."])
    result = call(context, 0, "15*6")
    assert result.label == "contradicted" and result.observation == "15*6 = 90, but the response says 80"
    assert result.evidence[0].span is not None and context.response[slice(*result.evidence[0].span)] == "80"


def test_index_zero_with_a_formula_looks_beyond_a_right_equation() -> None:
    context = context_of(BOTTLES, ["15 + 6 = 21.", "So there are 21 bottles."])
    assert call(context, 0, "15*6").label == "contradicted"


@pytest.mark.parametrize("formula", ["15*7*5", "15*6+44", "0.37*15"])
def test_numbers_from_nowhere_are_refused(formula: str) -> None:
    with pytest.raises(FormatError, match="neither the question nor the response"):
        call(context_of(BOTTLES, ["There are 90 bottles."]), 1, formula)


def test_usual_constants_and_numbers_in_words_are_known() -> None:
    context = context_of("小明有三箱苹果，每箱二十个，吃了百分之二十，还剩多少个？", ["还剩48个。"], "zh")
    assert call(context, 1, "3*20*(1-20%)").label == "supported"
    assert call(context, 1, "3*20*0.8").label == "supported"


@pytest.mark.parametrize("formula", ["", "bottles", "15/0", "9**9**9", "__import__('os')", "(1).__class__", "15*"])
def test_what_cannot_be_calculated_is_an_error_never_a_label(formula: str) -> None:
    with pytest.raises((ToolError, FormatError)):
        call(context_of(BOTTLES, ["There are 90 bottles."]), 1, formula)


def test_without_equation_and_formula_it_asks_for_one() -> None:
    with pytest.raises(ToolError, match="formula"):
        call(context_of(BOTTLES, ["There are 90 bottles."]))
    with pytest.raises(FormatError, match="calculates nothing"):
        call(context_of(BOTTLES, ["There are 90 bottles."]), 1, "90")


def test_when_it_is_offered() -> None:
    context = context_of(BOTTLES, ["We multiply.", "15 x 6 = 90."])
    assert [calculator.when(context, context.sentence(index)) for index in (0, 1, 2)] == [True, False, True]
    one = context_of(BOTTLES, ["15 x 6 = 90."])
    assert not calculator.when(one, one.sentence(0))
    no_numbers = context_of("Who wrote it?", ["In 1843.", "By 2 people."])
    assert not calculator.when(no_numbers, no_numbers.sentence(0))


@pytest.mark.parametrize("demo", calculator.demos, ids=lambda demo: demo.language)
def test_the_demos_are_what_the_tool_answers(demo: Any) -> None:
    context = context_of(demo.question, [demo.response], demo.language)
    formula = "15*6" if "formula" in demo.call else None
    arguments = {"sentence": "S1"} | ({"formula": formula} if formula else {})
    result = asyncio.run(Registry([calculator]).call(ToolCall(name="calculator", arguments=arguments), context))
    assert result.observation == demo.observation


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("3×4=12。\n答：12个，每个3元。", ["12", "3"]),
        ("It is \\boxed{\\frac{3}{4}} of it, not 7.", ["\\frac{3}{4}"]),
        ("a is 3.5. So b is 4.\n#### 18", ["18"]),
        ("因此，面积为 3×4=12 平方米。检验：5 个。", ["12"]),
        ("There are 5 left.", ["5"]),
        ("First 5. Then 6.", ["6"]),
        ("nothing", []),
    ],
)
def test_final_answer(response: str, answer: list[str]) -> None:
    numbers = final_answer(response)
    assert [number.text for number in numbers] == answer
    assert all(response[slice(*number.span)] == number.text for number in numbers)


def test_stated_results() -> None:
    assert [number.text for number in stated_results("3×4=12，2+3=5+1=6个, x ≈ 7")] == ["12", "6", "7"]
    assert stated_results("12 apples") == []


@settings(max_examples=200, deadline=None)
@given(
    st.text(max_size=40),
    st.text(max_size=40) | st.text("0123456789+-*/=%().x ", max_size=30),
    st.text("0156+-*/=()x ", max_size=20),
)
def test_any_text_gives_a_label_with_evidence_or_an_error(question: str, response: str, formula: str) -> None:
    context = context_of(question, [response])
    calculator.when(context, context.sentence(1))
    final_answer(response)
    try:
        result = call(context, 1, formula)
    except (ToolError, FormatError):
        return
    assert result.label in ("supported", "contradicted") and result.evidence and result.observation
