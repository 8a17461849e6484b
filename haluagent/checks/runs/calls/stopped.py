"""The calls that a guard stopped before they ran. The messages of most libraries do not tell them from others."""

import threading
from collections import OrderedDict

from haluagent.checks.runs.records import AgentRun, ToolUse

REMEMBERED = 10_000  # runs


class StoppedCalls:
    """The stopped calls of many runs, by the ids of the runs and of the calls. Threads may share them."""

    def __init__(self) -> None:
        self._tools: OrderedDict[str, dict[str, str]] = OrderedDict()  # by run: the tool of each call, by its id
        self._lock = threading.Lock()

    def add(self, run: AgentRun, call: ToolUse) -> int:
        """Remember a stopped call, and return how many with its tool there are since the user last spoke."""
        with self._lock:
            known = self._tools[run.run_id] = self._tools.pop(run.run_id, {})
            known[call.id] = call.tool
            if len(self._tools) > REMEMBERED:
                self._tools.popitem(last=False)
            same = {name for name, tool in known.items() if tool == call.tool}
        last = max((number for number, turn in enumerate(run.turns) if turn.role == "user"), default=0)
        earlier = {one.id for turn in run.turns[:last] for one in turn.calls}
        since = (one for turn in run.turns[last:] for one in turn.calls if one.tool == call.tool)
        return len(same - earlier | {one.id for one in since if one.stopped})

    def mark(self, run: AgentRun) -> AgentRun:
        """Return the run with its stopped calls marked as such."""
        with self._lock:
            known = frozenset(self._tools.get(run.run_id, ()))
        if not known:
            return run

        def marked(call: ToolUse) -> ToolUse:
            return call.model_copy(update={"stopped": True}) if call.id in known else call

        turns = (turn.model_copy(update={"calls": tuple(map(marked, turn.calls))}) for turn in run.turns)
        return run.model_copy(update={"turns": tuple(turns)})
