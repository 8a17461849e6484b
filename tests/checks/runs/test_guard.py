"""The guard: rounds, refusals that say nothing of the inside, failures, and a log that keeps what it was given."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from haluagent import HaluAgent
from haluagent.checks.runs import gate
from haluagent.checks.runs.audit import AuditLog, read_audit
from haluagent.checks.runs.guard import Guard
from haluagent.checks.runs.records import AgentRun, HallucinationReport, ReportClaim, ToolCallValidation, Turn
from haluagent.errors import ConfigError, ModelError

CLAIM = ReportClaim(text="It costs 90 dollars.", score=0.5, critical=True, status="unsupported")
CALL = ToolCallValidation(
    tool="get_price", args={"id": "P-777"}, status="fabricated", errors=("id: id 'P-777' comes from nowhere",)
)


def run(name: str = "r", answer: str = "It costs 90 dollars.") -> AgentRun:
    return AgentRun(run_id=name, turns=(Turn(role="user", text="The price?"),), answer=answer)


@pytest.fixture
def agent(scripted: Any) -> HaluAgent:
    return HaluAgent(scripted(()), sandbox="none", search="none")


@pytest.fixture
def action(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the detector says: an action, or an error that it raises."""
    says: dict[str, Any] = {"action": "emit"}

    async def detector(agent: HaluAgent, run: AgentRun, **how: Any) -> HallucinationReport:
        if isinstance(says["action"], Exception):
            raise says["action"]
        return HallucinationReport(
            run_id=run.run_id, claims=(CLAIM,), tool_call_validations=(CALL,), overall_score=0.5, action=says["action"]
        )

    monkeypatch.setattr(gate, "acheck_run", detector)
    return says


def test_feedback_names_claims_and_calls_until_the_rounds_are_over(
    agent: HaluAgent, action: dict[str, Any], tmp_path: Path
) -> None:
    guard = Guard(agent, on_error="closed", audit=tmp_path / "log", rounds=2)
    action["action"] = "revise"
    found = [guard.check(run()) for _ in range(3)]
    assert [item.action for item in found] == ["revise", "revise", "block"]
    assert found[0].feedback and CLAIM.text in found[0].feedback and CALL.errors[0] in found[0].feedback
    assert found[2].report and found[2].report.action == "block" and found[2].refusal and not found[2].feedback
    assert guard.check(run("other")).action == "revise"
    assert [(line.run_id, line.round, line.action) for line in read_audit(tmp_path / "log")] == [
        ("r", 1, "revise"), ("r", 2, "revise"), ("r", 3, "block"), ("other", 1, "revise"),
    ]  # fmt: skip


@pytest.mark.parametrize("answer", ["It costs 90 dollars.", "价格是九十美元。"])
def test_a_refusal_reveals_nothing(agent: HaluAgent, action: dict[str, Any], answer: str) -> None:
    action["action"] = "block"
    refusal = Guard(agent, on_error="closed").check(run(answer=answer)).refusal
    assert refusal and not any(word in refusal for word in ("get_price", "P-777", "0.5", "90", "claim", "tool"))
    assert ("我" in refusal) is ("价" in answer)


@pytest.mark.parametrize(("on_error", "expected"), [("closed", "block"), ("open", "emit")])
def test_a_detector_that_fails(
    agent: HaluAgent, action: dict[str, Any], tmp_path: Path, on_error: Any, expected: str
) -> None:
    action["action"] = ModelError("no endpoint")
    found = Guard(agent, on_error=on_error, audit=tmp_path / "log").check(run())
    assert (found.action, found.report, found.refusal is None) == (expected, None, expected == "emit")
    (line,) = read_audit(tmp_path / "log")
    assert line.action == expected and line.error == "ModelError: no endpoint"


def test_the_choice_must_be_made(agent: HaluAgent) -> None:
    with pytest.raises(TypeError):
        Guard(agent)  # type: ignore[call-arg]
    with pytest.raises(ConfigError):
        Guard(agent, on_error="maybe")  # type: ignore[arg-type]


def test_two_hundred_checks_at_once_lose_nothing(agent: HaluAgent, action: dict[str, Any], tmp_path: Path) -> None:
    guards = [Guard(agent, on_error="closed", audit=tmp_path / "log") for _ in range(4)]

    async def all_of_them() -> None:
        await asyncio.gather(*(guards[n % 4].acheck(run(f"run {n}")) for n in range(200)))

    asyncio.run(all_of_them())
    assert {line.run_id for line in read_audit(tmp_path / "log")} == {f"run {n}" for n in range(200)}


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    code = (
        "import sys; from haluagent.checks.runs.audit import AuditLog; log = AuditLog(sys.argv[1]); n = 0\n"
        "while True: log.append(f'r{n}', 1, 'emit', 'x' * 5000, None); print(n, flush=True); n += 1"
    )
    path = tmp_path / "log"
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(20):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    last = 19 + len(process.stdout.read().split())
    process.wait()
    with path.open("ab") as file:
        file.write(b'{"time": "half a li')
    AuditLog(path).append("after", 1, "emit", None, None)
    found = [line.run_id for line in read_audit(path)]
    assert found[: last + 1] == [f"r{n}" for n in range(last + 1)] and found[-1] == "after"
