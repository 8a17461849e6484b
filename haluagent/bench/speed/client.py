"""Measure what the client itself costs: the CPU time of a detection at an endpoint that answers at once.

`python -m haluagent.bench.speed.client` checks made answers of four sentences, each beside a reference of 200 words, and
prints the median over the rounds, in milliseconds per detection.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Iterator, Sequence
from itertools import islice

from haluagent.agent import HaluAgent
from haluagent.batch.files import BatchItem, check
from haluagent.bench.speed.scripted import scripted
from haluagent.detection.state import Autonomy
from haluagent.models import OpenAIModel
from haluagent.types import Usage

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


def cpu_seconds(agent: HaluAgent, batch: Sequence[BatchItem], in_flight: int) -> tuple[float, Usage]:
    """Check a batch and return the CPU seconds of this process, all threads together, and the usage."""

    async def run() -> tuple[float, Usage]:
        waiting, used = iter(batch), Usage()

        async def worker() -> None:
            nonlocal used
            for item in waiting:
                row = await check(agent, item, 0)
                used += row.usage

        began = time.process_time()
        await asyncio.gather(*(worker() for _ in range(in_flight)))
        seconds = time.process_time() - began
        await agent.aclose()
        return seconds, used

    return asyncio.run(run())


def measure(
    model: str, autonomy: Autonomy, detections: int, in_flight: int, rounds: int
) -> Iterator[tuple[float, Usage]]:
    """Yield the CPU seconds per detection, and the usage, of each round."""
    source = items()
    with scripted(model) as url:
        agent = HaluAgent(
            OpenAIModel.connect(url, concurrency=in_flight),
            sandbox="none",
            search="none",
            concurrency=1,
            autonomy=autonomy,
        )
        cpu_seconds(agent, list(islice(source, 20)), in_flight)  # what a process does once
        for _ in range(rounds):
            seconds, used = cpu_seconds(agent, list(islice(source, detections)), in_flight)
            yield seconds / detections, used


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m haluagent.bench.speed.client", description=__doc__)
    parser.add_argument(
        "--model", default="scripted", help="the name that the endpoint serves; an adapter's brings its calibration"
    )
    parser.add_argument("--autonomy", choices=["guided", "free"], default="guided")
    parser.add_argument("--detections", type=int, default=100)
    parser.add_argument("--in-flight", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found = list(measure(options.model, options.autonomy, options.detections, options.in_flight, options.rounds))
    seconds, calls = statistics.median(one for one, _ in found), found[-1][1].calls / options.detections
    print(
        f"{options.autonomy}, {options.in_flight} in flight: {seconds * 1000:.1f} ms of CPU a detection, "
        f"{1 / seconds:.0f} a second a core (median of {options.rounds} rounds of {options.detections}; "
        f"{calls:.1f} calls a detection)"
    )


if __name__ == "__main__":
    main()
