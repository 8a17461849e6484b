"""What an isolated call raises is its own; what happens to its caller still happens."""

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator

import pytest
from raising import CLASSES, made

from haluagent.tooling.isolation import Raised, is_ctrl_c, isolated


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("when", ["at once", "later", "in a task", "when it is called"])
def test_whatever_is_raised_comes_back(kind: type[BaseException], when: str) -> None:
    error = made(kind)

    async def at_once() -> None:
        raise error

    async def later() -> None:
        await asyncio.sleep(0)
        raise error

    async def in_a_task() -> None:
        if isinstance(error, SystemExit | KeyboardInterrupt):
            await isolated(later)  # asyncio itself passes these on to the loop
            raise error
        await asyncio.create_task(later())

    def called() -> Awaitable[None]:
        raise error

    work: Callable[[], Awaitable[None]] = {
        "at once": at_once, "later": later, "in a task": in_a_task, "when it is called": called,
    }[when]  # fmt: skip

    async def twice() -> list[object]:
        return [await isolated(work), await isolated(lambda: asyncio.sleep(0, "still here"))]

    found, after = asyncio.run(twice())
    assert isinstance(found, Raised) and after == "still here"
    # A coroutine cannot raise StopIteration: Python makes a RuntimeError of it.
    assert isinstance(found.error, RuntimeError if kind is StopIteration and when != "when it is called" else kind)


def test_one_that_cancels_itself_ends_alone() -> None:
    async def cancels_itself() -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        return "not reached"

    found = asyncio.run(isolated(cancels_itself))
    assert isinstance(found, Raised) and isinstance(found.error, asyncio.CancelledError)


@pytest.mark.parametrize("answers_anyway", [False, True])
def test_a_cancelled_caller_is_cancelled_and_its_work_cleans_up(answers_anyway: bool) -> None:
    seen: list[str] = []

    async def works() -> str:
        seen.append("began")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            seen.append("cleaned up")
            if not answers_anyway:
                raise
        return "an answer that comes too late"

    async def run() -> None:
        task = asyncio.create_task(isolated(works))
        while not seen:
            await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run())
    assert seen == ["began", "cleaned up"]


def test_what_will_not_be_cancelled_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("haluagent.tooling.isolation.LEAVING", 0.01)
    go = asyncio.Event()

    async def stays() -> None:
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                continue

    async def run() -> bool:
        task = asyncio.create_task(isolated(stays))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        go.set()
        return task.cancelled()

    assert asyncio.run(run())


def test_work_that_is_cancelled_before_it_began_leaves_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    async def never() -> None:
        raise AssertionError

    async def run() -> None:
        task = asyncio.create_task(isolated(never))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(run())
    assert not recwarn.list


@pytest.fixture
def heeded() -> Iterator[None]:
    """Ctrl-C as in a program in the foreground: what runs in the background inherits that it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeded")
def test_only_pythons_own_ctrl_c_counts_as_one() -> None:
    assert is_ctrl_c(KeyboardInterrupt())
    assert not is_ctrl_c(SystemExit())
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(is_ctrl_c(KeyboardInterrupt())))
    thread.start()
    thread.join()

    async def handled_by_asyncio() -> bool:
        return is_ctrl_c(KeyboardInterrupt())

    assert found == [False] and not asyncio.run(handled_by_asyncio())


@pytest.mark.parametrize("loop", ["asyncio.run(run())", "asyncio.new_event_loop().run_until_complete(run())"])
def test_a_real_ctrl_c_ends_the_program(loop: str) -> None:
    """In a loop with asyncio's handler it is a cancellation; in one without, it is raised in the middle of the work."""
    program = f"""
import asyncio, os, signal
from haluagent.tooling.isolation import isolated

signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background inherits that it is ignored

async def work():
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.sleep(60)

async def run():
    await isolated(work)
    print("went on")

try:
    {loop}
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "interrupted\n", done.stderr
