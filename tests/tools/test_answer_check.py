"""The answer to a word problem: formulas sampled blind, one scored judgement, one probability."""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haluagent.errors import ToolError
from haluagent.models.calibration import EMBEDDED, Calibration
from haluagent.protocols import Generation, Message
from haluagent.text.numbers import find_numbers
from haluagent.tools.calculator import answer_check
from haluagent.tools.calculator.answer_check import FORMULA, SAMPLES, TEMPERATURES, Look, _probability, check_answer
from haluagent.types import Language, ToolResult

BOTTLES = "A crate holds 15 bottles. How many bottles are in 6 crates?"
BOTTLES_ZH = "一箱有15瓶水，6箱一共有多少瓶水？"
RIGHT, WRONG = "15*6", "15+6"

Check = Callable[..., tuple[ToolResult, Any]]


@pytest.fixture
def check(scripted: Any, make_context: Any) -> Check:
    """The result, and the model that was asked: it samples `formulas` and holds the answer for wrong with `judged`."""

    class Sampling(scripted):  # type: ignore[misc, valid-type]
        formulas: tuple[str, ...] = ()
        more: tuple[str, ...] = ()

        async def generate(self, messages: Sequence[Message], **options: Any) -> Generation:
            assert options["samples"] == SAMPLES and options["temperature"] > 0
            generation: Generation = await super().generate(messages, **options)
            return generation.model_copy(
                update={"texts": self.formulas if options["temperature"] == TEMPERATURES[0] else self.more}
            )

    def check(
        formulas: Sequence[str],
        judged: float = 0.5,
        response: str = "There are 90 bottles.",
        language: Language = "en",
        more: Sequence[str] = (),
        calibration: Calibration = EMBEDDED,
    ) -> tuple[ToolResult, Any]:
        model = Sampling(lambda messages: "", choose=1 - judged)
        model.calibration = calibration
        model.formulas, model.more = tuple(formulas), tuple(more)
        question = BOTTLES if language == "en" else BOTTLES_ZH
        context = make_context(question, response, language=language, model=model)
        return asyncio.run(check_answer(context)), model

    return check


def wrong(result: ToolResult) -> float:
    """The probability that the answer is wrong, from the result."""
    score = result.evidence[0].score
    assert score is not None
    return 1 - score


def test_formulas_that_agree_lower_the_probability_of_being_wrong(check: Check) -> None:
    found = [wrong(check([RIGHT] * n + [WRONG] * (SAMPLES - n))[0]) for n in range(SAMPLES + 1)]
    assert found[0] > found[1] > found[2]
    assert all(later <= earlier for earlier, later in itertools.pairwise(found))


def test_that_none_agrees_raises_it(check: Check) -> None:
    assert wrong(check([WRONG] * SAMPLES, judged=0.5)[0]) > 0.5
    assert wrong(check([WRONG] * SAMPLES)[0]) == wrong(check([])[0])


def test_a_model_whose_judgement_does_not_count_is_not_asked_for_it(check: Check) -> None:
    asked = check([RIGHT] * SAMPLES)[1]
    curve = EMBEDDED.problem.model_copy(update={"judged": 0.0})
    result, spared = check([RIGHT] * SAMPLES, judged=0.99, calibration=EMBEDDED.model_copy(update={"problem": curve}))
    assert (len(asked.seen), len(spared.seen)) == (2, 1)
    assert result.label == "supported"


@pytest.mark.parametrize("bad", ["15/0", "15*/6", "", "()", "9**9**9", "__import__('os')", "bottles", "x = 90"])
def test_what_cannot_be_computed_is_skipped_and_not_counted(check: Check, bad: str) -> None:
    result, _ = check([bad, RIGHT, bad, RIGHT])
    assert "2 of 2 formulas give 90" in result.observation
    assert wrong(result) == wrong(check([RIGHT, RIGHT])[0])
    assert "0 of 0 formulas" in check([bad] * SAMPLES)[0].observation


def test_the_observation_says_what_came_out(check: Check) -> None:
    result, _ = check([RIGHT, "6*15", WRONG, "15/6"])
    assert result.observation == (
        "worked out anew from the question, 2 of 4 formulas give 90 (others: 21, 2.5); "
        f"judged wrong with {wrong(result):.0%}"
    )
    result, _ = check([RIGHT, WRONG, WRONG], 0.5, "一共有90瓶水。", "zh")
    assert result.observation == (
        f"只根据题目重新列式，3 个算式中有 1 个得到 90（其余得到：21）；判断为错的概率 {wrong(result):.0%}"
    )


@pytest.mark.parametrize(("language", "response", "says"), [("en", "Many.", "no number"), ("zh", "很多。", "没有数字")])
def test_a_response_without_a_number_is_an_error(check: Check, language: Language, response: str, says: str) -> None:
    with pytest.raises(ToolError, match=says):
        check([RIGHT] * SAMPLES, 0.5, response, language)


