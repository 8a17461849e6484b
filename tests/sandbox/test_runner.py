"""The runner and the exchange with it, over plain pipes: the programs here are harmless, and it is all in a child."""

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from haluagent.errors import SandboxError
from haluagent.protocols import Execution, ExecutionOutcome
from haluagent.sandbox.limits import MIB, SandboxLimits
from haluagent.sandbox.worker.exchange import clip, command, execute, exit_reason, wait_until_ready

Run = Callable[..., Execution]


class Pipes:
    """A worker without a sandbox."""

    def __init__(self, arguments: list[str]) -> None:
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/"
        )
        self._readable = selectors.DefaultSelector()
        for name, pipe in ((1, self.process.stdout), (2, self.process.stderr)):
            assert pipe is not None
            self._readable.register(pipe, selectors.EVENT_READ, name)

    def send(self, data: bytes, deadline: float) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def receive(self, deadline: float) -> tuple[int, bytes] | None:
        while self._readable.get_map():
            if time.monotonic() >= deadline:
                raise TimeoutError
            for key, _ in self._readable.select(deadline - time.monotonic()):
                if data := os.read(key.fd, 65536):
                    return key.data, data
                self._readable.unregister(key.fileobj)
        return None

    def kill(self) -> None:
        self.process.kill()

    def ending(self, deadline: float) -> tuple[ExecutionOutcome, str]:
        try:
            status = self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
        return exit_reason(status if status >= 0 else 128 - status)

    def discard(self) -> None:
        self.kill()
        self.process.wait()
        self._readable.close()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()  # type: ignore[union-attr]


@pytest.fixture
def worker() -> Iterator[Callable[[list[str]], Pipes]]:
    made: list[Pipes] = []

    def make(arguments: list[str]) -> Pipes:
        made.append(Pipes(arguments))
        return made[-1]

    yield make
    for one in made:
        one.discard()


@pytest.fixture
def run(worker: Callable[[list[str]], Pipes]) -> Run:
    def run_one(code: str, *, seconds: float = 20.0, limits: SandboxLimits | None = None) -> Execution:
        started = worker(command(sys.executable))
        wait_until_ready(started)
        return execute(started, code, seconds, limits or SandboxLimits(), {})

    return run_one


def test_a_program_that_runs_to_its_end(run: Run) -> None:
    result = run("import sys\nprint('数 1')\nprint('two', file=sys.stderr)")
    assert (result.outcome, result.stdout, result.stderr) == ("ok", "数 1\n", "two\n")
    assert (result.error, result.traceback, result.line) == ("", "", None)
    assert result.seconds > 0


OUTCOMES: list[tuple[str, ExecutionOutcome, str, int | None]] = [
    ("x = 1\nassert x == 2, 'no'", "exception", "AssertionError: no", 2),
    ("def f():\n    return 1 / 0\n\nf()", "exception", "ZeroDivisionError: division by zero", 2),
    ("import json\njson.loads('[')", "exception", "json.decoder.JSONDecodeError: Expecting value: line 1 column 2 (char 1)", 2),
    ("raise ValueError('one\\ntwo')", "exception", "ValueError: one", 1),
    ("input()", "exception", "EOFError: EOF when reading a line", 1),
    ("import sys\nsys.stdin.read()\nassert sys.stdin.read() == ''", "ok", "", None),
    ("def f(:\n    pass", "syntax_error", "SyntaxError: invalid syntax", 1),
    ("x = 1\nreturn x", "syntax_error", "SyntaxError: 'return' outside function", 2),
    ("  x = 1", "syntax_error", "IndentationError: unexpected indent", 1),
    ("x = '\ud800'", "syntax_error",
     "UnicodeEncodeError: 'utf-8' codec can't encode character '\\ud800' in position 5: surrogates not allowed", None),
    ("\ufeffx = 1", "ok", "", None),
    ("", "ok", "", None),
    ("import nothing_of_the_kind", "missing_package", "nothing_of_the_kind", 1),
    ("import nothing_of_the_kind.part", "missing_package", "nothing_of_the_kind", 1),
    ("try:\n    import absent\nexcept ImportError:\n    raise RuntimeError('install it')", "missing_package", "absent", 4),
    ("from . import sibling", "missing_package", "attempted relative import with no known parent package", 1),
    ("import os.nothing", "exception", "ModuleNotFoundError: No module named 'os.nothing'; 'os' is not a package", 1),
    ("from math import no_such_name", "exception", "ImportError: cannot import name 'no_such_name' from 'math'", 1),
    ("raise ModuleNotFoundError('made up')", "exception", "ModuleNotFoundError: made up", 1),
    ("x = [0] * 10**12", "memory", "MemoryError", 1),
    ("raise OSError(12, 'no memory')", "memory", "OSError: [Errno 12] no memory", 1),
    ("import os\nos._exit(0)\nassert False", "killed", "it ended itself with exit code 0", None),
    ("import os\nos.kill(os.getpid(), 9)", "killed", "it was ended by SIGKILL", None),
    ("import os, resource\nos.kill(os.getpid(), 24)", "timeout", "it used up its processor time", None),
    ("import sys\nsys.exit()\nassert False", "killed", "SystemExit", 2),
    ("import sys\ndef f(n):\n    sys.exit(0)\nassert f(1) == 2", "killed", "SystemExit: 0", 3),
    ("import sys\nsys.exit(0); assert False", "killed", "SystemExit: 0", 2),
    ("import sys\nprint(1)\nsys.exit(0)", "ok", "", None),
    ("import sys\nif __name__ == '__main__':\n    sys.exit()", "ok", "", None),
    ("import sys\nif __name__ == '__main__':\n    sys.exit()\nelse:\n    pass", "killed", "SystemExit", 3),
    ("import sys\nsys.exit('wrong')", "killed", "SystemExit: wrong", 2),
]  # fmt: skip


