"""ToolBench's two forms of a trajectory become one run, and what is wrong with its calls is found."""

import asyncio
import json
from typing import Any

import pytest

from haluagent.checks.reliability.classify import classify
from haluagent.checks.reliability.recorded import runs_in
from haluagent.checks.runs.forms.reading import convert
from haluagent.errors import ConfigError

FUNCTIONS = [
    {
        "name": "seats_for_rooms", "description": "This is the subfunction for tool \"rooms\": it's the seats of a room",
        "parameters": {
            "type": "object", "properties": {"room": {"type": "string", "description": "", "example_value": "R-1"}},
            "required": ["room"], "optional": [],
        },
    },
    {"name": "Finish", "description": "the end", "parameters": {"type": "object", "properties": {}}},
]  # fmt: skip
SYSTEM = f"You are AutoGPT.\nSpecifically, you have access to the following APIs: {FUNCTIONS!r}"
GONE = '{"error": "No such function name: beds", "response": ""}'
SEATS = '{"error": "", "response": "{\'seats\': 30}"}'
END = {"return_type": "give_answer", "final_answer": "It has 30."}


def step(name: str, arguments: Any) -> dict[str, str]:
    given = json.dumps(arguments)
    return {"from": "assistant", "value": f"\nThought: I look.\nAction: {name}\nAction Input: {given}\n"}


TRAINED = {
    "id": "Step 4: How many seats?",
    "conversations": [
        {"from": "system", "value": SYSTEM},
        {"from": "user", "value": "\nHow many seats has R-77?\nBegin!\n"},
        step("beds", {}),
        {"from": "function", "value": GONE},
        step("seats_for_rooms", {"room": "R-77", "floor": "2"}),
        {"from": "function", "value": SEATS},
        step("seats_for_rooms", {"room": "R-77"}),
        {"from": "function", "value": SEATS},
        step("Finish", END),
    ],
}
INFERRED = {
    "win": True,
    "answer_generation": {
        "function": FUNCTIONS,
        "train_messages": [
            [{"role": "system", "content": SYSTEM}],
            [
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": "How many seats has R-77?"},
                {"role": "assistant", "content": "I look.", "function_call": {"name": "beds", "arguments": "{}"}},
                {"role": "function", "name": "beds", "content": GONE},
                {
                    "role": "assistant", "content": "I look.",
                    "function_call": {"name": "seats_for_rooms", "arguments": '{"room": "R-77", "floor": "2"}'},
                },
                {"role": "function", "name": "seats_for_rooms", "content": SEATS},
                {"role": "assistant", "function_call": {"name": "seats_for_rooms", "arguments": '{"room": "R-77"}'}},
                {"role": "function", "name": "seats_for_rooms", "content": SEATS},
                {"role": "assistant", "function_call": {"name": "Finish", "arguments": json.dumps(END)}},
                {"role": "function", "name": "Finish", "content": "{}"},
            ],
        ],
    },
}  # fmt: skip


@pytest.mark.parametrize("given", [TRAINED, INFERRED])
def test_a_trajectory_is_a_run(given: Any) -> None:
    run = convert(given, "toolbench")
    assert run.answer == "It has 30." and run.turns[0].text == "How many seats has R-77?"
    assert [tool.name for tool in run.tools] == ["seats_for_rooms"]
    calls = [call for turn in run.turns for call in turn.calls]
    assert [(call.tool, call.failed) for call in calls] == [
        ("beds", True), ("seats_for_rooms", False), ("seats_for_rooms", False),
    ]  # fmt: skip
    assert run.turns[1].text == "I look."
    found = asyncio.run(classify(run, None))
    assert [one.kind for one in found] == ["tool_type", "tool_format", "none"]


def test_a_file_of_training_data_has_many_runs() -> None:
    text = json.dumps([TRAINED, TRAINED | {"id": 7}])
    assert [run.run_id for run in runs_in(text, "train.json", "toolbench")] == ["Step 4: How many seats?", "7"]
    assert len(list(runs_in(json.dumps(TRAINED["conversations"]), "one.json", "toolbench"))) == 1


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({}, "conversations"),
        ({"conversations": [{"from": "user", "value": "x"}]}, "no list of tools"),
        ({"conversations": [{"from": "system", "value": SYSTEM.replace("[", "[[", 1)}]}, "neither a Python"),
        ({"conversations": [{"from": "system", "value": SYSTEM[:-1] + ", open('x')]"}]}, "neither a Python"),
        ({"conversations": [{"from": "system"}]}, "value is missing"),
        ({"conversations": [{"from": "system", "value": SYSTEM}, {"from": "robot", "value": "x"}]}, "'robot'"),
        ({"answer_generation": {"train_messages": []}}, "no messages"),
        ([3], "is not an object"),
    ],
)
def test_what_is_no_trajectory_is_one_line(given: Any, error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        list(runs_in(json.dumps(given), "x.json", "toolbench") if given != [3] else [convert(given, "toolbench")])
