"""The scheduling of requests: in turn, within the deadline, and only as long as somebody waits for the answer."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, cast

from starlette.requests import ClientDisconnect

from haluagent.agent import HaluAgent
from haluagent.events import Answered, Event
from haluagent.sandbox.worker.work import as_work
from haluagent.server.loader import ModelLoader
from haluagent.server.problems import HttpProblem
from haluagent.server.queue import Place, RequestQueue
from haluagent.server.settings import ServerSettings
from haluagent.server.watch import Result
from haluagent.types import Detection

LATE = 5.0  # seconds that work may take beyond the deadline to report what it has

Tell = Callable[[Event], None]
Run = Callable[[HaluAgent, Tell], Awaitable[Result]]  # the work on a request, which tells of its events


def following(
    work: Callable[[HaluAgent], AsyncIterator[Event]], tools: Sequence[str] | None = None
) -> "Callable[[HaluAgent, Tell], Awaitable[Detection]]":
    """Return the work whose events end with a report, done by the agent with these of its tools, or with all."""

    async def run(agent: HaluAgent, tell: Tell) -> Detection:
        agent = agent if tools is None else agent.using(*tools)
        # They are declared an iterator; it is a generator, whose closing ends the detection
        async with aclosing(cast(Any, work(agent))) as events:
            async for event in events:
                tell(event)
        assert isinstance(event, Answered)
        return event.detection

    return run


class Scheduler:
    """Admits requests to the queue of a server, until it is told to stop."""

    def __init__(self, agent: HaluAgent, settings: ServerSettings) -> None:
        self.agent, self.settings = agent, settings
        self.loader = ModelLoader(agent)
        self.queue = RequestQueue(settings.running, settings.waiting)
        self.stopping = False
        self._over = asyncio.Event()
        self._in_flight: set[Admitted] = set()

    @property
    def seconds(self) -> float:
        """Return the time that the work on one request may take."""
        return min(self.settings.deadline, self.agent.limits.seconds or self.settings.deadline)

    def admit(self) -> "Admitted":
        """Admit a request. Raises HttpProblem where the server is stopping, or has too much to do."""
        if self.stopping:
            raise HttpProblem("stopping", "the server is stopping")
        admitted = Admitted(self, self.queue.join())
        self._in_flight.add(admitted)
        return admitted

    def stop(self) -> None:
        """Admit no more requests."""
        self.stopping = True

    def cut(self) -> None:
        """End what is in flight; each client is told so."""
        self.stop()
        self._over.set()

    @property
    def empty(self) -> bool:
        """Check whether no request is in flight."""
        return not self._in_flight

    async def cutting(self) -> None:
        """Wait until what is in flight has to end."""
        await self._over.wait()

    def ended(self, admitted: "Admitted") -> None:
        """Note that a request is no longer in flight."""
        self._in_flight.discard(admitted)


class Admitted:
    """An admitted request. `waited` and `worked` are seconds, as far as they are known."""

    def __init__(self, scheduler: Scheduler, place: Place) -> None:
        self.scheduler, self.place = scheduler, place
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
        """Check whether the work took all of its time."""
        return self.worked >= self.scheduler.seconds

    def end(self) -> None:
        """Leave the queue: the request has its answer, or nobody wants it."""
        self.place.leave()
        self.scheduler.ended(self)

    async def run(self, run: Run, started: Callable[[], object], tell: Tell, gone: Awaitable[object]) -> Result:
        """Return what the work gives, and call `started` when its turn came.

        Raises what it raises; ClientDisconnect as soon as `gone` is over, and HttpProblem where the server stops or the time is
        over. No work goes on then.
        """
        doing = asyncio.ensure_future(self._do(run, started, tell))
        leaving, cutting = asyncio.ensure_future(gone), asyncio.ensure_future(self.scheduler.cutting())
        tasks = (doing, leaving, cutting)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if doing.done():
                return doing.result()
            if leaving.done():
                raise ClientDisconnect
            raise HttpProblem("stopping", "the server is stopping: this request was not finished")
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    @as_work
    async def _do(self, run: Run, started: Callable[[], object], tell: Tell) -> Result:
        seconds = None
        try:
            await self.place.turn()
            self._began = time.monotonic()
            started()
            await self.scheduler.loader.loaded()
            result = await self._within_deadline(run, tell)
            seconds = self.worked
            return result
        finally:
            self.place.leave(seconds)

    async def _within_deadline(self, run: Run, tell: Tell) -> Result:
        agent, deadline = self.scheduler.agent, self.scheduler.settings.deadline
        agent = agent.within(agent.limits.model_copy(update={"seconds": self.scheduler.seconds}))
        try:
            async with asyncio.timeout(deadline + LATE) as limit:
                return await run(agent, tell)
        except TimeoutError:
            if not limit.expired():
                raise
            raise HttpProblem("deadline", f"it was not done within {deadline:g} s") from None
