"""Worker processes that check the lines of a batch, since one process keeps one core busy at most.

The parent reads the input, hands out the lines, tries again what failed and writes the output, all as without workers; see
`haluagent.batch.worker` for the other side.
"""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

from haluagent.agent import HaluAgent
from haluagent.batch.files import BatchRow
from haluagent.errors import ConfigError, HaluAgentError, ModelError
from haluagent.models import calls
from haluagent.protocols import Remote
from haluagent.types import Usage

AgentAt = Callable[[Mapping[str, Any], str], HaluAgent]
ERRORS: dict[str, type[HaluAgentError]] = {"config": ConfigError, "model": ModelError, "other": HaluAgentError}


class Processes:
    """As many processes as `count` says. Each makes its own agent for an endpoint with `agent_at(options, url)`: a function that can
    be imported, with options that JSON can write.

    They start with the first lines, and end with the event loop in which they started or with this process, however it
    ends. One that died is replaced.
    """

    def __init__(self, count: int, agent_at: AgentAt, options: Mapping[str, Any]) -> None:
        self._first = json.dumps([agent_at.__module__, agent_at.__name__, options, bool(calls.watchers)])
        self._workers = [_Worker(self._first) for _ in range(count)]

    @property
    def pids(self) -> list[int]:
        """Return the ids of the processes that run."""
        return [worker.process.pid for worker in self._workers if worker.process]

    async def check(self, agent: HaluAgent, line: str, number: int, digest: str) -> BatchRow:
        """Return what the least busy process finds about a line, at the endpoint of `agent`. Raises as `files.check` does, and
        ModelError if the process died."""
        if not isinstance(agent.model, Remote):
            raise ConfigError("several processes need a served model: name its address with --endpoint")
        self._workers = [_Worker(self._first) if worker.ended else worker for worker in self._workers]
        worker = min(self._workers, key=lambda one: len(one.waiting))
        return BatchRow.model_validate_json(await worker.ask(agent.model.base_url, line, number, digest))


class _Worker:
    """One process, from its first line to its end."""

    def __init__(self, first: str) -> None:
        self._first = first
        self._starting = asyncio.Lock()
        self._writer: asyncio.StreamWriter | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.waiting: dict[int, asyncio.Future[str]] = {}
        self.ended = False

    async def ask(self, url: str, line: str, number: int, digest: str) -> str:
        """Return the row of a line as JSON."""
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.waiting[number] = answer
        try:
            async with self._starting:
                writer = self._writer = self._writer or await self._start()
            writer.write(json.dumps([url, line, number, digest]).encode() + b"\n")
            return await answer
        finally:
            del self.waiting[number]

    async def _start(self) -> asyncio.StreamWriter:
        ours, theirs = socket.socketpair()
        with theirs:
            # In a session of its own, so that Ctrl-C reaches the parent alone; -P, so that no file of the user's is imported.
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "haluagent.batch.worker", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        reader, writer = await asyncio.open_connection(sock=ours, limit=sys.maxsize)
        writer.write(self._first.encode() + b"\n")
        self._listening = asyncio.create_task(self._listen(reader, writer, self.process))
        return writer

    async def _listen(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, process: "subprocess.Popen[bytes]"
    ) -> None:
        """Pass on what the process says until it ends, or the event loop does. Then it is waited for."""
        try:
            while (message := await read_line(reader)) is not None:
                self._hear(*json.loads(message))
        finally:
            self.ended = True
            writer.close()
            code = await asyncio.to_thread(process.wait)
            for answer in self.waiting.values():
                if not answer.done():
                    answer.set_exception(ModelError(f"the worker process that had the line ended with code {code}"))

    def _hear(self, kind: str, *said: Any) -> None:
        if kind == "retried":
            calls.retried(*said)
        elif kind == "ended":
            endpoint, usage, seconds = said
            calls.ended(endpoint, None if usage is None else Usage.model_validate(usage), seconds)
        else:
            number, text = said
            answer = self.waiting.get(number)
            if answer is None or answer.done():  # nobody waits any more
                return
            if kind == "row":
                answer.set_result(text)
            else:
                answer.set_exception(ERRORS[kind](text))


async def read_line(reader: asyncio.StreamReader) -> bytes | None:
    """Return the next whole line; None if the other side is gone."""
    try:
        line = await reader.readline()
    except ConnectionError:
        return None
    return line if line.endswith(b"\n") else None
