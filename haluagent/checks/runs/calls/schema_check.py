"""A call held against the JSON Schema of its tool (Draft 2020-12, or the draft that the schema's `$schema` names)."""

from typing import Any

from haluagent.checks.runs.records import ToolSpec
from haluagent.errors import ToolError
from haluagent.sandbox.worker.limited import Worker

MAX_ERRORS = 10  # lines
SECONDS = 1.0  # for one call, where the schema could take long
PATIENCE = 3  # calls of a run that may take longer than that; the others of its kind are not looked at then
# A pattern can take a time that doubles with every character, and references to references one that doubles with each.
_TAKES_LONG = frozenset(("pattern", "patternProperties", "$ref", "$dynamicRef", "$recursiveRef"))

_worker = Worker("haluagent.checks.runs.calls.schema_found:found_errors", seconds=SECONDS)


class Patience:
    """How many more calls of a run may take too long."""

    def __init__(self) -> None:
        self.left = PATIENCE


def schema_errors(tool: ToolSpec, arguments: Any, patience: Patience | None = None) -> tuple[str, ...]:
    """What is wrong with the arguments of a call, one line each with the path of the argument; () where nothing is.

    An argument that the schema does not name is an error too, where the schema names arguments and leaves open whether there
    may be others: such a one is made up. References go nowhere but into the schema itself. A schema that is none is the one
    error then, and says so; so is one that is not done with the arguments in SECONDS. Schemas that could take long are looked
    at in a process that can be stopped, until the `patience` with a run is at its end.
    """
    from haluagent.checks.runs.calls.schema_found import found_errors, line

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
