"""An exchange with a runner: a request goes in; two streams and a report come out. See runner.py for the protocol."""

import math
import secrets
import signal
import time
from dataclasses import dataclass
from importlib.resources import files
from typing import Protocol, cast, get_args

from haluagent.errors import SandboxError
from haluagent.protocols import Execution, ExecutionOutcome
from haluagent.sandbox.limits import SandboxLimits
from haluagent.sandbox.worker.streams import STDERR, STDOUT, Streams

# The environment of a program. Numerical libraries would otherwise start a thread per processor.
ENVIRONMENT = {"HOME": "/tmp", "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}
READY = "haluagent sandbox runner\n"
# The time for a sandbox to start, and for it to take a request, in seconds.
STARTUP_SECONDS = 60.0
# The time between the end of a sandbox's output and its own end.
_MOMENT_SECONDS = 2.0
OUTPUT_CLIP = 20_000
ERROR_CLIP = 1_000
# Bytes that a runner may write besides the program: the longest report, with every character escaped, and the nonces.
_REPORT_ROOM = 256 * 1024

# Linux's number, whatever the host runs.
_SIGXCPU = 24


class SandboxWorker(Protocol):
    """A sandbox with a runner in it, for one program.

    `kill` and `discard` may be called from any thread, more than once.
    """

    def send(self, data: bytes, deadline: float) -> None:
        """Write to the runner's standard input.

        Raise `OSError` if the runner has ended, `TimeoutError` at the deadline.
        """
        ...

    def receive(self, deadline: float) -> tuple[int, bytes] | None:
        """Return the stream and the bytes that arrive next, or None at the end.

        Raise `TimeoutError` at the deadline.
        """
        ...

    def kill(self) -> None:
        """End every process in the sandbox."""
        ...

    def ending(self, deadline: float) -> tuple[ExecutionOutcome, str]:
        """Return why a sandbox ended without a report, and a line about it.

        Raise `TimeoutError` if it has not ended.
        """
        ...

    def discard(self) -> None:
        """End the sandbox and remove what is left of it."""
        ...


@dataclass(frozen=True)
class _Report:
    """A runner's report, or what stands in for one."""

    outcome: ExecutionOutcome
    error: str = ""
    traceback: str = ""
    line: int | None = None


def command(python: str, system_calls: bytes = b"") -> list[str]:
    """Return the command line that starts a runner, which installs a filter of system calls if one is given."""
    source = files(__package__).joinpath("runner.py").read_text(encoding="utf-8")
    return [python, "-I", "-X", "utf8", "-c", source, READY, system_calls.hex()]


def wait_until_ready(worker: SandboxWorker) -> None:
    """Wait for the runner to say that it is ready. Raise `SandboxError` if it does not."""
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


def execute(
    worker: SandboxWorker, code: str, seconds: float, limits: SandboxLimits, resources: dict[str, int]
) -> Execution:
    """Run a program in a worker that is ready.

    `resources` are the backend's own limits, by their names in Python's resource module. Raise `SandboxError` if the
    worker failed before the program began.
    """
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


def exit_reason(status: int) -> tuple[ExecutionOutcome, str]:
    """Explain the exit status of a runner that sent no report (above 128: the number of a signal)."""
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
    """Return a text, cut to its beginning and end if it is longer than `length` characters."""
    if len(text) <= length:
        return text
    half = length // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def _follow(worker: SandboxWorker, streams: Streams, deadline: float, output: int) -> _Report:
    """Follow the program to its end and return its report.

    A program that took too long or wrote too much is left running.
    """
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
    if len(parts) != 4 or parts[0] not in get_args(ExecutionOutcome):
        return _Report("killed", "its report cannot be read")
    outcome, error, line, traceback = parts
    return _Report(
        cast(ExecutionOutcome, outcome), error, traceback, int(line) if line.isdecimal() and len(line) < 8 else None
    )


def _why(worker: SandboxWorker) -> str:
    """Return a line about the end of a worker in which no program ran."""
    try:
        return worker.ending(time.monotonic() + _MOMENT_SECONDS)[1]
    except TimeoutError:
        return "it closed its output"


def _request(nonce: str, code: str, resources: dict[str, int]) -> bytes:
    program = code.encode("utf-8", "surrogatepass")
    limits = " ".join(f"{name}={limit}" for name, limit in resources.items())
    return f"{nonce} {len(program)} {limits}\n".encode() + program


def _resources(limits: SandboxLimits, seconds: float) -> dict[str, int]:
    """Return the limits that the runner sets.

    They are a second line of defence: time, output and total memory are watched from outside.
    """
    return {
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": limits.disk,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_AS": limits.memory,
        "RLIMIT_CPU": limits.cpus * math.ceil(seconds) + 1,
    }


def _decode(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")
