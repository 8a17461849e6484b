"""Fifty streams at once through the proxy, and the time that it adds with a scripted checker; `-s` shows the figures."""

import asyncio
import json
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

import httpx
import pytest
from scripted import ScriptedModel
from serving import Serving, make_agent
from upstream import EVENTS, Asked, Reply, Upstream, chunks

from haluagent.protocols import Choice, Generation, Message
from haluagent.server.proxy.app import make_proxy
from haluagent.server.proxy.settings import Policy, ProxySettings, Rules
from haluagent.server.settings import ServerSettings

STREAMS = 50
PAUSE, ANSWER = 0.005, 0.02  # seconds of the upstream for a word, and of the checker's model for an answer

pytestmark = pytest.mark.slow


class PacedModel(ScriptedModel):
    """Takes `ANSWER` seconds for each answer."""

    async def generate(self, messages: Sequence[Message], **options: Any) -> Generation:
        await asyncio.sleep(ANSWER)
        return await super().generate(messages, **options)

    async def choose(self, messages: Sequence[Message], choices: Sequence[str]) -> Choice:
        await asyncio.sleep(ANSWER)
        return await super().choose(messages, choices)


def text(number: int) -> str:
    """What the upstream says of a house; of every second one something wrong."""
    total = 2 * number + number % 2
    return f"House {number} has a door. {number} + {number} = {total}. 屋里有很多房间。 It has {number} windows."


def answer(asked: Asked) -> Reply:
    words = text(int(asked.json["messages"][0]["content"].split()[-1])).split(" ")
    events = chunks(*(word + " " for word in words[:-1]), words[-1], usage=True)
    return Reply([part for event in events for part in (event, asyncio.sleep(PAUSE))], EVENTS)


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    server.answer = answer
    yield server
    server.close()


async def ask(http: httpx.AsyncClient, url: str, number: int) -> tuple[list[dict[str, Any]], float, float]:
    """The events of a stream, and the seconds to its first text and to its end."""
    body = {"messages": [{"role": "user", "content": f"What of house {number}"}], "stream": True}
    began, first, events = time.perf_counter(), 0.0, []
    async with http.stream("POST", url + "/chat/completions", json=body) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                events.append(json.loads(line.removeprefix("data: ")))
                if not first and said(events):
                    first = time.perf_counter() - began
    return events, first, time.perf_counter() - began


def said(events: list[dict[str, Any]]) -> str:
    return "".join(choice["delta"].get("content") or "" for event in events for choice in event["choices"])


def all_at_once(url: str) -> list[tuple[list[dict[str, Any]], float, float]]:
    async def run() -> list[Any]:
        async with httpx.AsyncClient(timeout=120, trust_env=False, limits=httpx.Limits(max_connections=None)) as http:
            await ask(http, url, 0)  # what is made once
            show("one at a time", [await ask(http, url, number) for number in range(0, 20, 2)])
            return await asyncio.gather(*(ask(http, url, number) for number in range(STREAMS)))

    return asyncio.run(run())


def show(name: str, found: list[tuple[list[dict[str, Any]], float, float]]) -> None:
    first, end = (statistics.median(one[place] for one in found) for place in (1, 2))
    print(f"\n{name}: {len(found)} streams, median seconds to the first text {first:.3f}, to the end {end:.3f}")


@pytest.mark.parametrize("policy", ["annotate", "block", "revise"])
def test_fifty_streams_at_once_lose_nothing_and_cross_nowhere(upstream: Upstream, policy: Policy) -> None:
    server = ServerSettings(grace=0.2, running=32)
    rules = Rules(policy=policy, on_error=None if policy == "annotate" else "closed")
    agent = make_agent(PacedModel(ScriptedModel.calculate))
    app = make_proxy(agent, ProxySettings(server=server, upstream=upstream.url, rules=rules, conversations=STREAMS))
    show("at once, without the proxy", all_at_once(upstream.url))
    with Serving(agent, server, app=app) as proxy:
        found = all_at_once(proxy.url + "/v1")
        show(f"at once, {policy}", found)
        reports = [httpx.get(f"{proxy.url}/reports/{one[0][-1]['haluagent']['report']}").json() for one in found]
    added = sorted(report["added_seconds"] for report in reports)
    print(f"added: median {statistics.median(added):.3f} s, largest {added[-1]:.3f} s")
    for number, ((events, _, _), report) in enumerate(zip(found, reports, strict=True)):
        whole, wrong = text(number), number % 2
        assert events[-2]["usage"]["total_tokens"] == 14
        assert report["verdict"] == ("contradicted" if wrong else "unverified")
        assert report["answers"][0]["text"] == whole and report["question"].endswith(f" {number}")
        if policy == "annotate" or not wrong:
            assert said(events) == whole
        else:
            assert f"= {2 * number + 1}" not in said(events)
            assert said(events).startswith(
                f"House {number} has a door. \n\nI could not" if policy == "block" else "I could"
            )
