"""The options of a judge that is not the model that is measured, and the model that they name."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from haluagent.protocols import Model

KEY = "HALUAGENT_JUDGE_API_KEY"

JudgeUrl = Annotated[
    str | None,
    typer.Option("--judge-url", metavar="URL", help=f"The endpoint of another model that judges. Its key is in {KEY}."),
]
JudgeModel = Annotated[str | None, typer.Option("--judge-model", help="The judge's name, if its endpoint has several.")]


def make_judge(url: str | None, name: str | None) -> "Model | None":
    """Return the model that judges; None without a URL.

    The measured model's key is not sent to it. Raises ConfigError for a name without a URL or a name that has to be
    given, ModelError if the endpoint does not answer.
    """
    from haluagent.errors import ConfigError
    from haluagent.models.client import OpenAIModel

    if url is None:
        if name is not None:
            raise ConfigError("--judge-model needs --judge-url, the endpoint that serves it")
        return None
    try:
        return OpenAIModel.connect(url, name, api_key=os.environ.get(KEY))
    except ConfigError as error:
        raise ConfigError(f"the judge, which --judge-model names: {error}") from error
