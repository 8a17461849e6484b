"""Classifying each call of a run by the four kinds of tool hallucination of Relign (section 2.1, figure 2).

Rules come first: an unknown tool (`tool_type`), arguments that do not fit the schema (`tool_format`), the same call
with the same result again (`tool_timing`), an identifier, address or number that no text contains (`tool_content`). The
model is asked about the rest: whether the tool is relevant to the request (else `tool_type`), and whether values that
are not in the texts can be inferred from them (else `tool_content`). If it is unsure, nothing is wrong.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from haluagent.checks.reliability.judge import Judge
from haluagent.checks.reliability.records import CallFinding, CallKind
from haluagent.checks.runs.calls.check import validate_calls
from haluagent.checks.runs.records import AgentRun, ToolCallValidation, ToolSpec, ToolUse
from haluagent.text.normalize import spaced

_RULES: dict[str, CallKind] = {"invalid": "tool_format", "fabricated": "tool_content"}


async def classify(run: AgentRun, judge: Judge | None) -> tuple[CallFinding, ...]:
    """Return one finding for each call, in order.

    Without a judge only the rules decide. Raise `ModelError` if its model fails.
    """
    tools = {tool.name: tool for tool in run.tools}
    query = "\n".join(turn.text for turn in run.turns if turn.role == "user")
    findings = []
    for (call, history), checked in zip(_calls(run), _validations(run), strict=True):
        tool = tools.get(call.tool)
        finding = by_rule(call, tool, checked, history)
        if finding is None and judge is not None and tool is not None and isinstance(call.arguments, dict):
            finding = await _by_meaning(judge, query, call, tool, history)
        findings.append(finding or CallFinding(call_id=call.id, tool=call.tool, kind="none"))
    return tuple(findings)


def by_rule(
    call: ToolUse, tool: ToolSpec | None, checked: ToolCallValidation, history: Sequence[tuple[ToolUse | None, str]]
) -> CallFinding | None:
    """Return what the rules find wrong, or None."""
    kind = _RULES.get(checked.status) if tool is not None else "tool_type"
    if kind not in ("tool_type", "tool_format") and _repeats(call, history):
        kind = "tool_timing"
    if kind is None:
        return None
    said = {"tool_type": "there is no such tool", "tool_timing": "the same call had the same result before"}
    return CallFinding(call_id=call.id, tool=call.tool, kind=kind, reason=said.get(kind) or "; ".join(checked.errors))


async def _by_meaning(
    judge: Judge, query: str, call: ToolUse, tool: ToolSpec, history: Sequence[tuple[ToolUse | None, str]]
) -> CallFinding | None:
    relevant = await judge.relevant(query, tool)
    if relevant.verdict == "no":
        return CallFinding(
            call_id=call.id, tool=call.tool, kind="tool_type", probability=relevant.probability,
            reason="the tool has nothing to do with the request",
        )  # fmt: skip
    assert isinstance(call.arguments, dict)
    texts = [text for _, text in history]
    unknown = not_given(call.arguments, tool, texts)
    if not unknown:
        return None
    authentic = await judge.authentic(texts, unknown)
    if authentic.verdict != "no":
        return None
    return CallFinding(
        call_id=call.id, tool=call.tool, kind="tool_content", probability=authentic.probability,
        reason="a value of the arguments comes from nowhere",
    )  # fmt: skip


def not_given(arguments: dict[str, Any], tool: ToolSpec, texts: Sequence[str]) -> dict[str, Any]:
    """Return the arguments that are neither in a text, nor true or false, nor an optional parameter's default."""
    known = spaced("\n".join(texts))
    properties, required = tool.parameters.get("properties", {}), tool.parameters.get("required", ())
    found = {}
    for name, value in arguments.items():
        default = properties.get(name, {}).get("default") if isinstance(properties.get(name), dict) else None
        if name not in required and value == default:
            continue
        if not all(_stands_in(part, known) for part in _parts(value)):
            found[name] = value
    return found


def _parts(value: Any) -> Iterator[str]:
    """Yield the strings and numbers in a JSON value."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _parts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _parts(inner)
    elif value is not None and not isinstance(value, bool):
        yield f"{value:.15g}" if isinstance(value, float) else str(value)


def _stands_in(part: str, known: str) -> bool:
    """Return whether a text contains a value as a whole word or number; in Chinese, where words have no bounds,
    anywhere."""
    wanted = spaced(part)
    return re.search(rf"(?<![a-z0-9]){re.escape(wanted)}(?![a-z0-9])", known) is not None if wanted else True


def _repeats(call: ToolUse, history: Sequence[tuple[ToolUse | None, str]]) -> bool:
    return any(
        earlier is not None and earlier.tool == call.tool and earlier.result == call.result and _same(earlier, call)
        for earlier, _ in history
    )


def _same(one: ToolUse, other: ToolUse) -> bool:
    return json.dumps(one.arguments, sort_keys=True) == json.dumps(other.arguments, sort_keys=True)


def _calls(run: AgentRun) -> Iterator[tuple[ToolUse, list[tuple[ToolUse | None, str]]]]:
    """Yield each call with what came before it: the user's words, and the results with their calls."""
    before: list[tuple[ToolUse | None, str]] = []
    for turn in run.turns:
        if turn.role == "user":
            before.append((None, turn.text))
        for call in turn.calls:
            yield call, list(before)
        before += [(call, call.result or "") for call in turn.calls]


def _validations(run: AgentRun) -> list[ToolCallValidation]:
    """Return one validation for each call, leaving out those of calls that were never made."""
    return [validation for validation in validate_calls(run) if validation.status != "never_called"]
