"""The server under load, with a scripted model that takes a little time for each answer.

HALUAGENT_TEST_SERVED_REQUESTS is how many requests memory and latency are measured with; `-s` shows the figures.
"""

import asyncio
import gc
import json
import os
import random
import statistics
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from scripted import ScriptedEndpoint, ScriptedModel

from haluagent import HaluAgent
from haluagent.events import Answered, Event
from haluagent.models.client import OpenAIModel
from haluagent.protocols import Choice, Generation, Message
from haluagent.server.app import make_app
from haluagent.server.run import Server, listen
from haluagent.server.settings import ServerSettings
from haluagent.server.watch import Job, Outcome, Watcher

REQUESTS = int(os.environ.get("HALUAGENT_TEST_SERVED_REQUESTS", "200"))  # 5000 takes minutes
STREAM = {"Accept": "text/event-stream"}


def look(messages: Sequence[Message]) -> str:
    """A turn of the model. What S3 states is a sum."""
    checked = ScriptedModel.checked(messages)
    call = f"calculator(sentence={checked})" if checked == "S3" else f"match(sentence={checked}, context=reference)"
    return f"THOUGHT: look it up\nACTION: {call}"


class SlowModel(ScriptedModel):
    """Takes 1 to 10 ms an answer, and forgets what it was asked."""

    def __init__(self) -> None:
        super().__init__(look)
        self.seen, self.grammars = deque(maxlen=1), deque(maxlen=1)  # type: ignore[assignment]
        self._random = random.Random(8)

    async def generate(self, messages: Sequence[Message], **options: Any) -> Generation:
        await asyncio.sleep(self._random.uniform(0.001, 0.01))
        return await super().generate(messages, **options)

    async def choose(self, messages: Sequence[Message], choices: Sequence[str]) -> Choice:
        await asyncio.sleep(self._random.uniform(0.001, 0.01))
        return await super().choose(messages, choices)


def make_agent(model: Any = None) -> HaluAgent:
    return HaluAgent(model or SlowModel(), sandbox="none", search="none", concurrency=4)


def text(number: int) -> dict[str, Any]:
    """A request like no other."""
    response = f"House {number} was built by Ellis. House {number} has a red door. {number} + {number} = {number * 2 + number % 2}."
    return {
        "question": f"What is known of house {number}?",
        "response": response,
        "reference": [f"House {number} has three windows.", f"The door of house {number} is red."],
    }


