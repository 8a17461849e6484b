"""Run the demos of a tool for real: `haluagent tools test`."""

import re
from collections.abc import Callable, Iterable
from typing import Any, Literal, cast

from haluagent.errors import FormatError, HaluAgentError, ModelError, SandboxError, SearchError, ToolError
from haluagent.models import resolve
from haluagent.protocols import Closable, Model, Sandbox, SearchProvider, ToolContext, Translator
from haluagent.tooling.demos import demo_call, demo_sentences
from haluagent.tooling.provenance import check_provenance
from haluagent.tooling.registry import Registry
from haluagent.tooling.services import make_services
from haluagent.tooling.tool import Demo, Tool
from haluagent.types import Record, Sentence

# "unverified": it could not be run, or what it says depends on more than the tool.
DemoOutcome = Literal["same", "different", "unverified"]
ServiceName = Literal["model", "sandbox", "search", "translator"]

_MISSING: dict[ServiceName, str] = {
    "sandbox": "it needs a sandbox: see haluagent sandbox status",
    "search": "it needs a search: see haluagent index add, or configure a provider",
}


class DemoRun(Record):
    """The outcome of one demo. `got` is the observation, also where it is an error's; None where there is none."""

    demo: Demo
    outcome: DemoOutcome
    got: str | None = None
    note: str = ""


class Parts:
    """The model and the services of the tools, each made when a tool first asks for it: a calculator needs no model.

    `make` is given a part's name; it returns None where there is no such part, and raises ConfigError or ModelError
    where it cannot be had.
    """

    def __init__(self, make: Callable[[ServiceName], Any]) -> None:
        self.asked: set[ServiceName] = set()  # by the tool that runs now
        self.failure: str | None = None
        self._make = make
        self._made: dict[ServiceName, Any] = {}

    def give(self, name: ServiceName) -> Any:
        self.asked.add(name)
        if name not in self._made:
            try:
                self._made[name] = self._make(name)
            except HaluAgentError as error:
                self.failure = str(error)
                raise
        return self._made[name]

    def missing(self) -> str | None:
        """Say why a tool could not do its work, where one of its parts is missing; None otherwise."""
        absent = (text for name, text in _MISSING.items() if name in self.asked and self._made.get(name) is None)
        return self.failure or next(absent, None)

    async def aclose(self) -> None:
        for part in self._made.values():
            if isinstance(part, Closable):
                await part.aclose()


def make_part(name: ServiceName) -> Any:
    """Make the configured part, as for an agent."""
    if name == "model":
        return resolve()
    others: dict[str, Any] = {part: None for part in ("sandbox", "search") if part != name}
    return getattr(make_services(**others), name)


class _DemoContext(ToolContext):
    """The context of a demo, as in a detection; its parts are made when the tool first asks for them."""

    _parts: Parts

    def __init__(self, demo: Demo, sentences: Iterable[Sentence], parts: Parts) -> None:
        given = {name: getattr(demo, name) for name in ("question", "response", "language", "reference")}
        given |= {"sentences": tuple(sentence for sentence in sentences if sentence.index), "memory": ()}
        for name, value in (given | {"_parts": parts}).items():
            object.__setattr__(self, name, value)  # contexts are frozen

    @property
    def model(self) -> Model:
        """Return the model, made now if no tool asked for it before."""
        return cast(Model, self._parts.give("model"))

    @property
    def sandbox(self) -> Sandbox | None:
        """Return the sandbox; None where there is none."""
        return cast(Sandbox | None, self._parts.give("sandbox"))

    @property
    def search(self) -> SearchProvider | None:
        """Return the search; None where there is none."""
        return cast(SearchProvider | None, self._parts.give("search"))

    @property
    def translator(self) -> Translator | None:
        """Return the translator; None where there is none."""
        return cast(Translator | None, self._parts.give("translator"))


async def run_demo(registry: Registry, item: Tool, demo: Demo, parts: Parts) -> DemoRun:
    """Make the call of a demo as a detection would, and compare what the tool says with the demo.

    Numbers are left out of the comparison where a model was asked, since they are its probabilities. Where a search
    was asked, another observation says nothing about the tool.
    """
    parts.asked, parts.failure = set(), None
    call, sentences = demo_call(demo), demo_sentences(demo)
    context = _DemoContext(demo, sentences.values(), parts)
    pointer = call.arguments.get("sentence")
    about = [sentences[pointer]] if pointer in sentences else list(sentences.values())
    if not item.system and not any(registry.fits(item, context, sentence) for sentence in about):
        if why := parts.missing():
            return DemoRun(demo=demo, outcome="unverified", note=why)
        return DemoRun(demo=demo, outcome="different", note="its `when` does not offer it here")
    try:
        check_provenance(item, call, context, ())
        got = (await registry.call(call, context)).observation
    except (ModelError, SandboxError, SearchError) as error:
        return DemoRun(demo=demo, outcome="unverified", note=str(error))
    except (FormatError, ToolError) as error:
        got = str(error)
    return _compare(demo, got, parts)


def _compare(demo: Demo, got: str, parts: Parts) -> DemoRun:
    if got == demo.observation:
        return DemoRun(demo=demo, outcome="same", got=got)
    if why := parts.missing():
        return DemoRun(demo=demo, outcome="unverified", note=why)
    if "search" in parts.asked:
        return DemoRun(demo=demo, outcome="unverified", got=got, note="what it says depends on what the search finds")
    if "model" in parts.asked and _without_numbers(got) == _without_numbers(demo.observation):
        return DemoRun(demo=demo, outcome="same", got=got, note="numbers not compared: they are the model's")
    return DemoRun(demo=demo, outcome="different", got=got)


def _without_numbers(text: str) -> str:
    return re.sub(r"\d+(?:\.\d+)?", "#", text)
