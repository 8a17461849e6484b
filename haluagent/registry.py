"""Tools: plain functions that a registry describes, validates and calls.

Built-in tools, tools from other packages (entry points of the group `haluagent.tools`) and tools added
by hand all come through the same door, `Registry.add`.
"""

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from .errors import ConfigError, FormatError, ModelError, ToolError
from .protocols import ToolContext
from .types import Language, Record, Sentence, ToolCall, ToolResult

logger = logging.getLogger(__name__)

ENTRY_POINTS = "haluagent.tools"
ARGUMENT_TYPES = (str, int, float, bool, Sentence)


class Demo(Record):
    """One worked turn, shown to the model in its language.

    `call` is an action as it stands on the wire, such as `date(sentence=S1)`.
    """

    language: Language
    question: str
    response: str
    thought: str
    call: str
    observation: str
    reference: str | None = None

    @property
    def item(self) -> dict[str, Any]:
        """The demo as the `task` prompt takes it."""
        return {
            "question": self.question,
            "reference": self.reference,
            "sentences": [("S1", self.response)],
            "target": next((name for name in ("S0", "S1") if f"sentence={name}" in self.call), None),
            "claim": self.response,
        }


@dataclass(frozen=True)
class Tool:
    """A function with what the model must know of it.

    `when(context, sentence)` says whether the tool could decide anything about a sentence; only then is it
    offered. Index 0 is the whole response: a tool that returns True for it checks a condition of the question.
    A `general` tool fits any statement; it is offered where no specific one has something to decide.
    """

    name: str
    description: dict[Language, str]
    demos: tuple[Demo, ...]
    run: Callable[..., Awaitable[ToolResult]]
    arguments: type[BaseModel]
    parameters: dict[str, inspect.Parameter] = field(repr=False)
    when: Callable[[ToolContext, Sentence], bool]
    system: bool = False
    general: bool = False

    def signature(self) -> str:
        """As shown to the model: `calculator(sentence, formula="")`."""
        parts = []
        for name, parameter in self.parameters.items():
            optional = parameter.default is not inspect.Parameter.empty
            parts.append(f"{name}?" if optional else name)
        return f"{self.name}({', '.join(parts)})"


def _every_sentence(context: ToolContext, sentence: Sentence) -> bool:
    return sentence.index > 0


def tool(
    *,
    description: dict[Language, str],
    demos: Iterable[Demo],
    name: str | None = None,
    when: Callable[[ToolContext, Sentence], bool] = _every_sentence,
    system: bool = False,
    general: bool = False,
) -> Callable[[Callable[..., Awaitable[ToolResult]]], Tool]:
    """Make a tool of an async function `(context: ToolContext, **arguments) -> ToolResult`.

    Arguments are annotated `str`, `int`, `float`, `bool`, `Literal[...]` of strings, or `Sentence` (the model
    points to it, `S3`); each of them may be `| None` with a default. Raises ConfigError where the function,
    its descriptions or its demos are not complete, with a line that says what to add.
    """

    def wrap(function: Callable[..., Awaitable[ToolResult]]) -> Tool:
        return make_tool(function, name or function.__name__, description, tuple(demos), when, system, general)

    return wrap


def make_tool(
    function: Callable[..., Awaitable[ToolResult]],
    name: str,
    description: dict[Language, str],
    demos: tuple[Demo, ...],
    when: Callable[[ToolContext, Sentence], bool] = _every_sentence,
    system: bool = False,
    general: bool = False,
) -> Tool:
    if not _is_plain_identifier(name):
        raise ConfigError(f"tool {name!r}: the name must be a Python identifier of ASCII letters, digits and _")
    if not inspect.iscoroutinefunction(function):
        raise ConfigError(f"tool {name}: make the function async (async def {name}(context, ...))")
    for language in get_args(Language):
        if not description.get(language, "").strip():
            raise ConfigError(f"tool {name}: add a description in {language!r}")
        if not system and not any(demo.language == language for demo in demos):
            raise ConfigError(f"tool {name}: add at least one Demo(language={language!r}, ...)")
    hints = get_type_hints(function)
    parameters = dict(list(inspect.signature(function).parameters.items())[1:])
    fields: dict[str, Any] = {}
    for parameter_name, parameter in parameters.items():
        if not _is_plain_identifier(parameter_name):
            raise ConfigError(f"tool {name}: name the argument {parameter_name!r} with ASCII letters, digits and _")
        if parameter_name not in hints:
            raise ConfigError(f"tool {name}: annotate the argument {parameter_name!r} with a type")
        annotation = hints[parameter_name]
        kind = argument_type(annotation)
        if kind is None:
            raise ConfigError(
                f"tool {name}: argument {parameter_name!r} has type {annotation}; use str, int, float, bool, "
                "Literal[...] of strings or Sentence, optionally | None"
            )
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[parameter_name] = (annotation, default)
    arguments = create_model(f"{name}_arguments", __config__=ConfigDict(extra="forbid"), **fields)
    return Tool(name, dict(description), demos, function, arguments, parameters, when, system, general)


