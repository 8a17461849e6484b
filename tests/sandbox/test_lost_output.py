"""An engine may lose the end of what a sandbox writes. Such a run must not pass for one that went well."""

import pytest

from haluagent.errors import SandboxError
from haluagent.protocols import Execution, ExecutionOutcome
from haluagent.sandbox.limits import SandboxLimits
from haluagent.sandbox.worker.exchange import execute, exit_reason
from haluagent.sandbox.worker.streams import STDERR, STDOUT

PRINTED, REPORT = b"90\n", b"ok\0\0\0"


class Lossy:
    """A worker that ran its program to the end, with exit code 0; only `kept` bytes of its standard output arrive."""

    def __init__(self, kept: int, stderr: bool) -> None:
        self._kept, self._stderr = kept, stderr
        self._pieces: list[tuple[int, bytes]] = []

    def send(self, data: bytes, deadline: float) -> None:
        nonce = data.split()[0]
        self._pieces = [(STDOUT, (nonce + PRINTED + nonce + REPORT + nonce)[: self._kept])]
        if self._stderr:
            self._pieces.insert(0, (STDERR, b"warning\n" + nonce))

    def receive(self, deadline: float) -> tuple[int, bytes] | None:
        return self._pieces.pop(0) if self._pieces else None

    def kill(self) -> None: ...

    def ending(self, deadline: float) -> tuple[ExecutionOutcome, str]:
        return exit_reason(0)

    def discard(self) -> None: ...


NONCE = 32  # its characters
WHOLE = 3 * NONCE + len(PRINTED) + len(REPORT)


def run(kept: int, stderr: bool = True) -> Execution:
    return execute(Lossy(kept, stderr), "print(90)", 5.0, SandboxLimits(), {})


def test_nothing_is_lost() -> None:
    result = run(WHOLE)
    assert (result.outcome, result.stdout, result.stderr) == ("ok", "90\n", "warning\n")


@pytest.mark.parametrize("stderr", [True, False])
@pytest.mark.parametrize("kept", range(NONCE, WHOLE))
def test_without_its_whole_report_a_run_is_not_ok(kept: int, stderr: bool) -> None:
    result = run(kept, stderr)
    assert (result.outcome, result.error) == ("killed", "it ended itself with exit code 0")


@pytest.mark.parametrize("kept", [0, 1, NONCE - 1])
def test_where_nothing_shows_that_the_program_began_the_sandbox_failed(kept: int) -> None:
    with pytest.raises(SandboxError, match="ended before the program began"):
        run(kept)


def test_a_report_is_enough_where_the_other_stream_is_lost() -> None:
    result = run(WHOLE, stderr=False)
    assert (result.outcome, result.stdout, result.stderr) == ("ok", "90\n", "")
