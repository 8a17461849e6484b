"""The options that the commands share, and the agent made from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from haluagent.agent import HaluAgent
    from haluagent.protocols import Model

LanguageChoice = Literal["auto", "en", "zh"]
Strategy = Literal["branches", "linear"]
Autonomy = Literal["guided", "free"]
SandboxChoice = Literal["auto", "docker", "bubblewrap", "none"]


def _positive(value: float | None) -> float | None:
    if value is not None and not value > 0:
        raise typer.BadParameter("it must be above 0")
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
        help="Leave a part of the agent out, to see what it does: memory, completion, choice or demos. May be given several times.",
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
    """The options of the command line that are about the agent, with the defaults that commands share. None leaves the agent's own."""

    model: str | None = None
    base_url: str | None = None
    api_key: str | None = None
    strategy: Strategy = "branches"
    autonomy: Autonomy = "guided"
    closed_book: bool = False
    max_steps: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None
    concurrency: int | None = None
    reflect: bool = True
    ablate: Sequence[str] | None = None
    sandbox: SandboxChoice = "auto"
    search: str = "auto"
    index: Path | None = None
    fetch_pages: bool = False
    max_queries: int | None = None
    tools: Sequence[Path] | None = None
    adapter: str | None = "auto"
    queries: int | None = None
    opinion_samples: int = 0


def chosen_adapter(file: str | None, none: bool) -> str | None:
    """Return the `adapter` of `AgentOptions`. Raises ConfigError if both --adapter and --no-adapter are given."""
    from haluagent.errors import ConfigError

    if file is not None and none:
        raise ConfigError("give --adapter or --no-adapter, not both")
    return None if none else file or AgentOptions.adapter


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
        adapter=options.adapter,
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
        adapter=options.adapter,
        strategy=options.strategy,
        autonomy=options.autonomy,
        closed_book=options.closed_book,
        samples=options.opinion_samples,
        limits=Limits.model_validate({name: value for name, value in limits.items() if value is not None}),
        concurrency=options.concurrency,
        reflect=options.reflect,
        ablate=options.ablate or (),
        tools=[tool for file in options.tools or () for tool in load_file(file)],
        sandbox=options.sandbox,
        search=resolve(
            options.search, index=options.index, fetch_pages=options.fetch_pages, max_queries=options.max_queries
        ),
    )
