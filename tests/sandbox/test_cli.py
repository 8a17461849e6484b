"""`haluagent sandbox`, as a user calls it. What runs in a real sandbox is in test_sandbox_backends.py."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from haluagent.cli.sandbox import app
from haluagent.errors import ConfigError
from haluagent.protocols import Execution, ExecutionOutcome
from haluagent.sandbox import choose
from haluagent.sandbox.docker import build as builder


class Told:
    """A sandbox that says what it was told to."""

    def __init__(self, execution: Execution) -> None:
        self.execution = execution
        self.ran: list[tuple[str, float]] = []
        self.closed = False

    async def run(self, code: str, *, seconds: float = 10.0) -> Execution:
        self.ran.append((code, seconds))
        return self.execution

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def call() -> CliRunner:
    return CliRunner()


def told(monkeypatch: pytest.MonkeyPatch, **fields: object) -> Told:
    sandbox = Told(Execution.model_validate({"outcome": "ok", "backend": "told", **fields}))
    monkeypatch.setattr(choose, "resolve", lambda choice, spare: sandbox)
    return sandbox


def test_run_a_file(call: CliRunner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sandbox = told(monkeypatch, stdout="  one\ttwo\x1b[2J\x9b1m\x07\n", stderr="warn")
    (tmp_path / "p.py").write_text("print(1)\n")
    result = call.invoke(app, ["run", str(tmp_path / "p.py"), "--seconds", "3"])
    assert result.exit_code == 0
    assert sandbox.ran == [("print(1)", 3.0)] and sandbox.closed
    assert result.stdout == "  one\ttwo[2J1m\n"
    assert result.stderr == "warn\nok (told, 0.00 s)\n"


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        ("exception", 1),
        ("syntax_error", 1),
        ("timeout", 1),
        ("memory", 1),
        ("output", 1),
        ("killed", 1),
        ("missing_package", 3),
    ],
)
def test_exit_codes(call: CliRunner, monkeypatch: pytest.MonkeyPatch, outcome: ExecutionOutcome, code: int) -> None:
    told(monkeypatch, outcome=outcome, error="E: what", traceback="Traceback\n  line")
    result = call.invoke(app, ["run", "-"], input="x")
    assert result.exit_code == code
    assert result.stderr == f"Traceback\n  line\n{outcome}: E: what (told, 0.00 s)\n"


def test_run_as_json(call: CliRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    told(monkeypatch, outcome="exception", error="ValueError: 错", line=3)
    result = call.invoke(app, ["run", "-", "--json"], input="x")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["error"] == "ValueError: 错" and json.loads(result.stdout)["line"] == 3
    assert result.stderr == ""


def test_without_a_sandbox(call: CliRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "resolve", lambda choice, spare: None)
    result = call.invoke(app, ["run", "-"], input="x")
    assert isinstance(result.exception, ConfigError) and "haluagent sandbox build" in str(result.exception)


def test_status(call: CliRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    docker = choose.Status(backend="docker", works=False, text="start it")
    bubblewrap = choose.Status(backend="bubblewrap", works=True, text="bubblewrap 0.8.0")
    monkeypatch.setattr(choose, "status", lambda: [docker, bubblewrap])
    result = call.invoke(app, ["status"])
    assert result.exit_code == 0
    assert result.stdout == (
        "docker: does not work: start it\nbubblewrap: works: bubblewrap 0.8.0\n`--sandbox auto` uses bubblewrap.\n"
    )
    monkeypatch.setattr(choose, "status", lambda: [docker])
    assert isinstance(call.invoke(app, ["status"]).exception, ConfigError)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build", "--debootstrap", "--base", "x"], "not both"),
        (["build", "--mirror", "http://127.0.0.1:9"], "--mirror is for --debootstrap"),
        (["run", "no-such-file.py"], "cannot read no-such-file.py"),
    ],
)
def test_mistakes(call: CliRunner, arguments: list[str], message: str) -> None:
    result = call.invoke(app, arguments)
    assert isinstance(result.exception, ConfigError) and message in str(result.exception)


def test_debootstrap_needs_its_program_and_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="install the package debootstrap"):
        builder.debootstrap()
    (tmp_path / "debootstrap").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "debootstrap").chmod(0o755)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(ConfigError, match="needs root"):
        builder.debootstrap()
