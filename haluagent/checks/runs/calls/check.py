"""Stage 1: every tool call of a run against its tool's schema, and every entity in it against the texts of the run.

Agent Hallucination Detection Spec, stage 1. No model is asked.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from haluagent.checks.runs.calls.claimed import claimed_calls
from haluagent.checks.runs.calls.claimed_words import READS
from haluagent.checks.runs.calls.entities import MAX_CALL, Entity, Leaves, entities
from haluagent.checks.runs.calls.schema_check import MAX_ERRORS, Patience, schema_errors
from haluagent.checks.runs.calls.sources import MAX_TEXT, Sources, is_small
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
_MAKES = re.compile(r"write|create|save|export|generate|make|new|download|plot|render|写|保存|生成|导出", re.I)
CONFIRMS = 40  # the longest reply, in characters, that may only say yes
NESTED = 8  # the depth to which a tool's schemas are searched


def validate_calls(run: AgentRun) -> tuple[ToolCallValidation, ...]:
    """Return one validation for each call of the run, in order, and then one for each result that the answer claims
    although no call gave it.

    The latter have the status `never_called`; their `tool` is "" if no offered tool would have given the result. An
    entity may come from the system prompt, from what the user said before the call (or only said yes to), from the
    results of earlier calls, from the tool's `allowed`, or from its schema and descriptions except for their examples
    in words. What the model itself wrote is no source, and neither is a result that only echoes what was made up, or
    what the agent was told of a call that a guard stopped. A number must be given in the role of its parameter. What
    cannot be judged makes a call `unverified`, and so does an entity from nowhere if the run is `partial`.
    """
    so_far = RunSoFar(run.system, run.tools, partial=run.partial)
    made: list[ToolCallValidation] = []
    for turn in run.turns:
        so_far.hear(turn.role, turn.text)
        for call in turn.calls:
            made.append(so_far.judge(call))
            so_far.read(call)
    return (*made, *claimed_calls(run))


class RunSoFar:
    """What a run has given the model so far. Each call is judged against that."""

    def __init__(self, system: str, tools: Sequence[ToolSpec], *, partial: bool = False) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._partial = partial
        self._own: dict[str, _Own] = {}  # by tool
        self._sources = Sources()
        self._sources.add(system)
        self._had: defaultdict[tuple[str, str], set[str]] = defaultdict(set)  # the results, by tool and arguments
        self._latest: tuple[tuple[str, str], _Judged] | None = None  # the entities of a call before anything was added
        self._proposed, self._patience = "", Patience()

    def hear(self, role: str, text: str) -> None:
        """Take in the text of a turn."""
        if role != "user":
            self._proposed = text
            return
        self._latest = None
        self._sources.add(text, said=True)
        if len(text) <= CONFIRMS and _YES.match(text):
            self._sources.add(self._proposed)

    def judge(self, call: ToolUse) -> ToolCallValidation:
        """Return the validation of a call that is made now."""
        judged = self._entities(call)
        size = 0 if call.stopped else len(call.result or "")
        cut = [f"result: only {MAX_TEXT:,} of {size:,} characters were read"] if size > MAX_TEXT else []

        def found(status: Any, *errors: str) -> ToolCallValidation:
            lines = (*errors, *cut)
            return ToolCallValidation(
                tool=call.tool, args=call.arguments, status=status, errors=lines, stopped=call.stopped
            )

        unknown = _bounded(f"{item.path or 'arguments'}: {item.kind} {item.text!r} {why}" for item, why in judged.why())
        unseen, unknown = (unknown, []) if self._partial else ([], unknown)
        if not self._tools:
            return found("invalid", "the run does not say which tools were offered: record them", *unknown)
        if call.tool not in self._tools:
            return found("invalid", f"there is no tool {call.tool!r}", *unknown)
        if errors := schema_errors(self._tools[call.tool], call.arguments, self._patience):
            return found("invalid", *errors, *unknown)
        if unknown:
            return found("fabricated", *unknown)
        results = self._had.get((call.tool, _key(call.arguments)))
        if results and (call.result is None or call.result in results):
            return found("stale", "the same call was made before, and gave the same result")
        if remarks := _bounded([*unseen, *judged.remarks]):
            return found("unverified", *remarks)
        return found("valid")

    def read(self, call: ToolUse) -> None:
        """Take in the result of a call."""
        if call.succeeded and call.result is not None:
            self._had[call.tool, _key(call.arguments)].add(call.result)
        if call.result and not call.stopped:
            invented, self._latest = self._entities(call).invented, None
            self._sources.add(_without(call.result, invented), clock=_CLOCK.search(call.tool) is not None)

    def _entities(self, call: ToolUse) -> "_Judged":
        latest = (call.tool, _key(call.arguments))
        if self._latest is None or self._latest[0] != latest:
            if call.tool not in self._own:
                self._own[call.tool] = _Own(self._tools.get(call.tool))
            self._latest = latest, _Judged(call, self._own[call.tool], self._sources)
        return self._latest[1]


def _bounded(lines: Iterable[str]) -> list[str]:
    found = list(islice(lines, MAX_ERRORS + 1))
    return [*found[:MAX_ERRORS], *(["and more"] if len(found) > MAX_ERRORS else [])]


def _key(arguments: Any) -> str:
    return json.dumps(arguments, sort_keys=True, default=str)


class _Own:
    """The values that a tool itself provides for its arguments, and the texts that describe them.

    A number is only for the parameter at which it stands.
    """

    def __init__(self, tool: ToolSpec | None) -> None:
        self.reads = (first := re.match(r"[a-z]+", tool.name)) is not None and first[0] in READS if tool else False
        self.makes = _MAKES.search(tool.name) is not None if tool else False
        self.allowed = tool.allowed if tool is not None else ()
        self.values: defaultdict[str, set[str]] = defaultdict(set)  # by parameter
        self.descriptions: defaultdict[str, str] = defaultdict(str)
        self._sources = Sources()
        self._of_parameters: dict[str, Sources] = {}
        if tool is not None:
            self._sources.add(_EXAMPLES.sub(" ", tool.description))
            for name, text, is_value in _schema_texts(tool.parameters):
                self._sources.add(text)
                if is_value:
                    self.values[name].add(text)
                else:
                    self.descriptions[name] += f"{text}\n"

    def has(self, item: Entity) -> bool:
        """Return whether the tool's definition gives an entity."""
        if item.kind != "number" or item.number is None:
            return self._sources.judge(item) == "given"
        if item.name not in self._of_parameters:
            self._of_parameters[item.name] = Sources()
            self._of_parameters[item.name].add(
                "\n".join([self.descriptions[item.name], *sorted(self.values[item.name])])
            )
        return self._of_parameters[item.name].states(item.number)

    def leaves_open(self, item: Entity) -> bool:
        """Return whether a model may choose a value for this tool itself: how much to read, or the name of a new file."""
        return (self.reads and is_small(item)) or (
            self.makes and item.kind == "path" and "/" not in item.text.strip("./")
        )


