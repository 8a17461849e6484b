"""Reflection on word problems: a step that nothing could check is supported by the answer that it leads to."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest

from haluagent import HaluAgent
from haluagent.detection.reflection import STEP, _is_step
from haluagent.events import Revised
from haluagent.protocols import Message
from haluagent.text.numbers import find_numbers
from haluagent.types import Detection, Label, Language

RATIO = {
    "en": "The length and the width of a rectangle are as 7 to 5, its perimeter is 120 cm. How many cm long is it?",
    "zh": "一个长方形的长与宽的比是7:5，周长是120厘米，长是多少厘米？",
}
SOLUTION = {
    "en": "Let the length be 7x and the width be 5x. Then 2(7x + 5x) = 120. Bananas are berries. "
    "120 / 2 / 12 = 5. The length is 7 * 5 = 35 cm.",
    "zh": "设长方形的宽为x厘米。列方程2(7x/5 + x) = 120。香蕉是浆果。120 ÷ 2 ÷ 12 = 5。长是7 × 5 = 35厘米。",
}
LANGUAGES: tuple[Language, ...] = ("en", "zh")


@pytest.fixture
def detect(scripted: Any) -> Callable[..., Detection]:
    """A report by a model whose formulas from the question alone are `formula`, and which holds any statement for
    right with `belief`."""

    def detect(
        question: str, response: str, formula: str = "120/2/12*7", belief: float = 0.6, **options: Any
    ) -> Detection:
        def say(messages: Sequence[Message]) -> str:
            if not any(mark in messages[0]["content"] for mark in ("ACTION", "行为")):
                return formula
            return str(scripted.calculate(messages))

        with HaluAgent(scripted(say, choose=belief), **options) as agent:
            events = list(agent.stream(question, response))
        detection: Detection = events[-1].detection
        revised = {event.entry.sentence.index for event in events if isinstance(event, Revised)}
        assert revised == {entry.sentence.index for entry in detection.sentences if entry.revised_from}
        return detection

    return detect


def labels(detection: Detection) -> dict[int, Label]:
    return {entry.sentence.index: entry.label for entry in detection.sentences}


@pytest.mark.parametrize("language", LANGUAGES)
def test_steps_are_supported_by_the_answer_and_other_facts_are_not(
    detect: Callable[..., Detection], language: Language
) -> None:
    detection = detect(RATIO[language], SOLUTION[language])
    found = labels(detection)
    assert found == {1: "supported", 2: "supported", 3: "unverified", 4: "supported", 5: "supported", 0: "supported"}
    assert detection.hallucination is None  # the fact is still open
    whole = detection.sentences[-1]
    for entry in detection.sentences[:2]:
        assert entry.revised_from is not None and entry.revised_from.label == "unverified"
        assert entry.tool is None and entry.evidence == whole.evidence
        assert entry.confidence == pytest.approx(STEP * whole.confidence) and entry.confidence < whole.confidence
        assert ("worked out anew" if language == "en" else "重新计算") in entry.reason


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_solution_whose_steps_are_all_supported_has_a_verdict(
    detect: Callable[..., Detection], language: Language
) -> None:
    sentence = {"en": "Bananas are berries. ", "zh": "香蕉是浆果。"}[language]
    response = SOLUTION[language].replace(sentence, "")
    assert detect(RATIO[language], response).hallucination is False
    assert detect(RATIO[language], response, reflect=False).hallucination is None


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("formula", ["1", "1/0"])
def test_an_answer_that_is_not_supported_supports_no_step(
    detect: Callable[..., Detection], language: Language, formula: str
) -> None:
    found = labels(detect(RATIO[language], SOLUTION[language], formula))
    assert (found[0], found[1], found[2]) == ("unverified", "unverified", "unverified")


@pytest.mark.parametrize("language", LANGUAGES)
def test_formulas_written_blind_overrule_no_steps_that_hold(
    detect: Callable[..., Detection], language: Language
) -> None:
    bare = {"en": "The length is 34 cm. The width is 5 parts.", "zh": "长是34厘米。宽是5份。"}[language]
    assert labels(detect(RATIO[language], bare, "1"))[0] == "contradicted"
    assert labels(detect(RATIO[language], SOLUTION[language], "1"))[0] == "unverified"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_wrong_step_stays_wrong(detect: Callable[..., Detection], language: Language) -> None:
    wrong = SOLUTION[language].replace("12 = 5", "12 = 6")
    detection = detect(RATIO[language], wrong)
    assert (labels(detection)[0], labels(detection)[4]) == ("supported", "contradicted")
    assert detection.hallucination is True


SOLVED = [
    (
        "庆祝成立十周年，所有商品按九折出售，一款电视现价比原价便宜了250元，原价多少钱？",
        "设原价为x元，则现价为0.9x元。根据题意，有0.9x = x - 250。整理得到0.1x = 250。所以这款电视的原价为2500元。",
        "250/(1-0.9)",
    ),
    (
        "电视机厂计划25天生产电视机1440台，实际提前5天完成任务，实际每天完成电视机多少台？",
        "实际提前5天完成任务，即实际完成任务用时为20天。每天完成1440 / 20 = 72台。",
        "1440/(25-5)",
    ),
    (
        "Tom has 2 times as many pens as Ann, and together they have 60. How many pens does Ann have?",
        "Let x be the number of pens Ann has. Then x + 2x = 60. So Ann has 20 pens.",
        "60/3",
    ),
]


@pytest.mark.parametrize(("question", "response", "formula"), SOLVED)
def test_numbers_that_the_answer_or_a_right_step_has_are_known(
    detect: Callable[..., Detection], question: str, response: str, formula: str
) -> None:
    detection = detect(question, response, formula)
    assert set(labels(detection).values()) == {"supported"} and detection.hallucination is False
    assert any(entry.revised_from for entry in detection.sentences)


def test_what_the_model_believes_of_a_step_does_not_count(detect: Callable[..., Detection]) -> None:
    detection = detect(RATIO["en"], SOLUTION["en"], belief=0.45)
    assert labels(detection)[0] == "supported"
    assert [labels(detection)[index] for index in (1, 2)] == ["supported", "supported"]


FRUIT = {
    "en": "Bananas cost 3 dollars each and apples 2 dollars each. Tom buys 4 bananas and 5 apples. How much does he pay?",
    "zh": "香蕉每千克3元，苹果每千克2元，小明买4千克香蕉和5千克苹果一共要多少元？",
}
STEPS = [
    ("en", "Let x be the price of the bananas."),
    ("en", "First we need to find the total cost of the bananas."),
    ("en", "We multiply the number of bananas by the price of each banana."),
    ("en", "Then 3x + 2y = 29."),
    ("en", "= 12 + 10"),
    ("en", "So Tom pays 22 dollars."),
    ("en", "The formula is C = πd."),
    ("zh", "设香蕉的价格为x元。"),
    ("zh", "根据题意，有0.9x = x - 250。"),
    ("zh", "整理得到0.1x = 250，即x = 2500。"),
    ("zh", "= 12 + 10"),
    ("zh", "所以小明一共要22元。"),
]
NO_STEPS = [
    ("en", "Bananas are berries."),
    ("en", "Bananas are berries, so 2x = 12."),  # a formula does not carry it
    ("en", "Bananas cost 7 dollars."),  # a number from nowhere
    ("en", "So Tom pays 50 dollars."),  # another answer
    ("en", "The unknown is x = 50."),
    ("en", "Apples grow in 5-day cycles."),
    ("en", "Tom is a doctor."),
    ("en", "E = mc^2 is due to Einstein."),
    ("en", "Thus it is."),
    ("zh", "香蕉是浆果。"),
    ("zh", "苹果是水果，所以2x = 12。"),
    ("zh", "香蕉每千克7元。"),
    ("zh", "所以小明一共要50元。"),
    ("zh", "解得x = 50。"),
    ("zh", "牛顿发现了F = ma。"),
]


@pytest.mark.parametrize(
    ("language", "text", "step"), [(*one, True) for one in STEPS] + [(*one, False) for one in NO_STEPS]
)
def test_what_a_step_is(language: Language, text: str, step: bool) -> None:
    known = {number.value for number in find_numbers(FRUIT[language])} | {Fraction(22)}
    assert _is_step(text, FRUIT[language], known) is step


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_was_looked_up_is_no_step(scripted: Any, empty_search: Any, language: Language) -> None:
    """It is a statement about the world then, whatever words it has."""
    looked_up = {"en": "The length is longer than the width.", "zh": "长方形的长比宽长。"}[language]

    def say(messages: Sequence[Message]) -> str:
        if not any(mark in messages[0]["content"] for mark in ("ACTION", "行为")):
            return "120/2/12*7"
        target = scripted.checked(messages)
        if looked_up in next(
            (line for line in messages[1]["content"].splitlines() if line.startswith(f"[{target}]")), ""
        ):
            return f'ACTION: web_search(sentence={target}, query="{RATIO[language][:10]}")'
        return str(scripted.calculate(messages))

    found = []
    for search in ("none", empty_search):
        with HaluAgent(scripted(say, choose=0.6), search=search) as agent:
            found.append(labels(agent.detect(RATIO[language], f"{looked_up} 7 * 5 = 35")))
    without, with_search = found
    assert without[0] == with_search[0] == "supported"
    assert (without[1], with_search[1]) == ("supported", "unverified")
