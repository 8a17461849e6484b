"""The agents of a command that checks many items: one per endpoint."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haluagent.cli.options import AgentOptions, Decorator, gives, make_agent, make_model

if TYPE_CHECKING:
    from haluagent.agent import HaluAgent
    from haluagent.batch.pool import Bounds
    from haluagent.batch.processes import Processes

IN_FLIGHT = 8  # per endpoint; the embedded engine on a few cores gains nothing from several

Endpoints = Annotated[
    list[str] | None,
    typer.Option("--endpoint", metavar="URL", help="An OpenAI-compatible endpoint. Several share the work."),
]
InFlight = Annotated[int | None, typer.Option(min=1, help="Items checked at a time at each endpoint.")]
MaxItems = Annotated[int | None, typer.Option(min=1, help="Stop after this many items.")]
TokenBudget = Annotated[int | None, typer.Option(min=1, help="Stop after this many tokens, evaluated and generated.")]
SecondBudget = Annotated[float | None, typer.Option(min=0.001, help="Stop after this many seconds.")]
RetryErrors = Annotated[bool, typer.Option("--retry-errors", help="Do again what failed.")]


@dataclass(frozen=True)
class WorkOptions:
    """The options of the command line for work on many items: the endpoints, how many items at a time, and when it stops."""

    endpoint: Endpoints = None
    in_flight: InFlight = None
    retry_errors: RetryErrors = False
    limit: MaxItems = None
    token_budget: TokenBudget = None
    second_budget: SecondBudget = None

    @property
    def bounds(self) -> "Bounds":
        """Return when the work stops."""
        from haluagent.batch.pool import Bounds

        return Bounds(items=self.limit, tokens=self.token_budget, seconds=self.second_budget)


def works(*, without: Collection[str] = ()) -> Decorator:
    """Return a decorator that gives a command the options of `WorkOptions`, but those `without`, as its argument `work`."""
    return gives(WorkOptions, "work", [one.name for one in fields(WorkOptions) if one.name not in without], {})


def make_agents(
    options: AgentOptions, endpoints: list[str] | None, in_flight: int | None
) -> "tuple[list[HaluAgent], int]":
    """Return an agent for each endpoint (without endpoints, one as the settings say), and the number of items that each
    checks at a time. Sentences of one item are checked one after another, so that their shared prefix is in the
    endpoint's cache.

    If several endpoints are given, those that do not answer are left out with a message. Raises ModelError if none
    answers, ConfigError if an agent cannot be made or the endpoints serve different models.
    """
    from haluagent.errors import ConfigError, ModelError
    from haluagent.protocols import Concurrent

    if endpoints and options.base_url:
        raise ConfigError("give --endpoint or --base-url, not both")

    models, failures = [], []
    urls: Sequence[str | None] = endpoints or [options.base_url]
    for url in urls:
        try:
            models.append(make_model(replace(options, base_url=url), in_flight or (IN_FLIGHT if url else None)))
        except ModelError as error:
            failures.append(error)
    if not models:
        raise failures[0]
    for failure in failures:
        typer.echo(f"left out: {failure}", err=True)
    if len(names := {model.name for model in models}) > 1:
        raise ConfigError(f"the endpoints serve different models ({', '.join(sorted(names))}): name one with --model")
    agents = [make_agent(replace(options, concurrency=options.concurrency or 1), model) for model in models]
    return agents, in_flight or (models[0].concurrency if isinstance(models[0], Concurrent) else 1)


def make_processes(count: int, options: AgentOptions, agents: "list[HaluAgent]", in_flight: int) -> "Processes":
    """Return worker processes that check items as these agents would. Raises ConfigError if their model runs in this process, or
    if there is a budget of searches, which each process would have for itself."""
    from pydantic_core import to_jsonable_python

    from haluagent.batch.processes import Processes
    from haluagent.errors import ConfigError
    from haluagent.protocols import Remote, Startable
    from haluagent.settings import VARIABLES, read_search_settings

    if any(isinstance(agent.model, Startable) or not isinstance(agent.model, Remote) for agent in agents):
        raise ConfigError(
            "--processes is for a served model, since the embedded one already uses all cores: give --endpoint, or leave it out"
        )
    if options.max_queries is not None:
        raise ConfigError("--max-queries holds for one process only: leave out --processes")
    if options.search not in ("none", "local") and read_search_settings().max_queries is not None:
        name = VARIABLES["max_queries"]
        raise ConfigError(
            f"{name} (or max_queries in the config file) holds for one process only: leave out --processes"
        )
    told = replace(options, concurrency=options.concurrency or 1)
    return Processes(count, agent_at, {"agent": to_jsonable_python(told), "in_flight": in_flight})


def agent_at(told: Mapping[str, Any], url: str) -> "HaluAgent":
    """Return a worker's agent for an endpoint, as `make_processes` says. Raises what `make_agents` raises."""
    from pydantic import TypeAdapter

    options = replace(TypeAdapter(AgentOptions).validate_python(told["agent"]), base_url=url)
    return make_agent(options, make_model(options, told["in_flight"]))
