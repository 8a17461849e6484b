"""One piece of work that calls workers, such as a detection: what it has used of them, and its end.

A call is made in a thread, and a thread cannot be cancelled. So the work is known to all of its threads (a context
variable, which `asyncio.to_thread` passes on), and its end stops what workers are doing for it.
"""

import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from haluagent.errors import ToolError

P = ParamSpec("P")
T = TypeVar("T")


class Work:
    """`used` are the seconds that it has used of each worker."""

    def __init__(self) -> None:
        self.used: dict[str, float] = {}
        self.ended = False
        self._lock = threading.Lock()
        self._stops: list[Callable[[], object]] = []

    def end(self) -> None:
        """Stop what workers are doing for it. Later calls fail at once."""
        with self._lock:
            self.ended = True
            for stop in self._stops:
                stop()

    def check(self) -> None:
        """Raise ToolError where it has ended."""
        if self.ended:
            raise ToolError("the work that this was needed for has ended")

    @contextmanager
    def stopped_by(self, stop: Callable[[], object]) -> Iterator[None]:
        """Let the end of the work call `stop`, which must not block, while this is entered; at once where it has ended."""
        with self._lock:
            self._stops.append(stop)
            if self.ended:
                stop()
        try:
            yield
        finally:
            with self._lock:
                self._stops.remove(stop)


_current: ContextVar[Work | None] = ContextVar("haluagent_work", default=None)


def current() -> Work:
    """Return the work that this thread or task belongs to; where there is none, one that nothing ends."""
    return _current.get() or Work()


@contextmanager
def work() -> Iterator[Work]:
    """Make one piece of work of what is called while this is entered; leaving it ends that work.

    Work inside other work ends with it and uses the same seconds.
    """
    outer, begun = _current.get(), Work()
    token = _current.set(begun)
    try:
        if outer is None:
            yield begun
        else:
            begun.used = outer.used
            with outer.stopped_by(begun.end):
                yield begun
    finally:
        _current.reset(token)
        begun.end()


def as_work(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Make each call of a coroutine function a piece of work, which ends with it, even where it is cancelled."""

    @wraps(function)
    async def call(*arguments: P.args, **named: P.kwargs) -> T:
        with work():
            return await function(*arguments, **named)

    return call
