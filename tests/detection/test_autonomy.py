"""Guided and free: which tools a sentence is offered, and that the model's choice counts."""

import re
from typing import Any

import pytest
from scripted import believes, prompt

from haluagent import HaluAgent
from haluagent.detection.state import Autonomy
from haluagent.errors import ConfigError
from haluagent.types import Detection

REFERENCE = "Sales rose from 4.0 million to 4.8 million euros. The fair was opened on 3 May 2021."
RESPONSE = "Sales grew by 20%. The fair was opened on Monday, 3 May 2021."


def detect(scripted: Any, autonomy: Autonomy, calls: dict[str, list[str]]) -> tuple[Detection, dict[str, list[str]]]:
    """A detection whose model calls these tools for each sentence in turn; and the tools it was offered first."""
    left = {name: iter(own) for name, own in calls.items()}
    offered: dict[str, list[str]] = {}

    def say(messages: Any) -> str:
        if "Look back" in prompt(messages):
            return "ACTION: get_answer()"
        if "Check " not in prompt(messages):
            return "(4.8-4.0)/4.0"
        name = scripted.checked(messages)
        offered.setdefault(name, re.findall(r"tool-([a-z-]+) ::=", model.grammars[-1] or ""))
        return f"THOUGHT: so\nACTION: {next(left[name])}"

    model = scripted(say, choose=believes("said"))
    with HaluAgent(model, search="none", sandbox="none", autonomy=autonomy) as agent:
        return agent.detect("", RESPONSE, REFERENCE), offered


CALCULATE = "calculator(sentence=S1)"
MATCH = 'match(sentence={}, context="reference")'


def test_guided_offers_first_what_a_tool_has_to_decide_by_itself(scripted: Any) -> None:
    calls = {"S1": [], "S2": ["date(sentence=S2)", MATCH.format("S2")]}
    detection, offered = detect(scripted, "guided", calls)
    used = [(step.sentence, step.call.name) for step in detection.steps if step.call and step.sentence]
    assert sorted(used) == [(1, "calculator"), (1, "match"), (2, "date"), (2, "match")]
    assert offered == {"S2": ["date"]}, "the calculator was the only one at first, then match; neither needed words"


def test_free_offers_all_that_fit_at_once(scripted: Any) -> None:
    calls = {"S1": [CALCULATE, MATCH.format("S1")], "S2": ["date(sentence=S2)", MATCH.format("S2")]}
    detection, offered = detect(scripted, "free", calls)
    assert offered == {"S1": ["calculator", "match"], "S2": ["date", "match"]}
    assert detection.hallucination is False


@pytest.mark.parametrize(("first", "used"), [(CALCULATE, ["calculator", "match"]), (MATCH.format("S1"), ["match"])])
def test_in_free_the_choice_is_the_models(scripted: Any, first: str, used: list[str]) -> None:
    calls = {"S1": [first, MATCH.format("S1")], "S2": [MATCH.format("S2"), "date(sentence=S2)"]}
    detection, _ = detect(scripted, "free", calls)
    assert [step.call.name for step in detection.steps if step.call and step.sentence == 1] == used


def test_free_leaves_none_out_without_a_reference_either(scripted: Any) -> None:
    offered: list[str] = []

    def say(messages: Any) -> str:
        offered.append(" ".join(re.findall(r"tool-([a-z-]+) ::=", model.grammars[-1] or "")))
        if "Look back" in prompt(messages):
            return "ACTION: get_answer()"
        return f"ACTION: {'calculator' if 'calculator' in offered[-1] else 'get_answer'}(sentence={scripted.checked(messages)})"

    model = scripted(say, choose=0.9)
    with HaluAgent(model, search="none", sandbox="none", autonomy="free") as agent:
        agent.detect("", "It was made in 1950 and 12 * 7 = 85. It is a good book.")
    assert offered[0] == "calculator match"


def test_an_unknown_autonomy_is_refused(scripted: Any) -> None:
    with pytest.raises(ConfigError, match="use 'guided' or 'free'"):
        HaluAgent(scripted([]), autonomy="bold")  # type: ignore[arg-type]


def test_what_is_offered_stands_in_the_prompt_too(scripted: Any) -> None:
    calls = {"S1": [MATCH.format("S1")], "S2": [MATCH.format("S2")]}
    left = {name: iter(own) for name, own in calls.items()}
    model = scripted(lambda messages: f"ACTION: {next(left[scripted.checked(messages)])}", choose=believes("said"))
    with HaluAgent(model, search="none", sandbox="none", autonomy="free", reflect=False) as agent:
        agent.detect("", RESPONSE, REFERENCE)
    turns = [text for text in map(prompt, model.seen) if "Check S1" in text]
    assert any("calculator, match" in text for text in turns)
