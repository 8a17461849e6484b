"""The calculator: stated equations first, then where a number comes from, then a formula of known numbers."""

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scripted import believes, prompt

from haluagent import HaluAgent
from haluagent.arithmetic.results import final_answer, stated_results
from haluagent.errors import FormatError, ToolError
from haluagent.protocols import ToolContext
from haluagent.tooling.registry import Registry
from haluagent.tools.calculator.tool import calculator, is_problem
from haluagent.types import Language, Sentence, ToolCall, ToolResult

BOTTLES = "A crate holds 15 bottles. How many bottles are in 6 crates?"
DESCRIBE = "A crate holds 15 bottles and a pallet 6 crates. Describe a pallet."  # no problem to solve


def context_of(question: str, sentences: list[str], language: Language = "en", model: Any = None) -> ToolContext:
    """Without a model, so that a check which asks one breaks."""
    response, parts = " ".join(sentences), list[Sentence]()
    for index, text in enumerate(sentences, start=1):
        start = parts[-1].span[1] + 1 if parts else 0
        parts.append(Sentence(index=index, text=text, span=(start, start + len(text))))
    return ToolContext(question=question, response=response, language=language, sentences=parts, model=model)


def call(context: ToolContext, index: int = 1, formula: str | None = None) -> ToolResult:
    return asyncio.run(calculator.run(context, context.sentence(index), formula))


def test_a_wrong_stated_equation_is_contradicted_where_it_stands() -> None:
    context = context_of("面积是多少？", ["先求总和。", "0.2 + 0.68 + 0.2 = 1.18 平方米。"], "zh")
    result = call(context, 2, "0.2+0.2")
    assert (result.label, result.confidence) == ("contradicted", 0.97)
    assert result.observation == "0.2 + 0.68 + 0.2 = 1.08，但回答写的是 1.18"
    (evidence,) = result.evidence
    assert evidence.source == "calculator" and evidence.span is not None
    assert context.response[slice(*evidence.span)] == "0.2 + 0.68 + 0.2 = 1.18"


@pytest.mark.parametrize("question", [BOTTLES, DESCRIBE])
def test_a_right_stated_equation_is_not_overruled_by_a_formula(question: str) -> None:
    context = context_of(question, ["15 x 6 = 90 bottles."])
    for formula in (None, "15 + 6"):
        assert (call(context, 1, formula).label, call(context, 1, formula).confidence) == ("supported", 0.97)


def test_a_wrong_equation_is_not_saved_by_a_number_from_elsewhere() -> None:
    context = context_of(BOTTLES, ["15 x 6 = 90.", "So 15 + 6 = 90 bottles."])
    assert call(context, 2, "15*6").label == "contradicted"


@pytest.mark.parametrize(
    ("solution", "label", "says"),
    [
        ("x = 15", "supported", "38 = 3x - 7 has the solution 15, as stated"),
        ("x = 14", "contradicted", "38 = 3x - 7 has the solution 15, but the response says 14"),
    ],
)
def test_an_equation_with_an_unknown_is_solved(solution: str, label: str, says: str) -> None:
    context = context_of(DESCRIBE, ["38 = 3x - 7.", f"So {solution}."])
    result = call(context, 1)
    assert (result.label, result.observation) == (label, says)
    span = result.evidence[0].span
    assert span is not None and context.response[slice(*span)] == "38 = 3x - 7"


