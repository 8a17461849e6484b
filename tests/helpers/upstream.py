"""A scripted endpoint behind the proxy, on a loopback port: it sends exactly the bytes that a test gives it."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import uvicorn

from haluagent.server.run import listen

JSON, EVENTS = "application/json", "text/event-stream"


class Reply(NamedTuple):
    """What is answered: chunks of bytes, each sent by itself. One that can be awaited is waited for."""

    chunks: Sequence[bytes | Awaitable[None]]
    kind: str = JSON
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


class Asked(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Upstream:
    """`answer` is what a request is answered with, or a function of the request. `asked` are the requests so far, and
    `left` counts those whose client left before the end."""

    def __init__(self) -> None:
        self.answer: Reply | Callable[[Asked], Reply] = chat("Hello!")
        self.asked: list[Asked] = []
        self.left = 0
        listening = listen("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        config = uvicorn.Config(
            self._app, log_config=None, lifespan="off", interface="asgi3", timeout_graceful_shutdown=1
        )
        self.server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self.server.run, args=([listening],), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.server.should_exit = True
        self._thread.join(10)

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        path = scope["raw_path"].decode() + "?" * bool(scope["query_string"]) + scope["query_string"].decode()
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        asked = Asked(scope["method"], path, headers, body)
        self.asked.append(asked)
        reply = self.answer(asked) if callable(self.answer) else self.answer
        sending = asyncio.ensure_future(self._send(reply, send))
        leaving = asyncio.ensure_future(receive())
        await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not sending.done():
            self.left += 1
            sending.cancel()
        leaving.cancel()

    @staticmethod
    async def _send(reply: Reply, send: Any) -> None:
        headers = [("content-type", reply.kind), *reply.headers]
        raw = [(name.encode(), value.encode()) for name, value in headers]
        await send({"type": "http.response.start", "status": reply.status, "headers": raw})
        for chunk in reply.chunks:
            if isinstance(chunk, bytes):
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                await asyncio.sleep(0)
            else:
                await chunk
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def chat(*texts: str | None, **more: Any) -> Reply:
    """A complete chat completion with a choice for each text."""
    choices = [
        {"index": index, "message": {"role": "assistant", "content": text}, "finish_reason": "stop", "logprobs": None}
        for index, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}
    answer = {"id": "c-1", "object": "chat.completion", "created": 1, "model": "m", "choices": choices, "usage": usage}
    return Reply([json.dumps(answer | more, ensure_ascii=False).encode()])


def chunk(delta: dict[str, Any], index: int = 0, finish: str | None = None, **more: Any) -> bytes:
    """An event of a streamed chat completion."""
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    data = {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return f"data: {json.dumps(data | more, ensure_ascii=False)}\n\n".encode()


def chunks(*pieces: str, index: int = 0, usage: bool = False) -> list[bytes]:
    """The events of a streamed chat completion, up to `[DONE]`."""
    found = [
        chunk({"role": "assistant", "content": ""}, index),
        *(chunk({"content": piece}, index) for piece in pieces),
    ]
    found.append(chunk({}, index, "stop"))
    if usage:
        found.append(chunk({}, choices=[], usage={"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}))
    return [*found, b"data: [DONE]\n\n"]


def response(*texts: str) -> dict[str, Any]:
    """A complete response of the responses API, with a message for each text."""
    output = [
        {
            "id": f"msg-{number}",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }
        for number, text in enumerate(texts)
    ]
    return {
        "id": "r-1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": output,
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    }  # fmt: skip


def response_events(*pieces: str) -> list[bytes]:
    """The events of a streamed response with one text."""
    text = "".join(pieces)
    whole = response(text)
    item, place = whole["output"][0], {"item_id": "msg-0", "output_index": 0, "content_index": 0}
    part = item["content"][0]
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": whole | {"status": "in_progress", "output": []}},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": item | {"content": [], "status": "in_progress"},
        },
        {"type": "response.content_part.added", "part": part | {"text": ""}} | place,
        *({"type": "response.output_text.delta", "delta": piece, "logprobs": []} | place for piece in pieces),
        {"type": "response.output_text.done", "text": text, "logprobs": []} | place,
        {"type": "response.content_part.done", "part": part} | place,
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    return [
        f"event: {event['type']}\ndata: {json.dumps(event | {'sequence_number': number})}\n\n".encode()
        for number, event in enumerate(events)
    ]
