"""The events that `stream()` yields, in the order they happen. The last one is always `Answered`."""

from typing import Annotated, Literal

from pydantic import Field

from haluagent.types import Detection, MemoryEntry, Record, Sentence, Step, ToolCall


class Found(Record):
    """A sentence of the response, before it is checked."""

    kind: Literal["sentence"] = "sentence"
    sentence: Sentence


class Thought(Record):
    """The model's reasoning before an action."""

    kind: Literal["thought"] = "thought"
    sentence: int | None
    text: str


class Action(Record):
    """A tool call, before it is run."""

    kind: Literal["action"] = "action"
    sentence: int | None
    call: ToolCall


class Observation(Record):
    """The result of a tool call, as the model reads it."""

    kind: Literal["observation"] = "observation"
    sentence: int | None
    step: Step
    text: str


class Verdict(Record):
    """The label of a sentence, before reflection."""

    kind: Literal["verdict"] = "verdict"
    entry: MemoryEntry


class Revised(Record):
    """A label that reflection changed; `entry.revised_from` holds the old label and the reason."""

    kind: Literal["revision"] = "revision"
    entry: MemoryEntry


class Answered(Record):
    """The finished detection."""

    kind: Literal["answer"] = "answer"
    detection: Detection


Event = Annotated[Found | Thought | Action | Observation | Verdict | Revised | Answered, Field(discriminator="kind")]
