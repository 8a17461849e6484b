"""One exchange with a runner: the request goes in, two streams and a report come back. See runner.py for the wire."""

import math
import secrets
import signal
import time
from dataclasses import dataclass
from importlib.resources import files
from typing import Protocol, cast, get_args

from haluagent.errors import SandboxError
from haluagent.protocols import Execution, Outcome
from haluagent.sandbox.limits import Limits
from haluagent.sandbox.worker.streams import STDERR, STDOUT, Streams

# Of a program. Libraries for numbers would start a thread for each processor that they see.
ENVIRONMENT = {"HOME": "/tmp", "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}
READY = "haluagent sandbox runner\n"
# For a sandbox to start, and for it to take a request, in seconds.
STARTUP_SECONDS = 60.0
# Between the end of a sandbox's output and its own.
_MOMENT_SECONDS = 2.0
OUTPUT_CLIP = 20_000
ERROR_CLIP = 1_000
# What a runner may write beside the program: the longest report, with every character of it escaped, and the nonces.
_REPORT_ROOM = 256 * 1024

# Of Linux, whatever the host runs.
_SIGXCPU = 24


class Worker(Protocol):
    """A sandbox with a runner in it, for one program. `kill` and `discard` may come from any thread, and again."""

    def send(self, data: bytes, deadline: float) -> None:
        """Write to the runner's standard input. Raises OSError where it has ended, TimeoutError at the deadline."""
        ...

    def receive(self, deadline: float) -> tuple[int, bytes] | None:
        """The stream and the bytes that arrive next; None after the end. Raises TimeoutError at the deadline."""
        ...

    def kill(self) -> None:
        """End every process in the sandbox."""
        ...

    def ending(self, deadline: float) -> tuple[Outcome, str]:
        """Why a sandbox ended without a report, and a line about it. Raises TimeoutError where it goes on."""
        ...

    def discard(self) -> None:
        """End it and remove what is left of it."""
        ...


@dataclass(frozen=True)
class _Report:
    """What a runner reports, or is to be said in its place."""

    outcome: Outcome
    error: str = ""
    traceback: str = ""
    line: int | None = None


def command(python: str, system_calls: bytes = b"") -> list[str]:
    """The command line that starts a runner, which installs a filter of system calls where one is given."""
    source = files(__package__).joinpath("runner.py").read_text(encoding="utf-8")
    return [python, "-I", "-X", "utf8", "-c", source, READY, system_calls.hex()]


def wait_until_ready(worker: Worker) -> None:
    """Raises SandboxError where no runner says that it is ready."""
    deadline = time.monotonic() + STARTUP_SECONDS
    seen = {STDOUT: b"", STDERR: b""}
    while seen[STDOUT] != READY.encode():
        try:
            received = worker.receive(deadline)
        except TimeoutError:
            raise SandboxError(f"the sandbox did not start within {STARTUP_SECONDS:g} s") from None
        if received is None or len(seen[STDOUT]) > len(READY):
            words = _decode(seen[STDERR] or seen[STDOUT]).split()
            detail = clip(" ".join(words), ERROR_CLIP) or _why(worker)
            raise SandboxError(f"the sandbox did not start: {detail}")
        seen[received[0]] += received[1]


def execute(worker: Worker, code: str, seconds: float, limits: Limits, resources: dict[str, int]) -> Execution:
    """Run a program in a worker that is ready. `resources` are limits of the backend's own, by their name in Python's
    resource module. Raises SandboxError where the worker failed before the program began."""
    nonce = secrets.token_hex(16)
    streams = Streams(nonce.encode())
    deadline = time.monotonic() + STARTUP_SECONDS
    try:
        worker.send(_request(nonce, code, _resources(limits, seconds) | resources), deadline)
        while not streams.begun and (received := worker.receive(deadline)) is not None:
            streams.feed(*received)
    except OSError as error:  # a TimeoutError is one
        raise SandboxError(f"the sandbox did not take the program: {error or 'it does not answer'}") from error
    if not streams.begun:
        raise SandboxError(f"the sandbox ended before the program began: {_why(worker)}")
    begun = time.monotonic()
    report = _follow(worker, streams, begun + seconds, limits.output)
    took = time.monotonic() - begun
    if report.outcome in ("timeout", "output"):
        worker.kill()
    return Execution(
        outcome=report.outcome,
        error=clip(report.error, ERROR_CLIP),
        traceback=clip(report.traceback, OUTPUT_CLIP),
        line=report.line,
        stdout=clip(_decode(streams.stdout), OUTPUT_CLIP),
        stderr=clip(_decode(streams.stderr), OUTPUT_CLIP),
        seconds=took,
    )


def exit_reason(status: int) -> tuple[Outcome, str]:
    """What the exit status of a runner that sent no report says (above 128: the number of a signal)."""
    if status <= 128:
        return "killed", f"it ended itself with exit code {status}"
    number = status - 128
    if number == _SIGXCPU:
        return "timeout", "it used up its processor time"
    try:
        return "killed", f"it was ended by {signal.Signals(number).name}"
    except ValueError:
        return "killed", f"it ended itself with exit code {status}"


def clip(text: str, length: int) -> str:
    """A text, or the beginning and the end of one that is longer than `length` characters."""
    if len(text) <= length:
        return text
    half = length // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def _follow(worker: Worker, streams: Streams, deadline: float, output: int) -> _Report:
    """What became of the program. It goes on where it took too long or wrote too much."""
    try:
        while not streams.complete:
            received = worker.receive(deadline)
            if received is None:
                break
            streams.feed(*received)
            if streams.size > output + _REPORT_ROOM:
                return _Report("output", f"it wrote more than {output} bytes")
        if streams.report is None:
            return _Report(*worker.ending(max(deadline, time.monotonic() + _MOMENT_SECONDS)))
    except TimeoutError:
        return _Report("timeout", "it did not end in time")
    parts = _decode(streams.report).split("\0")
    if len(parts) != 4 or parts[0] not in get_args(Outcome):
        return _Report("killed", "its report cannot be read")
    outcome, error, line, traceback = parts
    return _Report(cast(Outcome, outcome), error, traceback, int(line) if line.isdecimal() and len(line) < 8 else None)


def _why(worker: Worker) -> str:
    """A line about the end of a worker in which no program ran."""
    try:
        return worker.ending(time.monotonic() + _MOMENT_SECONDS)[1]
    except TimeoutError:
        return "it closed its output"


def _request(nonce: str, code: str, resources: dict[str, int]) -> bytes:
    program = code.encode("utf-8", "surrogatepass")
    limits = " ".join(f"{name}={limit}" for name, limit in resources.items())
    return f"{nonce} {len(program)} {limits}\n".encode() + program


def _resources(limits: Limits, seconds: float) -> dict[str, int]:
    """Second guards: the clock, the output and the memory of the whole sandbox are watched from outside."""
    return {
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": limits.disk,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_AS": limits.memory,
        "RLIMIT_CPU": limits.cpus * math.ceil(seconds) + 1,
    }


def _decode(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")
