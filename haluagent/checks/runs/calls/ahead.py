"""Stage 1 ahead of a call: a run that grows is read once, and each new call is judged against what came before it."""

import threading
from collections.abc import Iterator

from haluagent.checks.runs.calls.check import RunSoFar
from haluagent.checks.runs.records import AgentRun, ToolCallValidation, ToolUse


class GrowingRun:
    """A run that is handed over again before each of its calls, every time with what was added.

    Only that is read, so a call costs as much late in a run as early in it. A run that was changed further back is read
    anew. Threads may share it.
    """

    def __init__(self) -> None:
        self._given: tuple[object, ...] = ()  # the system prompt, the tools, and whether there is more
        self._read: list[ToolUse | tuple[str, str]] = []
        self._so_far = RunSoFar("", ())
        self._lock = threading.Lock()

    def validate(self, run: AgentRun, call: ToolUse) -> ToolCallValidation:
        """Return the validation of a call that has not run, as `validate_calls` would make it."""
        with self._lock:
            events = list(_before(run, call))
            given = (run.system, run.tools, run.partial)
            if self._given != given or self._read != events[: len(self._read)]:
                self._given, self._read = given, []
                self._so_far = RunSoFar(run.system, run.tools, partial=run.partial)
            for event in events[len(self._read) :]:
                if isinstance(event, ToolUse):
                    self._so_far.read(event)
                else:
                    self._so_far.hear(*event)
                self._read.append(event)
            return self._so_far.judge(call)


def _before(run: AgentRun, call: ToolUse) -> Iterator[ToolUse | tuple[str, str]]:
    """Yield the texts of a run, with their role, and the calls that have a result: of the whole run, or up to the call."""
    for turn in run.turns:
        yield turn.role, turn.text
        for other in turn.calls:
            if other.id == call.id:
                return
            if other.result is not None:
                yield other
