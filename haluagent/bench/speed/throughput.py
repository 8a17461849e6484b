"""Measure how busy the agent keeps an engine: its time for some items against the engine's own time for the same
requests.

`python -m haluagent.bench.speed.throughput IN.jsonl` takes the items of a batch. They are checked once while the
requests are recorded. Then, in turn and each time on a freshly started engine, they are checked again, and the recorded
requests are resent by a plain client with the same number in flight. The second time divided by the first is the share
of the engine's throughput that the agent reaches; the rest is the engine waiting for the agent.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from haluagent.agent import HaluAgent
from haluagent.batch.files import BatchItem, BatchRow, check, parse
from haluagent.batch.pool import Job, work
from haluagent.batch.tables import lines
from haluagent.bench.peers.meter_proxy import MeterProxy
from haluagent.bench.speed.replay import Replayed, replay
from haluagent.errors import ConfigError
from haluagent.models import OpenAIModel
from haluagent.types import Record, Usage

SLOTS = 12


class Throughput(Record):
    """The seconds of one round, and the cost of the agent's requests in it."""

    items: int
    agent_seconds: float
    usage: Usage
    raw: Replayed

    @property
    def share(self) -> float:
        """Return the share in [0, 1] of the engine's own throughput that the agent reaches."""
        return self.raw.seconds / self.agent_seconds


def measure(source: Path, in_flight: int = 8, rounds: int = 2) -> Iterator[Throughput]:
    """Yield the measurements of `rounds` rounds. Raises ConfigError if the source cannot be read, ModelError if the
    engine fails."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "trace.jsonl")
        with engine() as url, MeterProxy(url, record=trace) as proxy:
            _check(source, OpenAIModel.connect(proxy.url, api_key=proxy.api_key, concurrency=in_flight), in_flight)
        for _ in range(rounds):
            with engine() as url:
                items, seconds, usage = _check(source, OpenAIModel.connect(url, concurrency=in_flight), in_flight)
            with engine() as url:
                raw = replay(trace, url, in_flight=in_flight)
            if raw.failures:
                raise ConfigError(f"{raw.failures} requests failed when they were sent again: {raw.first_failure}")
            yield Throughput(items=items, agent_seconds=seconds, usage=usage, raw=raw)


@contextmanager
def engine(slots: int = SLOTS) -> Iterator[str]:
    """Serve the embedded model in a separate process while the block runs, and yield its URL."""
    command = [sys.executable, "-m", "haluagent", "model", "serve", "--port", "0", "--parallel", str(slots)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith("serving "):
                yield line.split(" at ")[1].partition(";")[0]
                return
        raise ConfigError("the engine did not start: see `haluagent model serve`")
    finally:
        process.terminate()
        process.wait()


def _check(source: Path, model: OpenAIModel, in_flight: int) -> tuple[int, float, Usage]:
    """Check the items, and return their number, the seconds it took, and the usage."""
    found: list[BatchRow] = []
    jobs = (_job(number, parse(line)) for number, line in lines(source))
    agent = HaluAgent(model, sandbox="none", search="none", concurrency=1)
    began = time.monotonic()
    asyncio.run(work(jobs, [agent], found.append, in_flight=in_flight))
    seconds = time.monotonic() - began
    return len(found), seconds, sum((row.usage for row in found), Usage())


def _job(number: int, item: BatchItem) -> Job[BatchRow]:
    return Job(lambda agent: check(agent, item, number), _give_up)


def _give_up(error: str) -> NoReturn:
    raise ConfigError(f"an item failed, so that the times cannot be compared: {error}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m haluagent.bench.speed.throughput", description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("--in-flight", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    for found in measure(options.source, options.in_flight, options.rounds):
        print(
            f"{found.items} items, {options.in_flight} in flight: agent {found.agent_seconds:.1f} s "
            f"({found.usage.evaluated_tokens} evaluated, {found.usage.generated_tokens} generated), "
            f"same requests without it {found.raw.seconds:.1f} s "
            f"({found.raw.evaluated_tokens} evaluated, {found.raw.generated_tokens} generated): {found.share:.0%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
