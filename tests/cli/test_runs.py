"""`haluagent runs check`: what goes in, what comes out, and with which exit code."""

import json
from pathlib import Path
from typing import Any

import pytest

from haluagent import HaluAgent
from haluagent.checks.runs import gate
from haluagent.checks.runs.records import AgentRun, ConsistencyProbe, HallucinationReport, ReportClaim
from haluagent.checks.runs.settings import GateSettings
from haluagent.cli import main as cli
from haluagent.cli import options
from haluagent.cli.runs import report_lines
from haluagent.errors import ModelError


def write(path: Path, arguments: dict[str, Any]) -> str:
    call = {"id": "1", "tool": "get", "arguments": arguments, "result": "52 metres"}
    turns = [{"role": "user", "text": "Height of tower T-100?"}, {"role": "assistant", "calls": [call]}]
    tools = [{"name": "get", "parameters": {"type": "object"}}]
    path.write_text(json.dumps({"run_id": "r", "tools": tools, "turns": turns, "answer": "It is 52 metres high."}))
    return str(path)


@pytest.mark.parametrize(
    ("name", "code", "word"), [("T-100", 0, "1 of 1 calls valid"), ("T-200", 1, "fabricated: get")]
)
def test_calls_only_needs_no_model(tmp_path: Path, capsys: Any, name: str, code: int, word: str) -> None:
    file = write(tmp_path / "run.json", {"id": name})
    assert cli.run(["runs", "check", file, "--calls-only"]) == code
    assert word in capsys.readouterr().out


def test_a_stopped_call_is_shown_as_such(tmp_path: Path, capsys: Any) -> None:
    run = {"run_id": "r", "tools": [{"name": "refund"}], "turns": [
        {"role": "user", "text": "Refund my order."},
        {"role": "assistant", "calls": [
            {"id": "c", "tool": "refund", "arguments": {"id": "DD-20993"}, "result": "not executed", "stopped": True}]},
    ], "answer": "Which order?"}  # fmt: skip
    (tmp_path / "run.json").write_text(json.dumps(run), encoding="utf-8")
    assert cli.run(["runs", "check", str(tmp_path / "run.json"), "--calls-only"]) == 1
    assert "fabricated, stopped before it ran: refund" in capsys.readouterr().out


@pytest.mark.parametrize(("action", "code"), [("emit", 0), ("revise", 1), ("block", 1), (None, 3)])
def test_the_exit_code_says_the_action(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch, scripted: Any, action: Any, code: int
) -> None:
    def check(agent: Any, run: Any, **how: Any) -> HallucinationReport:
        if action is None:
            raise ModelError("no endpoint")
        claim = ReportClaim(text="It is 52 metres high.", score=0.9, critical=True, status="grounded")
        return HallucinationReport(
            run_id="r", claims=(claim,), tool_call_validations=(), overall_score=0.9, action=action
        )

    monkeypatch.setattr(gate, "check_run", check)
    monkeypatch.setattr(options, "make_agent", lambda wanted: HaluAgent(scripted(()), sandbox="none", search="none"))
    log = tmp_path / "log"
    assert cli.run(["runs", "check", write(tmp_path / "run.json", {}), "--audit", str(log)]) == code
    out = capsys.readouterr().out
    assert action is None or (out.startswith(action.upper()) and "grounded 0.90, critical" in out)
    assert json.loads(log.read_text())["action"] == (action or "block")


def test_only_probes_that_say_something_else_are_shown() -> None:
    claim = ReportClaim(text="It is 52 metres high.", score=0.9, critical=True, status="diverged")
    probes = [
        ConsistencyProbe(claim=claim.text, original="52", probe_answers=answers, agreement=0.0)
        for answers in (("25", "25", "not stated"), ("not stated",) * 3)
    ]
    report = HallucinationReport(
        run_id="r",
        claims=(claim,),
        tool_call_validations=(),
        consistency_probes=tuple(probes),
        overall_score=0.9,
        action="revise",
    )
    assert [str(line).count("asked again") for line in report_lines(report)] == [0, 0, 1, 0]


def test_what_is_set_is_set_and_the_rest_is_as_the_task_has_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, scripted: Any
) -> None:
    found: list[GateSettings] = []

    def check(agent: HaluAgent, run: AgentRun, *, settings: GateSettings, **how: Any) -> HallucinationReport:
        found.append(settings)
        return HallucinationReport(run_id="r", claims=(), tool_call_validations=(), overall_score=1.0, action="emit")

    monkeypatch.setattr(gate, "check_run", check)
    monkeypatch.setattr(options, "make_agent", lambda wanted: HaluAgent(scripted(()), sandbox="none", search="none"))
    file = write(tmp_path / "run.json", {})
    assert cli.run(["runs", "check", file, "--task", "high_stakes", "--emit", "0.95", "--base-rate", "0.7"]) == 0
    assert cli.run(["runs", "check", file, "--overall", "mean", "--probes", "5"]) == 0
    assert found == [
        GateSettings.for_task("high_stakes").model_copy(update={"emit": 0.95, "base_rate": 0.7}),
        GateSettings(overall="mean", probes=5),
    ]


def test_misuse(tmp_path: Path) -> None:
    file = write(tmp_path / "run.json", {})
    assert cli.run(["runs", "check", file, "--base-rate", "1"]) == 2
    assert cli.run(["runs", "check", file, "--emit", "0.1"]) == 2
    assert cli.run(["runs", "check", str(tmp_path / "none.json")]) == 2
    assert cli.run(["runs", "check", file, "--no-probes", "--probes", "2"]) == 2
    assert cli.run(["runs", "check", file, "--probe-model", "m"]) == 2
    assert cli.run(["runs", "check", file, "--probes", "0"]) == 2


def test_the_agents_own_model_is_asked_with_its_own_key(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, scripted: Any
) -> None:
    own, asked = scripted(), list[options.AgentOptions]()

    def check(
        agent: HaluAgent, run: AgentRun, *, seconds: dict[str, float], probe_model: Any, **how: Any
    ) -> HallucinationReport:
        assert probe_model is own
        seconds["calls"] = 0.25
        return HallucinationReport(run_id="r", claims=(), tool_call_validations=(), overall_score=1.0, action="emit")

    def make_model(wanted: options.AgentOptions) -> Any:
        asked.append(wanted)
        return own

    monkeypatch.setenv("HALUAGENT_API_KEY", "of the checker")
    monkeypatch.setattr(gate, "check_run", check)
    monkeypatch.setattr(options, "make_agent", lambda wanted: HaluAgent(scripted(()), sandbox="none", search="none"))
    monkeypatch.setattr(options, "make_model", make_model)
    given = ["runs", "check", write(tmp_path / "run.json", {}), "--audit", str(tmp_path / "log")]
    given += ["--probe-url", "http://127.0.0.1:9/v1", "--probe-model", "m"]
    assert cli.run(given) == 0
    monkeypatch.setenv("HALUAGENT_PROBE_KEY", "its own")
    assert cli.run(given) == 0
    assert [(one.base_url, one.model, one.api_key) for one in asked] == [
        ("http://127.0.0.1:9/v1", "m", key) for key in ("none", "its own")
    ]
    assert json.loads((tmp_path / "log").read_text().splitlines()[0])["seconds"] == {"calls": 0.25}
