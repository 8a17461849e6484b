"""A process that checks lines for its parent until that is gone: `python -m haluagent.batch.worker FD`; see `haluagent.batch.processes`.

What it says is a line of JSON each: ["row", number, row], an error ["config" | "model" | "other", number, text], and, where the
parent counts requests to the model, ["retried", endpoint] and ["ended", endpoint, usage, seconds].
"""

import asyncio
import importlib
import json
import logging
import os
import socket
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from haluagent.agent import HaluAgent
from haluagent.batch.files import check_line
from haluagent.batch.processes import read_line
from haluagent.errors import ConfigError, ModelError
from haluagent.models import calls
from haluagent.text.failures import describe
from haluagent.types import Usage

GRACE = 10.0  # seconds for what is underway when the parent has ended


class _Worker:
    """The agents of this process, and its voice: it watches the requests to the model for its parent."""

    def __init__(self, agent_at: Callable[[str], HaluAgent], writer: asyncio.StreamWriter) -> None:
        self._agent_at = agent_at
        self._writer = writer
        self._agents: dict[str, HaluAgent] = {}

    async def answer(self, url: str, line: str, number: int, digest: str) -> None:
        """Check a line at an endpoint, and say what was found."""
        try:
            row = await check_line(self._agent(url), line, number, digest)
            self._say("row", number, row.model_dump_json())
        except ConfigError as error:
            self._say("config", number, str(error))
        except ModelError as error:
            self._say("model", number, str(error))
        except BaseException as error:  # a tool of the user's may raise anything
            self._say("other", number, describe(error))

    def _agent(self, url: str) -> HaluAgent:
        if url not in self._agents:
            logging.disable(logging.WARNING)  # the parent has warned of the same
            try:
                self._agents[url] = self._agent_at(url)
            finally:
                logging.disable(logging.NOTSET)
        return self._agents[url]

    def retried(self, endpoint: str) -> None:
        self._say("retried", endpoint)

    def ended(self, endpoint: str, usage: Usage | None, seconds: float) -> None:
        self._say("ended", endpoint, None if usage is None else usage.model_dump(), seconds)

    def _say(self, *said: Any) -> None:
        self._writer.write(json.dumps(said).encode() + b"\n")

    async def aclose(self) -> None:
        for agent in self._agents.values():
            await agent.aclose()


async def serve(connection: socket.socket) -> None:
    """Answer the lines that come over the connection, at the same time, until it ends."""
    reader, writer = await asyncio.open_connection(sock=connection, limit=sys.maxsize)
    if (first := await read_line(reader)) is None:
        return
    module, name, options, watched = json.loads(first)
    worker = _Worker(partial(getattr(importlib.import_module(module), name), options), writer)
    if watched:
        calls.watchers.append(worker)
    tasks = set()
    while (line := await read_line(reader)) is not None:
        task = asyncio.create_task(worker.answer(*json.loads(line)))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    last = threading.Timer(GRACE, os._exit, [1])  # a tool in a thread cannot be cancelled
    last.daemon = True
    last.start()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await worker.aclose()


if __name__ == "__main__":
    asyncio.run(serve(socket.socket(fileno=int(sys.argv[1]))))
