"""Classifying each call of a run by the four kinds of tool hallucination of Relign (section 2.1, figure 2).

Rules come first: an unknown tool (`tool_type`), arguments that do not fit the schema (`tool_format`), the same call
with the same result again, or an invented value that a later call gives (`tool_timing`), an identifier, address or
number that no text contains (`tool_content`). A judge is asked about the rest: whether the tool is relevant to the
request (else `tool_type`), whether the call comes too early (`tool_timing`), and whether values that are not in the
texts can be inferred from them (else `tool_content`). If it is unsure, nothing is wrong.
"""

from collections.abc import Sequence
from typing import Any

from haluagent.checks.reliability.judge import CallJudge, JudgedCall
from haluagent.checks.reliability.records import CallFinding, CallKind
from haluagent.checks.reliability.timing import PlacedCall, given_later, parts, placed_calls, repeats, stands_in
from haluagent.checks.runs.calls.check import validate_calls
from haluagent.checks.runs.records import AgentRun, ToolCallValidation, ToolSpec, ToolUse
from haluagent.text.normalize import spaced

_RULES: dict[str, CallKind] = {"invalid": "tool_format", "fabricated": "tool_content"}


async def classify(run: AgentRun, judge: CallJudge | None, *, last: bool = False) -> tuple[CallFinding, ...]:
    """Return one finding for each call, in order; with `last`, that of the last call alone.

    Without a judge only the rules decide. Raise `ModelError` if its model fails.
    """
    tools = {tool.name: tool for tool in run.tools}
    query = "\n".join(turn.text for turn in run.turns if turn.role == "user")
    findings = []
    for placed, checked in list(zip(placed_calls(run), _validations(run), strict=True))[-1 if last else 0 :]:
        call, tool = placed.call, tools.get(placed.call.tool)
        finding = by_rule(placed, tool, checked)
        if finding is None and judge is not None and tool is not None:
            finding = await _by_meaning(judge, query, placed, tool, run.tools)
        findings.append(finding or CallFinding(call_id=call.id, tool=call.tool, kind="none"))
    return tuple(findings)


def by_rule(placed: PlacedCall, tool: ToolSpec | None, checked: ToolCallValidation) -> CallFinding | None:
    """Return what the rules find wrong, or None."""
    call = placed.call
    if tool is None:
        return _wrong(call, "tool_type", "there is no such tool")
    kind = _RULES.get(checked.status)
    if kind == "tool_format":
        return _wrong(call, kind, "; ".join(checked.errors))
    if repeats(placed):
        return _wrong(call, "tool_timing", "the same call had the same result before")
    if kind == "tool_content" and isinstance(call.arguments, dict):
        early = given_later(placed, not_given(call.arguments, tool, _texts(placed)))
        if early is not None:
            return _wrong(call, "tool_timing", f"{early!r} is what a later call gives")
    return _wrong(call, kind, "; ".join(checked.errors)) if kind else None


async def _by_meaning(
    judge: CallJudge, query: str, placed: PlacedCall, tool: ToolSpec, tools: Sequence[ToolSpec]
) -> CallFinding | None:
    call, texts = placed.call, _texts(placed)
    if not isinstance(call.arguments, dict):
        return None
    relevant = await judge.relevant(query, tool)
    if relevant.verdict == "no":
        return _wrong(call, "tool_type", "the tool has nothing to do with the request", relevant)
    early = await judge.premature(texts, call, tools)
    if early.verdict == "yes":
        return _wrong(call, "tool_timing", "it needs a result that no call has given yet", early)
    unknown = not_given(call.arguments, tool, texts)
    if not unknown:
        return None
    authentic = await judge.authentic(texts, call, tool, unknown)
    if authentic.verdict == "no":
        return _wrong(call, "tool_content", "a value of the arguments comes from nowhere", authentic)
    return None


def not_given(arguments: dict[str, Any], tool: ToolSpec, texts: Sequence[str]) -> dict[str, Any]:
    """Return the arguments that are neither in a text, nor true or false, nor an optional parameter's default."""
    known = spaced("\n".join(texts))
    properties, required = tool.parameters.get("properties", {}), tool.parameters.get("required", ())
    found = {}
    for name, value in arguments.items():
        default = properties.get(name, {}).get("default") if isinstance(properties.get(name), dict) else None
        if name not in required and value == default:
            continue
        if not all(stands_in(part, known) for part in parts(value)):
            found[name] = value
    return found


def _wrong(call: ToolUse, kind: CallKind, reason: str, judged: JudgedCall | None = None) -> CallFinding:
    probability = judged.probability if judged is not None else None
    return CallFinding(call_id=call.id, tool=call.tool, kind=kind, reason=reason, probability=probability)


def _texts(placed: PlacedCall) -> list[str]:
    return [text for _, text in placed.history]


def _validations(run: AgentRun) -> list[ToolCallValidation]:
    """Return one validation for each call, leaving out those of calls that were never made."""
    return [validation for validation in validate_calls(run) if validation.status != "never_called"]
