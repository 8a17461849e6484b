"""A queue of requests: first come, first served."""

import asyncio
import math
from collections import deque

from haluagent.server.problems import HttpProblem

LONGEST = 3600  # seconds that anyone is asked to wait
RECENT = 0.2  # the weight of the last request in the mean of what requests take


class RequestQueue:
    """Give `running` requests their turn at a time, and let `waiting` more wait for it."""

    def __init__(self, running: int, waiting: int) -> None:
        self._places, self._seats = running, waiting
        self._running = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._seconds = 0.0  # that a request takes, of late

    def state(self) -> tuple[int, int]:
        """Count those that have their turn, and those that wait."""
        return self._running, len(self._waiting)

    def join(self) -> "Place":
        """Return a place in the queue, which has to be left again. Raises HttpProblem where there is none."""
        if self._running < self._places:
            self._running += 1
            return Place(self, None, 0)
        before = len(self._waiting)
        if before >= self._seats:
            seconds = math.ceil(self._seconds * (before + 1) / self._places)
            after = min(LONGEST, max(1, seconds))
            message = f"{self._running} requests are worked on and {before} wait: try again in {after} s"
            raise HttpProblem("busy", message, {"Retry-After": str(after)})
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        return Place(self, turn, before)

    def _leave(self, turn: asyncio.Future[None] | None, seconds: float | None) -> None:
        if seconds is not None:
            self._seconds += (seconds - self._seconds) * (RECENT if self._seconds else 1)
        if turn is not None and (turn.cancelled() or not turn.done()):
            if turn in self._waiting:
                self._waiting.remove(turn)
            return
        while self._waiting:
            following = self._waiting.popleft()
            if not following.done():
                following.set_result(None)  # the turn is handed on
                return
        self._running -= 1


class Place:
    """A place in the queue: `before` counts those that waited in front of it when it was taken, `waits` says if it has to wait."""

    def __init__(self, queue: RequestQueue, turn: asyncio.Future[None] | None, before: int) -> None:
        self._queue, self._turn, self.before = queue, turn, before
        self.waits = turn is not None
        self._left = False

    async def turn(self) -> None:
        """Wait for the turn."""
        if self._turn is not None:
            await self._turn

    def leave(self, seconds: float | None = None) -> None:
        """Give the place to the next, after `seconds` of work; None where there was none."""
        if not self._left:
            self._left = True
            self._queue._leave(self._turn, seconds)
