"""Figures of a sentence that follow from those of the reference: the calculator works them out, the comparison reads that."""

import asyncio
from typing import Any

import pytest
from scripted import believes, prompt

from haluagent import HaluAgent
from haluagent.events import Answered
from haluagent.protocols import ToolContext
from haluagent.tools.calculator.tool import calculator
from haluagent.types import Language, Sentence, ToolResult

REPORT = (
    "Sales rose from 4.0 million to 4.8 million euros. The mill has 46 machines, 9 of them idle. It closed at 17:30."
)
CHINESE = "销售额从400万元增至480万元。工厂有46台机器，其中9台停用。"


def context_of(said: str, reference: str = REPORT, language: Language = "en", model: Any = None) -> ToolContext:
    sentence = Sentence(index=1, text=said, span=(0, len(said)))
    return ToolContext(
        question="", response=said, language=language, sentences=[sentence], model=model, reference=reference
    )


def call(said: str, formula: str | None = None, **more: Any) -> ToolResult:
    context = context_of(said, **more)
    return asyncio.run(calculator.run(context, context.sentence(1), formula))


def offered(said: str, **more: Any) -> bool:
    context = context_of(said, **more)
    return calculator.when(context, context.sentence(1))


@pytest.mark.parametrize(
    "said",
    [
        "Sales grew by 20%.",
        "Sales grew by 0.8 million euros.",
        "37 of the machines are running.",
        "About a fifth, 19.6 %, idle.",
    ],
)
def test_it_is_offered_for_a_figure_that_the_reference_does_not_have(said: str) -> None:
    assert offered(said)


@pytest.mark.parametrize(
    "said",
    [
        "Sales rose to 4.8 million euros.",
        "Nine machines are idle.",
        "Two shifts work there, on 5 days.",
        "It was founded on 3 May 1884.",
        "The mill was built in 1884.",
        "Many machines are idle.",
        "Work began at 18:45.",
        "It took half an hour.",
    ],
)
def test_it_is_not_offered_for_what_is_there_for_small_counts_and_for_dates(said: str) -> None:
    assert not offered(said)


def test_it_is_not_offered_where_nothing_can_be_worked_out() -> None:
    assert not offered("It has 37 machines.", reference="The mill has many machines, 46 in all.")
    assert not offered("It has 37 machines.", reference="The mill has many machines.")


@pytest.mark.parametrize(
    ("said", "formula", "fact"),
    [
        ("Sales grew by 20%.", "(4.8-4.0)/4.0", "(4.8-4.0)/4.0 = 20%"),
        ("Sales grew by 20%.", "(4.8-4.0)/4.0*100", "(4.8-4.0)/4.0*100 = 20%"),
        ("Sales grew by 25%.", "(4.8-4.0)/4.0", "(4.8-4.0)/4.0 = 20%"),
        ("Sales grew by 25%.", "(4.8-4.0)/4.0*100", "(4.8-4.0)/4.0*100 = 20%"),
        ("Sales grew by 20%.", "(4.0-4.8)/4.0", "(4.0-4.8)/4.0 = -20%"),
        ("9.8% of the machines are idle.", "9/46", "9/46 = 19.5652%"),
        ("About 19.6% of the machines are idle.", "9/46", "9/46 = 19.6%"),
        ("The share is 37%.", "46-9", "46-9 = 37"),
        ("On average 18.4 machines stand in each of 3 halls.", "(46+9)/3", "(46+9)/3 = 18.3333"),
        ("Without the idle ones there are 37 machines.", "46-9", "46-9 = 37"),
        ("Without the idle ones there are 38 machines.", "46-9", "46-9 = 37"),
        ("Output shrank by 37 machines.", "9-46", "9-46 = -37"),
    ],
)
def test_a_calculation_is_a_fact_and_no_label(scripted: Any, said: str, formula: str, fact: str) -> None:
    found = call(said, model=scripted([formula]))
    assert (found.label, found.facts) == (None, (fact,))
    assert call(said, formula=formula).facts == (fact,), "the agent's own formula is taken as it is"


@pytest.mark.parametrize("formula", ["38-1", "37*1", "24+12+1", "37", "46-", "", "46/0"])
def test_what_cannot_be_computed_or_comes_from_nowhere_is_no_fact(scripted: Any, formula: str) -> None:
    found = call("Some 37 machines run.", model=scripted([formula]))
    assert (found.label, found.facts) == (None, ())
    assert found.observation == "no calculation with the reference's numbers was found for 37"