@asynccontextmanager
async def served(
    agent: HaluAgent, settings: ServerSettings, watchers: Sequence[Watcher] | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a real server. Both run on this event loop: in threads they would wait for each other's turns of Python."""
    server, listening = Server(make_app(agent, settings, watchers), settings), listen("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    running = asyncio.create_task(server.serve([listening]))
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=120, trust_env=False, limits=limits) as client:
        yield client
    server.should_exit = True
    await running


async def stream(http: httpx.AsyncClient, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of a streamed detection."""
    events = []
    async with http.stream("POST", "/v1/detect", json=body, headers=STREAM) as response:
        assert response.status_code == 200
        async for line in response.aiter_lines():
            if line.startswith("data: "):
                events.append(json.loads(line.removeprefix("data: ")))
    return events


def in_order(records: Any) -> list[str]:
    return sorted(json.dumps(record, sort_keys=True) for record in records)


def _checked(event: dict[str, Any]) -> int | None:
    return event["entry"]["sentence"]["index"] if "entry" in event else None


@pytest.mark.slow
def test_two_hundred_streams_at_once_lose_nothing_and_cross_nowhere() -> None:
    async def all_of_them() -> list[list[dict[str, Any]]]:
        async with served(make_agent(), ServerSettings(running=32, waiting=200)) as http:
            return await asyncio.gather(*(stream(http, text(number)) for number in range(200)))

    waited = 0
    for number, events in enumerate(asyncio.run(all_of_them())):
        kinds = [event["kind"] for event in events]
        waited += "waiting" in kinds
        assert kinds[-1] == "answer" and kinds.count("answer") == 1
        found = events[-1]["detection"]
        assert found["response"] == text(number)["response"]
        assert found["hallucination"] is (True if number % 2 else None)  # the sum; the reference decides nothing
        came = {kind: [event for event in events if event["kind"] == kind] for kind in kinds}
        labels = {
            event["entry"]["sentence"]["index"]: event["entry"]
            for kind in ("verdict", "revision")
            for event in came.get(kind, [])
        }
        assert in_order(event["sentence"] for event in came["sentence"]) == in_order(
            entry["sentence"] for entry in found["sentences"]
        )
        assert in_order(labels.values()) == in_order(found["sentences"])
        assert in_order(event["step"] for event in came["observation"]) == in_order(found["steps"])
        for index in labels:  # a sentence is found, then acted on, then has its verdict
            own = [event["kind"] for event in events if index in (event.get("sentence"), _checked(event))]
            assert own.index("action") < own.index("observation") < own.index("verdict")
    assert waited >= 100


class Seconds:
    """A watcher that keeps how long the agent worked on each request, by the number in its header."""

    def __init__(self) -> None:
        self.took: dict[str, float] = {}

    def watch(self, job: Job, headers: dict[str, str]) -> "OwnSeconds":
        return OwnSeconds(self.took, headers["x-number"])


class OwnSeconds:
    def __init__(self, took: dict[str, float], number: str) -> None:
        self.took, self.number = took, number

    def started(self) -> None:
        self.began = time.perf_counter()

    def event(self, event: Event) -> None:
        if isinstance(event, Answered):
            self.took[self.number] = time.perf_counter() - self.began

    def ended(self, outcome: Outcome) -> None: ...


@pytest.mark.slow
def test_a_request_takes_hardly_longer_than_the_work_on_it() -> None:
    """The round trip less the agent's own seconds."""
    clients, seconds = 4, Seconds()

    async def measure() -> list[float]:
        added: list[float] = []
        numbers = iter(range(REQUESTS))

        async def ask(http: httpx.AsyncClient) -> None:
            for number in numbers:
                began = time.perf_counter()
                response = await http.post("/v1/detect", json=text(number), headers={"x-number": str(number)})
                took = time.perf_counter() - began
                assert response.json()["stop"] == "answer"
                added.append(took - seconds.took[str(number)])

        async with served(make_agent(), ServerSettings(), [seconds]) as http:
            await http.post("/v1/detect", json=text(0), headers={"x-number": "first"})
            await asyncio.gather(*(ask(http) for _ in range(clients)))
        return added

    added = asyncio.run(measure())

    median, p99 = statistics.median(added), statistics.quantiles(added, n=100)[-1]
    print(
        f"\n{len(added)} requests, {clients} at once: added {median * 1000:.1f} ms at the median, {p99 * 1000:.1f} ms at p99"
    )
    assert len(added) == REQUESTS


def resident() -> float:
    """MB of memory that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.slow
def test_memory_does_not_grow_with_the_requests() -> None:
    held: list[float] = []
    objects: list[int] = []

    async def ask(http: httpx.AsyncClient, numbers: Iterator[int]) -> None:
        for number in numbers:
            if number % 2:
                assert (await stream(http, text(number)))[-1]["kind"] == "answer"
            else:
                (await http.post("/v1/detect", json=text(number))).raise_for_status()

    async def measure() -> None:
        async with served(make_agent(), ServerSettings()) as http:
            for count in (100, *[REQUESTS // 5] * 5):
                numbers = iter(range(count))
                await asyncio.gather(*(ask(http, numbers) for _ in range(8)))
                gc.collect()
                objects.append(len(gc.get_objects()))
                held.append(resident())

    asyncio.run(measure())

    print(f"\nMB after 100 requests and after each fifth of {REQUESTS} more: {', '.join(f'{mb:.1f}' for mb in held)}")
    assert held[-1] - held[0] < 15
    assert objects[-1] - objects[1] < REQUESTS  # a request that leaves anything behind leaves tens of objects


class Endpoint(ScriptedEndpoint):
    """An endpoint that answers some questions, then takes more and dies over them."""

    def __init__(self, answers: int) -> None:
        self.left, self.reached, self.dead = answers, threading.Event(), threading.Event()
        super().__init__(self.answer)

    def answer(self, messages: Sequence[Message]) -> str:
        if self.chats <= self.left:
            return look(messages)
        self.reached.set()
        self.dead.wait(30)
        raise ConnectionAbortedError

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass

    def kill(self) -> None:
        self.close()
        self.dead.set()


def test_an_endpoint_that_dies_ends_every_request_with_a_clear_answer() -> None:
    async def no_pause(seconds: float) -> None:
        await asyncio.sleep(0)

    async def ask() -> tuple[list[list[dict[str, Any]]], list[httpx.Response]]:
        model = OpenAIModel(endpoint.base_url, "scripted", attempts=2, sleep=no_pause)
        async with served(make_agent(model), ServerSettings(running=8)) as http:
            streams = asyncio.gather(*(stream(http, text(number)) for number in range(12)))
            posts = asyncio.gather(*(http.post("/v1/detect", json=text(number)) for number in range(12, 18)))
            await asyncio.to_thread(endpoint.reached.wait, 30)
            await asyncio.to_thread(endpoint.kill)
            return await streams, await posts

    endpoint = Endpoint(answers=6)
    streams, posts = asyncio.run(ask())

    assert endpoint.chats > 6
    for events in streams:
        last = events[-1]
        assert last["kind"] in ("answer", "error")
        message = last["error"]["message"] if last["kind"] == "error" else last["detection"]["error"]
        assert message and "\n" not in message
        assert last["kind"] == "error" or last["detection"]["stop"] == "error"
    for response in posts:
        assert response.status_code in (502, 503)
        answer = response.json()
        assert answer.get("stop") == "error" or answer["error"]["type"] in ("model", "not_ready")
