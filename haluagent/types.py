"""The records that travel through a detection. All are frozen and reject unknown fields.

Spans are half-open `(start, end)` character offsets (Python `str` indices) into the text they name.
Probabilities and scores are in [0, 1]; seconds are wall-clock seconds.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Language = Literal["en", "zh"]
Label = Literal["supported", "contradicted", "unverified", "no_claim"]
# Why a claim is unverified, where that says something of the claim: the reference, read in full, does not say it.
ReasonCode = Literal["not_in_reference"]
SCHEMA_VERSION: Literal[2] = 2  # of a `Detection` as JSON; 2 has `reason_code`
Stop = Literal["answer", "step_limit", "format_errors", "budget", "error"]
Span = tuple[int, int]
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Record(BaseModel):
    """A frozen pydantic model that rejects unknown fields. Base of every record."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Usage(Record):
    """The cost of model calls.

    `prompt_tokens` counts all prompt tokens, `cached_tokens` those of them that the engine took from its prefix cache
    instead of evaluating them. `seconds` are wall-clock seconds.
    """

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    seconds: float = 0.0

    @property
    def evaluated_tokens(self) -> int:
        """Return the number of prompt tokens that the engine had to evaluate."""
        return self.prompt_tokens - self.cached_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(**{name: getattr(self, name) - getattr(other, name) for name in Usage.model_fields})


class Evidence(Record):
    """A text that speaks for or against a sentence.

    `source` names its origin (`calculator`, `reference`, `question`, `response`, or a tool's name). `span` is its place
    in that source's text, if it has one. `speaks_to_reader` is whether the part of that text which was read for it gives
    orders to the model that reads it, as a prompt injection does: it was read all the same, so look at it yourself.
    """

    source: str
    text: str
    url: str | None = None
    span: Span | None = None
    score: Annotated[float, Field(allow_inf_nan=False)] | None = None
    speaks_to_reader: bool = False


class Sentence(Record):
    """A unit to check. Index 0 is the response as a whole; sentences count from 1.

    `text` is verbatim: `response[span[0]:span[1]]`. `standalone`, if set, is the same sentence with its pronouns
    resolved and its omissions filled in.
    """

    index: int
    text: str
    span: Span
    standalone: str | None = None

    @property
    def name(self) -> str:
        """Return the sentence's name in the turn format: `S3`, or `S0` for the whole response."""
        return f"S{self.index}"

    @property
    def claim(self) -> str:
        """Return the text to check: the standalone form if there is one."""
        return self.standalone or self.text


class ToolCall(Record):
    """A call of a tool by name, with its arguments."""

    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class ToolResult(Record):
    """A tool's answer. `label` is None if the tool decided nothing.

    `confidence` is the probability in [0, 1] that `label` or `reason_code` is right. `read` holds the spans of the reference that the tool
    looked at, for the report's coverage. `open` holds the parts of the response that belong to the sentence and that the
    tool did not check: a sentence is supported only when other tools have decided these too. Empty where the tool checked
    all of it. `facts` holds lines that the next tool reads about the same sentence, such as a calculation and its result. `again`
    says that the tool may find more where it is asked in other words.
    """

    observation: str
    label: Label | None = None
    reason_code: ReasonCode | None = None
    confidence: Probability = 1.0
    evidence: tuple[Evidence, ...] = ()
    read: tuple[Span, ...] = ()
    open: tuple[Span, ...] = ()
    facts: tuple[str, ...] = ()
    again: bool = False


class Segmentation(ToolResult):
    """What `split_text` answers: the sentences of the response. The report has them in its entries."""

    sentences: tuple[Sentence, ...]


class Revision(Record):
    """The label and reason of an entry before reflection changed it."""

    label: Label
    reason: str


class CheckedPart(Record):
    """What one tool found about a part of a sentence. `open` are the spans of the response that it left open."""

    tool: str
    label: Label
    confidence: Probability
    evidence: tuple[Evidence, ...] = ()
    open: tuple[Span, ...] = ()


class MemoryEntry(Record):
    """The finding about one sentence: the paper's triple (sentence, label, evidence), and the reason for the label.

    `reason` always explains an `unverified` label; `reason_code` says that nothing in the reference says this, with
    `confidence` as its probability. `opinion` is the model's own probability that the sentence is true.
    It is given only beside `unverified`, or as the basis of the label in closed-book mode. `parts` are the findings that
    hold for a part of the sentence alone, each with what it left open.
    """

    sentence: Sentence
    label: Label
    evidence: tuple[Evidence, ...] = ()
    tool: str | None = None
    confidence: Probability = 1.0
    reason: str = ""
    reason_code: ReasonCode | None = None
    opinion: Probability | None = None
    revised_from: Revision | None = None
    parts: tuple[CheckedPart, ...] = ()

    @property
    def outcome(self) -> Label | ReasonCode:
        """Return what a report calls the entry: the code of its reason, or else its label."""
        return self.reason_code or self.label


class Step(Record):
    """One turn of the loop: the model's thought, the tool call and its result. `sentence` is the index it worked on.

    `error` says why there is no result. `rejected` is True if the call was not run at all, because it does not fit the
    tool's arguments or uses a value that none of the texts contains.
    """

    sentence: int | None
    thought: str
    call: ToolCall | None
    result: ToolResult | None
    error: str | None = None
    rejected: bool = False
    usage: Usage = Usage()


class Coverage(Record):
    """The shares, in [0, 1], of the texts that were looked at. Below 1 if a text was too long or a limit came first."""

    response: float = 1.0
    reference: float | None = None


class Detection(Record):
    """The report on one response.

    `hallucination` is True if any sentence is contradicted, False if every claim is supported (and there is at least
    one), None otherwise. `score` is the probability in [0, 1] that something in the response is wrong, for ranking and
    thresholds.
    """

    question: str
    response: str
    language: Language
    hallucination: bool | None
    score: float
    sentences: tuple[MemoryEntry, ...]
    steps: tuple[Step, ...] = ()
    usage: Usage = Usage()
    coverage: Coverage = Coverage()
    stop: Stop = "answer"
    error: str | None = None
    schema_version: Literal[2] = SCHEMA_VERSION