@pytest.mark.parametrize(
    ("language", "response"), [("en", "As marmalade shows, it is 90."), ("zh", "由此可见，答案是九十瓶。")]
)
def test_the_formulas_are_written_without_the_response_in_sight(
    check: Check, language: Language, response: str
) -> None:
    _, model = check([RIGHT] * SAMPLES, 0.5, response, language)
    blind, judging = (" ".join(message["content"] for message in messages) for messages in model.seen)
    question = BOTTLES if language == "en" else BOTTLES_ZH
    assert question in blind and response not in blind and response.split("，")[-1] not in blind
    assert question in judging and response in judging
    assert model.grammars == [FORMULA] and not any(character.isalpha() for character in FORMULA.partition("=")[2])


@pytest.mark.parametrize(
    ("probability", "label"),
    [
        (0.0, "supported"),
        (0.44, "supported"),
        (0.46, None),
        (0.54, None),
        (0.56, "contradicted"),
        (1.0, "contradicted"),
    ],
)
def test_between_the_two_nothing_is_decided(
    check: Check, monkeypatch: pytest.MonkeyPatch, probability: float, label: str | None
) -> None:
    monkeypatch.setattr(answer_check, "_probability", lambda look, curve: probability)
    result, _ = check([RIGHT, "15+6"])
    assert (result.label, result.confidence) == (label, max(probability, 1 - probability))


@pytest.mark.parametrize(("formula", "judged", "label"), [(RIGHT, 0.1, "supported"), (WRONG, 0.9, "contradicted")])
def test_where_both_say_the_same_it_is_decided(check: Check, formula: str, judged: float, label: str) -> None:
    assert check([formula] * SAMPLES, judged)[0].label == label


def test_the_evidence_points_at_the_answer_and_shows_a_formula(check: Check) -> None:
    response = "Take 6 crates. So there are 90 bottles."
    first, second = check([WRONG, RIGHT], 0.5, response)[0].evidence
    assert first.span is not None and response[slice(*first.span)] == "90" and second.span == first.span
    assert second.text == "15*6 = 90"
    assert len(check([WRONG] * SAMPLES, 0.5, response)[0].evidence) == 1


def test_numbers_that_the_question_gives_are_not_the_answer(check: Check) -> None:
    result, _ = check(["6", "6", WRONG, RIGHT], 0.5, "So 90 bottles are in 6 crates.")
    assert "1 of 4 formulas give 90" in result.observation


def test_the_number_that_is_shown_is_the_one_the_formula_gives(check: Check) -> None:
    result, _ = check([RIGHT] * SAMPLES, 0.5, "So there are 90 bottles on 4 pallets.")
    assert result.evidence[1].text == "15*6 = 90" and "give 90" in result.observation


def looked(judged: float, agreeing: int, rivals: int) -> Look:
    number = find_numbers("90")[0]
    return Look([number], [(RIGHT, Fraction(90))] * agreeing, [(RIGHT, number)] * agreeing, rivals, judged)


@given(st.floats(0, 1), st.floats(0, 1), st.integers(0, SAMPLES), st.integers(0, SAMPLES), st.integers(0, SAMPLES))
def test_the_probability_is_bounded_and_monotone(
    judged: float, other: float, agreeing: int, more: int, rivals: int
) -> None:
    (low, high), (few, many) = sorted((judged, other)), sorted((agreeing, more))
    curve = EMBEDDED.problem.model_copy(update={"rivals": 1.0})
    chances = [
        _probability(looked(*of), curve)
        for of in ((low, many, rivals), (low, few, rivals), (high, few, rivals), (high, few, SAMPLES))
    ]
    assert all(0 <= chance <= 1 for chance in chances)
    assert chances == sorted(chances)


@pytest.mark.parametrize(
    ("formulas", "rivals"),
    [
        ([WRONG, WRONG, "15*7", RIGHT], 2),
        ([WRONG, "6+15", "21"], 3),
        ([WRONG, "15-6", "15/6"], 1),
        ([RIGHT] * SAMPLES, 0),
        ([], 0),
    ],
)
def test_formulas_that_agree_on_another_number_are_rivals(
    check: Check, monkeypatch: pytest.MonkeyPatch, formulas: list[str], rivals: int
) -> None:
    seen: list[Look] = []
    monkeypatch.setattr(answer_check, "_probability", lambda look, curve: seen.append(look) or 0.5)
    check(formulas)
    assert seen[0].rivals == rivals


@pytest.mark.parametrize(
    ("formulas", "again"),
    [([RIGHT, WRONG, "15-6"], False), ([WRONG, WRONG, "15-6"], False), ([WRONG, "15-6", "15/6"], True), ([], True)],
)
def test_more_are_sampled_where_the_first_neither_agree_nor_have_rivals(
    check: Check, formulas: list[str], again: bool
) -> None:
    result, model = check(formulas, more=[RIGHT, RIGHT])
    assert len(model.grammars) == 1 + again
    assert (f"2 of {len(formulas) + 2} formulas give 90" in result.observation) is again


def test_what_the_model_judges_alone_decides_nothing(check: Check) -> None:
    """No formula gave the stated answer, or none could be computed: a judgement is an opinion, not a check."""
    assert check(["15+6", "15-6"], judged=0.001)[0].label is None
    assert check([], judged=0.999)[0].label is None
