"""Guided, beside a reference: where nothing but reading fits, a sentence is read first, and the model is asked what is left open."""

from collections.abc import Callable
from typing import Any

import pytest
from scripted import Belief, believes, prompt, turned

from haluagent import HaluAgent
from haluagent.detection.state import Autonomy
from haluagent.types import Detection, Label

REFERENCE = "Whales are mammals, and the sea is where they live. They come up for air."
RESPONSE = "It is a big animal. It has to come up when it wants to breathe."
NUMBERED = "It is a big animal. It has to come up 12 times when it wants to breathe."
MATCH = 'THOUGHT: so\nACTION: match(sentence={}, context="reference")'
NOTHING = 'THOUGHT: so\nACTION: get_answer(sentence={}, label="no_claim")'


@pytest.fixture
def detect(scripted: Any) -> Callable[..., tuple[Detection, int, int]]:
    """A detection, the turns that its model took, and how often it read a sentence beside the reference."""

    def detect(
        belief: Belief,
        call: str = MATCH,
        *,
        claims: bool = True,
        response: str = RESPONSE,
        autonomy: Autonomy = "guided",
    ) -> tuple[Detection, int, int]:
        def believed(text: str) -> Belief:
            if "What is the statement?" in text:  # option A is "information" or, turned, "a greeting"
                return 0.99 if claims == ("A: information" in text) else 0.01
            return belief

        taken = []

        def say(messages: Any) -> str:
            if "Look back" in prompt(messages):
                return "ACTION: get_answer()"
            taken.append(scripted.checked(messages))
            return call.format(taken[-1])

        model = scripted(say, choose=believes(believed))
        with HaluAgent(model, search="none", sandbox="none", autonomy=autonomy) as agent:
            detection = agent.detect("What of the whale?", response, REFERENCE)
        read = sum("<claim>" in prompt(messages) and not turned(messages) for messages in model.seen)
        return detection, len(taken), read

    return detect


def labels(detection: Detection) -> list[Label]:
    return [entry.label for entry in detection.sentences]


@pytest.mark.parametrize(("belief", "label"), [("said", "supported"), ("otherwise", "contradicted")])
def test_what_is_clear_takes_no_turn(
    detect: Callable[..., tuple[Detection, int, int]], belief: Belief, label: Label
) -> None:
    detection, turns, _ = detect(belief)
    assert (labels(detection), turns) == ([label, label], 0)
    assert {step.thought for step in detection.steps if step.sentence} == {"read beside the reference"}


def test_what_is_not_clear_is_read_once_and_the_model_takes_its_turn(
    detect: Callable[..., tuple[Detection, int, int]],
) -> None:
    detection, turns, read = detect(0.5)
    assert (turns, read) == (2, 2)
    first, second = (step for step in detection.steps if step.sentence == 1)
    assert (first.call, first.result) == (second.call, second.result)
    assert second.thought == "so"


def test_a_sentence_with_a_number_takes_none(detect: Callable[..., tuple[Detection, int, int]]) -> None:
    """It is not for the model to say that it claims nothing."""
    detection, turns, _ = detect(0.5, response=NUMBERED)
    assert turns == 1
    assert [step.sentence for step in detection.steps if step.thought == "so"] == [1]


@pytest.mark.parametrize("claims", [False, True])
def test_the_word_of_the_model_that_nothing_is_claimed_is_tested(
    detect: Callable[..., tuple[Detection, int, int]], claims: bool
) -> None:
    detection, taken, read = detect("silent", NOTHING, claims=claims)
    assert (taken, read) == (2, 2), "the reading counts where it does claim something, without another turn"
    assert labels(detection) == (["unverified"] * 2 if claims else ["no_claim"] * 2)
    assert {entry.reason_code for entry in detection.sentences} == ({"not_in_reference"} if claims else {None})


def test_the_only_sentence_is_read_once_and_takes_no_turn(
    detect: Callable[..., tuple[Detection, int, int]],
) -> None:
    detection, turns, read = detect(0.5, response="It has to come up when it wants to breathe.")
    assert (turns, read) == (0, 1)
    assert [step.sentence for step in detection.steps if step.sentence] == [1]


def test_a_model_that_leads_takes_its_turn_first(detect: Callable[..., tuple[Detection, int, int]]) -> None:
    detection, turns, _ = detect("said", autonomy="free")
    assert (labels(detection), turns) == (["supported"] * 2, 2)