def _is_plain_identifier(name: str) -> bool:
    """Whether the parser of the model's turns (`wire`) can read a name."""
    return name.isascii() and name.isidentifier()


def argument_type(annotation: Any) -> Any:
    """The one type behind an annotation, without its `| None`; None where it is not one that can be sent."""
    options = [option for option in get_args(annotation) if option is not type(None)]
    if get_origin(annotation) is Literal:
        return annotation if all(isinstance(option, str) for option in options) else None
    if annotation in ARGUMENT_TYPES:
        return annotation
    if len(options) == 1 and len(get_args(annotation)) == 2:
        return argument_type(options[0])
    return None


class Registry:
    """The tools of one agent, by name, in the order they were added."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._broken: set[str] = set()
        for item in tools:
            self.add(item)

    def add(self, item: Tool) -> None:
        if not isinstance(item, Tool):
            raise ConfigError(f"{item!r} is not a tool: decorate the function with @haluagent.tool(...)")
        if item.name in self._tools:
            raise ConfigError(f"a tool named {item.name!r} is already registered; give the new one another name")
        self._tools[item.name] = item

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __contains__(self, name: str) -> bool:
        return name in self._tools

    def __getitem__(self, name: str) -> Tool:
        """Raises FormatError for an unknown name: the model asked for it and may choose again."""
        if name not in self._tools:
            raise FormatError(f"there is no tool named {name!r}; the tools are {', '.join(self._tools)}")
        return self._tools[name]

    def only(self, name: str) -> "Registry":
        """The system tools and one other. Raises ConfigError where there is no such tool."""
        if name not in self._tools or self._tools[name].system:
            choices = ", ".join(item.name for item in self if not item.system)
            raise ConfigError(f"there is no tool named {name!r} to check with; the tools are {choices}")
        return Registry(item for item in self if item.system or item.name == name)

    def load_entry_points(self) -> None:
        """Add the tools that installed packages offer. Raises ConfigError naming the package that cannot load."""
        for point in entry_points(group=ENTRY_POINTS):
            try:
                item = point.load()
            except Exception as error:
                raise ConfigError(f"tool {point.name!r} of {point.value} could not be loaded: {error}") from error
            self.add(item)

    def fits(self, item: Tool, context: ToolContext, sentence: Sentence) -> bool:
        """Whether a tool could decide anything about a sentence. A `when` that raises says no: a tool that is broken
        there is not offered, and the detection goes on with the others."""
        try:
            return bool(item.when(context, sentence))
        except Exception as error:
            if item.name not in self._broken:  # once, not for every sentence
                self._broken.add(item.name)
                logger.warning("the tool %s is not offered: its `when` failed: %s", item.name, _describe(error))
            return False

    async def call(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Validate a call and run it. Raises FormatError for a call that does not fit, ToolError for one that failed.

        Whatever a tool raises is a ToolError, and so is a result that is none. Through it pass only the model's
        failure (ModelError) and exceptions of a class with `passes_tools = True`, which end the detection.
        """
        item = self[call.name]
        values = {name: _resolve(item, name, value, context) for name, value in call.arguments.items()}
        try:
            arguments = item.arguments(**values)
        except ValidationError as error:
            problems = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in error.errors())
            raise FormatError(f"{call.name}: {problems}") from None
        try:
            result = await item.run(context, **{name: getattr(arguments, name) for name in item.parameters})
        except (FormatError, ToolError, ModelError):
            raise
        except ConfigError as error:
            raise ToolError(str(error)) from error
        except Exception as error:
            if getattr(error, "passes_tools", False):
                raise
            raise ToolError(f"{call.name} failed: {_describe(error)}") from error
        if not isinstance(result, ToolResult):
            raise ToolError(f"{call.name} failed: it returned {type(result).__name__} and not a ToolResult")
        return result


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _resolve(item: Tool, name: str, value: Any, context: ToolContext) -> Any:
    """A pointer such as `S3` becomes its sentence; everything else stays as it is."""
    parameter = item.parameters.get(name)
    if parameter is None or argument_type(get_type_hints(item.run).get(name)) is not Sentence or value is None:
        return value
    digits = str(value).lstrip("Ss")
    try:
        return context.sentence(int(digits))
    except (ValueError, KeyError):
        raise FormatError(f"{item.name}: {value!r} names no sentence; write one of S0 to S{len(context.sentences)}") from None
