"""Trusted functions on untrusted input, run in a child process under limits of time and memory.

A `LimitedWorker` starts its child on first use, keeps it for later calls, and replaces it if it was killed or died. Requests
and replies are one line of JSON each, so nothing that comes back can be code. The child ends with the interpreter: its
input closes, even if the parent was killed.
"""

import atexit
import contextlib
import importlib
import itertools
import json
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from haluagent.errors import ToolError
from haluagent.sandbox.worker.work import Work, current

STARTUP_SECONDS = 60.0
NOTICED = 0.1  # seconds in which a call that waits notices that its work has ended
READY = "ready"


class LimitedWorker:
    """Calls of one function, named `package.module:function`, in a child process. Safe to use from many threads.

    `seconds` limits each call (wall clock and CPU time), `together` all calls of one piece of work (`work()`), `memory`
    the child's address space in bytes. The function takes one JSON value and returns one. Calls block; under asyncio use
    `asyncio.to_thread(worker.call, …)`: they end at once when the work ends that they belong to.
    """

    def __init__(self, target: str, *, seconds: float = 2.0, together: float = math.inf, memory: int = 2**30) -> None:
        self.target = target
        self.seconds = seconds
        self.together = together
        self.memory = memory
        self._free = threading.Condition()
        self._busy = False
        self._waiting: list[tuple[float, int]] = []
        self._tickets = itertools.count()
        self._child: subprocess.Popen[str] | None = None
        self._owner = os.getpid()
        self._registered = False

    def call(self, request: Any) -> Any:
        """Call the function and return its value.

        Raise a `ToolError` with its message if it raised one, if the child ran into a limit, or if the work that this
        belongs to has used up its time or has ended.
        """
        work = current()
        with self._turn(work):
            seconds = min(self.seconds, self.left())
            if seconds <= 0:
                raise ToolError(self._too_long(self.together))
            child = self._running(work)
            began = time.monotonic()
            reply = self._exchange(child, json.dumps(request), seconds, work)
            work.used[self.target] = work.used.get(self.target, 0.0) + time.monotonic() - began
            if reply is None:
                work.check()
                raise ToolError(self._too_long(seconds))
        answer = json.loads(reply)
        if "error" in answer:
            raise ToolError(answer["error"])
        return answer["value"]

    def left(self) -> float:
        """Return the seconds that the current work may still use; 0 or less where there are none."""
        work = current()
        return 0.0 if work.ended else self.together - work.used.get(self.target, 0.0)

    def _too_long(self, seconds: float) -> str:
        if seconds == self.seconds:
            return f"it takes more than {seconds:g} s or too much memory; write a smaller formula"
        return f"all of it together takes more than {self.together:g} s; write fewer or smaller formulas"

    @contextmanager
    def _turn(self, work: Work) -> Iterator[None]:
        """Wait until the child is free. Of those who wait, the work goes first that has used least of it, so that a
        heavy one holds up nobody. Raises ToolError where the work ends meanwhile."""
        with self._free:
            place = (work.used.get(self.target, 0.0), next(self._tickets))
            self._waiting.append(place)
            try:
                while self._busy or min(self._waiting) != place:
                    work.check()
                    self._free.wait(NOTICED)
                work.check()
                self._busy = True
            finally:
                self._waiting.remove(place)
        try:
            yield
        finally:
            with self._free:
                self._busy = False
                self._free.notify_all()

    def close(self) -> None:
        """End the child, if there is one. A later call starts another."""
        child, self._child = self._child, None
        if child is None or self._owner != os.getpid():
            return
        child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):  # nobody reads what was still to be written
                    stream.close()

    def _running(self, work: Work) -> "subprocess.Popen[str]":
        if self._owner != os.getpid():  # after a fork the child is the parent's: two writers would mix their lines
            self._child, self._owner = None, os.getpid()
        if self._child is not None and self._child.poll() is None:
            return self._child
        self.close()
        if not self._registered:
            atexit.register(self.close)
            self._registered = True
        command = [sys.executable, "-P", "-m", __name__, self.target, str(self.seconds), str(self.memory)]
        try:
            self._child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8"
            )
        except OSError as error:
            raise ToolError(f"the calculation could not be started: {error}") from error
        if self._exchange(self._child, None, STARTUP_SECONDS, work) != READY + "\n":
            self.close()
            work.check()
            raise ToolError("the calculation could not be started: its process ended at once")
        return self._child

    def _exchange(self, child: "subprocess.Popen[str]", line: str | None, seconds: float, work: Work) -> str | None:
        """Write a line (or none) and read one.

        If that takes too long, the work ends or the child dies, end the child and return None.
        """
        assert child.stdin is not None and child.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            child.kill()

        timer = threading.Timer(seconds, end)
        timer.start()
        try:
            with work.stopped_by(end):
                if line is not None:
                    child.stdin.write(line + "\n")
                    child.stdin.flush()
                reply = child.stdout.readline()
        except (OSError, UnicodeDecodeError):
            reply = ""
        finally:
            timer.cancel()
            timer.join()
        if late.is_set() or not reply.endswith("\n"):
            self.close()
            return None
        return reply


def _limit_memory(size: int) -> None:
    try:
        import resource
    except ImportError:  # not a POSIX system: the parent's clock is the only limit
        return
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_cpu(seconds: float) -> None:
    """Allow this process `seconds` more of CPU time: a second line of defence, should the parent be gone."""
    try:
        import resource
    except ImportError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime + seconds) + 2, hard))


def _answer(function: Callable[[Any], Any], line: str) -> dict[str, Any]:
    try:
        return {"value": function(json.loads(line))}
    except ToolError as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": "the calculation needs too much memory; make it smaller"}
    except Exception as error:  # any error goes to the caller: a child must not die of one bad request
        return {"error": f"the calculation failed: {type(error).__name__}: {error}"}


def main(target: str, seconds: float, memory: int) -> None:
    """Run the child: load the function, report that it is ready, then answer each line of input with a line."""
    _limit_memory(memory)
    output = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what the function prints, or a library in C, is no reply
    module, name = target.split(":")
    function = getattr(importlib.import_module(module), name)
    print(READY, file=output, flush=True)
    for line in sys.stdin:
        _limit_cpu(seconds)
        print(json.dumps(_answer(function, line)), file=output, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
