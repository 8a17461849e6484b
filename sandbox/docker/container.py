"""A Docker container with a runner in it."""

import contextlib
import socket
import struct
import time
from typing import TYPE_CHECKING

from haluagent.errors import SandboxError
from haluagent.protocols import ExecutionOutcome
from haluagent.sandbox.docker.engine import explained, remove
from haluagent.sandbox.worker.exchange import exit_reason
from haluagent.sandbox.worker.streams import STDERR, STDOUT

if TYPE_CHECKING:
    from docker import APIClient

# The header of a chunk of output: the stream's number, and the size (Docker's API, "attach to a container").
_HEADER = struct.Struct(">BxxxL")
_END_SECONDS = 2.0


class Container:
    """A `haluagent.sandbox.worker.exchange.SandboxWorker` in a container.

    It attaches to a container that has been created. The caller starts it afterwards, so that no output is missed.
    """

    def __init__(self, client: "APIClient", container: str) -> None:
        self._client = client
        self._container = container
        self._attached = client.attach_socket(container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        # docker-py wraps the socket for reading only.
        self._socket: socket.socket = getattr(self._attached, "_sock", self._attached)
        self._header = b""
        self._stream = 0
        self._left = 0  # bytes of the current chunk still to come

    def send(self, data: bytes, deadline: float) -> None:
        self._socket.settimeout(max(0.001, deadline - time.monotonic()))
        self._socket.sendall(data)

    def receive(self, deadline: float) -> tuple[int, bytes] | None:
        while not self._left:
            data = self._read(_HEADER.size - len(self._header), deadline)
            if not data:
                return None
            self._header += data
            if len(self._header) == _HEADER.size:
                self._stream, self._left = _HEADER.unpack(self._header)
                self._header = b""
        data = self._read(min(self._left, 65536), deadline)
        self._left -= len(data)
        return (STDOUT if self._stream == STDOUT else STDERR, data) if data else None

    def kill(self) -> None:
        from docker.errors import APIError

        self._hang_up()
        with explained(), contextlib.suppress(APIError):  # it has already ended
            self._client.kill(self._container)

    def ending(self, deadline: float) -> tuple[ExecutionOutcome, str]:
        from requests.exceptions import RequestException

        with explained():
            try:
                status = self._client.wait(self._container, timeout=max(0.1, deadline - time.monotonic()))["StatusCode"]
            except RequestException as error:  # a time-out can be one of two types
                if "timed out" in str(error):
                    raise TimeoutError from None
                raise
            state = self._client.inspect_container(self._container)["State"]
        if state.get("OOMKilled"):
            return "memory", "its processes used up their memory together"
        return exit_reason(status)

    def discard(self) -> None:
        from docker.errors import APIError

        self._hang_up()  # this ends a runner that waits for its program; others have ended or were killed
        try:
            self._client.remove_container(self._container, v=True)
        except (APIError, OSError):  # it has not ended yet
            # An engine lists a container forever if it ends while it is removed by force.
            with contextlib.suppress(TimeoutError, SandboxError):
                self.ending(time.monotonic() + _END_SECONDS)
            remove(self._client, self._container)
        self._attached.close()
        self._socket.close()

    def _read(self, size: int, deadline: float) -> bytes:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)
        try:
            return self._socket.recv(size)
        except ConnectionError:  # the engine is gone
            return b""

    def _hang_up(self) -> None:
        """Close the connection; otherwise the engine would wait a long time for its output to be read."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
