"""An OpenAI-compatible endpoint that answers at once, in a process of its own: what is left of a detection's time is the client's.

It says that it is vLLM. A turn about one sentence calls the first tool that its grammar allows, one about several has nothing to add,
and a choice goes to the option that affirms, in whatever order the options are.
"""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from haluagent.errors import ConfigError

if TYPE_CHECKING:
    from haluagent.agent import HaluAgent

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_POINTER = re.compile(rb'pointer ::= \\"(S\d+)\\"(?! \|)')
_TOOL = re.compile(rb"call ::= tool-([a-z-]+)")
_DENIES_FIRST = re.compile(rb"\\nA: no")
_THREE_WAY = re.compile(rb"\\nC: ")


class Scripted(asyncio.Protocol):
    """One connection. Requests come one after another, as from a client without pipelining."""

    transport: asyncio.Transport

    def __init__(self, model: str) -> None:
        self._waiting = b""
        self._models = _response({"data": [{"id": model, "owned_by": "vllm", "max_model_len": 8192}]})

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._waiting += data
        head, separator, body = self._waiting.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if not separator or len(body) < int(length[1] if length else 0):
            return
        self._waiting = b""
        self.transport.write(self._models if head.startswith(b"GET") else answer(body))


def answer(body: bytes) -> bytes:
    """Return the response to a chat completion. The body is searched and not parsed, so that it costs next to nothing."""
    choice: dict[str, object] = {"finish_reason": "stop"}
    if b'"logprobs"' in body:
        last = "C" if _THREE_WAY.search(body) else "B"
        yes, no = (last, "A") if _DENIES_FIRST.search(body) else ("A", last)
        top = [{"token": yes, "logprob": -0.02}, {"token": no, "logprob": -4.0}]
        choice |= {"message": {"content": yes}, "logprobs": {"content": [{"top_logprobs": top}]}}
    elif (tool := _TOOL.search(body)) and (pointer := _POINTER.search(body)):
        name, sentence = tool[1].decode().replace("-", "_"), pointer[1].decode()
        given = ', context="reference"' if name == "match" else ""
        text = f"THOUGHT: a fact\nACTION: {name}(sentence={sentence}{given})"
        choice |= {"message": {"content": text}}
    elif tool:
        choice |= {"message": {"content": "THOUGHT: done\nACTION: get_answer()"}}
    else:
        choice |= {"message": {"content": "none"}}
    tokens = len(body) // 4
    usage = {
        "prompt_tokens": tokens,
        "completion_tokens": 8,
        "prompt_tokens_details": {"cached_tokens": tokens * 9 // 10},
    }
    return _response({"choices": [choice], "usage": usage})


def _response(content: object) -> bytes:
    body = json.dumps(content).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


@contextmanager
def scripted(model: str = "scripted") -> Iterator[str]:
    """Serve `model` while the block runs, and yield the URL. Raises ConfigError if it did not start."""
    command = [sys.executable, "-m", "haluagent.bench.speed.scripted", model]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        port = process.stdout.readline().strip()
        if not port:
            raise ConfigError("the scripted endpoint did not start")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()


def agent_at(options: Mapping[str, Any], url: str) -> "HaluAgent":
    """Return an agent at the endpoint, without tools that reach out. `options` are its autonomy and the requests at a time."""
    from haluagent.agent import HaluAgent  # not in the endpoint's own process
    from haluagent.models import OpenAIModel

    model = OpenAIModel.connect(url, concurrency=options["concurrency"])
    return HaluAgent(model, sandbox="none", search="none", concurrency=1, autonomy=options["autonomy"])


async def _serve(model: str) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: Scripted(model), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1]))