@pytest.mark.parametrize("sentences", [["There are {}."], ["We multiply.", "There are {}."]])
@pytest.mark.parametrize(
    ("formula", "stated", "label", "confidence"),
    [
        ("15*6", "90 bottles", "supported", 0.75),
        ("15*6", "ninety bottles", "supported", 0.75),
        ("x = 15 * 6", "90 bottles", "supported", 0.75),
        ("15*6=80", "90 bottles", "supported", 0.75),
        ("15*6", "80 bottles", None, 1.0),
        ("15*6=80", "80 bottles", None, 1.0),
    ],
)
def test_a_formula_is_compared_with_what_the_sentence_states(
    sentences: list[str], formula: str, stated: str, label: str, confidence: float
) -> None:
    question = BOTTLES if len(sentences) > 1 else DESCRIBE
    context = context_of(question, [text.format(stated) for text in sentences])
    result = call(context, len(sentences), formula)
    assert (result.label, result.confidence) == (label, confidence)
    if label is None:
        assert result.evidence == ()
        return
    (evidence,) = result.evidence
    assert evidence.span is not None and context.response[slice(*evidence.span)] == stated.split()[0]


def test_a_formula_that_does_not_fit_says_that_it_decides_nothing() -> None:
    result = call(context_of(DESCRIBE, ["There are 80 bottles."]), 1, "15*6")
    assert result.observation == "15*6 = 90, not 80; a formula of the model's own does not decide"
    result = call(context_of("一箱15瓶，6箱一垛。请介绍。", ["一垛有80瓶。"], "zh"), 1, "15*6")
    assert result.observation == "15*6 = 90，不是 80；模型自己列的算式不足以判定"


def test_a_number_is_traced_to_the_sentence_that_calculates_it() -> None:
    context = context_of(BOTTLES, ["15 x 6 = 90 bottles.", "These 90 fill 6 crates.", "So it is 90."])
    result = call(context, 2)
    assert (result.label, result.confidence) == ("supported", 0.75)
    assert result.evidence[0].text == "90 is the result in S1"
    assert result.evidence[0].source == "response" and result.evidence[0].span is not None
    assert context.response[slice(*result.evidence[0].span)] == "90"
    assert [item.source for item in result.evidence] == ["response", "question"]


def test_a_number_is_traced_to_the_question() -> None:
    context = context_of("一箱15瓶，6箱一共有多少瓶？", ["每箱有15瓶。", "15×6=90瓶。"], "zh")
    result = call(context, 1)
    (evidence,) = result.evidence
    assert (result.label, evidence.text) == ("supported", "15 是题目给出的")
    assert evidence.source == "question" and evidence.span is not None
    assert context.question[slice(*evidence.span)] == "15"


@pytest.mark.parametrize(
    "sentences",
    [
        ["15 x 6 = 80 bottles.", "So there are 80 bottles."],  # wrongly calculated
        ["15 x 6 = 90 bottles.", "So there are 80 bottles."],  # calculated nowhere
        ["15 x 6 = 90 bottles.", "So there are 90 bottles and 7 lids."],  # one of two
        ["We count the crates.", "So there are 15 bottles."],  # given, but as the answer
    ],
)
def test_a_number_from_nowhere_is_not_traced(sentences: list[str]) -> None:
    with pytest.raises(ToolError, match="formula"):
        call(context_of(BOTTLES, sentences), 2)


@pytest.mark.parametrize("first", ["Total = 80 bottles.", "x * 3 = 80 bottles."])
def test_a_number_that_is_only_stated_is_not_a_result(first: str) -> None:
    with pytest.raises(ToolError, match="formula"):
        call(context_of(BOTTLES, [first, "So there are 80 bottles."]), 2)


@pytest.mark.parametrize(
    ("sentences", "label"),
    [
        (["One crate has 15 bottles.", "So there are 80 bottles."], "contradicted"),
        (["15 + 6 = 21.", "So there are 21 bottles."], None),  # steps that hold, if of another problem
        (["15 x 6 = 90.", "So there are 90 bottles."], "supported"),
    ],
)
def test_index_zero_works_the_problem_out_anew(scripted: Any, sentences: list[str], label: str | None) -> None:
    model = scripted(lambda messages: "15*6", choose=0.6 if label == "supported" else 0.2)
    context = context_of(BOTTLES, sentences, model=model)
    result = call(context, 0)
    assert result.label == label
    span = result.evidence[0].span
    assert span is not None and context.response[slice(*span)] == sentences[1].split()[3]


