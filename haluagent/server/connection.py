"""Connections with a timeout. uvicorn's have none until the first request is there, nor while the headers of another one come in:
whoever opened connections and sent nothing would use up the open files that the process may have."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

IDLE = 30.0  # seconds that a connection is kept open without a request


class TimedConnection(H11Protocol):
    """Cut a connection on which no whole request is there within `IDLE` seconds.

    One with a response in progress is left alone, and so is one between two requests, which uvicorn closes.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._idle_after: Any = self  # the last request, if the connection was idle at the last check; else self
        self._check_later()

    def connection_lost(self, exc: Exception | None) -> None:
        self._checking.cancel()
        super().connection_lost(exc)

    def _check_later(self) -> None:
        self._checking = self.loop.call_later(IDLE / 2, self._check)

    def _check(self) -> None:
        between = self.timeout_keep_alive_task is not None
        idle = not between and (self.cycle is None or self.cycle.response_complete)
        if idle and self._idle_after is self.cycle:
            self.transport.abort()
            return
        self._idle_after = self.cycle if idle else self
        self._check_later()
