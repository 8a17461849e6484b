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
    """Also those that a sentence only looks like one for: the calculator is not out of place beside a date."""
    calls = {"S1": [CALCULATE, MATCH.format("S1")], "S2": ["date(sentence=S2)", MATCH.format("S2")]}
    detection, offered = detect(scripted, "free", calls)
    assert offered == {"S1": ["calculator", "match"], "S2": ["date", "match", "calculator"]}
    assert detection.hallucination is False


@pytest.mark.parametrize(
    ("first", "used"),
    [(CALCULATE, ["calculator", "match"]), (MATCH.format("S1"), ["match", "calculator", "match"])],
)
def test_in_free_the_choice_is_the_models(scripted: Any, first: str, used: list[str]) -> None:
    """A comparison that lacked the figure is repeated when it has been worked out."""
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


@pytest.mark.parametrize("autonomy", ["guided", "free"])
@pytest.mark.parametrize(
    ("question", "response", "label"),
    [
        ("It was opened on 5 June 2020. On which weekday?", "It was opened on a Friday.", "supported"),
        ("It was opened on 5 June 2020. On which weekday?", "It was opened on a Sunday.", "contradicted"),
        ("When?", "It was opened on 5 June 2020. So the fair began on a Sunday.", "contradicted"),
        ("When?", "It was opened on 5 June 2020. So the fair began on a Friday.", "unverified"),  # if that is right
    ],
)
def test_what_the_calendar_adds_is_read_behind_what_it_follows_from(
    scripted: Any, autonomy: Autonomy, question: str, response: str, label: str
) -> None:
    """Without a reference: the date tool computes, and `match` has the model read it."""

    def say(messages: Any) -> str:
        grammar = models[-1].grammars[-1] or ""
        name = scripted.checked(messages)
        if name == "S1" and "So the" in response:
            return "ACTION: get_answer()"
        if "tool-date" in grammar:
            return f"ACTION: date(sentence={name})"
        where = "question" if name == "S1" else "response"
        return (
            f'ACTION: match(sentence={name}, context="{where}")' if "tool-match" in grammar else "ACTION: get_answer()"
        )

    read: list[str] = []

    def choose(messages: Any) -> Any:
        text = prompt(messages)
        if "5 June 2020 is a Friday" not in text:
            return believes("said")(messages)
        read.append(text)
        return believes("said" if "on a Friday" in text else "otherwise")(messages)

    models = [scripted(say, choose=choose)]
    with HaluAgent(models[0], search="none", sandbox="none", autonomy=autonomy, reflect=False) as agent:
        found = agent.detect(question, response)
    assert read
    assert found.sentences[-1].label == label


def test_an_unknown_autonomy_is_refused(scripted: Any) -> None:
    with pytest.raises(ConfigError, match="use 'guided' or 'free'"):
        HaluAgent(scripted([]), autonomy="bold")  # type: ignore[arg-type]


def test_what_is_offered_stands_in_the_prompt_too(scripted: Any) -> None:
    calls = {"S1": [CALCULATE, MATCH.format("S1")], "S2": [MATCH.format("S2")]}
    left = {name: iter(own) for name, own in calls.items()}

    def say(messages: Any) -> str:
        return f"ACTION: {next(left[scripted.checked(messages)])}" if "Check S" in prompt(messages) else "(4.8-4.0)/4.0"

    model = scripted(say, choose=believes("said"))
    with HaluAgent(model, search="none", sandbox="none", autonomy="free", reflect=False) as agent:
        agent.detect("", RESPONSE, REFERENCE)
    turns = [text for text in map(prompt, model.seen) if "Check S1" in text]
    assert any("calculator, match" in text for text in turns)


