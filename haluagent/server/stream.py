"""How an answer goes out: as one JSON object, or as server-sent events while the work goes on."""

import asyncio
import json
from typing import Any, Literal, Protocol

from starlette.types import Receive, Send

from haluagent.events import Answered, Event
from haluagent.server.problems import STATUS, Problem, respond
from haluagent.server.watch import Result
from haluagent.types import Detection

ALIVE = 10.0  # seconds without an event, after which a comment keeps the connection open
STALLED = 60.0  # seconds after which a client that takes nothing counts as gone

# Some clients end a line at these, which server-sent events do not. In JSON they may be escaped.
LINE_ENDS = str.maketrans({end: f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"})

HEADERS = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")]


class Reply(Protocol):
    """What a client is told. `begin` comes first, one of the other three last."""

    async def begin(self, before: int | None) -> None:
        """The request was let in; it waits behind `before` others, or has its turn (None)."""

    def event(self, event: Event) -> None: ...

    async def gone(self) -> None:
        """Over when the client is."""

    async def answer(self, result: Result, text: str) -> None: ...

    async def problem(self, problem: Problem) -> None: ...

    async def close(self) -> None:
        """Free what it holds, however it ended."""


class JsonReply:
    """One JSON object. A detection whose model failed is a 502 with the detection as its body."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send

    async def begin(self, before: int | None) -> None: ...

    def event(self, event: Event) -> None: ...

    async def gone(self) -> None:
        await disconnected(self._receive)

    async def answer(self, result: Result, text: str) -> None:
        await respond(self._send, STATUS["model"] if failed(result) else 200, text)

    async def problem(self, problem: Problem) -> None:
        await problem.respond(self._send)

    async def close(self) -> None: ...


class StreamReply:
    """Events as they happen; the last is an `answer` or an `error`.

    They are sent by a task of their own, so that a client that reads slowly holds nobody up. What it has not read yet are the
    events of one detection at most.
    """

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._sending: asyncio.Task[None] | None = None
        self._answered = False

    async def begin(self, before: int | None) -> None:
        if before is not None:
            self._put("waiting", json.dumps({"kind": "waiting", "before": before}))
        self._sending = asyncio.create_task(self._pass_on())

    def event(self, event: Event) -> None:
        self._answered = isinstance(event, Answered)
        self._put(event.kind, event.model_dump_json())

    async def gone(self) -> None:
        assert self._sending is not None
        leaving = asyncio.ensure_future(disconnected(self._receive))
        try:
            await asyncio.wait((leaving, self._sending), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()

    async def answer(self, result: Result, text: str) -> None:
        if not self._answered:
            self._put("answer", f'{{"kind": "answer", "result": {text}}}')
        await self._last()

    async def problem(self, problem: Problem) -> None:
        if self._sending is None:  # it was not let in
            return await problem.respond(self._send)
        if not self._answered:
            self._put("error", json.dumps({"kind": "error"} | problem.json(), ensure_ascii=False))
        await self._last()

    async def close(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)

    def _put(self, kind: Any, data: str) -> None:
        self._chunks.put_nowait(f"event: {kind}\ndata: {data.translate(LINE_ENDS)}\n\n".encode())

    async def _last(self) -> None:
        assert self._sending is not None
        self._chunks.put_nowait(None)
        await self._sending

    async def _pass_on(self) -> None:
        """Send what there is to send; over early where the client takes nothing."""
        try:
            await self._chunk({"type": "http.response.start", "status": 200, "headers": HEADERS})
            while (chunk := await self._next()) is not None:
                await self._chunk({"type": "http.response.body", "body": chunk, "more_body": True})
            await self._chunk({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            return

    async def _next(self) -> bytes | None:
        try:
            async with asyncio.timeout(ALIVE):
                return await self._chunks.get()
        except TimeoutError:
            return b": alive\n\n"

    async def _chunk(self, message: dict[str, Any]) -> None:
        async with asyncio.timeout(STALLED):
            await self._send(message)


def failed(result: Result) -> bool:
    """Whether it is a detection whose model failed."""
    return isinstance(result, Detection) and result.stop == "error"


def cut_short(result: Result) -> bool:
    """Whether it is a detection that reached a limit."""
    return isinstance(result, Detection) and result.stop == "budget"


async def disconnected(receive: Receive) -> None:
    """Over when the client is gone; its body has been read."""
    while (await receive())["type"] != "http.disconnect":
        pass


def wanted(accept: str) -> Literal["json", "stream"]:
    """What a client takes: events where it names them, before JSON."""
    events, plain = accept.find("text/event-stream"), accept.find("application/json")
    return "stream" if events >= 0 and (plain < 0 or events < plain) else "json"
