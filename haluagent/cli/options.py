"""The options that the commands share, and the agent made from them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from haluagent.agent import HaluAgent
    from haluagent.protocols import Model

LanguageChoice = Literal["auto", "en", "zh"]
Strategy = Literal["branches", "linear"]
SandboxChoice = Literal["auto", "docker", "bubblewrap", "none"]


def _positive(value: float | None) -> float | None:
    if value is not None and not value > 0:
        raise typer.BadParameter("it must be above 0")
    return value


Lang = Annotated[LanguageChoice, typer.Option(help="Language of the response.")]
ClosedBook = Annotated[bool, typer.Option("--closed-book", help="Let the model's own belief decide where no tool can.")]
StrategyOption = Annotated[Strategy, typer.Option(help="One branch per sentence, or one growing transcript.")]
ModelName = Annotated[str | None, typer.Option(help="Model to use; see 'haluagent model list'.")]
BaseUrl = Annotated[str | None, typer.Option(help="An OpenAI-compatible endpoint, such as http://localhost:8000/v1.")]
ApiKey = Annotated[str | None, typer.Option(help="Its key. HALUAGENT_API_KEY keeps it out of the process list.")]
AdapterFile = Annotated[
    str | None,
    typer.Option("--adapter", metavar="FILE", help="What the model was taught: a card (.json) or a GGUF adapter."),
]
NoAdapter = Annotated[bool, typer.Option("--no-adapter", help="The embedded model as it was, without its adapter.")]
MaxSteps = Annotated[int | None, typer.Option(min=1, help="Turns of the model per sentence.")]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="Tokens evaluated and generated in one detection.")]
MaxSeconds = Annotated[float | None, typer.Option(callback=_positive, help="Seconds one detection may take.")]
Concurrency = Annotated[int | None, typer.Option(min=1, help="Sentences checked at the same time.")]
NoReflect = Annotated[bool, typer.Option("--no-reflect", help="Keep the first labels: no reflection.")]
SandboxOption = Annotated[SandboxChoice, typer.Option("--sandbox", help="Where code in a response is run.")]
SearchOption = Annotated[
    str,
    typer.Option(
        "--search", help="local, searxng, mediawiki, google, serper, none; auto: what is configured, else local."
    ),
]
IndexOption = Annotated[Path | None, typer.Option("--index", metavar="FILE", help="The local index to search.")]
FetchPages = Annotated[bool, typer.Option("--fetch-pages", help="Read the pages that an online search finds.")]
MaxQueries = Annotated[
    int | None, typer.Option("--max-queries", min=0, help="Queries that an online search may be sent.")
]
ToolFiles = Annotated[
    list[Path] | None,
    typer.Option("--tools", metavar="FILE", help="A Python file with tools. May be given several times."),
]


@dataclass(frozen=True)
class AgentOptions:
    """What the command line says about the agent. None leaves the agent's own default."""

    model: str | None = None
    base_url: str | None = None
    api_key: str | None = None
    strategy: Strategy = "branches"
    closed_book: bool = False
    max_steps: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None
    concurrency: int | None = None
    reflect: bool = True
    sandbox: SandboxChoice = "auto"
    search: str = "auto"
    index: Path | None = None
    fetch_pages: bool = False
    max_queries: int | None = None
    tools: tuple[Path, ...] = ()
    adapter: str | None = "auto"


def chosen_adapter(file: str | None, none: bool) -> str | None:
    """What `resolve` is told of the adapter. Raises ConfigError where it is named and refused at once."""
    from haluagent.errors import ConfigError

    if file is not None and none:
        raise ConfigError("give --adapter or --no-adapter, not both")
    return None if none else file or "auto"


# What commands share, by name: how it is written, and what it is where it is not given.
SHARED: dict[str, tuple[Any, Any]] = {
    "closed_book": (ClosedBook, False),
    "strategy": (StrategyOption, "branches"),
    "model": (ModelName, None),
    "base_url": (BaseUrl, None),
    "api_key": (ApiKey, None),
    "adapter": (AdapterFile, None),
    "no_adapter": (NoAdapter, False),
    "max_steps": (MaxSteps, None),
    "max_tokens": (MaxTokens, None),
    "max_seconds": (MaxSeconds, None),
    "concurrency": (Concurrency, None),
    "no_reflect": (NoReflect, False),
    "sandbox": (SandboxOption, "auto"),
    "search": (SearchOption, "auto"),
    "index": (IndexOption, None),
    "fetch_pages": (FetchPages, False),
    "max_queries": (MaxQueries, None),
    "tools": (ToolFiles, None),
}
MODEL = ("model", "base_url", "api_key", "adapter", "no_adapter")
SEARCH = ("search", "index", "fetch_pages", "max_queries")


def takes(*names: str, **otherwise: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command some of the shared options, after its own; its parameter `wanted` is what they say, as `AgentOptions`.

    `otherwise` is what an option is where it is not given, or what is so in any case where the command does not take that
    option. Raises ValueError for a name that is not shared; the command raises ConfigError, before it begins, where options
    exclude each other.
    """
    if unknown := {*names, *otherwise} - SHARED.keys():
        raise ValueError(f"no shared option is called {', '.join(sorted(unknown))}")

    def give(command: Callable[..., None]) -> Callable[..., None]:
        written = signature(command, eval_str=True)
        own = [one for one in written.parameters.values() if one.name != "wanted"]
        shared = [
            Parameter(
                name, Parameter.KEYWORD_ONLY, default=otherwise.get(name, SHARED[name][1]), annotation=SHARED[name][0]
            )
            for name in SHARED
            if name in names
        ]

        @wraps(command)
        def called(**given: Any) -> None:
            said = {name: given.pop(name) for name in names}
            command(**given, wanted=_as_options(otherwise | said))

        called.__signature__ = written.replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in [*own, *shared]}  # typer reads both
        return called

    return give


def _as_options(said: dict[str, Any]) -> AgentOptions:
    adapter = chosen_adapter(said.pop("adapter", None), said.pop("no_adapter", False))
    reflect, tools = not said.pop("no_reflect", False), tuple(said.pop("tools", None) or ())
    return AgentOptions(adapter=adapter, reflect=reflect, tools=tools, **said)


def make_model(options: AgentOptions) -> "Model":
    """The model that the options say. Raises ConfigError where there is none."""
    from haluagent.models import resolve

    return resolve(options.model, base_url=options.base_url, api_key=options.api_key, adapter=options.adapter)


def make_agent(options: AgentOptions, model: "Model | None" = None) -> "HaluAgent":
    """An agent on `model`, or on what the options say. Raises ConfigError where no such agent can be made."""
    # Imported here, because `--help` must not wait for it.
    from haluagent.agent import HaluAgent
    from haluagent.detection.limits import Limits
    from haluagent.search import resolve
    from haluagent.tooling.plugins import load_file

    limits = {"steps": options.max_steps, "tokens": options.max_tokens, "seconds": options.max_seconds}
    return HaluAgent(
        model or options.model,
        base_url=options.base_url,
        api_key=options.api_key,
        adapter=options.adapter,
        strategy=options.strategy,
        closed_book=options.closed_book,
        limits=Limits.model_validate({name: value for name, value in limits.items() if value is not None}),
        concurrency=options.concurrency,
        reflect=options.reflect,
        tools=[tool for file in options.tools for tool in load_file(file)],
        sandbox=options.sandbox,
        search=resolve(
            options.search, index=options.index, fetch_pages=options.fetch_pages, max_queries=options.max_queries
        ),
    )
