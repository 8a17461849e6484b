"""Tools: plain functions that a registry describes, validates and calls.

Built-in tools, tools from other packages (entry points of the group `haluagent.tools`) and tools added
by hand all come through the same door, `Registry.add`.
"""

import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from .errors import ConfigError, FormatError, ModelError, ToolError
from .protocols import ToolContext
from .segment import split
from .types import Language, Record, Sentence, Span, ToolCall, ToolResult

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
        """The demo as the `task` prompt takes it; cut into sentences where its call points to one."""
        pointer = re.search(r"\bsentence=(S\d+)", self.call)
        shown = [(sentence.name, sentence.text) for sentence in split(self.response)] if pointer else []
        return {
            "question": self.question,
            "reference": self.reference,
            "sentences": shown or [("S1", self.response)],
            "target": pointer and pointer[1],
            "claim": dict(shown).get(pointer[1], self.response) if pointer else self.response,
        }


def _every_sentence(context: ToolContext, sentence: Sentence) -> bool:
    return sentence.index > 0


def _nothing(context: ToolContext) -> Sequence[Span]:
    return ()


def _model_decides(context: ToolContext, sentence: Sentence) -> dict[str, Any] | None:
    return None


@dataclass(frozen=True)
class Tool:
    """A function with what the model must know of it.

    `when(context, sentence)` says whether the tool could decide anything about a sentence; only then is it
    offered. Index 0 is the whole response: a tool that returns True for it checks a condition of the question.
    A `general` tool fits any statement; it is offered where no specific one has something to decide. An `external`
    one looks outside of what was given, so it comes after those that read the reference, where there is one.
    `covers(context)` gives the spans of the response that the tool judges as part of the whole (index 0), such as code:
    sentences inside them claim nothing by themselves. `obvious(context, sentence)` gives the arguments where there is only
    one way to call the tool, else None: a tool that is offered alone is then called without asking the model.
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
    external: bool = False
    covers: Callable[[ToolContext], Sequence[Span]] = field(default=_nothing, repr=False)
    obvious: Callable[[ToolContext, Sentence], dict[str, Any] | None] = field(default=_model_decides, repr=False)

    def signature(self) -> str:
        """As shown to the model: `calculator(sentence, formula="")`."""
        parts = []
        for name, parameter in self.parameters.items():
            optional = parameter.default is not inspect.Parameter.empty
            parts.append(f"{name}?" if optional else name)
        return f"{self.name}({', '.join(parts)})"

    def schema(self, sentences: Sequence[str] = ()) -> dict[str, Any]:
        """The JSON Schema of a call's arguments as the model writes them: it points to a sentence by its name, one of
        `sentences` where these are known."""
        schema = self.arguments.model_json_schema()
        schema.pop("$defs", None)
        if "sentence" in self.parameters:
            optional = self.parameters["sentence"].default is None
            named = {"enum": [*sentences, *([None] if optional else [])]}
            of_any = {"type": ["string", "null"] if optional else "string", "pattern": r"^S\d+$"}
            schema["properties"]["sentence"] = named if sentences else of_any
        return schema


def tool(
    *,
    description: dict[Language, str],
    demos: Iterable[Demo],
    name: str | None = None,
    when: Callable[[ToolContext, Sentence], bool] = _every_sentence,
    system: bool = False,
    general: bool = False,
    external: bool = False,
    covers: Callable[[ToolContext], Sequence[Span]] = _nothing,
    obvious: Callable[[ToolContext, Sentence], dict[str, Any] | None] = _model_decides,
) -> Callable[[Callable[..., Awaitable[ToolResult]]], Tool]:
    """Make a tool of an async function `(context: ToolContext, **arguments) -> ToolResult`.

    Arguments are annotated `str`, `int`, `float`, `bool`, `Literal[...]` of strings, or `Sentence` (the model
    points to it, `S3`); each of them may be `| None` with a default. Raises ConfigError where the function,
    its descriptions or its demos are not complete, with a line that says what to add.
    """

    def wrap(function: Callable[..., Awaitable[ToolResult]]) -> Tool:
        return make_tool(
            function, name or function.__name__, description, tuple(demos), when, system, general, external, covers, obvious
        )

    return wrap


def make_tool(
    function: Callable[..., Awaitable[ToolResult]],
    name: str,
    description: dict[Language, str],
    demos: tuple[Demo, ...],
    when: Callable[[ToolContext, Sentence], bool] = _every_sentence,
    system: bool = False,
    general: bool = False,
    external: bool = False,
    covers: Callable[[ToolContext], Sequence[Span]] = _nothing,
    obvious: Callable[[ToolContext, Sentence], dict[str, Any] | None] = _model_decides,
) -> Tool:
    if not _is_plain_identifier(name):
        raise ConfigError(f"tool {name!r}: the name must be a Python identifier of ASCII letters, digits and _")
    if not inspect.iscoroutinefunction(function):
        raise ConfigError(f"tool {name}: make the function async (async def {name}(context, ...))")
    for part, what in ((when, "when"), (covers, "covers"), (obvious, "obvious")):
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
        name, dict(description), demos, function, arguments, parameters, when, system, general, external, covers, obvious
    )
    # Imported here, because what reads a call stands above the registry.
    from .demos import check_demos

    check_demos(item)
    return item


def _check_texts(name: str, description: dict[Language, str], demos: tuple[Demo, ...], system: bool) -> None:
    """Raises ConfigError where a language is missing."""
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
    """The arguments after the context. Raises ConfigError for one that cannot be described to the model."""
    given = list(inspect.signature(function).parameters.values())
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if not given or given[0].kind not in by_position or argument_type(hints.get(given[0].name)) is not None:
        raise ConfigError(f"tool {name}: make the context the first argument (async def {name}(context, ...))")
    for parameter in given[1:]:
        key = parameter.name
        if parameter.kind not in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY):
            raise ConfigError(f"tool {name}: the argument {str(parameter)!r} cannot be given by name; write each one out")
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
            raise ConfigError(f"tool {name}: call the argument for the sentence 'sentence', of type Sentence, and no other")
    return {parameter.name: parameter for parameter in given[1:]}


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
    if get_origin(annotation) in (Union, UnionType) and len(options) == 1:
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
            there = "belongs to the agent itself" if self._tools[item.name].system else "is already registered"
            raise ConfigError(f"a tool named {item.name!r} {there}; give the new one another name: @tool(name=...)")
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
        """Add the tools that installed packages offer: an entry point names one tool, or a list or tuple of them.

        Raises ConfigError naming the package whose tools cannot be loaded or are there already.
        """
        for point in entry_points(group=ENTRY_POINTS):
            package = point.dist.name if point.dist else point.module
            advice = f"update the package {package}, or remove it: pip uninstall {package}"
            try:
                found = _load(point)
            except Exception as error:
                raise ConfigError(
                    f"the tools of the package {package} ({point.name} = {point.value}) cannot be loaded: "
                    f"{' '.join(_describe(error).split())}; {advice}"
                ) from error
            for item in found:
                if not isinstance(item, Tool):
                    raise ConfigError(
                        f"the package {package} offers {point.name} = {point.value}, which is no tool and no list of "
                        f"tools; {advice}"
                    )
                if item.name in self:
                    raise ConfigError(
                        f"the package {package} offers a tool named {item.name!r}, and there already is one; {advice}"
                    )
                self.add(item)

    def fits(self, item: Tool, context: ToolContext, sentence: Sentence) -> bool:
        """Whether a tool could decide anything about a sentence. A `when` that raises says no: a tool that is broken
        there is not offered, and the detection goes on with the others."""
        try:
            return bool(item.when(context, sentence))
        except Exception as error:
            self._broke(item, "when", error)
            return False

    def covered(self, context: ToolContext) -> list[tuple[str, Span]]:
        """The spans of the response that tools judge as parts of the whole, each with the tool's name."""
        found: list[tuple[str, Span]] = []
        whole = context.sentence(0)
        for item in self:
            if item.covers is _nothing or not self.fits(item, context, whole):
                continue
            try:
                found += [(item.name, span) for span in item.covers(context)]
            except Exception as error:
                self._broke(item, "covers", error)
        return found

    def obvious(self, item: Tool, context: ToolContext, sentence: Sentence) -> ToolCall | None:
        """The only call that a tool can be given about a sentence; None where there are several. An `obvious` that raises
        leaves it to the model."""
        try:
            arguments = item.obvious(context, sentence)
        except Exception as error:
            logger.warning("the tool %s: its `obvious` failed: %s", item.name, _describe(error))
            return None
        return None if arguments is None else ToolCall(name=item.name, arguments=arguments)

    def _broke(self, item: Tool, part: str, error: Exception) -> None:
        if item.name not in self._broken:  # once, not for every sentence
            self._broken.add(item.name)
            logger.warning("the tool %s is not offered: its `%s` failed: %s", item.name, part, _describe(error))

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


def _load(point: EntryPoint) -> Sequence[Any]:
    """What an entry point names, as a sequence. Raises whatever the package's code raises; where that is a wish to
    exit, ImportError."""
    try:
        found = point.load()
    except SystemExit as error:
        raise ImportError("it exits when it is imported") from error
    return found if isinstance(found, (list, tuple)) else (found,)


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
