"""How often a service is asked: the pause between requests and the tries."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from email.utils import formatdate

import pytest

from haluagent.models.endpoint import read_retry_after
from haluagent.search.providers.calls import Calls
from haluagent.search.providers.failures import Failure


class Clock:
    """A clock that moves only where someone waits."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


def failing(times: int, failure: Callable[[], Exception]) -> tuple[Callable[[], Awaitable[str]], list[int]]:
    """A request that fails so many times before it works, and the count of its calls."""
    count: list[int] = []

    async def request() -> str:
        count.append(1)
        if len(count) <= times:
            raise failure()
        return "answer"

    return request, count


def test_requests_keep_their_distance() -> None:
    clock = Clock()
    calls = Calls(interval=2.0, sleep=clock.sleep, clock=clock)
    request, _ = failing(0, RuntimeError)

    async def run() -> None:
        await calls.run(request)
        clock.now += 0.5
        await calls.run(request)
        clock.now += 5
        await calls.run(request)

    asyncio.run(run())
    assert clock.waits == [1.5]


def test_requests_from_several_loops_share_the_distance() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    calls = Calls(interval=1.0, sleep=sleep, clock=lambda: 0.0)
    request, _ = failing(0, RuntimeError)
    threads = [threading.Thread(target=asyncio.run, args=(calls.run(request),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(waits) == [1.0, 2.0, 3.0]


def test_another_try_keeps_its_distance_too() -> None:
    clock = Clock()
    request, count = failing(1, lambda: Failure("busy", "429", retry_after=3.0))
    assert asyncio.run(Calls(interval=10.0, sleep=clock.sleep, clock=clock).run(request)) == "answer"
    assert (clock.waits, len(count)) == ([3.0, 7.0], 2)


@pytest.mark.parametrize("kind", ["busy", "timeout", "server", "unreachable", "name"])
def test_what_is_tried_again(kind: str) -> None:
    clock = Clock()
    request, count = failing(9, lambda: Failure(kind, "x"))  # type: ignore[arg-type]
    with pytest.raises(Failure) as raised:
        asyncio.run(Calls(attempts=4, sleep=clock.sleep, clock=clock).run(request))
    assert (len(count), raised.value.tries) == (4, 4)
    assert len(clock.waits) == 3 and clock.waits == sorted(clock.waits)


@pytest.mark.parametrize("kind", ["quota", "key", "refused", "answer", "moved", "certificate"])
def test_what_is_not_tried_again(kind: str) -> None:
    request, count = failing(9, lambda: Failure(kind, "x"))  # type: ignore[arg-type]
    with pytest.raises(Failure) as raised:
        asyncio.run(Calls(sleep=Clock().sleep).run(request))
    assert (len(count), raised.value.tries) == (1, 1)


def test_what_is_no_failure_of_the_service_passes() -> None:
    request, count = failing(9, ZeroDivisionError)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(Calls(sleep=Clock().sleep).run(request))
    assert len(count) == 1


@pytest.mark.parametrize(("value", "seconds"), [("12", 12.0), (" 0 ", 0.0), ("soon", None), ("-5", None), (None, None)])
def test_retry_after_in_seconds(value: str | None, seconds: float | None) -> None:
    assert read_retry_after(value) == seconds


def test_retry_after_as_a_date() -> None:
    assert read_retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    ahead = read_retry_after(formatdate(time.time() + 60, usegmt=True))
    assert ahead is not None and 50 < ahead <= 60
