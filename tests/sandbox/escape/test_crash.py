"""The driver is killed while a program runs: nothing of the program is left, and the next run is unaffected."""

import signal
import subprocess
import sys
from typing import Any

from waiting import until

DRIVER = """
import asyncio, sys
from {module} import {name}
asyncio.run({name}().run(sys.argv[1], seconds=60))
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
    driver = DRIVER.format(module=kind.__module__, name=kind.__name__)
    process = subprocess.Popen([sys.executable, "-c", driver, PROGRAM.format(mark=mark)])
    try:
        until(lambda: len(arena.marked(mark) - {process.pid}) == 2 or process.poll() is not None)
        assert process.poll() is None, "the program did not start"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    sandbox = kind()
    try:
        arena.check_next(sandbox)
        until(lambda: not arena.marked(mark))
    finally:
        sandbox.close()
