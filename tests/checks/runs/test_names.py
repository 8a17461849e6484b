"""Names in arguments, and what a run that does not hold everything says: remarks, and never a rejection."""

from typing import Any

import pytest

from haluagent.checks.runs.calls.check import validate_calls
from haluagent.checks.runs.records import AgentRun, ToolSpec, ToolUse, Turn


def status(said: str, **arguments: Any) -> str:
    turns = (
        Turn(role="user", text=said),
        Turn(role="assistant", calls=(ToolUse(id="c", tool="t", arguments=arguments),)),
    )
    (found,) = validate_calls(AgentRun(run_id="r", tools=(ToolSpec(name="t"),), turns=turns, answer=""))
    return found.status


@pytest.mark.parametrize(("said", "arguments"), [
    ("Book a table for Maria Santos.", {"guest_name": "Santos, Maria"}),
    ("Reset the password of John Smith.", {"username": "jsmith"}),
    ("Write to hannah.frost@corp.example", {"user": "hannah.frost"}),
    ("Weather in new york?", {"city": "New York"}),
    ("查一下上海的天气", {"city": "上海市"}),
    ("找上海3000元以下的公寓", {"city": "上海"}),
    ("挂周敏医生的号", {"doctor": "周敏"}),
    ("Flights from Lisbon", {"origin": "LIS"}),
    ("Who is free?", {"assignee": ""}),
    ("Send it to the team.", {"subject": "Meeting in Porto"}),
])  # fmt: skip
def test_a_name_that_was_said(said: str, arguments: dict[str, Any]) -> None:
    assert status(said, **arguments) == "valid"


@pytest.mark.parametrize(("said", "arguments"), [
    ("Book a table for Maria Santos.", {"guest_name": "Peter Lind"}),
    ("Assign it to somebody.", {"assignee": "mkovac"}),
    ("Weather where I live?", {"city": "Porto"}),
    ("帮我挂个号", {"doctor": "李娜"}),
    ("Book two seats.", {"passengers": ["Ana Moreno", "Tom Berg"]}),
])  # fmt: skip
def test_a_name_from_nowhere_is_a_remark(said: str, arguments: dict[str, Any]) -> None:
    assert status(said, **arguments) == "unverified"


def test_in_a_partial_run_what_comes_from_nowhere_is_a_remark_and_what_does_not_fit_is_not() -> None:
    tool = ToolSpec(name="t", parameters={"type": "object", "properties": {"id": {"type": "string"}}})
    calls = [
        ToolUse(id=str(number), tool="t", arguments={name: "K-12345"}) for number, name in enumerate(("id", "key"))
    ]
    run = AgentRun(run_id="r", tools=(tool,), turns=(Turn(role="assistant", calls=tuple(calls)),), answer="")
    assert [one.status for one in validate_calls(run)] == ["fabricated", "invalid"]
    remarked, invalid = validate_calls(run.model_copy(update={"partial": True}))
    assert (remarked.status, invalid.status) == ("unverified", "invalid")
    assert "comes from nowhere" in remarked.errors[0] and "K-12345" not in "".join(invalid.errors)
