"""What a request gets instead of what it asked for: a status, a type and one clear line."""

import json
import logging
import traceback
from collections.abc import Mapping
from typing import Any, Literal

from starlette.types import Send

from haluagent.server.watch import Ending

Type = Literal[
    "invalid", "unauthorized", "forbidden", "not_found", "method", "too_large", "media_type", "busy", "internal", "model",
    "stopping", "not_ready", "deadline",
]  # fmt: skip
STATUS: dict[Type, int] = {
    "invalid": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "method": 405,
    "too_large": 413,
    "media_type": 415,
    "busy": 429,
    "internal": 500,
    "model": 502,
    "stopping": 503,
    "not_ready": 503,
    "deadline": 504,
}
_ENDINGS: dict[Type, Ending] = {
    "busy": "busy",
    "internal": "internal",
    "model": "model",
    "stopping": "stopping",
    "not_ready": "model",
    "deadline": "deadline",
}

logger = logging.getLogger(__name__)


class Problem(Exception):
    """Why a request is not answered. `headers` go with the response."""

    def __init__(self, type: Type, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.type: Type = type
        self.headers = dict(headers or {})

    @property
    def ending(self) -> Ending:
        return _ENDINGS.get(self.type, "invalid")

    def json(self) -> dict[str, Any]:
        return {"error": {"type": self.type, "message": str(self)}}

    async def respond(self, send: Send) -> None:
        """The problem as a response."""
        await respond(send, STATUS[self.type], json.dumps(self.json(), ensure_ascii=False), self.headers)


def unexpected(error: Exception) -> Problem:
    """What a bug is called to the client. The log says where it is, without its message, which may hold the texts of a request."""
    logger.error("unexpected %s\n%s", type(error).__name__, "".join(traceback.format_tb(error.__traceback__)).rstrip())
    return Problem("internal", "something unexpected went wrong: the server's log says where")


async def respond(send: Send, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
    """A response of JSON text."""
    body = text.encode()
    given = {"content-type": "application/json", "content-length": str(len(body)), "cache-control": "no-store"}
    pairs = [(name.lower().encode(), value.encode()) for name, value in (given | dict(headers or {})).items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
