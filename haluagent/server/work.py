"""The work on requests: in turn, within the deadline, and only as long as somebody waits for it."""

import asyncio
import time
from collections.abc import Awaitable

from haluagent.agent import HaluAgent
from haluagent.detection.limits import BudgetExceeded
from haluagent.errors import ConfigError, HaluAgentError
from haluagent.server.engine import Engine
from haluagent.server.jobs import Tell, Work
from haluagent.server.problems import Problem, unexpected
from haluagent.server.queue import Place, Queue
from haluagent.server.settings import ServerSettings
from haluagent.server.watch import Result, Watch

LATE = 5.0  # seconds that work may take beyond the deadline to report what it has


class Gone(Exception):
    """Nobody waits for the answer any more."""


class Workshop:
    """Where the requests of a server are worked on, until it is told to stop."""

    def __init__(self, agent: HaluAgent, settings: ServerSettings) -> None:
        self.agent, self.settings = agent, settings
        self.engine = Engine(agent)
        self.queue = Queue(settings.running, settings.waiting)
        self.stopping = False
        self._over = asyncio.Event()
        self._in_flight: set[Admitted] = set()

    @property
    def seconds(self) -> float:
        """What the work on one request may take."""
        return min(self.settings.deadline, self.agent.limits.seconds or self.settings.deadline)

    def admit(self) -> "Admitted":
        """Let a request in. Raises Problem where the server is stopping, or has too much to do."""
        if self.stopping:
            raise Problem("stopping", "the server is stopping")
        admitted = Admitted(self, self.queue.join())
        self._in_flight.add(admitted)
        return admitted

    def stop(self) -> None:
        """Let no more requests in."""
        self.stopping = True

    def cut(self) -> None:
        """End what is in flight: each request is told so."""
        self.stop()
        self._over.set()

    @property
    def empty(self) -> bool:
        return not self._in_flight

    async def cutting(self) -> None:
        await self._over.wait()

    def ended(self, admitted: "Admitted") -> None:
        self._in_flight.discard(admitted)


class Admitted:
    """A request that was let in. `waited` and `worked` are seconds, as far as they are known."""

    def __init__(self, workshop: Workshop, place: Place) -> None:
        self.workshop, self.place = workshop, place
        self._came = time.monotonic()
        self._began: float | None = None

    @property
    def waited(self) -> float:
        return (time.monotonic() if self._began is None else self._began) - self._came

    @property
    def worked(self) -> float:
        return 0.0 if self._began is None else time.monotonic() - self._began

    @property
    def late(self) -> bool:
        """Whether the work took all of its time."""
        return self.worked >= self.workshop.seconds

    def end(self) -> None:
        """The request has its answer, or nobody wants it."""
        self.place.leave()
        self.workshop.ended(self)

    async def run(self, work: Work, watch: Watch, tell: Tell, gone: Awaitable[None]) -> Result:
        """What the work gives. Raises Problem, and Gone as soon as `gone` is over: no work goes on then."""
        doing = asyncio.ensure_future(self._do(work, watch, tell))
        leaving, cutting = asyncio.ensure_future(gone), asyncio.ensure_future(self.workshop.cutting())
        tasks = (doing, leaving, cutting)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if doing.done():
                return doing.result()
            if leaving.done():
                raise Gone
            raise Problem("stopping", "the server is stopping: this request was not finished")
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _do(self, work: Work, watch: Watch, tell: Tell) -> Result:
        seconds = None
        try:
            await self.place.turn()
            self._began = time.monotonic()
            watch.started()
            await self.workshop.engine.loaded()
            result = await self._within_deadline(work, tell)
            seconds = self.worked
            return result
        except Problem:
            raise
        except ConfigError as error:
            raise Problem("invalid", str(error)) from error
        except HaluAgentError as error:
            raise Problem("deadline" if isinstance(error.__cause__, BudgetExceeded) else "model", str(error)) from error
        except Exception as error:
            raise unexpected(error) from error
        finally:
            self.place.leave(seconds)

    async def _within_deadline(self, work: Work, tell: Tell) -> Result:
        agent, deadline = self.workshop.agent, self.workshop.settings.deadline
        agent = agent.within(agent.limits.model_copy(update={"seconds": self.workshop.seconds}))
        try:
            async with asyncio.timeout(deadline + LATE) as limit:
                return await work.run(agent, tell)
        except TimeoutError:
            if not limit.expired():
                raise
            raise Problem("deadline", f"it was not done within {deadline:g} s") from None