def test_without_the_choice_chance_decides_and_the_model_only_fills_the_call_in(scripted: Any) -> None:
    """The same text gives the same choice, and over many texts every tool is taken."""
    texts = [f"It was opened on Monday, {day} May 2021." for day in range(1, 20)]
    taken: list[list[str]] = []
    models: list[Any] = []
    for text in [*texts, *texts]:

        def say(messages: Any) -> str:
            names = re.findall(r"tool-([a-z-]+) ::=", models[-1].grammars[-1] or "")
            taken.append(names)
            calls = {"date": "date(sentence=S2)", "match": MATCH.format("S2")}
            return f"ACTION: {calls.get(names[0], 'calculator(sentence=S2)')}"

        models.append(scripted(say, choose=believes("said")))
        with HaluAgent(
            models[-1], search="none", sandbox="none", autonomy="free", reflect=False, ablate=["choice"]
        ) as agent:
            agent.detect("", f"The fair was opened. {text}", REFERENCE)
    first = [names for names in taken if names in (["date"], ["match"], ["calculator"])]
    assert {name for (name,) in first} == {"date", "match", "calculator"}
    assert taken[: len(taken) // 2] == taken[len(taken) // 2 :]


def test_without_memory_nothing_found_before_is_shown(scripted: Any) -> None:
    shown = {}
    for ablate in ((), ("memory",)):
        model = scripted(
            lambda messages: f"ACTION: {MATCH.format(scripted.checked(messages))}", choose=believes("said")
        )
        with HaluAgent(model, search="none", sandbox="none", autonomy="free", reflect=False, ablate=ablate) as agent:
            agent.detect("", "The fair was opened on 3 May. So that was on a Monday.", REFERENCE)
        shown[ablate] = sum("Found before" in prompt(messages) for messages in model.seen)
    assert shown[()] > 0 == shown[("memory",)]


def test_a_part_that_cannot_be_left_out_is_refused(scripted: Any) -> None:
    with pytest.raises(
        ConfigError, match="tools cannot be left out: the parts are memory, completion, choice, demos, reading"
    ):
        HaluAgent(scripted([]), ablate=["tools"])


@pytest.mark.parametrize("autonomy", ["guided", "free"])
def test_what_a_sentence_only_looks_like_does_not_make_a_story_claims(scripted: Any, autonomy: Autonomy) -> None:
    """Neither the numbers and days in it, nor the length that was asked for."""
    story = "On 5 May 2024 I met 3 cats. We walked for three days and came home on 8 May 2024, in a line of words."
    model = scripted(lambda messages: pytest.fail(prompt(messages)), choose=lambda messages: (0.02, 0.98))
    with HaluAgent(model, search="none", sandbox="none", autonomy=autonomy, reflect=False) as agent:
        found = agent.detect("Write a story of about 24 words, a diary of 5 May 2024.", story)
    assert [entry.label for entry in found.sentences] == ["no_claim", "no_claim", "supported"]


def test_without_the_choice_a_server_without_grammars_is_held_to_it_too(scripted: Any) -> None:
    def say(messages: Any) -> str:
        return "ACTION: date(sentence=S2)" if scripted.checked(messages) == "S2" else MATCH.format("S1")

    for day in range(1, 12):
        model = scripted(say, choose=believes("said"))
        with HaluAgent(
            model, search="none", sandbox="none", autonomy="free", reflect=False, ablate=["choice"]
        ) as agent:
            found = agent.detect("", f"The fair was opened. It was opened on Monday, {day} May 2021.", REFERENCE)
        made = [step for step in found.steps if step.sentence == 2 and step.call and step.result]
        told = re.findall(
            r"Offered here: (.+)",
            "\n".join(prompt(messages) for messages in model.seen if "Check S2" in prompt(messages)),
        )
        assert told and all("," not in line for line in told)
        assert len(made) <= told.count("date") and made != [] or "date" not in told


def test_a_calculation_from_a_reference_is_left_to_the_calculator(scripted: Any) -> None:
    """The turn does not show the reference, so the numbers of a formula in it would be invented."""

    def say(messages: Any) -> str:
        if "Write only the calculation" in prompt(messages):
            return "[crates]6 * [bottles in each]15"
        return 'ACTION: calculator(sentence=S1, formula="1200/3")'

    model = scripted(say, choose=believes("said"))
    with HaluAgent(model, search="none", sandbox="none", autonomy="free", reflect=False) as agent:
        found = agent.detect(
            "", "In all 90 bottles came. The driver was early.", "6 crates with 15 bottles each came early."
        )
    first = next(step for step in found.steps if step.call and step.call.name == "calculator")
    assert first.call and first.call.arguments == {"sentence": "S1"}
    assert first.result and first.result.facts == ("[crates]6 * [bottles in each]15 = 90, as stated (90)",)
