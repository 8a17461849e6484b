"""A line in the log for each request, and the headers of every answer."""

import logging
import re
import secrets
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from haluagent.server.problems import unexpected

HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
LONGEST = 200  # characters of a path

logger = logging.getLogger(__name__)


class RequestLog:
    """Log method, path, status, seconds and id of each request; never a query or a text.

    The id is the client's (`X-Request-Id`), or a new one. A bug is answered with a 500 that says nothing of it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        began = time.monotonic()
        given = Headers(scope=scope).get("x-request-id", "")
        request_id = given if _ID.fullmatch(given) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("x-request-id", request_id)
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except ClientDisconnect:
            pass
        except Exception as error:
            problem = unexpected(error)
            if not status:
                await problem.response()(scope, receive, sending)
        finally:
            path = scope.get("raw_path", b"").decode("ascii", "backslashreplace")[:LONGEST]
            logger.info(
                "%s %s %s %.3f s %s", scope["method"], path, status or "gone", time.monotonic() - began, request_id
            )
