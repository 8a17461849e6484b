"""The pace of requests to a service: a pause between them, and retries where another try can help."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import tenacity

from haluagent.search.providers.failures import TRANSIENT, Failure

Answer = TypeVar("Answer")

_backoff = tenacity.wait_exponential(multiplier=0.5, max=8.0) + tenacity.wait_random(0.0, 0.5)


class Calls:
    """The requests to one service, from any thread and event loop of this process.

    They start at least `interval` seconds apart. A transient failure is tried again, `attempts` times in all, after the
    time that the service asked for or an exponential backoff; if it asks for more than `longest_wait` seconds, there is
    no further try. `sleep` waits and `clock` is monotonic, both in seconds.
    """

    def __init__(
        self,
        *,
        interval: float = 0.0,
        attempts: int = 3,
        longest_wait: float = 30.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._interval = interval
        self._attempts = attempts
        self._longest_wait = longest_wait
        self._sleep = sleep
        self._clock = clock
        self._lock = threading.Lock()
        self._next = float("-inf")

    async def run(self, request: Callable[[], Awaitable[Answer]]) -> Answer:
        """Return what `request` returns. Raise the `Failure` of its last try."""

        async def attempt() -> Answer:
            await self._turn()
            return await request()

        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(self._worth_another_try),
            stop=tenacity.stop_after_attempt(self._attempts),
            wait=_wait,
            sleep=self._sleep,
            reraise=True,
        )
        try:
            return await retrying(attempt)
        except Failure as failure:
            failure.tries = retrying.statistics["attempt_number"]
            raise

    async def _turn(self) -> None:
        with self._lock:
            now = self._clock()
            start = max(now, self._next)
            self._next = start + self._interval
        if start > now:
            await self._sleep(start - now)

    def _worth_another_try(self, error: BaseException) -> bool:
        if not isinstance(error, Failure) or error.kind not in TRANSIENT:
            return False
        return error.retry_after is None or error.retry_after <= self._longest_wait


def _wait(state: tenacity.RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, Failure) and error.retry_after is not None:
        return error.retry_after
    return _backoff(state)