@pytest.mark.parametrize(("code", "outcome", "error", "line"), OUTCOMES, ids=[repr(item[0])[:40] for item in OUTCOMES])
def test_outcomes(run: Run, code: str, outcome: ExecutionOutcome, error: str, line: int | None) -> None:
    result = run(code)
    assert result.outcome == outcome
    assert result.line == line
    # The message of an error has grown from one Python to the next.
    assert result.error.startswith(error) if outcome == "exception" else result.error == error


UNITTEST = """
import unittest
class Sums(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(1 + 1, {expected})
if __name__ == "__main__":
    unittest.main()
"""


def test_a_program_that_ends_with_its_unit_tests(run: Run) -> None:
    assert run(UNITTEST.format(expected=2)).outcome == "ok"
    failed = run(UNITTEST.format(expected=3))
    assert failed.outcome == "exception"
    assert "AssertionError: 2 != 3" in failed.stderr


def test_the_traceback_has_the_programs_own_frames_and_lines(run: Run) -> None:
    result = run("import json\ndef load(text):\n    return json.loads(text)\nload('{')")
    assert result.line == 3
    assert result.traceback.count('File "<code>"') == result.traceback.count("File ") == 2
    assert "    return json.loads(text)\n" in result.traceback
    assert "runner" not in result.traceback


def test_the_traceback_of_what_came_before_and_of_groups(run: Run) -> None:
    code = "import json\ntry:\n    json.loads('{')\nexcept ValueError as e:\n    raise ExceptionGroup('g', [KeyError('a')]) from e"
    result = run(code)
    assert result.error.startswith("ExceptionGroup: g")
    assert "direct cause" in result.traceback and "KeyError: 'a'" in result.traceback
    assert "decoder.py" not in result.traceback


def test_a_syntax_error_shows_its_line(run: Run) -> None:
    assert "    return 5\n" in run("x = 1\nreturn 5").traceback
    assert "^" in run("x = (1,,2)").traceback


def test_the_program_is_main_and_can_read_itself(run: Run) -> None:
    code = """
import inspect, pickle, sys
from dataclasses import dataclass
@dataclass
class Point:
    x: int
def double(n):
    return 2 * n
assert __name__ == "__main__" and sys.modules["__main__"].double is double
assert pickle.loads(pickle.dumps(Point(3))) == Point(3)
assert "return 2 * n" in inspect.getsource(double) and "x: int" in inspect.getsource(Point)
assert sys.argv == ["<code>"]
assert not {"run", "main", "traceback", "nonce"} & set(globals())
"""
    assert run(code).error == ""


def test_what_a_program_does_to_its_interpreter_does_not_hide_how_it_ended(run: Run) -> None:
    code = """
import sys, os, linecache, warnings
os.close(0); os.close(1); os.set_blocking(2, False)
sys.stdout = sys.stderr = None
linecache.clearcache()
sys.setrecursionlimit(60)
sys.settrace(lambda *a: 1 / 0)
raise KeyError("seen")
"""
    result = run(code)
    assert (result.outcome, result.line) == ("exception", 8)
    assert 'raise KeyError("seen")' in result.traceback


def test_a_program_out_of_memory_is_still_reported(run: Run) -> None:
    result = run(
        "kept = []\nwhile True:\n    kept.append('x' * 1000 + str(len(kept)))", limits=SandboxLimits(memory=128 * MIB)
    )
    assert (result.outcome, result.error, result.line) == ("memory", "MemoryError", 3)


def test_children_and_threads_that_stay_do_not_keep_it(run: Run) -> None:
    code = """
import atexit, os, threading, time
atexit.register(time.sleep, 60)
threading.Thread(target=time.sleep, args=(60,)).start()
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
if os.fork() == 0:
    time.sleep(3600)
print("end")
"""
    result = run(code)
    assert (result.outcome, result.stdout) == ("ok", "end\n")


def test_threads_that_end_are_heard(run: Run) -> None:
    code = "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.1), print('late'))).start()"
    assert run(code).stdout == "late\n"


