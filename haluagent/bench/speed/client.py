"""Measure what the client itself costs: the CPU time of a detection at an endpoint that answers at once.

`python -m haluagent.bench.speed.client` makes a file of answers of four sentences, each beside a reference of 200 words, checks it as
`haluagent batch` does, and prints medians over the rounds, in milliseconds per detection.
"""

import argparse
import os
import statistics
import time
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from haluagent.batch.files import BatchItem, BatchRow, check_line, run
from haluagent.batch.processes import Processes
from haluagent.bench.speed.scripted import agent_at, scripted
from haluagent.detection.state import Autonomy
from haluagent.errors import HaluAgentError

WARM_UP = 40
PLACES = "Alder Birch Cedar Damson Elder Fir Gorse Hazel Ivy Juniper Kale Larch Maple Nettle Oak Pine".split()
WORDS = "bridge mill market tower garden library station harbour school museum".split()


def items(seed: int = 0) -> Iterator[BatchItem]:
    """Yield made items without end, no two alike: four sentences, and a reference of some 200 words."""
    number = seed
    while True:
        number += 1
        town = f"{PLACES[number % 16]}{PLACES[number // 16 % 16].lower()}"
        what = [f"{WORDS[(number + k) % 10]}" for k in range(16)]
        facts = [
            f"The {what[k]} of {town} was built by the {what[k + 3]} guild and holds {number % 900 + 17 * k} visitors on a busy day."
            for k in range(10)
        ]
        response = [
            f"{town} has a {what[0]} that the {what[3]} guild built.",
            f"Its {what[1]} holds {number % 900 + 17} visitors on a busy day.",
            f"People who come by train see the {what[2]} first.",
            f"The {what[4]} is the oldest building that is still in use.",
        ]
        yield BatchItem(question=f"What can be seen in {town}?", response=" ".join(response), reference=" ".join(facts))


class Mark(NamedTuple):
    """Seconds up to a moment: CPU time of this process and of its workers (all threads), that of this process alone, and the
    clock's; and calls of the model."""

    cpu: float
    parent: float
    clock: float
    calls: float

    def since(self, before: "Mark", detections: int) -> "Mark":
        """Return what each of these detections took."""
        return Mark(*((now - then) / detections for now, then in zip(self, before, strict=True)))


def measure(
    url: str, autonomy: Autonomy, detections: int, in_flight: int, processes: int, rounds: int
) -> Iterator[Mark]:
    """Yield what a detection took in each round of one batch. The first items are left out: what a process does once."""
    options = {"autonomy": autonomy, "concurrency": in_flight}
    workers = Processes(processes, agent_at, options)
    marks: list[Mark] = []
    done = calls = 0

    def progress(row: BatchRow) -> None:
        nonlocal done, calls
        if row.error:
            raise HaluAgentError(row.error)
        done, calls = done + 1, calls + row.usage.calls
        if done >= WARM_UP and (done - WARM_UP) % detections == 0:
            parent = time.process_time()
            marks.append(Mark(parent + sum(map(cpu_of, workers.pids)), parent, time.monotonic(), calls))

    with TemporaryDirectory() as folder:
        source = Path(folder, "in.jsonl")
        made = islice(items(), WARM_UP + rounds * detections)
        source.write_text("".join(item.model_dump_json() + "\n" for item in made))
        judge = workers.check if processes > 1 else check_line
        agents = [agent_at(options, url)]
        run(source, Path(folder, "out.jsonl"), agents, judge, in_flight=in_flight, progress=progress)
    for before, after in pairwise(marks):
        yield after.since(before, detections)


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of another process (Linux: `utime` and `stime` of proc(5))."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m haluagent.bench.speed.client", description=__doc__)
    parser.add_argument(
        "--model", default="scripted", help="the name that the endpoint serves; an adapter's brings its calibration"
    )
    parser.add_argument("--autonomy", choices=["guided", "free"], default="guided")
    parser.add_argument("--detections", type=int, default=100)
    parser.add_argument("--in-flight", type=int, default=8)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with scripted(options.model) as url:
        found = list(
            measure(url, options.autonomy, options.detections, options.in_flight, options.processes, options.rounds)
        )
    cpu, parent, clock, calls = (statistics.median(column) for column in zip(*found, strict=True))
    share = f", {parent * 1000:.1f} of them in the parent" if options.processes > 1 else ""
    print(
        f"{options.autonomy}, {options.in_flight} in flight, processes: {options.processes}: {cpu * 1000:.1f} ms of CPU a "
        f"detection{share}, {1 / cpu:.0f} a second a core, {1 / clock:.1f} a second by the clock (medians of "
        f"{options.rounds} rounds of {options.detections}; {calls:.1f} calls a detection)"
    )


if __name__ == "__main__":
    main()
