"""The real server on a loopback port, in a thread of the test's process."""

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn
from waiting import until as until

from haluagent.agent import HaluAgent
from haluagent.server.app import make_app
from haluagent.server.settings import ServerSettings
from haluagent.server.watch import Job, Outcome, Watcher

QUESTION = "Describe what the boxes hold."
RESPONSE = "It is 12 * 7 = 84. After giving away 4 there are 84 - 4 = 79 pens left."
TEXT = {"question": QUESTION, "response": RESPONSE}

http = httpx.Client(timeout=30, verify=False)  # one for all, since making one takes longer than most tests


class Serving:
    """A server that runs. `url` is its base URL; `app` and `server` are its parts."""

    def __init__(
        self, agent: HaluAgent, settings: ServerSettings, watchers: Sequence[Watcher] | None = None, app: Any = None
    ) -> None:
        from haluagent.server.run import Server, listen

        self.app = app or make_app(agent, settings, watchers)
        listening = listen("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self.server: uvicorn.Server = Server(self.app, settings)
        self.thread = threading.Thread(target=self.server.run, args=([listening],), daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Tell it to stop, as a signal does."""
        self.server.should_exit = True

    def __enter__(self) -> "Serving":
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()
        self.thread.join(30)
        assert not self.thread.is_alive()


@contextmanager
def serving(
    agent: HaluAgent, settings: ServerSettings | None = None, watchers: Sequence[Watcher] | None = None
) -> Iterator[str]:
    """The base URL of a server that runs as long as this is entered."""
    with Serving(agent, settings or ServerSettings(grace=0.2), watchers) as server:
        yield server.url


def events(text: str) -> list[dict[str, Any]]:
    """The events of a whole stream, each `event:` line held against the `kind` of its data."""
    found = []
    for block in text.split("\n\n"):
        if block and not block.startswith(":"):
            kind, data = block.split("\n")
            found.append(json.loads(data.removeprefix("data: ")))
            assert kind == f"event: {found[-1]['kind']}"
    return found


def stream(url: str, body: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    """The events that a POST gives."""
    headers = {"Accept": "text/event-stream"} | options.pop("headers", {})
    return events(http.post(url, json=body, headers=headers, **options).text)


def make_agent(model: Any, **options: Any) -> HaluAgent:
    return HaluAgent(model, sandbox="none", search="none", **options)


class Held:
    """A watcher, and what a model waits for: `go` lets it go on, and `ended` says how each request ended."""

    def __init__(self, scripted: Any) -> None:
        self.go = threading.Event()
        self.asked = 0
        self.cancelled = 0
        self.outcomes: list[Outcome] = []
        held = self

        class Slow(scripted):  # type: ignore[misc]
            async def generate(self, *args: Any, **options: Any) -> Any:
                held.asked += 1
                try:
                    while not held.go.is_set():
                        await asyncio.sleep(0.005)
                except asyncio.CancelledError:
                    held.cancelled += 1
                    raise
                return await super().generate(*args, **options)

        self.agent = make_agent(Slow(scripted.calculate))

    def watch(self, job: Job, headers: dict[str, str]) -> "Held":
        return self

    def started(self) -> None: ...

    def event(self, event: Any) -> None: ...

    def ended(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
