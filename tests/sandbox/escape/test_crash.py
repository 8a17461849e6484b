"""The driver is killed while a program runs: nothing of the program is left, and the next run is unaffected."""

import signal
import subprocess
import sys
import time
from typing import Any

DRIVER = """
import asyncio, sys
from haluagent.sandbox import {module}
asyncio.run({module}.{name}().run(sys.argv[1], seconds=60))
"""
PROGRAM = """
import ctypes, os, time
ctypes.CDLL(None).prctl(15, {mark!r}.encode(), 0, 0, 0)  # PR_SET_NAME
if os.fork() == 0:
    os.setsid()
time.sleep(60)
"""


def test_a_killed_driver_leaves_nothing(arena: Any) -> None:
    mark = arena.mark()
    kind = type(arena.sandbox)
    driver = DRIVER.format(module=kind.__module__.rpartition(".")[2], name=kind.__name__)
    process = subprocess.Popen([sys.executable, "-c", driver, PROGRAM.format(mark=mark)])
    try:
        deadline = time.monotonic() + 20
        while len(pids := arena.marked(mark) - {process.pid}) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(pids) == 2, "the program did not start"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    sandbox = kind()
    try:
        arena.check_next(sandbox)
        deadline = time.monotonic() + 5
        while (left := arena.marked(mark)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not left
    finally:
        sandbox.close()
