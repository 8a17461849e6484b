"""Calls of a worker belong to a piece of work: its end stops them, and its time is theirs together."""

import asyncio
import threading
from collections.abc import Iterator

import pytest
from waiting import until

from haluagent.errors import ToolError
from haluagent.sandbox.worker.limited import LimitedWorker
from haluagent.sandbox.worker.work import as_work, current, work


@pytest.fixture
def sleeper() -> Iterator[LimitedWorker]:
    worker = LimitedWorker("time:sleep", seconds=250.0)
    yield worker
    worker.close()


def test_calls_of_one_work_have_their_time_together() -> None:
    worker = LimitedWorker("time:sleep", seconds=2.0, together=0.5)
    with work():
        worker.call(0.01)
        assert 0 < worker.left() < 0.5
        with pytest.raises(ToolError, match="all of it together takes more than 0.5 s"):
            worker.call(100)
        with pytest.raises(ToolError, match="all of it together"):
            worker.call(0)
        with work(), pytest.raises(ToolError, match="all of it together"):
            worker.call(0)  # a part of that work
    with work():
        assert worker.call(0) is None and worker.left() > 0
    assert worker.call(0) is None
    worker.close()


def test_the_end_of_the_work_stops_what_runs_and_what_waits(sleeper: LimitedWorker) -> None:
    async def ended() -> list[BaseException | None]:
        started: list[int] = []

        @as_work
        async def detection() -> None:
            def call() -> None:
                started.append(1)
                sleeper.call(240)

            await asyncio.gather(*(asyncio.to_thread(call) for _ in range(3)))

        task = asyncio.create_task(detection())
        while len(started) < 3 or not sleeper._busy:
            await asyncio.sleep(0.01)
        task.cancel()
        return await asyncio.gather(task, return_exceptions=True)

    found = asyncio.run(ended())  # it waits for the threads
    assert isinstance(found[0], asyncio.CancelledError)
    assert not sleeper._busy and not sleeper._waiting
    assert sleeper.call(0) is None


def test_work_inside_other_work_ends_with_it() -> None:
    with work() as whole:
        with work() as part:
            assert current() is part
            whole.end()
            assert part.ended
        with work() as late:
            assert late.ended
    assert not current().ended


def test_who_has_used_least_goes_first(sleeper: LimitedWorker) -> None:
    """Heavy work waits behind light work, however long its queue is."""
    order: list[str] = []

    def calls(name: str, used: float) -> None:
        with work() as one:
            one.used[sleeper.target] = used
            sleeper.call(0)
            order.append(name)

    with sleeper._turn(current()):  # the child is taken
        threads = [threading.Thread(target=calls, args=(f"heavy {n}", 4.0)) for n in range(3)]
        threads.append(threading.Thread(target=calls, args=("light", 0.0)))
        for number, thread in enumerate(threads, 1):
            thread.start()
            until(lambda n=number: len(sleeper._waiting) == n)  # type: ignore[misc]
    for thread in threads:
        thread.join()
    assert order[0] == "light" and len(order) == 4
