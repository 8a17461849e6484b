"""The registry of tools: it describes, validates and calls them.

Built-in tools, tools from other packages (entry points of the group `haluagent.tools`) and tools added
by hand are all added with `Registry.add`.
"""

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from pydantic import ValidationError

from haluagent.errors import ConfigError, DetectionEnded, FormatError, ModelError, ToolError
from haluagent.protocols import ToolContext
from haluagent.text.failures import describe
from haluagent.text.normalize import writable
from haluagent.tooling.isolation import Raised, is_ctrl_c, isolated
from haluagent.tooling.tool import Tool, nothing
from haluagent.types import Sentence, Span, ToolCall, ToolResult

logger = logging.getLogger(__name__)

ENTRY_POINTS = "haluagent.tools"


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
        """Return the tool of that name. Raises FormatError for an unknown one: the model asked for it and may choose again."""
        if name not in self._tools:
            raise FormatError(f"there is no tool named {name!r}; the tools are {', '.join(self._tools)}")
        return self._tools[name]

    def only(self, *names: str) -> "Registry":
        """Return a registry of the system tools and these others. Raises ConfigError where there is no such tool."""
        for name in names:
            if name not in self._tools or self._tools[name].system:
                choices = ", ".join(item.name for item in self if not item.system)
                raise ConfigError(f"there is no tool named {name!r} to check with; the tools are {choices}")
        return Registry(item for item in self if item.system or item.name in names)

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
                    f"{describe(error)}; {advice}"
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
        """Return True where a tool could decide something about a sentence. A `when` that raises counts as no: the broken tool
        is not offered, and the detection goes on with the others."""
        return self._asked(item, "when", context, sentence)

    def adds(self, item: Tool, context: ToolContext, sentence: Sentence) -> bool:
        """Return True where a tool can compute facts about a sentence. An `adds` that raises counts as no, like a `when`."""
        return self._asked(item, "adds", context, sentence)

    def plausible(self, item: Tool, context: ToolContext, sentence: Sentence) -> bool:
        """Return True where a sentence looks like one for a tool. A `plausible` that raises counts as no, like a `when`."""
        return self._asked(item, "plausible", context, sentence)

    def listed(self, question: str, response: str) -> "list[Tool]":
        """Return the tools that the model is told of for a response. A `listed` that raises counts as no, like a `when`."""
        return [item for item in self if self._asked(item, "listed", question, response)]

    def _asked(self, item: Tool, part: str, *about: Any) -> bool:
        try:
            return bool(getattr(item, part)(*about))
        except BaseException as error:
            self._broke(item, part, error)
            return False

    def covered(self, context: ToolContext) -> list[tuple[str, Span]]:
        """Return the spans of the response that tools judge as parts of the whole, each with the tool's name."""
        found: list[tuple[str, Span]] = []
        whole = context.sentence(0)
        for item in self:
            if item.covers is nothing or not self.fits(item, context, whole):
                continue
            try:
                found += [(item.name, (int(start), int(end))) for start, end in item.covers(context)]
            except BaseException as error:
                self._broke(item, "covers", error)
        return found

    def obvious(self, item: Tool, context: ToolContext, sentence: Sentence) -> ToolCall | None:
        """Return the only possible call of a tool about a sentence; None where there are several. An `obvious` that raises
        leaves the choice to the model."""
        try:
            arguments = item.obvious(context, sentence)
            call = None if arguments is None else ToolCall(name=item.name, arguments=writable(arguments))
            json.dumps(call and call.arguments)  # it goes into the report
            return call
        except BaseException as error:
            if is_ctrl_c(error):
                raise
            logger.warning("the tool %s: its `obvious` failed: %s", item.name, describe(error))
            return None

    def _broke(self, item: Tool, part: str, error: BaseException) -> None:
        if is_ctrl_c(error):
            raise error
        if item.name not in self._broken:  # once, not for every sentence
            self._broken.add(item.name)
            logger.warning("the tool %s is not offered: its `%s` failed: %s", item.name, part, describe(error))

    async def call(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Validate a call and run it. Raises FormatError for a call that does not fit, ToolError for one that failed.

        Whatever a tool raises, and a return value that is no ToolResult, becomes a ToolError. Only ModelError and
        `DetectionEnded` pass through.
        """
        item = self[call.name]
        values = {name: _resolve(item, name, value, context) for name, value in call.arguments.items()}
        try:
            arguments = item.arguments(**values)
        except ValidationError as error:
            problems = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in error.errors())
            raise FormatError(f"{call.name}: {problems}") from None
        given = {name: getattr(arguments, name) for name in item.parameters}
        outcome = await isolated(lambda: item.run(context, **given))
        if isinstance(outcome, Raised):
            raise _failure(call.name, outcome.error)
        if not isinstance(outcome, ToolResult):
            raise ToolError(f"{call.name} failed: it returned {type(outcome).__name__} and not a ToolResult")
        return _checked(call.name, outcome)


def _load(point: EntryPoint) -> Sequence[Any]:
    """Return what an entry point names, as a sequence. Raises whatever the package's code raises, and ImportError where it
    exits."""
    try:
        found = point.load()
    except SystemExit as error:
        raise ImportError("it exits when it is imported") from error
    return found if isinstance(found, (list, tuple)) else (found,)


def _failure(name: str, error: BaseException) -> BaseException:
    """Return what is raised where the tool of that name has raised `error`."""
    if issubclass(type(error), FormatError | ToolError | ModelError | DetectionEnded) and _readable(error):
        error.args = tuple(writable(error.args))  # they go into the report
        return error
    said = describe(error)  # whatever its own __str__ does
    failure = ToolError(writable(str(error)) if type(error) is ConfigError else f"{name} failed: {said}")
    failure.__cause__ = error
    return failure


def _readable(error: BaseException) -> bool:
    """Return whether an exception can be shown: its class may be a tool's own."""
    try:
        return isinstance(str(error), str)
    except BaseException:
        return False


def _checked(name: str, result: ToolResult) -> ToolResult:
    """Return a result that can be written and whose numbers are in their bounds, however it was made. Raises ToolError."""
    try:
        return type(result).model_validate(writable(result.model_dump(warnings=False)))
    except Exception as error:
        raise ToolError(f"{name} failed: {describe(error)}") from error


def _resolve(item: Tool, name: str, value: Any, context: ToolContext) -> Any:
    """Replace a pointer such as `S3` by its sentence; return everything else as it is."""
    if item.types.get(name) is not Sentence or value is None:
        return value
    digits = str(value).lstrip("Ss")
    try:
        return context.sentence(int(digits))
    except (ValueError, KeyError):
        raise FormatError(
            f"{item.name}: {value!r} names no sentence; write one of S0 to S{len(context.sentences)}"
        ) from None