@pytest.mark.parametrize(
    ("question", "sentences", "asked"),
    [
        (BOTTLES, ["90"], True),  # a bare answer to a problem
        (BOTTLES, ["15 x 6 = 90"], False),
        (BOTTLES, ["We multiply.", "It is 90."], False),
        (DESCRIBE, ["There are 90 bottles."], False),
    ],
)
def test_only_a_bare_answer_to_a_problem_is_worked_out_anew(
    scripted: Any, question: str, sentences: list[str], asked: bool
) -> None:
    model = scripted(lambda messages: "15*6")
    context = context_of(question, sentences, model=model)
    assert call(context, len(sentences), "15*6").label == "supported"
    assert bool(model.seen) is asked


@pytest.mark.parametrize("sentences", [["There are 90 bottles."], ["We multiply.", "There are 90 bottles."]])
@pytest.mark.parametrize("formula", ["15*7*5", "15*6+44", "0.37*15"])
def test_numbers_from_nowhere_are_refused(sentences: list[str], formula: str) -> None:
    question = BOTTLES if len(sentences) > 1 else DESCRIBE
    with pytest.raises(FormatError, match="neither the question nor the response"):
        call(context_of(question, sentences), len(sentences), formula)


def test_usual_constants_and_numbers_in_words_are_known() -> None:
    question = "小明有三箱苹果，每箱二十个，吃了百分之二十，还剩多少个？"
    context = context_of(question, ["先求总数。", "还剩48个。"], "zh")
    assert call(context, 2, "3*20*(1-20%)").label == "supported"
    assert call(context, 2, "3*20*0.8").label == "supported"


@pytest.mark.parametrize("sentences", [["There are 90 bottles."], ["We multiply.", "There are 90 bottles."]])
@pytest.mark.parametrize("formula", ["", "bottles", "15/0", "9**9**9", "__import__('os')", "(1).__class__", "15*"])
def test_what_cannot_be_calculated_is_an_error_never_a_label(sentences: list[str], formula: str) -> None:
    question = BOTTLES if len(sentences) > 1 else DESCRIBE
    with pytest.raises((ToolError, FormatError)):
        call(context_of(question, sentences), len(sentences), formula)


def test_without_equation_and_formula_it_asks_for_one() -> None:
    context = context_of(DESCRIBE, ["There are 90 bottles.", "There are bottles."])
    with pytest.raises(ToolError, match="formula"):
        call(context)
    with pytest.raises(FormatError, match="calculates nothing"):
        call(context, 1, "90")
    with pytest.raises(ToolError, match="S2 states no number"):
        call(context, 2, "15*6")


def offered(context: ToolContext) -> list[int]:
    indices = (0, *(sentence.index for sentence in context.sentences))
    return [index for index in indices if calculator.when(context, context.sentence(index))]


@pytest.mark.parametrize(
    ("question", "sentences", "where"),
    [
        (BOTTLES, ["We multiply.", "15 x 6 = 90."], [0, 2]),
        (BOTTLES, ["We multiply.", "It is 90."], [0, 2]),
        (BOTTLES, ["15 x 6 = 90."], [0, 1]),
        (BOTTLES, ["There are 90 bottles."], [1]),  # a bare answer is the whole response
        (BOTTLES, ["We multiply.", "Many."], []),
        (DESCRIBE, ["There are 90 bottles.", "15 x 6 = 90."], [2]),
        ("Who wrote it?", ["In 1843.", "By 2 people."], []),
    ],
)
def test_when_it_is_offered(question: str, sentences: list[str], where: list[int]) -> None:
    assert offered(context_of(question, sentences)) == where


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        (BOTTLES, True),
        ("一箱15瓶，6箱一共有多少瓶？", True),
        ("What is 15 * 6?", True),
        ("计算 15×6。", True),
        ("A crate holds 15 bottles. How many bottles is that?", False),  # one number
        ("A crate holds 15 of 90 bottles. How many crates are there, and how many bottles?", False),  # two questions
        ("How many days are there from 2020-02-01 to 2020-03-01?", False),
        ("从2020年2月1日到2020年3月1日共有多少天？", False),
        (DESCRIBE, False),
        ("Who won in 1930 and 1934?", False),
        pytest.param(
            "写一段文字，要求分3段，用300字。", False,
        ),
        pytest.param(
            "Summarize the findings of 2 studies with 30 patients.", False,
        ),
    ],
)  # fmt: skip
def test_is_problem(question: str, problem: bool) -> None:
    assert is_problem(context_of(question, ["x"])) is problem


