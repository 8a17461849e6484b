"""The options of a judge that is not the model that is measured, and the model that they name."""

import os
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haluagent.cli.options import AgentOptions, make_agent

if TYPE_CHECKING:
    from haluagent.protocols import Model

KEY = "HALUAGENT_JUDGE_API_KEY"

JudgeUrl = Annotated[
    str | None,
    typer.Option("--judge-url", metavar="URL", help=f"The endpoint of another model that judges. Its key is in {KEY}."),
]
JudgeModel = Annotated[str | None, typer.Option("--judge-model", help="The judge's name, if its endpoint has several.")]


def make_judge(url: str | None, name: str | None, *, rules: bool = False) -> "Model | None":
    """Return the model that judges; None without a URL.

    The measured model's key is not sent to it. Raises ConfigError for a name without a URL, a name that has to be given
    or a judge beside `rules` alone, ModelError if the endpoint does not answer.
    """
    from haluagent.errors import ConfigError
    from haluagent.models.client import OpenAIModel

    if url is None:
        if name is not None:
            raise ConfigError("--judge-model needs --judge-url, the endpoint that serves it")
        return None
    if rules:
        raise ConfigError("give --rules or --judge-url, not both: the rules ask no model")
    try:
        return OpenAIModel.connect(url, name, api_key=os.environ.get(KEY))
    except ConfigError as error:
        raise ConfigError(f"the judge, which --judge-model names: {error}") from error


def run_judged(
    judge_all: "Callable[[Model | None], Coroutine[Any, Any, None]]",
    wanted: AgentOptions,
    judging: "Model | None",
    *,
    rules: bool,
) -> None:
    """Run a coroutine that judges with the model it is given: that of the options, or None with `rules` or a `judging`
    one. Raises as `make_agent` does."""
    import asyncio
    from contextlib import closing

    if rules or judging is not None:
        asyncio.run(judge_all(None))
        return
    with closing(make_agent(wanted)) as agent:
        agent.wait_for(judge_all(agent.model))
