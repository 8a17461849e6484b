"""Tools first: a claim with arithmetic or a date is decided by the tool that can compute it."""

import asyncio
import inspect

from haluagent.detection.limits import BudgetExceeded
from haluagent.errors import FormatError, ModelError, ToolError
from haluagent.protocols import ToolContext
from haluagent.tooling.registry import Registry
from haluagent.tooling.tool import Tool
from haluagent.types import Sentence, ToolCall, ToolResult


async def decide(registry: Registry, context: ToolContext, claim: Sentence) -> tuple[str, ToolResult] | None:
    """Return the first specific tool that decides a claim, and its result; None if no tool does.

    A tool is called only if that takes no turn of the model: with the one obvious call, or with nothing but the claim.
    A tool that fails decides nothing, and one that supports a part of the claim leaves the claim to the passages.
    """
    calls = await asyncio.to_thread(_calls, registry, context, claim)
    for call in calls:
        try:
            result = await registry.call(call, context)
        except (ToolError, FormatError, ModelError, BudgetExceeded):
            continue  # the passages will decide
        if result.label == "contradicted" or (result.label == "supported" and not result.open):
            return call.name, result
    return None


def _calls(registry: Registry, context: ToolContext, claim: Sentence) -> list[ToolCall]:
    specific = [item for item in registry if not (item.system or item.general or item.external)]
    whole = context.sentence(0)  # a finding about the whole response, such as its code, says nothing of one claim in it
    fitting = [
        item for item in specific if registry.fits(item, context, claim) and not registry.fits(item, context, whole)
    ]
    calls = [registry.obvious(item, context, claim) or _pointing(item, claim) for item in fitting]
    return [call for call in calls if call is not None]


def _pointing(item: Tool, claim: Sentence) -> ToolCall | None:
    """Return the call that names only the claim, if the tool needs nothing else."""
    needed = [name for name, one in item.parameters.items() if one.default is inspect.Parameter.empty]
    return ToolCall(name=item.name, arguments={"sentence": claim.name}) if needed == ["sentence"] else None
