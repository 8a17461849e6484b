"""The module `_haluagent` beside a program in the sandbox: checks, and marks that say which were met.

The host reads this file as text and never imports it. What it reports has passed through the hands of the program.
"""

import builtins
import contextlib
import io
import math
import sys
import unittest
from collections.abc import Callable
from typing import Any

nonce = ""
passed = 0


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
        return numbers and math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)
    if isinstance(one, (list, tuple)) and type(one) is type(other):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _short(value: Any) -> str:
    text = " ".join(repr(value).split("\n"))
    return text if len(text) < 200 else text[:200] + " ..."


def _check(right: bool, text: str) -> None:
    if not right:
        raise AssertionError(text)
    ran()
