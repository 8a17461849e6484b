"""Workers are started ahead, used once, and all removed in the end."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from waiting import until

from haluagent.errors import SandboxError
from haluagent.protocols import ExecutionOutcome
from haluagent.sandbox.worker.pool import Pool


class Fake:
    def __init__(self, number: int) -> None:
        self.number = number
        self.discarded = 0
        self.killed = False

    def send(self, data: bytes, deadline: float) -> None: ...

    def receive(self, deadline: float) -> tuple[int, bytes] | None: ...

    def kill(self) -> None:
        self.killed = True

    def ending(self, deadline: float) -> tuple[ExecutionOutcome, str]:
        return "killed", ""

    def discard(self) -> None:
        self.discarded += 1


class Factory:
    def __init__(self) -> None:
        self.made: list[Fake] = []
        self.error: Exception | None = None
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self) -> Fake:
        self.gate.wait(10)
        if self.error:
            raise self.error
        self.made.append(Fake(len(self.made)))
        return self.made[-1]

    @property
    def left(self) -> int:
        return sum(not worker.discarded for worker in self.made)


def take(pool: Pool) -> Fake:
    worker = pool.take()
    assert isinstance(worker, Fake)
    return worker


@pytest.fixture
def factory() -> Factory:
    return Factory()


def test_nothing_starts_before_the_first_is_taken_and_then_it_grows(factory: Factory) -> None:
    pool = Pool(factory, spare=2, starters=1)
    assert not factory.made
    for waiting in (1, 2, 2, 2):
        worker = take(pool)
        assert worker.discarded == 0
        pool.give_back(worker)
        until(lambda worker=worker, waiting=waiting: worker.discarded == 1 and factory.left == waiting)
    pool.close()
    assert factory.left == 0


def test_none_is_given_twice_to_many_threads(factory: Factory) -> None:
    pool = Pool(factory, spare=3, starters=3)

    def use(_: int) -> int:
        worker = take(pool)
        pool.give_back(worker)
        return worker.number

    with ThreadPoolExecutor(8) as threads:
        numbers = list(threads.map(use, range(200)))
    assert len(set(numbers)) == 200
    pool.close()
    assert factory.left == 0 and all(worker.discarded == 1 for worker in factory.made)


def test_what_start_raises_reaches_who_waits_and_no_one_else(factory: Factory) -> None:
    pool = Pool(factory, spare=2, starters=2)
    pool.give_back(take(pool))
    pool.give_back(take(pool))
    until(lambda: len(pool._ready) == 2 and not pool._starting)
    factory.error = SandboxError("no space left on device")
    pool.give_back(take(pool))
    pool.give_back(take(pool))
    with pytest.raises(SandboxError, match="no space left"):
        take(pool)
    factory.error = None
    pool.give_back(take(pool))
    pool.close()
    assert factory.left == 0


def test_dead_workers_are_renewed(factory: Factory) -> None:
    pool = Pool(factory, spare=2, starters=1)
    for _ in range(2):
        pool.give_back(take(pool))
    until(lambda: factory.left == 2)
    before = len(factory.made)
    pool.renew()
    assert take(pool).number >= before
    pool.close()


def test_close_ends_who_waits_and_what_is_in_use(factory: Factory) -> None:
    pool = Pool(factory, spare=1, starters=1)
    used = take(pool)
    factory.gate.clear()
    with ThreadPoolExecutor(2) as threads:
        waits = threads.submit(take, pool)
        until(lambda: pool._waiting == 1)
        closing = threads.submit(pool.close)
        with pytest.raises(SandboxError, match="closed"):
            waits.result(10)
        factory.gate.set()
        closing.result(10)
    assert used.killed
    pool.give_back(used)
    assert factory.left == 0
    with pytest.raises(SandboxError, match="closed"):
        take(pool)


def test_starting_goes_before_removing(factory: Factory) -> None:
    pool = Pool(factory, spare=1, starters=1)
    worker = take(pool)
    factory.gate.clear()
    pool.give_back(worker)
    time.sleep(0.02)
    assert worker.discarded == 0
    factory.gate.set()
    until(lambda: worker.discarded == 1)
    pool.close()
