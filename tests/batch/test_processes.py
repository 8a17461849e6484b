"""Several processes share the lines of a batch: what is written is the same as from one, whoever is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from waiting import until

from haluagent import HaluAgent
from haluagent.batch.files import BatchRow, run
from haluagent.batch.processes import Processes
from haluagent.cli.endpoints import make_agents, make_processes
from haluagent.cli.options import AgentOptions
from haluagent.errors import ConfigError
from haluagent.models import EmbeddedModel, calls
from haluagent.types import Usage


def write(path: Path, count: int) -> Path:
    items = [{"response": f"It is 2 + 2 = {5 - n % 2}.", "id": n, "own": "a"} for n in range(1, count + 1)]
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


def rows(path: Path) -> list[BatchRow]:
    return [BatchRow.model_validate_json(line) for line in path.read_text("utf-8").splitlines()]


class Batch:
    """A batch of two processes at an endpoint, run in this process so that a test can reach them."""

    def __init__(self, url: str, in_flight: int) -> None:
        options = AgentOptions(base_url=url, sandbox="none", search="none")
        self.agents, self.in_flight = make_agents(options, None, in_flight)
        self.processes: Processes = make_processes(2, options, self.agents, in_flight)

    def run(self, source: Path, out: Path) -> list[BatchRow]:
        assert run(source, out, self.agents, self.processes.check, in_flight=self.in_flight) is None
        return rows(out)


class Watcher:
    def __init__(self) -> None:
        self.seen: list[tuple[str, Usage | None]] = []

    def retried(self, endpoint: str) -> None:
        raise AssertionError(endpoint)

    def ended(self, endpoint: str, usage: Usage | None, seconds: float) -> None:
        self.seen.append((endpoint, usage))


@pytest.fixture
def watcher() -> Iterator[Watcher]:
    made = Watcher()
    calls.watchers.append(made)
    yield made
    calls.watchers.remove(made)


def test_both_work_and_what_they_ask_is_counted_here(endpoint: Any, tmp_path: Path, watcher: Watcher) -> None:
    source = write(tmp_path / "in.jsonl", 12)
    with source.open("a") as file:
        file.write("{\n")
    batch = Batch(endpoint.base_url, in_flight=4)
    seen: set[int] = set()
    answer = endpoint.say

    def say(messages: Any) -> str:
        seen.update(batch.processes.pids)
        return str(answer(messages))

    endpoint.say = say
    found = batch.run(source, tmp_path / "out.jsonl")
    assert sorted((row.line, row.hallucination) for row in found if not row.error) == [
        (n, n % 2 == 0) for n in range(1, 13)
    ]
    assert {(row.id, row.model_extra["own"]) for row in found if row.model_extra} == {(n, "a") for n in range(1, 13)}
    assert [(row.line, str(row.error)[:8]) for row in found if row.error] == [(13, "not JSON")]
    assert len(seen) == 2 and not any(alive(pid) for pid in seen)
    assert len(watcher.seen) == endpoint.chats
    assert sum((usage for _, usage in watcher.seen if usage), Usage()).calls == sum(row.usage.calls for row in found)


def test_a_killed_process_costs_no_line(endpoint: Any, tmp_path: Path) -> None:
    batch = Batch(endpoint.base_url, in_flight=4)
    answer, killed = endpoint.say, []

    def say(messages: Any) -> str:
        if not killed and endpoint.chats > 3:
            killed.append(batch.processes.pids[0])
            os.kill(killed[0], signal.SIGKILL)
        return str(answer(messages))

    endpoint.say = say
    found = batch.run(write(tmp_path / "in.jsonl", 12), tmp_path / "out.jsonl")
    assert sorted((row.line, row.error) for row in found) == [(n, None) for n in range(1, 13)] and killed


def test_a_line_that_kills_its_process_again_is_an_error_of_its_own(endpoint: Any, tmp_path: Path) -> None:
    batch = Batch(endpoint.base_url, in_flight=1)
    answer = endpoint.say

    def say(messages: Any) -> str:
        if "2 + 2 = 4" in messages[-1]["content"]:
            for pid in batch.processes.pids:
                os.kill(pid, signal.SIGKILL)
        return str(answer(messages))

    endpoint.say = say
    found = batch.run(write(tmp_path / "in.jsonl", 2), tmp_path / "out.jsonl")
    assert {row.line: row.error for row in found} == {
        1: "the worker process that had the line ended with code -9",
        2: None,
    }


def test_an_engine_of_this_process_is_not_shared(scripted: Callable[..., Any]) -> None:
    for model in (scripted(), EmbeddedModel()):
        with pytest.raises(ConfigError, match="--processes is for a served model.*: give --endpoint, or leave it out"):
            make_processes(2, AgentOptions(), [HaluAgent(model)], 1)


def test_a_budget_of_searches_is_not_multiplied(endpoint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    agents = [HaluAgent(base_url=endpoint.base_url)]
    with pytest.raises(ConfigError, match="--max-queries holds for one process only"):
        make_processes(2, AgentOptions(max_queries=5), agents, 1)
    monkeypatch.setenv("HALUAGENT_SEARCH_MAX_QUERIES", "5")
    with pytest.raises(ConfigError, match="HALUAGENT_SEARCH_MAX_QUERIES .* holds for one process only"):
        make_processes(2, AgentOptions(), agents, 1)
    make_processes(2, AgentOptions(search="none"), agents, 1)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_end_of_the_parent_loses_and_repeats_nothing(endpoint: Any, tmp_path: Path, how: signal.Signals) -> None:
    source, out = write(tmp_path / "in.jsonl", 30), tmp_path / "out.jsonl"
    answer = endpoint.say

    def slowly(messages: Any) -> str:
        time.sleep(0.02)  # so that it can be ended midway
        return str(answer(messages))

    endpoint.say = slowly
    command = [sys.executable, "-m", "haluagent", "batch", str(source), "-o", str(out), "--endpoint", endpoint.base_url]
    command += ["--in-flight", "2", "--processes", "2", "--sandbox", "none", "--search", "none"]
    # A test run in the background has SIGINT ignored, and a child inherits that.
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    )
    until(lambda: process.poll() is not None or (out.exists() and out.read_bytes().count(b"\n") >= 4))
    workers = children(process.pid)
    assert process.poll() is None and len(workers) == 2
    process.send_signal(how)
    _, said = process.communicate()
    assert process.returncode == (130 if how == signal.SIGINT else -9) and b"Traceback" not in said
    until(lambda: not any(map(alive, workers)))
    assert subprocess.run(command).returncode == 0
    assert sorted((row.line, row.error) for row in rows(out)) == [(n, None) for n in range(1, 31)]


def children(pid: int) -> list[int]:
    found = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    return [one for one in found if status(one)[1:2] == [str(pid)]]


def alive(pid: int) -> bool:
    """Whether a process runs: one that has ended may wait for whoever is its parent now."""
    return status(pid)[:1] not in ([], ["Z"])


def status(pid: int) -> list[str]:
    """The state of a process, its parent and more (proc(5), `stat` from the third field on); empty where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return []
