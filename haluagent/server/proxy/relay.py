"""Answers that are sent while they come: a client that takes nothing, or leaves, ends them."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

import httpx
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from haluagent.server.endpoint import disconnected
from haluagent.server.problems import HttpProblem
from haluagent.server.proxy.conversation import Desk
from haluagent.server.proxy.sse import encode
from haluagent.server.proxy.upstream import Headers, passed, raw
from haluagent.server.stream import ALIVE, STALLED

Value = TypeVar("Value")


class Relay(StreamingResponse):
    """Send chunks with a status and exactly these headers."""

    def __init__(self, chunks: AsyncIterator[bytes], status: int, headers: Headers) -> None:
        super().__init__(chunks, status)
        self.raw_headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def in_time(message: Message) -> None:
            async with asyncio.timeout(STALLED):
                await send(message)

        try:
            await super().__call__(scope, receive, in_time)
        except TimeoutError:
            raise ClientDisconnect from None


def answered(body: bytes, status: int, headers: Headers) -> Response:
    """Return a complete answer with exactly these headers, and its length."""
    response = Response(body, status)
    response.raw_headers = [*headers, (b"content-length", str(len(body)).encode())]
    return response


def passed_back(response: httpx.Response) -> Response:
    """Return an answer of the upstream as it is."""
    length = [pair for pair in response.headers.raw if pair[0].lower() == b"content-length"]
    headers = passed(response.headers.raw) + length
    return Relay(raw(response), response.status_code, headers)


async def alive(chunks: AsyncIterator[bytes], desk: Desk) -> AsyncIterator[bytes]:
    """Yield the events of a stream, comments while none come, and an error as its last event."""
    step: asyncio.Task[bytes | None] | None = None
    try:
        while True:
            step = asyncio.create_task(_next(chunks))
            while not (await asyncio.wait({step}, timeout=ALIVE))[0]:
                yield b": alive\n\n"
            if (chunk := step.result()) is None:
                return
            yield chunk
    except HttpProblem as problem:
        desk.failed("upstream", str(problem))
        yield encode(problem.json())
    finally:
        if step is not None:
            step.cancel()
            # Not `gather`: cancelled again, it would cut the step short while it closes the upstream's connection.
            await asyncio.wait({step})


async def _next(chunks: AsyncIterator[bytes]) -> bytes | None:
    return await anext(chunks, None)


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, Value]) -> Value:
    """Return what the work gives. Raises what it raises, and ClientDisconnect as soon as the client is gone; no work goes
    on then."""
    doing, leaving = asyncio.ensure_future(work), asyncio.ensure_future(disconnected(receive))
    try:
        await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return doing.result()
        raise ClientDisconnect
    finally:
        for task in (doing, leaving):
            task.cancel()
        await asyncio.gather(doing, leaving, return_exceptions=True)
