"""The records of a recorded agent run and of the report on it, which has the fields of the spec, and of a call whether
it was stopped before it ran.

Agent Hallucination Detection Spec, section "Output: HallucinationReport". The values of `status`, which it leaves open,
are described at each field.
"""

from typing import Any, Literal

from pydantic import Field

from haluagent.types import Record, Span

VERSION = "1.0"  # of the spec
Action = Literal["emit", "revise", "block"]
TaskType = Literal["factual", "high_stakes", "creative"]


class ToolSpec(Record):
    """A tool that the agent was offered.

    `parameters` is the JSON Schema of its arguments, an object. `allowed` holds values that its arguments may have
    although no text of the run contains them; `*` at the end stands for any ending.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=lambda: {"type": "object", "properties": {}})
    allowed: tuple[str, ...] = ()


class ToolUse(Record):
    """A call that the model made.

    `arguments` is the text that the model wrote if that is not a JSON object. `result` is the returned text, None if
    nothing came back. `failed` says that it is an error, `stopped` that a guard rejected the call before it ran; then
    `result` is only what the agent was told of that.
    """

    id: str
    tool: str
    arguments: dict[str, Any] | str
    result: str | None = None
    failed: bool = False
    stopped: bool = False

    @property
    def succeeded(self) -> bool:
        """Return whether the call ran and gave a result that is no error."""
        return self.result is not None and not (self.failed or self.stopped)


class Turn(Record):
    """A turn of the run: a text of the user, or of the model together with its calls."""

    role: Literal["user", "assistant"]
    text: str = ""
    calls: tuple[ToolUse, ...] = ()


class AgentRun(Record):
    """A run up to its candidate answer.

    `task` selects the thresholds (`GateSettings`); `creative` turns groundedness off. `partial` says that the model was
    given more than the run holds, such as the words of a user that an MCP server does not see.
    """

    run_id: str
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    turns: tuple[Turn, ...]
    answer: str
    task: TaskType = "factual"
    language: Literal["auto", "en", "zh"] = "auto"
    partial: bool = False


class EvidenceSpan(Record):
    """A place in a tool result: `result[span[0]:span[1]] == text` of the call `call_id`."""

    call_id: str
    tool: str
    span: Span
    text: str


class ReportClaim(Record):
    """A claim of the answer, with its groundedness `score` in [0, 1].

    `status` is `grounded` from the emit threshold on, `weak` from the revise threshold, `unsupported` from the block
    threshold, else `ungrounded`; `contradicted` if a tool result says something else; `diverged` if a probe did not
    agree; `unchecked` if it could not be judged, which counts as `unsupported` and never as grounded.
    """

    text: str
    evidence_spans: tuple[EvidenceSpan, ...] = ()
    score: float = Field(ge=0, le=1)
    critical: bool = False
    status: Literal["grounded", "weak", "unsupported", "ungrounded", "contradicted", "diverged", "unchecked"]


class ToolCallValidation(Record):
    """A validated call.

    `status` is `valid`; `invalid` if it does not fit the tool's schema, or the tool was not offered; `fabricated` if an
    entity in it comes from nowhere; `never_called` if the answer claims a result of a tool that was not called; `stale`
    if the same call was repeated after it had its result; `unverified` if a value in it can neither be traced nor called
    invented. The last two are remarks, not rejections. `errors` holds one line each, with the path of the argument.
    `stopped` says that a guard rejected the call before it ran: it was not executed.
    """

    tool: str
    args: dict[str, Any] | str
    status: Literal["valid", "invalid", "fabricated", "never_called", "stale", "unverified"]
    errors: tuple[str, ...] = ()
    stopped: bool = False


class ConsistencyProbe(Record):
    """A critical claim asked anew. `agreement` in [0, 1] is the share of the answers that agree with the original."""

    claim: str
    original: str
    probe_answers: tuple[str, ...]
    agreement: float = Field(ge=0, le=1)


class HallucinationReport(Record):
    """The spec's report, with its field names.

    `overall_score` in [0, 1] is the gating score, 1 if the answer claims nothing.
    """

    run_id: str
    claims: tuple[ReportClaim, ...]
    tool_call_validations: tuple[ToolCallValidation, ...]
    consistency_probes: tuple[ConsistencyProbe, ...] = ()
    overall_score: float = Field(ge=0, le=1)
    action: Action
    version: str = VERSION
