"""Define a tool: `@tool(...)` makes one of an async function, and says at once what is missing."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model

from haluagent.errors import ConfigError
from haluagent.protocols import ToolContext
from haluagent.tooling.demos import check_demos
from haluagent.tooling.tool import (
    Demo,
    Tool,
    always,
    argument_type,
    every_sentence,
    model_decides,
    no_sentence,
    nothing,
)
from haluagent.types import Language, Sentence, Span, ToolResult


def tool(
    *,
    description: dict[Language, str],
    demos: Iterable[Demo],
    name: str | None = None,
    when: Callable[[ToolContext, Sentence], bool] = every_sentence,
    system: bool = False,
    general: bool = False,
    external: bool = False,
    covers: Callable[[ToolContext], Sequence[Span]] = nothing,
    obvious: Callable[[ToolContext, Sentence], dict[str, Any] | None] = model_decides,
    adds: Callable[[ToolContext, Sentence], bool] = no_sentence,
    plausible: Callable[[ToolContext, Sentence], bool] = no_sentence,
    listed: Callable[[str, str], bool] = always,
) -> Callable[[Callable[..., Awaitable[ToolResult]]], Tool]:
    """Make a tool of an async function `(context: ToolContext, **arguments) -> ToolResult`.

    Arguments are annotated `str`, `int`, `float`, `bool`, `Literal[...]` of strings, or `Sentence` (the model
    points to it, `S3`); each of them may be `| None` with a default. Raises ConfigError where the function,
    its descriptions or its demos are not complete, with a line that says what to add.
    """

    def wrap(function: Callable[..., Awaitable[ToolResult]]) -> Tool:
        return make_tool(
            function,
            name or function.__name__,
            description,
            tuple(demos),
            when,
            system,
            general,
            external,
            covers,
            obvious,
            adds,
            plausible,
            listed,
        )

    return wrap


def make_tool(
    function: Callable[..., Awaitable[ToolResult]],
    name: str,
    description: dict[Language, str],
    demos: tuple[Demo, ...],
    when: Callable[[ToolContext, Sentence], bool] = every_sentence,
    system: bool = False,
    general: bool = False,
    external: bool = False,
    covers: Callable[[ToolContext], Sequence[Span]] = nothing,
    obvious: Callable[[ToolContext, Sentence], dict[str, Any] | None] = model_decides,
    adds: Callable[[ToolContext, Sentence], bool] = no_sentence,
    plausible: Callable[[ToolContext, Sentence], bool] = no_sentence,
    listed: Callable[[str, str], bool] = always,
) -> Tool:
    if not _is_plain_identifier(name):
        raise ConfigError(f"tool {name!r}: the name must be a Python identifier of ASCII letters, digits and _")
    if not inspect.iscoroutinefunction(function):
        raise ConfigError(f"tool {name}: make the function async (async def {name}(context, ...))")
    for part, what in (
        (when, "when"),
        (covers, "covers"),
        (obvious, "obvious"),
        (adds, "adds"),
        (plausible, "plausible"),
        (listed, "listed"),
    ):
        if not callable(part) or inspect.iscoroutinefunction(part):
            raise ConfigError(f"tool {name}: make {what} a plain function (def, not async def)")
    _check_texts(name, description, demos, system)
    hints = _hints(name, function)
    parameters = _parameters(name, function, hints)
    fields: dict[str, Any] = {
        key: (hints[key], ... if parameter.default is parameter.empty else parameter.default)
        for key, parameter in parameters.items()
    }
    arguments = create_model(f"{name}_arguments", __config__=ConfigDict(extra="forbid"), **fields)
    item = Tool(
        name,
        dict(description),
        demos,
        function,
        arguments,
        parameters,
        when,
        system,
        general,
        external,
        covers,
        obvious,
        adds,
        plausible,
        listed,
    )
    check_demos(item)
    return item


def _check_texts(name: str, description: dict[Language, str], demos: tuple[Demo, ...], system: bool) -> None:
    """Raise ConfigError where a language is missing."""
    if not isinstance(description, dict):
        raise ConfigError(f'tool {name}: write the description as {{"en": "...", "zh": "..."}}')
    if not all(isinstance(demo, Demo) for demo in demos):
        raise ConfigError(f"tool {name}: write demos as a list of haluagent.Demo(...)")
    for language in get_args(Language):
        if not description.get(language, "").strip():
            raise ConfigError(f"tool {name}: add a description in {language!r}")
        if not system and not any(demo.language == language for demo in demos):
            raise ConfigError(f"tool {name}: add at least one Demo(language={language!r}, ...)")


def _hints(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        raise ConfigError(
            f"tool {name}: its annotations cannot be read ({error}): import their names when the file runs, "
            "not under TYPE_CHECKING"
        ) from error


def _parameters(name: str, function: Callable[..., Any], hints: dict[str, Any]) -> dict[str, inspect.Parameter]:
    """Return the arguments after the context. Raises ConfigError for one that cannot be described to the model."""
    given = list(inspect.signature(function).parameters.values())
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if not given or given[0].kind not in by_position or argument_type(hints.get(given[0].name)) is not None:
        raise ConfigError(f"tool {name}: make the context the first argument (async def {name}(context, ...))")
    for parameter in given[1:]:
        key = parameter.name
        if parameter.kind not in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY):
            raise ConfigError(
                f"tool {name}: the argument {str(parameter)!r} cannot be given by name; write each one out"
            )
        if not _is_plain_identifier(key):
            raise ConfigError(f"tool {name}: name the argument {key!r} with ASCII letters, digits and _")
        if key.startswith("_") or hasattr(BaseModel, key):
            raise ConfigError(f"tool {name}: give the argument {key!r} another name; this one is reserved")
        if key not in hints:
            raise ConfigError(f"tool {name}: annotate the argument {key!r} with a type")
        kind = argument_type(hints[key])
        if kind is None:
            raise ConfigError(
                f"tool {name}: argument {key!r} has type {hints[key]}; use str, int, float, bool, "
                "Literal[...] of strings or Sentence, optionally | None"
            )
        if (kind is Sentence) != (key == "sentence"):  # the branch holds the model to `sentence=S3`
            raise ConfigError(
                f"tool {name}: call the argument for the sentence 'sentence', of type Sentence, and no other"
            )
    return {parameter.name: parameter for parameter in given[1:]}


def _is_plain_identifier(name: str) -> bool:
    """Return True for a name that the parser of the model's turns can read."""
    return name.isascii() and name.isidentifier()