def test_a_quantity_in_another_unit_is_converted_without_asking() -> None:
    reference = "The race is 42.195 km long. The pool has 28 °C and holds 500 litres."
    assert call("The runners cover 26.2 miles.", reference=reference).facts == ("42.195 km = 26.2 miles",)
    assert call("The water has 82 °F.", reference=reference).facts == ("28 °C = 82 °F",)
    chinese = call("比赛全程约26.2英里。", reference="比赛全程42.195公里，共有300人参加。", language="zh")
    assert chinese.facts == ("42.195公里 = 26.2英里",)


def test_each_figure_has_a_calculation_of_its_own(scripted: Any) -> None:
    found = call("Sales grew by 20%, and 37 machines run.", "(4.8-4.0)/4.0", model=scripted(["46-9"]))
    assert found.facts == ("(4.8-4.0)/4.0 = 20%", "46-9 = 37")


def test_a_conversion_is_checked_as_such() -> None:
    found = call("3 km is 3500 m.", reference="The path is 3 km long and has 14 benches.")
    assert found.label == "contradicted"


@pytest.mark.parametrize(
    ("language", "reference", "said", "formula", "fact"),
    [
        ("en", REPORT, "Sales grew by 20%.", "(4.8-4.0)/4.0", "(4.8-4.0)/4.0 = 20%"),
        ("en", REPORT, "Sales grew by 25%.", "(4.8-4.0)/4.0", "(4.8-4.0)/4.0 = 20%"),
        ("zh", CHINESE, "销售额增长了20%。", "(480-400)/400", "(480-400)/400 = 20%"),
        ("zh", CHINESE, "销售额增长了25%。", "(480-400)/400", "(480-400)/400 = 20%"),
    ],
)
def test_the_comparison_with_the_reference_reads_the_calculation(
    scripted: Any, language: Language, reference: str, said: str, formula: str, fact: str
) -> None:
    model = scripted(
        [formula], choose=believes(lambda text: "said" if "20" in text.split("<claim>")[-1] else "otherwise")
    )
    with HaluAgent(model, search="none", sandbox="none") as agent:
        detection = agent.detect("", said, reference)
    (entry,) = detection.sentences
    assert [step.call and step.call.name for step in detection.steps] == ["split_text", "calculator", "match"]
    assert entry.label == ("supported" if "20" in said else "contradicted")
    judged = next(text for text in map(prompt, model.seen) if "\nA" in text)
    assert f"{reference}\n{fact}" in judged


@pytest.mark.parametrize(("formula", "label"), [("46-9", "supported"), ("46+9", "unverified")])
def test_a_figure_that_the_calculation_does_not_give_is_not_supported(scripted: Any, formula: str, label: str) -> None:
    """Not even by a model that believes it, or because other numbers of the reference give it."""
    with HaluAgent(scripted([formula], choose=believes("said")), search="none", sandbox="none") as agent:
        (entry,) = agent.detect("", "The mill has 37 machines running.", REPORT).sentences
    assert entry.label == label


def test_a_calculation_alone_supports_nothing(scripted: Any) -> None:
    with HaluAgent(scripted(["46-9"], choose=believes("silent")), search="none", sandbox="none") as agent:
        (entry,) = agent.detect("", "The mill has 37 cats.", REPORT).sentences
    assert entry.label == "unverified"


def test_the_calculation_is_read_again_where_only_the_comparison_is_repeated(scripted: Any) -> None:
    model = scripted(["46-9"], choose=believes(lambda text: "said" if "46-9 = 37" in text else "otherwise"))
    with HaluAgent(model, search="none", sandbox="none") as agent:
        detection = agent.detect("", "The mill has 37 machines running.", REPORT)
        again = [event for event in agent.recheck(detection, 1, REPORT, "match") if isinstance(event, Answered)]
    assert detection.sentences[0].label == again[0].detection.sentences[0].label == "supported"


def test_facts_stay_with_their_sentence_and_are_read_beside_the_reference_at_once(scripted: Any) -> None:
    def say(messages: Any) -> str:
        if "Check " not in prompt(messages):
            return "46-9"
        assert scripted.checked(messages) == "S2", "what was worked out is compared without another choice"
        return 'ACTION: match(sentence=S2, context="reference")'

    model = scripted(say, choose=believes("said"))
    with HaluAgent(model, search="none", sandbox="none") as agent:
        agent.detect("", "There 37 machines run. It closed at 17:30.", REPORT)
    judged = [text for text in map(prompt, model.seen) if "\nA: " in text]
    assert {("37" in text.split("<claim>")[-1], "46-9 = 37" in text) for text in judged} == {
        (True, True),
        (False, False),
    }
