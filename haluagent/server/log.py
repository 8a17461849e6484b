"""A line for each request in the log, and the headers of every answer."""

import logging
import re
import secrets
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from haluagent.server.problems import unexpected

SECURITY = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
LONGEST = 200  # characters of a path

logger = logging.getLogger(__name__)


class Log:
    """Method, path, status, seconds and id of each request; never a query or a text. The id is the client's
    (`X-Request-Id`), or a new one. A bug is a 500 that says nothing of it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        began = time.monotonic()
        request_id = _id(scope)
        scope.setdefault("state", {})["request_id"] = request_id
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                there = {name for name, _ in message["headers"]}
                added = [(name, value) for name, value in SECURITY if name not in there]
                message["headers"] = [*message["headers"], *added, (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:
            problem = unexpected(error)
            if not status:
                await problem.respond(sending)
        finally:
            path = scope.get("raw_path", b"").decode("ascii", "backslashreplace")[:LONGEST]
            logger.info(
                "%s %s %s %.3f s %s", scope["method"], path, status or "gone", time.monotonic() - began, request_id
            )


def _id(scope: Scope) -> str:
    given = next((value.decode("latin-1") for name, value in scope["headers"] if name.lower() == b"x-request-id"), "")
    return given if _ID.fullmatch(given) else secrets.token_hex(8)
