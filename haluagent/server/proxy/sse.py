"""Server-sent events as bytes: cut into events, none of which is changed.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

import json
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from haluagent.server.problems import HttpProblem
from haluagent.server.stream import LINE_ENDS

DONE = "[DONE]"
_END = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")  # atomic, so that a CRLF is one end of a line
_LINE = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class SentEvent:
    """An event as it came. `name` is its type, `text` its data; a comment has neither."""

    raw: bytes
    name: str = ""
    text: str = ""

    @property
    def data(self) -> dict[str, Any]:
        """Return the JSON object of the data; empty where it is none."""
        with suppress(ValueError, RecursionError):
            found = json.loads(self.text)
            if isinstance(found, dict):
                return found
        return {}


async def events(chunks: AsyncIterator[bytes], longest: int) -> AsyncIterator[SentEvent]:
    """Yield the events of a stream, whose bytes together are those of the stream; an unfinished last one too.

    Raises HttpProblem for an event of more than `longest` bytes.
    """
    buffer, looked = b"", 0
    async for chunk in chunks:
        buffer += chunk
        begin = 0
        for end in _END.finditer(buffer, looked):
            yield _event(buffer[begin : end.end()])
            begin = end.end()
        buffer = buffer[begin:]
        looked = max(0, len(buffer) - 3)
        if len(buffer) > longest:
            raise HttpProblem("upstream", f"the upstream sent an event of more than {longest} bytes")
    if buffer:
        yield _event(buffer)


def encode(data: dict[str, Any], name: str = "") -> bytes:
    """Return an event with a JSON object."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).translate(LINE_ENDS)
    return (f"event: {name}\n" * bool(name) + f"data: {text}\n\n").encode()


def _event(raw: bytes) -> SentEvent:
    name, data = "", []
    for line in _LINE.split(raw.decode(errors="replace").removeprefix("\ufeff")):
        field, _, value = line.partition(":")
        if field == "data":
            data.append(value.removeprefix(" "))
        elif field == "event":
            name = value.removeprefix(" ")
    return SentEvent(raw, name, "\n".join(data))
