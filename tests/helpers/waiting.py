"""Waiting for what another thread or process does, and counting what this one does: no test looks at the clock."""

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any


def until(condition: Callable[[], object]) -> None:
    """Wait for a condition that nothing announces. The limit of a test ends it where it is never met."""
    while not condition():
        time.sleep(0.005)


def steps(work: Callable[[], object]) -> int:
    """Count the instructions of Python code that a call executes; what a function in C does is one."""
    count = 0

    def step(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        count += event == "opcode"
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
