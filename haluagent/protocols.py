"""What the agent asks of the parts around it. Each is a method or two, so that anything can stand behind it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypedDict, runtime_checkable

from .types import Language, MemoryEntry, Record, Sentence, Usage

Role = Literal["system", "user", "assistant"]


class Message(TypedDict):
    role: Role
    content: str


class Generation(Record):
    """One or more sampled texts for the same prompt, and what they cost together."""

    texts: tuple[str, ...]
    usage: Usage
    truncated: bool = False

    @property
    def text(self) -> str:
        return self.texts[0]


class Choice(Record):
    """Probabilities of a few answers; they sum to 1. `calibrated` is False where the server gives no
    log-probabilities and the one answer it wrote got all the weight."""

    probabilities: dict[str, float]
    usage: Usage
    calibrated: bool = True

    @property
    def best(self) -> str:
        return max(self.probabilities, key=self.probabilities.__getitem__)


@runtime_checkable
class Model(Protocol):
    """A language model behind an OpenAI-compatible door.

    `context` is the number of tokens a prompt and its answer may have together.
    All calls raise `ModelError` when the endpoint failed after its retries.
    """

    name: str
    context: int

    async def generate(
        self,
        messages: Sequence[Message],
        *,
        stop: Sequence[str] = (),
        grammar: str | None = None,
        max_tokens: int = 256,
        temperature: float = 0.0,
        samples: int = 1,
    ) -> Generation:
        """Continue a conversation. `grammar` is GBNF; a server that cannot constrain ignores it."""
        ...

    async def choose(self, messages: Sequence[Message], choices: Sequence[str]) -> Choice:
        """Score a few short answers (2 to 10, each telling itself apart by its first token)."""
        ...

    def count_tokens(self, text: str) -> int:
        """How many tokens of this model `text` takes."""
        ...


@dataclass(frozen=True)
class ToolContext:
    """What a tool may know and use. `memory` holds the entries decided so far in this detection."""

    question: str
    response: str
    language: Language
    sentences: Sequence[Sentence]
    model: Model
    reference: str | None = None
    memory: Sequence[MemoryEntry] = field(default_factory=tuple)

    def sentence(self, index: int) -> Sentence:
        """The sentence of that index; 0 is the whole response. Raises KeyError where there is none."""
        if index == 0:
            return Sentence(index=0, text=self.response, span=(0, len(self.response)))
        for sentence in self.sentences:
            if sentence.index == index:
                return sentence
        raise KeyError(index)
