"""An answer as server-sent events, while the work goes on."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable

from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from haluagent.events import Answered, Event
from haluagent.server.problems import HttpProblem
from haluagent.server.scheduler import Tell

ALIVE = 10.0  # seconds without an event, after which a comment keeps the connection open
STALLED = 60.0  # seconds after which a client that takes nothing counts as gone

# Some clients end a line at these, which server-sent events do not. In JSON they may be escaped.
LINE_ENDS = str.maketrans({end: f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"})

HEADERS = {"content-type": "text/event-stream", "x-accel-buffering": "no"}


class StreamReply(StreamingResponse):
    """Send events as they happen; the last is an `answer` or an `error`.

    The work is a task of its own, so that a client that reads slowly holds nobody up. What it has not read yet are the events
    of one detection at most. `work` returns the status and the JSON of the answer.
    """

    def __init__(
        self, before: int | None, work: Callable[[Tell, Awaitable[object]], Awaitable[tuple[int, str]]]
    ) -> None:
        super().__init__(self._events(), headers=HEADERS)
        self._work = work
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._left = asyncio.Event()
        self._answered = False
        if before is not None:
            self._put("waiting", json.dumps({"kind": "waiting", "before": before}))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def in_time(message: Message) -> None:
            async with asyncio.timeout(STALLED):
                await send(message)

        working = asyncio.create_task(self._follow())
        try:
            await super().__call__(scope, receive, in_time)
        except TimeoutError:
            pass
        finally:
            self._left.set()
            await working

    async def _follow(self) -> None:
        """Queue the events of the work, and None after the last."""
        try:
            _, text = await self._work(self._tell, self._left.wait())
            if not self._answered:
                self._put("answer", f'{{"kind": "answer", "result": {text}}}')
        except HttpProblem as problem:
            if not self._answered:
                self._put("error", json.dumps({"kind": "error"} | problem.json(), ensure_ascii=False))
        except ClientDisconnect:
            pass
        finally:
            self._chunks.put_nowait(None)

    def _tell(self, event: Event) -> None:
        self._answered = isinstance(event, Answered)
        self._put(event.kind, event.model_dump_json())

    def _put(self, kind: str, data: str) -> None:
        self._chunks.put_nowait(f"event: {kind}\ndata: {data.translate(LINE_ENDS)}\n\n".encode())

    async def _events(self) -> AsyncIterator[bytes]:
        while (chunk := await self._next()) is not None:
            yield chunk

    async def _next(self) -> bytes | None:
        try:
            async with asyncio.timeout(ALIVE):
                return await self._chunks.get()
        except TimeoutError:
            return b": alive\n\n"


def wants_events(accept: str) -> bool:
    """Check whether a client takes events: it names them, before JSON."""
    events, plain = accept.find("text/event-stream"), accept.find("application/json")
    return events >= 0 and (plain < 0 or events < plain)
