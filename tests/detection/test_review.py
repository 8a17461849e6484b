"""With the autonomy "free": what was found before stands in the prompt, a contradiction may be tested again, and the model
looks back over all results."""

from collections.abc import Callable
from typing import Any

import pytest
from scripted import believes, prompt

from haluagent import HaluAgent, Limits
from haluagent.errors import ModelError
from haluagent.types import Detection

REFERENCE = "The fair was opened on Monday, 3 May 2021. It had 400 visitors."
BOTH = "The fair was opened on Monday, 3 May 2021, at noon. It had 400 visitors on that Monday."
END = "ACTION: get_answer()"
MATCH = 'ACTION: match(sentence={}, context="reference")'
DATE = "ACTION: date(sentence={})"


def detect(
    scripted: Any, say: Callable[[str, str], str], response: str = BOTH, belief: Any = "said", **options: Any
) -> tuple[Detection, list[str]]:
    """A detection by a model that leads: `say` gets the conversation and the sentence, "" where it looks back; and what the
    model was shown there, in the order of the calls."""
    looks: list[str] = []

    def turn(messages: Any) -> str:
        text = prompt(messages)
        if "Look back" in text:
            looks.append(text)
            return say(text, "")
        return say(text, scripted.checked(messages))

    model = scripted(turn, choose=believes(belief))
    with HaluAgent(model, search="none", sandbox="none", autonomy="free", **options) as agent:
        return agent.detect("When was it opened?", response, REFERENCE), looks


def test_a_sentence_is_shown_what_was_found_about_the_one_it_rests_on(scripted: Any) -> None:
    shown: dict[str, str] = {}

    def say(text: str, name: str) -> str:
        shown[name] = text
        return MATCH.format(name) if name else END

    detection, _ = detect(scripted, say)
    assert [entry.label for entry in detection.sentences] == ["supported", "supported"]
    assert "Found before" not in shown["S1"]
    assert "S1 is supported by match: <observation>" in shown["S2"].partition("Check S2")[2]


def test_guided_shows_nothing_of_it(scripted: Any) -> None:
    model = scripted(
        lambda messages: "THOUGHT: a fact\n" + MATCH.format(scripted.checked(messages)), choose=believes("said")
    )
    with HaluAgent(model, search="none", sandbox="none") as agent:
        agent.detect("When was it opened?", BOTH, REFERENCE)
    assert not any(said in prompt(messages) for messages in model.seen for said in ("Found before", "Look back"))


def test_the_model_sees_all_results_before_the_answer(scripted: Any) -> None:
    detection, (look,) = detect(scripted, lambda _, name: MATCH.format(name) if name else END)
    for entry in detection.sentences:
        assert (
            f"[{entry.sentence.name}] <statement>{entry.sentence.text}</statement>\nsupported by match: <observation>{entry.reason}<"
            in look
        )
    assert detection.steps[-1].call is not None
    assert detection.steps[-1].call.name == "get_answer"


def test_what_it_doubts_is_tested_again(scripted: Any) -> None:
    """S1 is said to be on a Tuesday: `match` lets that pass, and `date` does not, so nothing is decided."""
    calls = iter([DATE.format("S1"), END])
    detection, looks = detect(
        scripted,
        lambda _, name: MATCH.format(name) if name else next(calls),
        "It was opened on Tuesday, 3 May 2021, at noon. It had 400 visitors that day.",
    )
    first, second = detection.sentences
    assert len(looks) == 2
    assert (first.label, second.label) == ("unverified", "supported")
    assert first.revised_from is not None
    assert first.revised_from.label == "supported"


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (MATCH.format("S1"), "was made before"),
        ('ACTION: match(sentence=S1, context="question")', "was made before"),  # the same tool, in another way
        ('ACTION: change_tools(sentence=S1, reason="none fits")', "change_tools is not offered here"),
        ("ACTION: match()", "point to one of S1, S2"),
        (DATE.format("S9"), "S9 names no sentence"),
        ("no call", "no tool call found"),
    ],
)
def test_a_call_that_tests_nothing_new_changes_nothing(scripted: Any, call: str, complaint: str) -> None:
    detection, looks = detect(
        scripted, lambda _, name: MATCH.format(name) if name else call, limits=Limits(steps=2), belief="said"
    )
    assert [entry.label for entry in detection.sentences] == ["supported", "supported"]
    assert len(looks) == 2, "as many turns as a sentence has, and no more"
    assert complaint in looks[1]


def test_without_reflection_nothing_is_shown_again(scripted: Any) -> None:
    _, looks = detect(scripted, lambda _, name: MATCH.format(name), reflect=False)
    assert looks == []


