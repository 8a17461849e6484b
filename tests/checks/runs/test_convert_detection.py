"""HaluAgent's own loop as a run: its steps are the calls, and it can be checked like any other agent."""

import json
from typing import Any

import pytest

from haluagent import HaluAgent
from haluagent.checks.runs.calls.check import validate_calls
from haluagent.checks.runs.forms.detection import detection_run, from_detection
from haluagent.checks.runs.forms.reading import convert
from haluagent.errors import ConfigError
from haluagent.types import Detection, Step, ToolCall

QUESTION = "Describe what the boxes hold."
RESPONSE = "It is 12 * 7 = 84. After giving away 4 there are 84 - 4 = 79 pens left."


@pytest.fixture
def detection(scripted: Any) -> Detection:
    with HaluAgent(scripted(scripted.calculate), sandbox="none", search="none") as agent:
        return agent.detect(QUESTION, RESPONSE)


def test_steps_become_calls_with_what_came_back(detection: Detection) -> None:
    run = detection_run(detection, reference="The list of pens.")
    asked, *turns = run.turns
    assert asked.role == "user" and all(
        text in asked.text for text in (QUESTION, RESPONSE, "The list of pens.", "S2: After")
    )
    made = [(turn.text, call.tool, call.arguments, call.result) for turn in turns for call in turn.calls]
    assert made[1:] == [
        ("a sum", "calculator", {"sentence": "S1"}, "12 * 7 = 84 holds"),
        ("a sum", "calculator", {"sentence": "S2"}, "84 - 4 = 80, but the response says 79"),
    ]
    assert made[0][1] == "split_text" and run.language == "en"
    assert run.answer.splitlines() == [
        "S1: supported: 12 * 7 = 84 holds", "S2: contradicted: 84 - 4 = 80, but the response says 79",
    ]  # fmt: skip


def test_its_calls_are_valid_by_the_registrys_schemas_and_a_made_up_one_is_not(detection: Detection) -> None:
    assert {one.status for one in validate_calls(detection_run(detection))} == {"valid"}
    wrong = Step(
        sentence=1,
        thought="",
        call=ToolCall(name="calculator", arguments={"sentence": "S9"}),
        result=None,
        error="no S9",
    )
    run = detection_run(detection.model_copy(update={"steps": (*detection.steps, wrong)}))
    assert [one.status for one in validate_calls(run)].count("invalid") == 1
    last = run.turns[-1].calls[-1]
    assert (last.failed, last.result) == (True, "no S9")


def test_what_detect_printed_is_the_same_run(detection: Detection) -> None:
    printed = json.loads(detection.model_dump_json())
    assert convert(printed, "detection") == detection_run(detection)
    del printed["score"]
    with pytest.raises(ConfigError, match="score"):
        convert(printed, "detection")


def test_a_number_that_is_written_as_a_text_is_no_number() -> None:
    given = {"question": "Q?", "response": "A.", "language": "en", "hallucination": None, "score": 1, "sentences": []}
    assert from_detection(given).language == "en"
    with pytest.raises(ConfigError, match="score"):
        from_detection(given | {"score": "0.5"})
