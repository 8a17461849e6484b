"""The call that a framework is about to make, found in the run that its messages make."""

from typing import Any
from uuid import uuid4

from haluagent.checks.runs.records import AgentRun, ToolUse


def call_to_check(run: AgentRun, tool: str, arguments: dict[str, Any] | str, given: str | None = None) -> ToolUse:
    """Return the call of the run that is about to be made, which has no result yet; a call of its own if the run does
    not have it. `given` is its id in the framework, which may not be unique in the run."""
    calls = [call for turn in run.turns for call in turn.calls]
    waiting = [call for call in calls if call.result is None]
    same = [call for call in waiting if call.tool == tool and call.arguments == arguments]
    named = [call for call in waiting if call.id == given]
    for found in ([call for call in same if call.id == given], same[-1:], named):
        if found:
            return found[0].model_copy(update={"tool": tool, "arguments": arguments})
    is_free = given is not None and given not in {call.id for call in calls}
    return ToolUse(id=given if given and is_free else f"call-{uuid4()}", tool=tool, arguments=arguments)
