"""The module `_haluagent` beside a program in the sandbox: checks, and marks that say which were met.

The host reads this file as text and never imports it. What it reports has passed through the hands of the program.
"""

import builtins
import contextlib
import copy
import datetime
import enum
import functools
import inspect
import io
import itertools
import math
import numbers
import sys
import types
import unittest
from collections.abc import Callable, Iterator
from typing import Any

nonce = ""
passed = 0
way = ""  # how `changed` changes a program


def ran(tests: int = 1) -> None:
    """Count tests that passed."""
    global passed
    passed += tests


def mark(place: int) -> None:
    """Leave a mark in the output: the place, and how many tests have passed so far."""
    sys.stdout.flush()
    print(f"[{nonce} {place} {passed}]", end="", file=sys.__stdout__, flush=True)


def value(returned: Any, wanted: Any) -> None:
    """Check an example that says what an expression is."""
    _check(_same(returned, wanted), f"it returned {_short(returned)}")


def shown(returned: Any, wanted: str) -> None:
    """Check an example that says how a value is shown."""
    _check(returned is not None and repr(returned).split() == wanted.split(), f"it returned {_short(returned)}")


def printed(call: Callable[[], Any], wanted: str) -> None:
    """Check an example that says what a call prints."""
    with contextlib.redirect_stdout(io.StringIO()) as output:
        call()
    _check(output.getvalue().split() == wanted.split(), f"it printed {_short(output.getvalue())}")


def either(call: Callable[[], Any], wanted: Any) -> None:
    """Check an example that says what comes out of a call, printed or returned."""
    with contextlib.redirect_stdout(io.StringIO()) as output:
        returned = call()
    right = _same(returned, wanted) or output.getvalue().split() == str(wanted).split()
    _check(right, f"it printed {_short(output.getvalue())} and returned {_short(returned)}")


def raises(call: Callable[[], Any], name: str) -> None:
    """Check an example that says which exception a call raises."""
    try:
        returned = call()
    except Exception as error:
        if not any(kind.__name__ == name for kind in type(error).__mro__):
            raise
        ran()
    else:
        _check(False, f"it raised nothing and returned {_short(returned)}")


def suite(case: type[unittest.TestCase]) -> None:
    """Run the tests of a class so that the first failure leaves the program. Those after a test that is skipped do not
    run, and none of them counts."""
    tests = unittest.defaultTestLoader.loadTestsFromTestCase(case)
    with contextlib.suppress(unittest.SkipTest):
        tests.debug()
        ran(tests.countTestCases())


def give(text: str) -> None:
    """Let the program read `text` as its input; the prompts it writes are not part of its output."""
    sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")

    def read(prompt: object = "") -> str:
        line = sys.stdin.readline()
        if not line:
            raise EOFError("EOF when reading a line")
        return line.removesuffix("\n")

    builtins.input = read


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        numbers = isinstance(one, (int, float)) and isinstance(other, (int, float))
        return numbers and (math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9) or _rounds_to(one, other))
    if isinstance(one, (list, tuple)) and type(one) is type(other):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _rounds_to(value: float, rounded: float) -> bool:
    """Return whether a number is another one when it has only as many decimals as that; 2.0 is no rounded number."""
    decimals = repr(rounded).partition(".")[2]
    return decimals.isdecimal() and decimals != "0" and round(value, len(decimals)) == rounded


def _short(value: Any) -> str:
    text = " ".join(repr(value).split("\n"))
    return text if len(text) < 200 else text[:200] + " ..."


def _check(right: bool, text: str) -> None:
    if not right:
        raise AssertionError(text)
    ran()


# --- Changed results: tests that pass all the same test nothing -------------------------------------------------------

MOST = 1000  # of the elements of a collection, those that are changed
DEEP = 4  # so far inside a value
_running = 0
_told = 0


def changed(function: Any) -> Any:
    """Return a function that does what `function` does, with another outcome where the program outside its functions
    sees it: another value of the same type ("other"), a longer one ("longer"), or other arguments ("effects"). It prints
    something more, and it raises nothing."""
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(changed(function.__func__))
    if isinstance(function, property):
        return property(*(one and changed(one) for one in (function.fget, function.fset, function.fdel)))
    if not callable(function) or getattr(function, "_haluagent_changed", False):
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _running:
            return function(*args, **kwargs)
        returned = None
        with contextlib.suppress(Exception), _inside():
            returned = function(*args, **kwargs)
        return _outcome(function, returned, [*args, *kwargs.values()])

    @functools.wraps(function)
    async def wait(*args: Any, **kwargs: Any) -> Any:
        if _running:
            return await function(*args, **kwargs)
        returned = None
        with contextlib.suppress(Exception), _inside():
            returned = await function(*args, **kwargs)
        return _outcome(function, returned, [*args, *kwargs.values()])

    wrapped: Any = wait if inspect.iscoroutinefunction(function) else call
    wrapped._haluagent_changed = True
    return wrapped


