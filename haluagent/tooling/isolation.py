"""Run code of unknown origin so that whatever it raises stays its own error.

Four exceptions would go further otherwise. A `CancelledError` raised by a tool ends the task that called it, as if
somebody had cancelled that; `SystemExit` and `KeyboardInterrupt` end the event loop, and with it all other work;
`GeneratorExit` no `except Exception` catches.
"""

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

LEAVING = 1.0  # seconds in which what is cancelled may clean up

T = TypeVar("T")


@dataclass(frozen=True)
class Raised:
    """What an isolated call ended with in place of a result."""

    error: BaseException


async def isolated(work: Callable[[], Awaitable[T]]) -> T | Raised:
    """Return the result of `work()`, or what it raised, whatever that is.

    It runs in a task of its own. So `CancelledError` leaves this only where the caller itself is cancelled: `work` is
    cancelled then too, and has `LEAVING` seconds to end. What it still returns does not count. A Ctrl-C that Python
    raises in the middle of the work leaves this as `KeyboardInterrupt`.
    """

    async def settled() -> T | Raised:
        try:
            return await work()
        except BaseException as error:
            if is_ctrl_c(error):
                raise
            return Raised(error)

    task = asyncio.ensure_future(settled())
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait([task], timeout=LEAVING)
        raise
    return Raised(asyncio.CancelledError()) if task.cancelled() else task.result()


def is_ctrl_c(error: BaseException) -> bool:
    """Return whether an exception may be the user's Ctrl-C: one that Python raises in whatever the main thread does.

    Where Ctrl-C is handled otherwise (`asyncio.run` turns it into a cancellation) or in another thread, the code itself
    has raised it.
    """
    return (
        isinstance(error, KeyboardInterrupt)
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
