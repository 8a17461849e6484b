"""The options that the commands share, and the agent made from them."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from functools import update_wrapper
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from haluagent.errors import ConfigError

if TYPE_CHECKING:
    from haluagent.agent import HaluAgent
    from haluagent.protocols import Model

Command = Callable[..., None]
Decorator = Callable[[Command], Command]
LanguageChoice = Literal["auto", "en", "zh"]
Strategy = Literal["branches", "linear"]
Autonomy = Literal["guided", "free"]
SandboxChoice = Literal["auto", "docker", "bubblewrap", "none"]


def _positive(value: float | None) -> float | None:
    if value is not None and not value > 0:
        raise typer.BadParameter("it must be above 0")
    return value


def _share(value: float | None) -> float | None:
    if value is not None and not 0 < value < 1:
        raise typer.BadParameter("it must be above 0 and below 1")
    return value


Lang = Annotated[LanguageChoice, typer.Option(help="Language of the response.")]
ClosedBook = Annotated[bool, typer.Option("--closed-book", help="Let the model's own belief decide where no tool can.")]
StrategyOption = Annotated[Strategy, typer.Option(help="One branch per sentence, or one growing transcript.")]
AutonomyOption = Annotated[
    Autonomy,
    typer.Option(help="Offer the tools one kind after the other; or let the model choose, test again and look back."),
]
ModelName = Annotated[str | None, typer.Option(help="Model to use; see 'haluagent model list'.")]
BaseUrl = Annotated[str | None, typer.Option(help="An OpenAI-compatible endpoint, such as http://localhost:8000/v1.")]
ApiKey = Annotated[str | None, typer.Option(help="Its key. HALUAGENT_API_KEY keeps it out of the process list.")]
AdapterFile = Annotated[
    str | None,
    typer.Option("--adapter", metavar="FILE", help="The adapter: its card (.json) or a GGUF file."),
]
NoAdapter = Annotated[bool, typer.Option("--no-adapter", help="The embedded model as it was, without its adapter.")]
BaseRate = Annotated[
    float | None,
    typer.Option(
        callback=_share,
        help="Share of sentences that are usually right, above 0 and below 1: where judgements beside a text start.",
    ),
]
MaxSteps = Annotated[int | None, typer.Option(min=1, help="Turns of the model per sentence.")]
Queries = Annotated[
    int | None, typer.Option(min=1, help="Searches for a sentence, each in other words, until something decides it.")
]
OpinionSamples = Annotated[
    int, typer.Option("--samples", min=0, help="Further answers of the model, for an opinion on what nothing decided.")
]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="Tokens evaluated and generated in one detection.")]
MaxSeconds = Annotated[float | None, typer.Option(callback=_positive, help="Seconds one detection may take.")]
Concurrency = Annotated[int | None, typer.Option(min=1, help="Sentences checked at the same time.")]
NoReflect = Annotated[bool, typer.Option("--no-reflect", help="Keep the first labels: no reflection.")]
Ablate = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PART",
        help="Leave a part of the agent out, to see what it does: memory, completion, choice, demos, reading (and looking up, "
        "before the first turn). May be given several times.",
    ),
]
SandboxOption = Annotated[SandboxChoice, typer.Option("--sandbox", help="Where code in a response is run.")]
SearchOption = Annotated[
    str,
    typer.Option(
        "--search",
        help="local, searxng, mediawiki, vertex, google, serper, none; auto: what is configured, else local.",
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

PrivateAddresses = Annotated[
    bool, typer.Option("--private-addresses", help="Fetch references from this machine and its network too.")
]
FileFormat = Annotated[
    Literal["jsonl", "csv", "xlsx", "parquet"] | None,
    typer.Option("--format", help="Format of a file whose ending is not .jsonl, .csv, .tsv, .xlsx or .parquet."),
]
QuestionColumn = Annotated[str | None, typer.Option("--question", metavar="COLUMN", help="Where the questions are.")]
ResponseColumn = Annotated[str | None, typer.Option("--response", metavar="COLUMN", help="Where the responses are.")]
ReferenceColumn = Annotated[str | None, typer.Option("--reference", metavar="COLUMN", help="Where the references are.")]


@dataclass(frozen=True)
class AgentOptions:
    """The options of the command line that are about the agent, with the defaults that commands share. None leaves the agent's own.

    Raises ConfigError where both an adapter and none are wanted.
    """

    closed_book: ClosedBook = False
    strategy: StrategyOption = "branches"
    autonomy: AutonomyOption = "guided"
    model: ModelName = None
    base_url: BaseUrl = None
    api_key: ApiKey = None
    adapter: AdapterFile = None
    no_adapter: NoAdapter = False
    base_rate: BaseRate = None
    max_steps: MaxSteps = None
    queries: Queries = None
    opinion_samples: OpinionSamples = 0
    max_tokens: MaxTokens = None
    max_seconds: MaxSeconds = None
    concurrency: Concurrency = None
    no_reflect: NoReflect = False
    ablate: Ablate = None
    sandbox: SandboxOption = "auto"
    search: SearchOption = "auto"
    index: IndexOption = None
    fetch_pages: FetchPages = False
    max_queries: MaxQueries = None
    tools: ToolFiles = None

    def __post_init__(self) -> None:
        if self.adapter is not None and self.no_adapter:
            raise ConfigError("give --adapter or --no-adapter, not both")

    @property
    def chosen_adapter(self) -> str | None:
        """Return the `adapter` of `HaluAgent`."""
        return None if self.no_adapter else self.adapter or "auto"


ALL = tuple(one.name for one in fields(AgentOptions))
MODEL = ("model", "base_url", "api_key", "adapter", "no_adapter")


def takes(*names: str, without: Collection[str] = (), **values: Any) -> Decorator:
    """Return a decorator that gives a command the options of these names, by default all but those `without`, after its own. The command
    gets them as one `AgentOptions`, its argument `wanted`. `values` are other defaults; of options that it does not take, they
    are what they are."""
    return gives(AgentOptions, "wanted", [name for name in names or ALL if name not in without], values)


def gives(group: type, argument: str, names: Collection[str], values: dict[str, Any]) -> Decorator:
    """Return a decorator that gives a command options of these names, as `takes` does: fields of the dataclass `group`, of which the
    command gets one as its `argument`. Raises TypeError where the group has no such field."""
    if unknown := {*names, *values} - {one.name for one in fields(group)}:
        raise TypeError(f"{group.__name__} has no option {', '.join(sorted(unknown))}")
    options = [one for one in fields(group) if one.name in names]
    taken = [one.name for one in options]
    shared = [
        Parameter(one.name, Parameter.KEYWORD_ONLY, default=values.get(one.name, one.default), annotation=one.type)
        for one in options
    ]

    def decorate(command: Command) -> Command:
        def run(**given: Any) -> None:
            chosen = {name: given.pop(name) for name in taken}
            command(**given, **{argument: group(**values | chosen)})

        own = [one for one in signature(command).parameters.values() if one.name != argument]
        update_wrapper(run, command)
        del run.__dict__["__wrapped__"]  # its parameters are others
        run.__dict__["__signature__"] = Signature([*own, *shared], return_annotation=None)
        run.__annotations__ = {one.name: one.annotation for one in (*own, *shared)} | {"return": None}
        return run

    return decorate


takes_model = takes(*MODEL, sandbox="none", search="none")


def chosen(**columns: str | None) -> dict[str, str]:
    """Return the columns that were named, by field."""
    return {field: name for field, name in columns.items() if name is not None}


def make_model(options: AgentOptions, concurrency: int | None = None) -> "Model":
    """Return the model that the options name. `concurrency` is the number of requests sent to an endpoint at a time.

    Raises ConfigError if there is no such model, ModelError if the endpoint does not answer.
    """
    from haluagent.models import resolve

    return resolve(
        options.model,
        base_url=options.base_url,
        api_key=options.api_key,
        concurrency=concurrency,
        adapter=options.chosen_adapter,
    )


def make_agent(options: AgentOptions, model: "Model | None" = None) -> "HaluAgent":
    """Return an agent on `model`, or on the model that the options name. Raises ConfigError if it cannot be made."""
    # Imported here, because `--help` must not wait for it.
    from haluagent.agent import HaluAgent
    from haluagent.detection.limits import Limits
    from haluagent.search import resolve
    from haluagent.tooling.plugins import load_file

    limits = {
        "steps": options.max_steps,
        "tokens": options.max_tokens,
        "seconds": options.max_seconds,
        "queries": options.queries,
    }
    return HaluAgent(
        model or options.model,
        base_url=options.base_url,
        api_key=options.api_key,
        adapter=options.chosen_adapter,
        strategy=options.strategy,
        autonomy=options.autonomy,
        closed_book=options.closed_book,
        samples=options.opinion_samples,
        base_rate=options.base_rate,
        limits=Limits.model_validate({name: value for name, value in limits.items() if value is not None}),
        concurrency=options.concurrency,
        reflect=not options.no_reflect,
        ablate=options.ablate or (),
        tools=[tool for file in options.tools or () for tool in load_file(file)],
        sandbox=options.sandbox,
        search=resolve(
            options.search, index=options.index, fetch_pages=options.fetch_pages, max_queries=options.max_queries
        ),
    )
