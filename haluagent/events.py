"""What `stream()` yields, in the order it happens. The last event is always `Answered`."""

from typing import Annotated, Literal

from pydantic import Field

from haluagent.types import Detection, MemoryEntry, Record, Sentence, Step, ToolCall


class Found(Record):
    """A sentence of the response, before it is checked."""

    kind: Literal["sentence"] = "sentence"
    sentence: Sentence


class Thought(Record):
    kind: Literal["thought"] = "thought"
    sentence: int | None
    text: str


class Action(Record):
    kind: Literal["action"] = "action"
    sentence: int | None
    call: ToolCall


class Observation(Record):
    kind: Literal["observation"] = "observation"
    sentence: int | None
    step: Step
    text: str


class Verdict(Record):
    """The label a sentence got, before reflection."""

    kind: Literal["verdict"] = "verdict"
    entry: MemoryEntry


class Revised(Record):
    """Reflection changed a label; `entry.revised_from` says from what and why."""

    kind: Literal["revision"] = "revision"
    entry: MemoryEntry


class Answered(Record):
    kind: Literal["answer"] = "answer"
    detection: Detection


Event = Annotated[Found | Thought | Action | Observation | Verdict | Revised | Answered, Field(discriminator="kind")]
