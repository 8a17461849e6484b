"""The records of a measurement of tool use: the task, each call's kind of hallucination, and the task's ending."""

from typing import Any, Literal

from pydantic import Field

from haluagent.checks.runs.records import AgentRun, ToolSpec
from haluagent.types import Language, Record, Usage

Kind = Literal["original", "missing_parameter", "unmatched_tools"]
KINDS: tuple[Kind, ...] = ("original", "missing_parameter", "unmatched_tools")

CallKind = Literal["none", "tool_type", "tool_timing", "tool_format", "tool_content"]
HALLUCINATIONS: tuple[CallKind, ...] = ("tool_type", "tool_timing", "tool_format", "tool_content")

# `calls`: too many calls. `unreadable`: turns that are neither a call nor an ending. `context`: the context is full.
Ending = Literal["answer", "change_tools", "talk_to_user", "calls", "unreadable", "context"]
INDECISIVE: tuple[Ending, ...] = ("change_tools", "talk_to_user")


class ToolTask(Record):
    """A user's request with the tools that are offered.

    `responses` holds for each tool the template of its answers. Only an original can be solved: the others lack a value
    that only the user knows, or the right tools.
    """

    id: str
    kind: Kind
    subset: str
    query: str
    tools: tuple[ToolSpec, ...]
    responses: dict[str, Any]

    @property
    def solvable(self) -> bool:
        return self.kind == "original"


class CallFinding(Record):
    """The kind of hallucination of a call, if any.

    `reason` is one line, empty if nothing is wrong. `probability` is that of the model's answer, if the model was
    asked.
    """

    call_id: str
    tool: str
    kind: CallKind
    reason: str = ""
    probability: float | None = Field(default=None, ge=0, le=1)


class ReliabilitySettings(Record):
    """The conditions of a test.

    `indecisive` offers ChangeTools and TalkToUser beside the tools; `grammar` holds the model's turns to the tools'
    schemas if the endpoint supports it. `judge` names the model that judges, None the measured one itself.
    """

    indecisive: bool = True
    grammar: bool = True
    max_calls: int = Field(default=6, ge=1)
    temperature: float = Field(default=0.0, ge=0)
    language: Literal["auto", "en", "zh"] = "auto"
    judge: str | None = None


class ReliabilityRow(Record):
    """A task that was run and judged.

    `passed`: solved if that was possible, else given back to the user. `task_hallucinated`: the answer draws on a
    hallucinated call. A row with an `error` is left out of all figures.
    """

    task: str
    kind: Kind
    subset: str
    model: str
    settings: ReliabilitySettings
    digest: str
    language: Language = "en"
    run: AgentRun | None = None
    ending: Ending | None = None
    calls: tuple[CallFinding, ...] = ()
    passed: bool = False
    task_hallucinated: bool = False
    usage: Usage = Usage()
    seconds: float = 0.0
    error: str | None = None
