"""The state of the model: loaded, or, where it is another server's, answering."""

import asyncio
import time

from haluagent.agent import HaluAgent
from haluagent.errors import ConfigError, ModelError
from haluagent.models.discovery import discover
from haluagent.protocols import Remote, Startable
from haluagent.server.problems import HttpProblem

FRESH = 5.0  # seconds that an answer of the endpoint counts
PATIENCE = 3.0  # seconds it may take


class ModelLoader:
    """Load the agent's model once, in the background; where that failed, the next request tries again."""

    def __init__(self, agent: HaluAgent) -> None:
        self._agent = agent
        self._loading: asyncio.Task[None] | None = None
        self._looked = -FRESH
        self._look: asyncio.Task[str | None] | None = None

    def load(self) -> "asyncio.Task[None]":
        """Return the loading, which begins now if it has not."""
        failed = self._loading is not None and self._loading.done() and self._loading.exception() is not None
        if self._loading is None or failed:
            self._loading = asyncio.create_task(self._agent.aprepare())
            # `lacks()` reports the error; retrieving it here avoids asyncio's warning.
            self._loading.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._loading

    async def loaded(self) -> None:
        """Wait until the model is loaded. Raises HttpProblem where it cannot be."""
        try:
            await asyncio.shield(self.load())
        except (ConfigError, ModelError) as error:
            raise HttpProblem("not_ready", f"the model cannot be loaded: {error}") from error

    async def lacks(self) -> str | None:
        """Return why no request could be answered now; None where one could."""
        if self._loading is None or not self._loading.done():
            return "the model is being loaded"
        if (error := self._loading.exception()) is not None:
            return (
                f"the model cannot be loaded: {error if isinstance(error, ConfigError | ModelError) else 'see the log'}"
            )
        model = self._agent.model
        if isinstance(model, Startable) or not isinstance(model, Remote):  # in this process
            return None
        if self._look is None or (self._look.done() and time.monotonic() - self._looked >= FRESH):
            self._looked = time.monotonic()
            self._look = asyncio.create_task(asyncio.to_thread(_lacking, model.base_url, model.api_key))
        return await asyncio.shield(self._look)  # all who ask meanwhile share one look


def _lacking(url: str, key: str | None) -> str | None:
    try:
        discover(url, key, timeout=PATIENCE)
    except (ConfigError, ModelError) as error:
        return str(error)
    return None
