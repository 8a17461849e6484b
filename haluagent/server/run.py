"""The server as a process: it listens, says so, and finishes what is under way before it stops."""

import asyncio
import os
import socket
import sys
import threading
import time
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from haluagent.errors import ConfigError
from haluagent.server.connection import IDLE, TimedConnection
from haluagent.server.scheduler import Scheduler
from haluagent.server.security import is_loopback
from haluagent.server.settings import ServerSettings
from haluagent.server.stderr import log_to_stderr

LEAVING = 5  # seconds in which clients take their last events, after the work has ended
STUCK = 2.0  # seconds in which threads end after that; a tool's own may never do
DEAF = 60_000  # milliseconds after which a connection whose client takes nothing of what was sent is cut


class Server(uvicorn.Server):
    """Run uvicorn, say `said` when it listens, and wait for the work under way before it stops."""

    def __init__(self, app: Starlette, settings: ServerSettings, said: str = "") -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                lifespan="on",
                ws="none",
                http=TimedConnection,
                timeout_keep_alive=int(IDLE),
                timeout_graceful_shutdown=LEAVING,
            )
        )
        self._scheduler: Scheduler = app.state.scheduler
        self._grace = settings.grace
        self._said = said
        self._alone = False  # in the process
        self._last: threading.Timer | None = None

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Run until a signal. From the main thread the process is the server's: it ends even where a tool never does."""
        self._alone = threading.current_thread() is threading.main_thread()
        super().run(sockets)
        if self._last:
            self._last.cancel()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._said:
            print(self._said, file=sys.stderr, flush=True)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop gracefully at the first signal, and at once at the second. Neither is passed on, so the process ends with 0."""
        self.force_exit = self.should_exit
        self.should_exit = True
        if self._alone and self._last is None:  # a tool may hold the event loop, or have a thread that never ends
            self._last = threading.Timer(self._grace + LEAVING + STUCK, os._exit, (0,))
            self._last.daemon = True
            self._last.start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin nothing new. What is in flight has its time, and is then told that the server stops."""
        self._scheduler.stop()
        end = time.monotonic() + self._grace
        while not self._scheduler.empty and time.monotonic() < end and not self.force_exit:
            await asyncio.sleep(0.05)
        self._scheduler.cut()
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens there. Raises ConfigError where that is impossible."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # The protocol is named: asyncio turns off Nagle's delay only where it knows that this is TCP.
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ConfigError(f"there is no address {host!r} to listen on: {error.strerror or error}") from None
    try:
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux; its connections inherit it
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, DEAF)
        listening.bind(address)
        listening.listen(2048)
    except OSError as error:
        listening.close()
        raise ConfigError(
            f"cannot listen on {host} port {port} ({error.strerror}): give another --port, or --host"
        ) from None
    return listening


def open_socket(settings: ServerSettings) -> socket.socket:
    """Return the socket of a server's settings. Raises ConfigError where it is not available, or would let in anyone."""
    if settings.token is None and not is_loopback(settings.host):
        raise ConfigError(
            f"binding to {settings.host} lets anyone on the network use it: give --token-file FILE (or "
            "HALUAGENT_SERVER_TOKEN), or leave --host out"
        )
    return listen(settings.host, settings.port)


def serve(app: Starlette, settings: ServerSettings, listening: socket.socket, about: str) -> None:
    """Run an application until a signal ends it. Standard error says where it listens, followed by `about`, and has the log."""
    log_to_stderr()
    host, port = listening.getsockname()[:2]
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    Server(app, settings, f"HaluAgent listens on http://{place}{about}").run([listening])
