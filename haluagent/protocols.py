"""The parts around the agent, as protocols of a method or two, so that anything can implement them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypedDict, runtime_checkable

from haluagent.types import Language, MemoryEntry, Record, Sentence, Usage

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
    """A language model.

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
        """Count the tokens of this model in `text`."""
        ...


# What a model, or another part of an agent, may be able to do besides. Each is asked for with `isinstance`.


@runtime_checkable
class Concurrent(Protocol):
    """A model that states how many concurrent requests suit it."""

    concurrency: int


@runtime_checkable
class Remote(Protocol):
    """A model behind an address of its own."""

    base_url: str
    api_key: str | None


@runtime_checkable
class Startable(Protocol):
    """A model whose engine takes seconds to start, or has to be downloaded first."""

    def start(self) -> None:
        """Start it, unless it runs. Raises ConfigError where it cannot be started."""
        ...


@runtime_checkable
class Warmable(Protocol):
    """A model that can evaluate a system prompt ahead of the conversations that begin with it."""

    async def warm(self, system: str) -> Usage:
        """Evaluate the prompt, and return what that cost."""
        ...


@runtime_checkable
class Reseedable(Protocol):
    """A model that samples other texts with another seed."""

    def reseeded(self, seed: int) -> Model:
        """Return the same model with another seed."""
        ...


@runtime_checkable
class Adapted(Protocol):
    """A model with an adapter that can be left out."""

    def base_model(self) -> Model:
        """Return the model without its adapter."""
        ...


@runtime_checkable
class Closable(Protocol):
    """A part with connections or processes of its own."""

    async def aclose(self) -> None:
        """Free them. The part can be used again afterwards."""
        ...


ExecutionOutcome = Literal[
    "ok", "syntax_error", "exception", "missing_package", "timeout", "memory", "output", "killed"
]


class Execution(Record):
    """The outcome of a program in a sandbox.

    `outcome`: it ran to its end (`ok`); it could not be compiled (`syntax_error`); an exception left it (`exception`,
    failed assertions too); it needs a package that the sandbox does not have (`missing_package`, named in `error`);
    it used up its time (`timeout`), its memory (`memory`) or its output (`output`); or it ended before its last line
    without an exception, as by `os._exit` or a signal (`killed`: what comes after that point did not run).
    `error` is the last line of the traceback, `traceback` only has the program's own frames, `line` (from 1) is the line
    of the program that raised. `stdout` and `stderr` are clipped. `seconds` is wall-clock time. Nothing in here can be
    trusted to be more than what a program wrote.
    """

    outcome: ExecutionOutcome
    error: str = ""
    traceback: str = ""
    line: int | None = None
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0
    backend: str = ""


@runtime_checkable
class Sandbox(Protocol):
    """A place to run code of unknown origin: no network, nothing of the host's files, bounded time, memory and output."""

    name: str

    async def run(self, code: str, *, seconds: float = 10.0) -> Execution:
        """Run a Python program by itself. Raises SandboxError where the sandbox failed, which says nothing of the code."""
        ...


class SearchResult(Record):
    """One hit. `url` is an address or the name of a document (`file:///...`); `snippet` is what a reader is shown.

    `text` is the passage that can serve as evidence, verbatim: `document[offset:offset + len(text)]`, where there is one.
    """

    title: str
    url: str
    snippet: str
    text: str | None = None
    offset: int = 0


@runtime_checkable
class SearchProvider(Protocol):
    """Something that finds documents: an index of the user's own, or a search engine."""

    name: str

    async def search(self, query: str, count: int = 5, language: Language = "en") -> list[SearchResult]:
        """Return at most `count` results, best first; an empty list where nothing was found. Raises SearchError, QuotaExhausted
        or SearchTimeout: none of them means that there is nothing to find."""
        ...


@runtime_checkable
class Multilingual(Protocol):
    """A collection on this machine, which knows the languages of its texts. A search in it costs nothing, so that it is also
    searched for a question and a sentence as they stand."""

    async def languages(self) -> frozenset[Language]:
        """Return those of the supported languages that it has texts in."""
        ...


@runtime_checkable
class Translator(Protocol):
    """A translation service. Languages are ISO 639-1 codes (`zh`, `en`, `ko`)."""

    name: str

    async def translate(self, text: str, target: str, source: str | None = None) -> str:
        """Translate `text` to `target`. Raises ToolError or ModelError where the service failed."""
        ...


class Publication(Record):
    """A publication as a registry has it. What the registry does not say is empty; `authors` are family names (and the names of
    organisations), `years` all that it gives: of print, of the page, of the preprint."""

    title: str = ""
    authors: tuple[str, ...] = ()
    years: tuple[int, ...] = ()
    url: str | None = None


@runtime_checkable
class Bibliography(Protocol):
    """A registry of publications, such as Crossref."""

    name: str

    async def work(self, doi: str, language: Language = "en") -> Publication | None:
        """Return the work that has a DOI; None where no registry has given out that DOI. Raises SearchError, QuotaExhausted or
        SearchTimeout where that could not be found out."""
        ...


@runtime_checkable
class Visitor(Protocol):
    """Something that asks for pages on the web."""

    async def visit(self, url: str, language: Language = "en") -> str:
        """Return the address of the page that answers at `url`, after redirects. Raises SearchError where none does, or none may
        be asked: that says nothing about whether there was one."""
        ...


@dataclass(frozen=True)
class Services:
    """The services that tools use, shared by all detections of an agent. None where there is none."""

    sandbox: Sandbox | None = None
    search: SearchProvider | None = None
    translator: Translator | None = None
    bibliography: Bibliography | None = None
    visitor: Visitor | None = None


@dataclass(frozen=True)
class ToolContext:
    """The texts and services that a tool may use. `memory` holds the entries decided so far in this detection.

    The services (`Services`) are None where there is none: a tool then says so, and decides nothing. `results`
    where the reference is what the tools of an agent's run returned, which is read in another way than prose. `base_rate` is the
    share of the sentences that are right, as far as is known beforehand; None leaves that to the model's calibration. `facts` are
    the lines that earlier tools found out about the sentence of this call (`ToolResult.facts`). `judged` are the search results that
    it was judged by; a tool that judges it by others adds them.
    """

    question: str
    response: str
    language: Language
    sentences: Sequence[Sentence]
    model: Model
    reference: str | None = None
    memory: Sequence[MemoryEntry] = field(default_factory=tuple)
    sandbox: Sandbox | None = None
    search: SearchProvider | None = None
    translator: Translator | None = None
    bibliography: Bibliography | None = None
    visitor: Visitor | None = None
    results: bool = False
    base_rate: float | None = None
    facts: Sequence[str] = ()
    judged: list[SearchResult] = field(default_factory=list)

    def sentence(self, index: int) -> Sentence:
        """Return the sentence of that index; 0 is the whole response. Raises KeyError where there is none."""
        if index == 0:
            return Sentence(index=0, text=self.response, span=(0, len(self.response)))
        for sentence in self.sentences:
            if sentence.index == index:
                return sentence
        raise KeyError(index)
