"""The agents of a command that checks many items: one per endpoint."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from haluagent.cli.options import AgentOptions, make_agent

if TYPE_CHECKING:
    from haluagent.agent import HaluAgent

IN_FLIGHT = 8  # per endpoint; the embedded engine on a few cores gains nothing from several

Endpoints = Annotated[
    list[str] | None,
    typer.Option("--endpoint", metavar="URL", help="An OpenAI-compatible endpoint. Several share the work."),
]
InFlight = Annotated[int | None, typer.Option(min=1, help="Items checked at a time at each endpoint.")]
MaxItems = Annotated[int | None, typer.Option(min=1, help="Stop after this many items.")]
TokenBudget = Annotated[int | None, typer.Option(min=1, help="Stop after this many tokens, evaluated and generated.")]
SecondBudget = Annotated[float | None, typer.Option(min=0.001, help="Stop after this many seconds.")]


def make_agents(options: AgentOptions, endpoints: list[str], in_flight: int | None) -> "tuple[list[HaluAgent], int]":
    """Return an agent for each endpoint (without endpoints, one as the settings say), and the number of items that each
    checks at a time. Sentences of one item are checked one after another, so that their shared prefix is in the
    endpoint's cache.

    If several endpoints are given, those that do not answer are left out with a message. Raises ModelError if none
    answers, ConfigError if an agent cannot be made or the endpoints serve different models.
    """
    from haluagent.errors import ConfigError, ModelError
    from haluagent.models import resolve

    if endpoints and options.base_url:
        raise ConfigError("give --endpoint or --base-url, not both")

    models, failures = [], []
    for url in endpoints or [options.base_url or ""]:
        try:
            at_once = in_flight or (IN_FLIGHT if url else None)
            chosen = resolve(
                options.model, base_url=url, api_key=options.api_key, concurrency=at_once, adapter=options.adapter
            )
            models.append(chosen)
        except ModelError as error:
            failures.append(error)
    if not models:
        raise failures[0]
    for failure in failures:
        typer.echo(f"left out: {failure}", err=True)
    if len(names := {model.name for model in models}) > 1:
        raise ConfigError(f"the endpoints serve different models ({', '.join(sorted(names))}): name one with --model")
    agents = [make_agent(replace(options, concurrency=options.concurrency or 1), model) for model in models]
    return agents, in_flight or int(getattr(models[0], "concurrency", 1))
