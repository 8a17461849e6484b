"""What docs/platforms.md says of systems other than Linux, as far as it can be tried on Linux."""

import os
import sys
from pathlib import Path

import pytest

from haluagent.errors import ToolError
from haluagent.models.engines.llama_cpp import threads
from haluagent.sandbox.worker.limited import LimitedWorker

REFUSES = """
import resource

def refuse(which, limits):
    raise ValueError("current limit exceeds maximum limit")

resource.setrlimit = refuse
"""


def test_cores_are_counted_where_the_system_does_not_say_which_are_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_such_file(path: Path) -> str:
        raise FileNotFoundError(path)

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(Path, "read_text", no_such_file)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert threads() == 8
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert threads() == 1


def test_nothing_runs_without_its_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = LimitedWorker("operator:neg")
    try:
        assert worker.call(2) == -2
        worker.close()
        (tmp_path / "sitecustomize.py").write_text(REFUSES, encoding="utf-8")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        with pytest.raises(ToolError, match="could not be started"):
            worker.call(2)
    finally:
        worker.close()
