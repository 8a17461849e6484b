"""The records that travel through a detection. All are frozen and reject unknown fields.

Spans are half-open `(start, end)` character offsets (Python `str` indices) into the text they name.
Probabilities and scores are in [0, 1]; seconds are wall-clock seconds.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Language = Literal["en", "zh"]
Label = Literal["supported", "contradicted", "unverified", "no_claim"]
Stop = Literal["answer", "step_limit", "format_errors", "budget", "error"]
Span = tuple[int, int]


class Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Usage(Record):
    """What model calls cost. `prompt_tokens` counts all prompt tokens, `cached_tokens` those of them
    that the engine took from its prefix cache instead of evaluating them."""

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    seconds: float = 0.0

    @property
    def evaluated_tokens(self) -> int:
        return self.prompt_tokens - self.cached_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(**{name: getattr(self, name) - getattr(other, name) for name in Usage.model_fields})


class Evidence(Record):
    """Something that speaks for or against a sentence.

    `source` says where it is from (`calculator`, `reference`, `question`, `response`, a tool's name),
    `span` is its place in that source's text, where it has one.
    """

    source: str
    text: str
    url: str | None = None
    span: Span | None = None
    score: float | None = None


class Sentence(Record):
    """A unit that is checked. Index 0 is the response as a whole; sentences count from 1.

    `text` is verbatim: `response[span[0]:span[1]]`. `standalone` is the same sentence with pronouns
    and omitted content filled in, where it needed that.
    """

    index: int
    text: str
    span: Span
    standalone: str | None = None

    @property
    def name(self) -> str:
        """How the sentence is called on the wire: `S3`, or `S0` for the whole response."""
        return f"S{self.index}"

    @property
    def claim(self) -> str:
        """The text to check: self-contained where that was needed."""
        return self.standalone or self.text


class ToolCall(Record):
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class ToolResult(Record):
    """What a tool answers. `label` is None where the tool decided nothing: that is never a label.

    `confidence` is the probability that `label` is right. `read` are the spans of the reference that were looked at,
    for the report's coverage. `sentences` are those that `split_text` cut; the report has them in its entries.
    """

    observation: str
    label: Label | None = None
    confidence: float = 1.0
    evidence: tuple[Evidence, ...] = ()
    read: tuple[Span, ...] = ()
    sentences: tuple[Sentence, ...] = Field(default=(), exclude=True)


class Revision(Record):
    """What an entry said before reflection changed it."""

    label: Label
    reason: str


class MemoryEntry(Record):
    """What is known about one sentence: the paper's triple (sentence, label, evidence), and why.

    `reason` always explains an `unverified` label. `opinion` is the model's own belief that the sentence
    is true, given only beside `unverified`, or as the ground of a label in closed-book mode.
    """

    sentence: Sentence
    label: Label
    evidence: tuple[Evidence, ...] = ()
    tool: str | None = None
    confidence: float = 1.0
    reason: str = ""
    opinion: float | None = None
    revised_from: Revision | None = None


class Step(Record):
    """One turn of the loop: what the model thought, called and read. `sentence` is the index it worked on.

    `error` says why there is no result; `rejected` is True where the call was not run at all: it does not fit the tool's
    arguments, or something in them comes from none of the texts.
    """

    sentence: int | None
    thought: str
    call: ToolCall | None
    result: ToolResult | None
    error: str | None = None
    rejected: bool = False
    usage: Usage = Usage()


class Coverage(Record):
    """Shares in [0, 1] of the texts that were looked at. Below 1 where a text was too long or a limit came first."""

    response: float = 1.0
    reference: float | None = None


class Detection(Record):
    """The report. `hallucination` is True if any sentence is contradicted, False if every claim is
    supported (and there is at least one), None otherwise.

    `score` is the probability in [0, 1] that something in the response is wrong, for ranking and thresholds.
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