def test_one_claim_needs_no_look_back(scripted: Any) -> None:
    _, looks = detect(
        scripted, lambda _, name: MATCH.format(name), "The fair was opened on Monday, 3 May 2021, at noon."
    )
    assert looks == []


@pytest.mark.parametrize(
    ("second", "belief", "label"),
    [
        (MATCH.format("S1"), "said", "unverified"),  # another tool finds the opposite
        (MATCH.format("S1"), 0.65, "contradicted"),  # but it is not sure
        (MATCH.format("S1"), "otherwise", "contradicted"),
        (END, "said", "contradicted"),  # the model keeps it
        ("no call", "said", "contradicted"),
    ],
)
def test_a_contradiction_can_be_tested_before_it_counts(scripted: Any, second: str, belief: Any, label: str) -> None:
    turns = iter([DATE.format("S1"), *[second] * 4])
    told: list[str] = []

    def say(text: str, name: str) -> str:
        told.append(text)
        return next(turns) if name else END

    detection, _ = detect(scripted, say, "It was opened on Tuesday, 3 May 2021, at noon.", belief, reflect=False)
    assert "test it with another tool" in told[1]
    assert detection.sentences[0].label == label


def test_a_contradiction_stays_where_the_endpoint_then_fails(scripted: Any) -> None:
    """A tool found it before the model was asked again; only the model's look back needs the endpoint."""
    turns = iter([DATE.format("S1")])

    def say(text: str, name: str) -> str:
        try:
            return next(turns)
        except StopIteration:
            raise ModelError("the endpoint is gone") from None

    response = "It was opened on Tuesday, 3 May 2021, at noon. It had 400 visitors that day."
    detection, _ = detect(scripted, say, response)
    assert detection.stop == "error"
    assert detection.sentences[0].label == "contradicted"
    assert detection.sentences[1].label == "unverified"


def test_reflection_by_rules_runs_where_the_look_back_fails(scripted: Any) -> None:
    def say(text: str, name: str) -> str:
        if name:
            return f"ACTION: calculator(sentence={name})"
        raise ModelError("the endpoint is gone")

    model = scripted(
        lambda messages: say("", "" if "Look back" in prompt(messages) else scripted.checked(messages)), choose=0.9
    )
    with HaluAgent(model, search="none", sandbox="none", autonomy="free") as agent:
        detection = agent.detect("How much is it?", "5 * 15 = 80. And 80 + 3 = 83.")
    assert detection.stop == "error"
    assert [entry.label for entry in detection.sentences] == ["contradicted", "contradicted"]


def test_what_nothing_decided_is_decided_in_the_look_back(scripted: Any) -> None:
    """And the tool that did so is named."""

    def say(messages: Any) -> str:
        if "Look back" in prompt(messages):
            return "ACTION: calculator(sentence=S1)"
        name = scripted.checked(messages)
        return (
            'ACTION: match(sentence=S1, context="question")' if name == "S1" else f"ACTION: calculator(sentence={name})"
        )

    model = scripted(say, choose=0.9)
    with HaluAgent(model, search="none", sandbox="none", autonomy="free", limits=Limits(steps=1)) as agent:
        detection = agent.detect("How much is it?", "5 * 15 = 75. And 75 + 3 = 78.")
    first, second = detection.sentences
    assert (first.label, first.tool, second.label) == ("supported", "calculator", "supported")
    assert first.revised_from is not None
    assert first.revised_from.label == "unverified"


def test_many_sentences_with_one_number_show_three_of_them(scripted: Any) -> None:
    model = scripted(
        lambda messages: END if "Look back" in prompt(messages) else "ACTION: match(sentence=S1, context='response')",
        choose=0.5,
    )
    response = " ".join(f"In 2020 the town number {word} grew." for word in "one two three four five six".split())
    with HaluAgent(model, search="none", sandbox="none", autonomy="free", limits=Limits(steps=1)) as agent:
        agent.detect("", response)
    shown = [prompt(messages).count("<observation>") for messages in model.seen if "Check S6" in prompt(messages)]
    assert shown and max(shown) <= 3


def test_a_sentence_checked_again_is_shown_the_same(scripted: Any) -> None:
    shown: list[str] = []

    def say(messages: Any) -> str:
        text = prompt(messages)
        shown.append(text)
        return END if "Look back" in text else MATCH.format(scripted.checked(messages))

    model = scripted(say, choose=believes("said"))
    with HaluAgent(model, search="none", sandbox="none", autonomy="free") as agent:
        detection = agent.detect("When was it opened?", BOTH, REFERENCE)
        shown.clear()
        list(agent.recheck(detection, 2, REFERENCE))
    assert any("S1 is supported by match" in text for text in shown)