def test_a_forked_child_reports_nothing(run: Run) -> None:
    code = "import os\nif os.fork():\n    os.wait()\n    assert False, 'parent'\nprint('child')"
    result = run(code)
    assert (result.error, result.stdout) == ("AssertionError: parent", "child\n")


def test_timeout_keeps_what_was_printed_before(run: Run) -> None:
    result = run("print('begun')\nwhile True: pass", seconds=1.5)
    assert (result.outcome, result.stdout) == ("timeout", "begun\n")
    assert result.seconds >= 1.5


def test_a_program_that_closes_its_output_still_has_its_time(run: Run) -> None:
    result = run("import os, time\nos.closerange(0, 200)\ntime.sleep(60)", seconds=2.5)
    assert result.outcome == "timeout"
    assert result.seconds >= 2.5


def test_a_flood_is_stopped(run: Run) -> None:
    result = run("while True: print('y' * 1000)")
    assert (result.outcome, result.error) == ("output", f"it wrote more than {MIB} bytes")
    assert len(result.stdout) < 21_000 and "characters left out" in result.stdout


@pytest.mark.parametrize(
    "printed",
    ["{'outcome': 'ok'}", "haluagent sandbox runner", "0" * 32, "ok\0\0\0", "\0" * 100, "\udcff\x1b[2J"],
)
def test_what_is_printed_is_no_report(run: Run, printed: str) -> None:
    code = f"import sys, os\nsys.stdout.reconfigure(errors='replace')\nprint({printed!r})\nos.write(1, b'\\xff')\nassert False"
    result = run(code)
    assert (result.outcome, result.error) == ("exception", "AssertionError")


def test_an_error_that_holds_null_bytes_and_surrogates(run: Run) -> None:
    result = run("raise ValueError('a\\0b\\ud800c')")
    assert result.outcome == "exception"
    assert result.error.startswith("ValueError: a b") and "\ud800" not in result.error


def test_a_report_with_a_nonsense_outcome_is_not_believed(run: Run) -> None:
    forge = """
import gc, os, sys
frame = sys._getframe()
while "nonce" not in frame.f_locals:
    frame = frame.f_back
nonce, out, err = (frame.f_locals[name] for name in ("nonce", "out", "err"))
os.write(err, nonce)
os.write(out, nonce + REPORT + nonce)
os._exit(0)
"""
    assert run(forge.replace("REPORT", "b'perfect\\0\\0\\0'")).outcome == "killed"
    assert run(forge.replace("REPORT", "b'ok'")).error == "its report cannot be read"
    huge = run(forge.replace("REPORT", "b'exception\\0' + b'e' * 9999 + b'\\0' + b'9' * 9999 + b'\\0' + b't' * 99999"))
    assert len(huge.error) < 1100 and len(huge.traceback) < 21_000 and huge.line is None


def test_limits_are_set(run: Run) -> None:
    code = """
import resource as r
assert r.getrlimit(r.RLIMIT_CORE) == (0, 0)
assert r.getrlimit(r.RLIMIT_FSIZE) == (16 * 2**20,) * 2
assert r.getrlimit(r.RLIMIT_NOFILE) == (256, 256)
assert r.getrlimit(r.RLIMIT_AS)[0] == 512 * 2**20
assert r.getrlimit(r.RLIMIT_CPU) == (4, 5)
"""
    assert run(code, seconds=2.5).error == ""


def test_a_worker_that_is_no_runner_is_an_error_of_the_sandbox(worker: Callable[[list[str]], Pipes]) -> None:
    for code, reason in (("print('hello')", "hello"), ("1/0", "ZeroDivisionError"), ("pass", "exit code 0")):
        with pytest.raises(SandboxError, match=f"did not start: .*{reason}"):
            wait_until_ready(worker([sys.executable, "-c", code]))


def test_a_worker_that_died_is_an_error_of_the_sandbox(worker: Callable[[list[str]], Pipes]) -> None:
    started = worker(command(sys.executable))
    wait_until_ready(started)
    started.process.kill()
    started.process.wait()
    with pytest.raises(SandboxError):
        execute(started, "print(1)", 5.0, SandboxLimits(), {})


def test_a_runner_ends_with_who_started_it(worker: Callable[[list[str]], Pipes]) -> None:
    started = worker(command(sys.executable))
    wait_until_ready(started)
    assert started.process.stdin is not None
    started.process.stdin.close()
    assert started.process.wait(10) == 0


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGINT])
def test_a_signal_that_the_host_ignores_reaches_the_program(run: Run, number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_IGN)
    try:
        result = run(f"import os\nos.kill(os.getpid(), {number:d})\nprint('went on')")
    finally:
        signal.signal(number, before)
    outcome = ("exception", "KeyboardInterrupt") if number == signal.SIGINT else ("killed", "it was ended by SIGQUIT")
    assert (result.outcome, result.error.rstrip(": ")) == outcome and result.stdout == ""


def test_clip_keeps_both_ends() -> None:
    assert clip("short", 10) == "short"
    assert clip("a" * 50 + "b" * 50, 10) == "aaaaa\n[... 90 characters left out ...]\nbbbbb"