def anew(value: Any) -> Any:
    """Return another value than one that the program assigns."""
    return _longer(value) if way == "longer" else _other(value)


@contextlib.contextmanager
def _inside() -> Iterator[None]:
    global _running
    _running += 1
    try:
        yield
    finally:
        _running -= 1


def _outcome(function: Any, returned: Any, arguments: list[Any]) -> Any:
    global _told
    _told += 1
    with _inside():  # what is changed may have functions of the program
        if _told <= MOST:
            print("changed")
        if way == "effects":
            for argument in arguments:
                _change(argument)
            return returned
        if getattr(function, "__name__", "") == "__init__":
            return None
        return _longer(returned) if way == "longer" else _other(returned)


def _other(value: Any, depth: int = 0) -> Any:
    """Return another value of the same type and size, the same one for the same value. None where that is unknown."""
    if value is None:
        return "changed"
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return 2 * value + math.copysign(1, value) if math.isfinite(value) else 0.0
    if isinstance(value, enum.Enum):
        members = list(type(value))
        return members[(members.index(value) + 1) % len(members)]
    if isinstance(value, numbers.Number):  # away from 0: what is true stays true
        return value - 1 if isinstance(value, numbers.Real) and value < 0 else value + 1  # type: ignore[operator]
    if isinstance(value, (str, bytes)):
        return _other_text(value)
    if isinstance(value, (datetime.date, datetime.timedelta)):
        return value + datetime.timedelta(days=1)
    if isinstance(value, types.FunctionType):
        return changed(value)
    if depth > DEEP or isinstance(value, (type, types.ModuleType)):
        return value
    if isinstance(value, Iterator):
        return (_other(one, depth + 1) for one in value)
    if isinstance(value, (tuple, frozenset)):
        elements = [_other(one, depth + 1) for one in itertools.islice(value, MOST)] + [
            *itertools.islice(value, MOST, None)
        ]
        return type(value)(*elements) if hasattr(value, "_fields") else type(value)(elements or [0])
    try:
        another = copy.copy(value)
    except Exception:
        return None
    return another if _change(another, depth) else None


def _other_text(value: Any) -> Any:
    """Return a text with other letters and digits, which stays one of its kind: `{"a": 1}`, 3.5, Hello."""
    if isinstance(value, bytes):
        return bytes(one ^ 1 for one in value) or b"x"
    after = {"z": "a", "Z": "A", "9": "0"}
    text = "".join(after.get(one) or (chr(ord(one) + 1) if one.isalnum() else one) for one in value)
    return text if text != value else f"{value}x"


def _longer(value: Any, depth: int = 0) -> Any:
    """Return a value with one element more; the value itself where it has no elements."""
    if isinstance(value, str):
        return f"{value}x"
    if isinstance(value, bytes):
        return value + b"x"
    if isinstance(value, Iterator):
        return itertools.chain(value, [0])
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return type(value)([*value, value[-1] if value else 0])
    if isinstance(value, frozenset):
        return value | {"changed"}
    if depth > DEEP or not (isinstance(value, (list, dict, set)) or hasattr(value, "__dict__")) or callable(value):
        return value
    try:
        another = copy.copy(value)
        if isinstance(another, list):
            another.append(another[-1] if another else 0)
        elif isinstance(another, dict):
            another["changed"] = 0
        elif isinstance(another, set):
            another.add("changed")
        else:
            vars(another).update({name: _longer(one, depth + 1) for name, one in vars(another).items()})
    except Exception:
        return value
    return another


def _change(value: Any, depth: int = 0) -> bool:
    """Give a collection or an object other contents, in place. Return whether that could be done."""
    try:
        if isinstance(value, dict):
            value.update(
                {key: _other(one, depth + 1) for key, one in itertools.islice([*value.items()], MOST)} or {0: 0}
            )
        elif isinstance(value, set):
            elements = [_other(one, depth + 1) for one in value] or [0]
            value.clear()
            value.update(elements)
        elif isinstance(value, list) or type(value).__name__ in ("deque", "array", "bytearray"):
            for index, one in enumerate(itertools.islice([*value], MOST)):
                value[index] = _other(one, depth + 1)
            if not value:
                value.append(0)
        elif getattr(value, "__dict__", None) and not callable(value):
            vars(value).update({name: _other(one, depth + 1) for name, one in vars(value).items()})
        else:
            return False
    except Exception:
        return False
    return True