class _Judged:
    """The entities of a call that come from nowhere, and remarks on what cannot be judged."""

    def __init__(self, call: ToolUse, own: _Own, sources: Sources) -> None:
        self._sources = sources
        self.invented: list[Entity] = []
        self.remarks: list[str] = []
        leaves = Leaves(call.arguments)
        for leaf in leaves.all:
            if leaf.text in own.values[leaf.name] or _is_allowed(leaf.text, own.allowed):
                continue
            for item in entities(leaf):
                if _is_allowed(item.text, own.allowed) or sources.is_name(item):
                    continue
                judged = sources.judge(item, own.descriptions[item.name])
                if judged == "given" or own.has(item):
                    continue
                if judged == "invented" and not (sources.cut or own.leaves_open(item)):
                    self.invented.append(item)
                    continue
                why = (
                    f"of a longer text only {MAX_TEXT:,} characters were read"
                    if sources.cut
                    else "the run does not say"
                )
                self.remarks.append(f"{item.path or 'arguments'}: {item.kind} {item.text!r} cannot be verified: {why}")
        if leaves.cut:
            self.remarks.append(
                f"arguments: too long to be read whole: {MAX_CALL:,} characters, and no data in between"
            )

    def why(self) -> Iterator[tuple[Entity, str]]:
        """Yield the invented entities, each with the reason."""
        for item in self.invented:
            stated = item.number is not None and self._sources.states(item.number)
            yield item, "is given for something else" if stated else "comes from nowhere in the run"


def _is_allowed(text: str, allowed: Sequence[str]) -> bool:
    text = text.strip().casefold()
    return any(
        text.startswith(one.casefold()[:-1]) if one.endswith("*") else text == one.strip().casefold() for one in allowed
    )


def _schema_texts(schema: Any) -> Iterator[tuple[str, str, bool]]:
    """Yield what a schema says about each argument, with its name: its values (True), and its descriptions without
    examples (False)."""
    waiting = [(schema, "", 0)]
    while waiting:
        part, name, depth = waiting.pop()
        if depth > NESTED or not isinstance(part, dict):
            continue
        for key in ("enum", "examples", "example", "const", "default", "minimum", "maximum"):
            value = part.get(key)
            for one in value if isinstance(value, list) else [value] if value is not None else []:
                yield name, one if isinstance(one, str) else json.dumps(one, ensure_ascii=False, default=str), True
        if isinstance(part.get("description"), str):
            yield name, _EXAMPLES.sub(" ", part["description"]), False
        for key, inner in part.items():
            if key == "properties" and isinstance(inner, dict):
                waiting += [(one, str(named), depth + 1) for named, one in inner.items()]
            else:
                waiting += [(one, name, depth + 1) for one in (inner if isinstance(inner, list) else [inner])]


def _without(result: str, invented: Sequence[Entity]) -> str:
    read, rest = result[:MAX_TEXT], result[MAX_TEXT:]
    folded = read.casefold()
    for text in dict.fromkeys(item.text for item in invented):
        if text.casefold() in folded:  # faster than the pattern
            read = re.sub(rf"(?<![\w.]){re.escape(text)}(?!\w|\.\d)", " ", read, flags=re.I)
    return read + rest