CIRCLE = "一个圆形花园，直径是6米，周长是多少米？"


@pytest.mark.parametrize(
    ("question", "response", "problem"),
    [
        (CIRCLE, "3.14×6=18.84，周长是18.84米。", True),
        (CIRCLE, "周长是18.84米。", False),  # nothing is calculated with the one number
        (CIRCLE, "2×3=6。", False),
        ("How many moons has the 5th planet?", "It has 95.", False),
        (
            "How many books does each shelf hold at 12 books a board?",
            "Shelf 1 holds 1 * 12 = 12 books.",
            False,
        ),  # of no figure
        ("What is the area of a circle of radius 3?", "3.14 * 3 * 3 = 28.26", True),
    ],
)
def test_one_number_is_a_problem_where_the_response_calculates_with_it(
    question: str, response: str, problem: bool
) -> None:
    assert is_problem(context_of(question, [response])) is problem


@pytest.mark.parametrize("demo", calculator.demos, ids=lambda demo: demo.language)
def test_the_demos_are_what_the_tool_answers(demo: Any) -> None:
    context = context_of(demo.question, [demo.response], demo.language)
    assert calculator.when(context, context.sentence(1))
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


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(max_size=40) | st.just(BOTTLES),
    st.text(max_size=40) | st.text("0123456789+-*/=%().x ", max_size=30),
    st.text("0156+-*/=()x ", max_size=20),
    st.floats(0, 1),
)
def test_any_text_gives_a_label_with_evidence_or_an_error(
    scripted: Any, question: str, response: str, formula: str, right: float
) -> None:
    context = context_of(question, [response], model=scripted(lambda messages: formula, choose=right))
    final_answer(response)
    for index in (0, 1):
        calculator.when(context, context.sentence(index))
        try:
            result = call(context, index, formula)
        except (ToolError, FormatError):
            continue
        assert result.label in ("supported", "contradicted", None)
        assert result.observation and 0.5 <= result.confidence <= 1
        assert result.evidence or result.label is None
        assert all(item.span is not None for item in result.evidence)


def test_a_solution_is_traced_to_its_equation() -> None:
    context = context_of("Three times a number less 7 is 38. Which is it?", ["38 = 3x - 7.", "So x = 15.", "It is 15."])
    results = [call(context, index) for index in (1, 2, 3)]
    assert [result.label for result in results] == ["supported"] * 3
    assert "S1" in results[2].observation
    span = results[2].evidence[0].span
    assert span is not None and context.response[slice(*span)] == "38 = 3x - 7"


@pytest.mark.parametrize(("believed", "label"), [("said", "supported"), ("silent", "unverified")])
def test_what_is_said_of_a_right_sum_is_read_with_it(scripted: Any, believed: str, label: str) -> None:
    """A right sum clears no words beside it: the model reads them with the question and the sum."""
    model = scripted(["ACTION: calculator(sentence=S1)"], choose=believes(believed))
    with HaluAgent(model, search="none", sandbox="none") as agent:
        detection = agent.detect(DESCRIBE, "The shipping of it is 15 * 6 = 90 euros.")
    assert [step.call.name for step in detection.steps if step.call] == ["split_text", "calculator", "match"]
    assert any(f"{DESCRIBE}\n15 * 6 = 90 holds" in text for text in map(prompt, model.seen))
    assert detection.sentences[0].label == label
