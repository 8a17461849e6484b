"""A recorded run of an agent, and the report on it: the fields of the report are those of the spec, and no others.

Agent Hallucination Detection Spec, section "Output: HallucinationReport". What it leaves open, the values of `status`, is said
at each field.
"""

from typing import Any, Literal

from pydantic import Field

from haluagent.types import Record, Span

VERSION = "1.0"  # of the spec
Action = Literal["emit", "revise", "block"]
TaskType = Literal["factual", "high_stakes", "creative"]


class ToolSpec(Record):
    """A tool that the agent was offered. `parameters` is a JSON Schema of its arguments, an object. `allowed` are values that
    its arguments may hold although no text of the run has them: `*` at the end stands for any ending."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=lambda: {"type": "object", "properties": {}})
    allowed: tuple[str, ...] = ()


class ToolUse(Record):
    """A call that the model made. `arguments` is the text that the model wrote where it is no JSON object. `result` is what
    came back, as a text; None where nothing did. `failed` is True where that is an error."""

    id: str
    tool: str
    arguments: dict[str, Any] | str
    result: str | None = None
    failed: bool = False


class Turn(Record):
    """What was said in the order of the run: by the user, or by the model, with the calls that it made then."""

    role: Literal["user", "assistant"]
    text: str = ""
    calls: tuple[ToolUse, ...] = ()


class AgentRun(Record):
    """A run as far as its candidate answer. `task` chooses the thresholds (`GateSettings`); `creative` turns groundedness off."""

    run_id: str
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    turns: tuple[Turn, ...]
    answer: str
    task: TaskType = "factual"
    language: Literal["auto", "en", "zh"] = "auto"


class EvidenceSpan(Record):
    """A place in a tool result: `result[span[0]:span[1]] == text` of the call `call_id`."""

    call_id: str
    tool: str
    span: Span
    text: str


class ReportClaim(Record):
    """A claim of the answer. `score` in [0, 1] is its groundedness. `status`: `grounded` from the emit threshold on, `weak` from
    the revise threshold, `unsupported` from the block threshold, else `ungrounded`; `contradicted` where a tool result says
    something else; `diverged` where a probe did not agree; `unchecked` where nothing could be said, which counts as
    `unsupported` and never as grounded."""

    text: str
    evidence_spans: tuple[EvidenceSpan, ...] = ()
    score: float = Field(ge=0, le=1)
    critical: bool = False
    status: Literal["grounded", "weak", "unsupported", "ungrounded", "contradicted", "diverged", "unchecked"]


class ToolCallValidation(Record):
    """A call checked. `status`: `valid`; `invalid` where it is no call of the tool's schema, or of no offered tool;
    `fabricated` where an entity in it comes from nowhere; `never_called` where the answer claims a result of a tool that was
    not called; `stale` where the same call was made again after it had its result. The last one is a remark, not a
    rejection. `errors` say what, one line each, with the path of the argument."""

    tool: str
    args: dict[str, Any] | str
    status: Literal["valid", "invalid", "fabricated", "never_called", "stale"]
    errors: tuple[str, ...] = ()


class ConsistencyProbe(Record):
    """A critical claim asked anew. `agreement` in [0, 1] is the share of the answers that agree with the original."""

    claim: str
    original: str
    probe_answers: tuple[str, ...]
    agreement: float = Field(ge=0, le=1)


class HallucinationReport(Record):
    """What the spec asks of a detector, with its names. `overall_score` in [0, 1] is the gating score; 1 for an answer that
    makes no claim."""

    run_id: str
    claims: tuple[ReportClaim, ...]
    tool_call_validations: tuple[ToolCallValidation, ...]
    consistency_probes: tuple[ConsistencyProbe, ...] = ()
    overall_score: float = Field(ge=0, le=1)
    action: Action
    version: str = VERSION
