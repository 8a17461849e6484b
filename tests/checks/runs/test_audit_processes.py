"""One audit log, several processes; and a schema that would keep the check of a call busy for ever."""

import subprocess
import sys
from pathlib import Path

import pytest

from haluagent.checks.runs.audit import read_audit
from haluagent.checks.runs.calls.check import validate_calls
from haluagent.checks.runs.calls.schema_check import schema_errors
from haluagent.checks.runs.records import AgentRun, ToolSpec, ToolUse, Turn
from haluagent.errors import ToolError

# Writes 50 reports and says so after each. One that is to be killed is killed by itself with half of report 25 in the file.
WRITER = """
import builtins, os, signal, sys
from haluagent.checks.runs import audit
name, killed = sys.argv[2], sys.argv[3] == "killed"
log = audit.AuditLog(sys.argv[1])
sys.stdin.readline()  # all begin at once
for n in range(50):
    if killed and n == 25:
        audit.memoryview = lambda data: builtins.memoryview(data)[: len(data) // 2]
        audit.os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL)
    log.append(f"{name} {n}", 1, "emit", "x" * 20_000, None)
    print(n, flush=True)
"""


def test_four_processes_write_one_log_and_one_of_them_is_killed_in_the_middle_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(number), "killed" if number == 2 else "lives"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for number in range(4)
    ]  # fmt: skip
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    said = [writer.communicate(timeout=60)[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0, -9, 0]
    assert [len(numbers) for numbers in said] == [50, 50, 25, 50]
    written = [line.run_id for line in read_audit(path)]  # raises for a line that is not whole
    assert len(written) == 175
    for number, numbers in enumerate(said):
        assert [name for name in written if name.startswith(f"{number} ")] == [f"{number} {n}" for n in numbers]


def doubling(levels: int) -> dict[str, object]:
    """A schema whose references lead twice to the next level each."""
    defs: dict[str, object] = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {
        "type": "object",
        "$defs": {**defs, f"d{levels}": {"type": "string"}},
        "properties": {"id": {"$ref": "#/$defs/d0"}},
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"id": {"type": "string", "pattern": "(a+)+$"}}},
        {"patternProperties": {"x": {}, "(a+)+$": {}}, "additionalProperties": False},
        doubling(40),
    ],
    ids=["pattern", "name", "references"],
)
def test_a_schema_that_would_take_for_ever_is_given_up(schema: dict[str, object]) -> None:
    name = "a" * 40 + "!"
    tool = ToolSpec(name="find", parameters=schema)
    assert "take too long" in schema_errors(tool, {"id": name, name: 1})[0]


def test_a_run_does_not_wait_for_all_of_its_slow_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def slow(request: object) -> None:
        asked.append(request)
        raise ToolError("too long")

    monkeypatch.setattr("haluagent.checks.runs.calls.schema_check._worker.call", slow)
    tool = ToolSpec(name="find", parameters={"properties": {"id": {"type": "string", "pattern": "(a+)+$"}}})
    calls = tuple(
        ToolUse(id=f"c{number}", tool="find", arguments={"id": f"id {number}"}, result="found") for number in range(40)
    )
    run = AgentRun(
        run_id="r",
        tools=(tool,),
        turns=(Turn(role="user", text="Look."), Turn(role="assistant", calls=calls)),
        answer="Done.",
    )
    found = validate_calls(run)
    assert len(asked) == 3
    assert [one.status for one in found] == ["invalid"] * 40 and "other calls took too long" in found[-1].errors[0]


def test_patterns_and_references_still_count() -> None:
    schema = {
        "$defs": {"id": {"type": "string", "pattern": "^DD-[0-9]+$"}},
        "properties": {"id": {"$ref": "#/$defs/id"}},
    }
    tool = ToolSpec(name="find", parameters=schema)
    assert schema_errors(tool, {"id": "DD-20933"}) == ()
    assert "does not match" in schema_errors(tool, {"id": "20933"})[0]
    assert schema_errors(tool, {"id": "DD-1", "city": "Osk"}) == ("city: no such argument",)
