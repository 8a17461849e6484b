"""Checking a call against the JSON Schema of its tool (Draft 2020-12, or the draft that its `$schema` names)."""

from typing import Any

from haluagent.checks.runs.records import ToolSpec
from haluagent.errors import ToolError
from haluagent.sandbox.worker.limited import LimitedWorker

MAX_ERRORS = 10  # the most lines reported
SECONDS = 1.0  # per call, if the schema could take long
PATIENCE = 3  # calls of a run that may take longer than that; after them, such schemas are no longer checked
# The time for a pattern can double with every character, and that for nested references with each reference.
_TAKES_LONG = frozenset(("pattern", "patternProperties", "$ref", "$dynamicRef", "$recursiveRef"))

_worker = LimitedWorker("haluagent.checks.runs.calls.schema_found:found_errors", seconds=SECONDS)


class Patience:
    """The number of calls in a run that may still take too long."""

    def __init__(self) -> None:
        self.left = PATIENCE


def schema_errors(tool: ToolSpec, arguments: Any, patience: Patience | None = None) -> tuple[str, ...]:
    """Return the errors in a call's arguments, one line each with the argument's path; () if there are none.

    An argument that the schema does not name is an error too, unless the schema names no arguments or says itself
    whether there may be others: it is considered made up. References are resolved only within the schema. If the schema
    is invalid, or takes longer than SECONDS with these arguments, that is the only error. Schemas that could take long
    are checked in a process that can be stopped, until the run's `patience` is used up.
    """
    from haluagent.checks.runs.calls.schema_found import found_errors, line  # loads jsonschema

    patience = patience or Patience()
    if not isinstance(arguments, dict):
        return ("the arguments are no JSON object",)
    request = {"name": tool.name, "schema": tool.parameters, "arguments": arguments, "most": MAX_ERRORS}
    if not _may_take_long(tool.parameters):
        return tuple(found_errors(request))
    try:
        if patience.left:
            return tuple(_worker.call(request))
        why = "those of other calls took too long"
    except ToolError:
        patience.left -= 1
        why = "its patterns and references take too long with these arguments"
    except (TypeError, ValueError, RecursionError) as error:
        why = f"it, or the arguments, are no JSON: {error}"
    return (line(f"the JSON Schema of {tool.name} cannot be used: {why}"),)


def _may_take_long(schema: Any) -> bool:
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if _TAKES_LONG & part.keys():
                return True
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return False
