"""Stage 1: every tool call of a run against its tool's schema, and every entity in it against the texts of the run.

Agent Hallucination Detection Spec, stage 1. No model is asked.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from haluagent.checks.runs.calls.claimed import claimed_calls
from haluagent.checks.runs.calls.entities import Entity, entities, leaves
from haluagent.checks.runs.calls.schema_check import MAX_ERRORS, Patience, schema_errors
from haluagent.checks.runs.calls.sources import Sources
from haluagent.checks.runs.records import AgentRun, ToolCallValidation, ToolSpec, ToolUse

_EXAMPLES = re.compile(
    r"(?:\be\.g\.|\bfor example|\bsuch as|\bexamples?\b|例如|比如|示例|如[:：]).*?(?=[.。;；](?:\s|$)|\n|$)",
    re.I | re.S,
)
_YES = re.compile(
    r"\W*(?:yes|yep|sure|ok(?:ay)?|correct|right|go ahead|please do|confirm(?:ed)?|是的?|好的?|可以|对的?|确认|行|没错|嗯)(?![a-z])",
    re.I,
)
_CLOCK = re.compile(r"time|date|today|now|clock|calendar|日期|时间", re.I)
CONFIRMS = 40  # the longest reply, in characters, that may only say yes
NESTED = 8  # the depth to which a tool's schemas are searched


def validate_calls(run: AgentRun) -> tuple[ToolCallValidation, ...]:
    """Return one validation for each call of the run, in order, and then one for each result that the answer claims
    although no call gave it.

    The latter have the status `never_called`; their `tool` is "" if no offered tool would have given the result. An
    entity may come from the system prompt, from what the user said before the call (or only said yes to), from the
    results of earlier calls, from the tool's `allowed`, or from its schema and descriptions except for their examples
    in words. What the model itself wrote is no source, and neither is a result that only echoes what was made up.
    """
    tools = {tool.name: tool for tool in run.tools}
    own: dict[str, _Own] = {}  # by tool
    sources = Sources()
    sources.add(run.system)
    made: list[ToolCallValidation] = []
    had: dict[tuple[str, str], set[str]] = defaultdict(set)  # the results so far, by tool and arguments
    proposed, patience = "", Patience()
    for turn in run.turns:
        if turn.role == "user":
            sources.add(turn.text)
            if len(turn.text) <= CONFIRMS and _YES.match(turn.text):
                sources.add(proposed)
            continue
        proposed = turn.text
        for call in turn.calls:
            if call.tool not in own:
                own[call.tool] = _Own(tools.get(call.tool))
            invented = list(_invented(call, own[call.tool], sources))
            results = had[call.tool, _key(call.arguments)]
            again = bool(results) and (call.result is None or call.result in results)
            made.append(_validated(call, tools, invented, patience, again=again, offered=bool(run.tools)))
            if call.result is not None and not call.failed:
                results.add(call.result)
            if call.result:
                sources.add(_without(call.result, invented), clock=_CLOCK.search(call.tool) is not None)
    return (*made, *claimed_calls(run))


def _validated(
    call: ToolUse,
    tools: dict[str, ToolSpec],
    invented: Sequence[Entity],
    patience: Patience,
    *,
    again: bool,
    offered: bool,
) -> ToolCallValidation:
    def found(status: Any, *errors: str) -> ToolCallValidation:
        return ToolCallValidation(tool=call.tool, args=call.arguments, status=status, errors=errors)

    unknown = [
        f"{item.path or 'arguments'}: {item.kind} {item.text!r} comes from nowhere in the run" for item in invented
    ]
    unknown = [*unknown[:MAX_ERRORS], *(["and more"] if len(unknown) > MAX_ERRORS else [])]
    if not offered:
        return found("invalid", "the run does not say which tools were offered: record them", *unknown)
    if call.tool not in tools:
        return found("invalid", f"there is no tool {call.tool!r}", *unknown)
    if errors := schema_errors(tools[call.tool], call.arguments, patience):
        return found("invalid", *errors, *unknown)
    if unknown:
        return found("fabricated", *unknown)
    if again:
        return found("stale", "the same call was made before, and gave the same result")
    return found("valid")


def _key(arguments: Any) -> str:
    return json.dumps(arguments, sort_keys=True, default=str)


class _Own:
    """The values that a tool itself provides for its arguments, and the texts that describe them."""

    def __init__(self, tool: ToolSpec | None) -> None:
        self.allowed = tool.allowed if tool is not None else ()
        self.values: set[str] = set()
        self.sources = Sources()
        if tool is not None:
            self.sources.add(_EXAMPLES.sub(" ", tool.description))
            for text, is_value in _schema_texts(tool.parameters):
                self.sources.add(text)
                self.values |= {text} if is_value else set()


def _invented(call: ToolUse, own: _Own, sources: Sources) -> Iterator[Entity]:
    for leaf in leaves(call.arguments):
        if leaf.text in own.values or _is_allowed(leaf.text, own.allowed):
            continue
        for item in entities(leaf):
            if not (
                _is_allowed(item.text, own.allowed)
                or sources.have(item, leaf.text)
                or own.sources.have(item, leaf.text)
            ):
                yield item


def _is_allowed(text: str, allowed: Sequence[str]) -> bool:
    text = text.strip().casefold()
    return any(
        text.startswith(one.casefold()[:-1]) if one.endswith("*") else text == one.strip().casefold() for one in allowed
    )


def _schema_texts(schema: Any) -> Iterator[tuple[str, bool]]:
    """Yield what a schema says about an argument: its values (True), and its descriptions without examples (False)."""
    waiting = [(schema, 0)]
    while waiting:
        part, depth = waiting.pop()
        if depth > NESTED or not isinstance(part, dict):
            continue
        for name in ("enum", "examples", "const", "default", "minimum", "maximum"):
            value = part.get(name)
            for one in value if isinstance(value, list) else [value] if value is not None else []:
                yield one if isinstance(one, str) else json.dumps(one, ensure_ascii=False, default=str), True
        if isinstance(part.get("description"), str):
            yield _EXAMPLES.sub(" ", part["description"]), False
        for inner in part.values():
            waiting += [(one, depth + 1) for one in (inner if isinstance(inner, list) else [inner])]


def _without(result: str, invented: Sequence[Entity]) -> str:
    folded = result.casefold()
    for item in invented:
        if item.text.casefold() in folded:  # faster than the pattern
            result = re.sub(re.escape(item.text), " ", result, flags=re.I)
    return result
