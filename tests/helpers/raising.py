"""Every exception that Python itself has, to be raised by what must not be able to end anything but itself."""

import asyncio
import builtins

_ARGUMENTS = {
    UnicodeDecodeError: ("utf-8", b"\xff", 0, 1, "why"),
    UnicodeEncodeError: ("utf-8", "x", 0, 1, "why"),
    UnicodeTranslateError: ("x", 0, 1, "why"),
    BaseExceptionGroup: ("several", [SystemExit(0), KeyboardInterrupt()]),
    ExceptionGroup: ("several", [ValueError("one")]),
}
CLASSES = sorted(
    {one for one in vars(builtins).values() if isinstance(one, type) and issubclass(one, BaseException)},
    key=lambda one: one.__name__,
)
CLASSES.append(asyncio.CancelledError)


def made(kind: type[BaseException]) -> BaseException:
    """Return an exception of a class."""
    return kind(*_ARGUMENTS.get(kind, ("raised on purpose",)))
