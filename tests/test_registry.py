"""Tools are described, validated and called through one door."""

import asyncio
from collections.abc import Callable
from typing import Any, Literal

import pytest
from haluagent.tools import default_registry

from haluagent.errors import ConfigError, FormatError, ModelError, ToolError
from haluagent.protocols import ToolContext
from haluagent.registry import Demo, Registry, Tool, tool
from haluagent.types import Sentence, ToolCall, ToolResult

DESCRIPTION = {"en": "does it", "zh": "做这件事"}
DEMOS = tuple(
    Demo(language=language, question="q", response="r", thought="t", call="probe(sentence=S1)", observation="o")
    for language in ("en", "zh")
)


def make_probe(function: Callable[..., Any] | None = None, **changes: Any) -> Tool:
    async def probe(context: ToolContext, sentence: Sentence, mode: Literal["a", "b"] = "a", n: int | None = None) -> ToolResult:
        return ToolResult(observation=f"{sentence.text}|{mode}|{n}")

    return tool(**({"description": DESCRIPTION, "demos": DEMOS} | changes))(function or probe)


def call(registry: Registry, context: ToolContext, **arguments: Any) -> ToolResult:
    return asyncio.run(registry.call(ToolCall(name="probe", arguments=arguments), context))


def test_a_pointer_becomes_its_sentence(make_context: Callable[..., ToolContext]) -> None:
    context = make_context("q", "First one. Second one.")
    assert call(Registry([make_probe()]), context, sentence="S2", mode="b", n=3).observation == "Second one.|b|3"


@pytest.mark.parametrize(
    "arguments",
    [{"sentence": "S9"}, {"sentence": "first"}, {}, {"sentence": "S1", "mode": "c"}, {"sentence": "S1", "x": 1}],
)
def test_a_call_that_does_not_fit_is_a_format_error(
    arguments: dict[str, Any], make_context: Callable[..., ToolContext]
) -> None:
    with pytest.raises(FormatError):
        call(Registry([make_probe()]), make_context("q", "Only one."), **arguments)


def test_an_unknown_tool_names_the_known_ones() -> None:
    with pytest.raises(FormatError, match="calculator"):
        default_registry()["websearch"]


def test_a_tool_that_raises_is_a_tool_error(make_context: Callable[..., ToolContext]) -> None:
    async def probe(context: ToolContext, sentence: Sentence) -> ToolResult:
        raise ZeroDivisionError("by zero")

    with pytest.raises(ToolError, match="by zero"):
        call(Registry([make_probe(probe)]), make_context("q", "One."), sentence="S1")


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (AttributeError("no such thing"), "probe failed: AttributeError: no such thing"),
        (AssertionError("a bug"), "probe failed: AssertionError: a bug"),
        (StopAsyncIteration("at the end"), "probe failed: "),
        (ConfigError("pip install something"), "^pip install something$"),
        (ToolError("as it is"), "^as it is$"),
    ],
)
def test_whatever_a_tool_raises_is_a_tool_error(
    raised: Exception, message: str, make_context: Callable[..., ToolContext]
) -> None:
    async def probe(context: ToolContext, sentence: Sentence) -> ToolResult:
        raise raised

    with pytest.raises(ToolError, match=message):
        call(Registry([make_probe(probe)]), make_context("q", "One."), sentence="S1")


class Interruption(Exception):
    passes_tools = True


@pytest.mark.parametrize("raised", [ModelError("no answer"), FormatError("write it so"), Interruption("enough")])
def test_what_ends_a_detection_passes_through_a_tool(
    raised: Exception, make_context: Callable[..., ToolContext]
) -> None:
    async def probe(context: ToolContext, sentence: Sentence) -> ToolResult:
        raise raised

    with pytest.raises(type(raised), match=str(raised)):
        call(Registry([make_probe(probe)]), make_context("q", "One."), sentence="S1")


@pytest.mark.parametrize("returned", [None, "supported", {"observation": "o"}])
def test_a_result_that_is_none_is_a_tool_error(returned: Any, make_context: Callable[..., ToolContext]) -> None:
    async def probe(context: ToolContext, sentence: Sentence) -> ToolResult:
        return returned  # type: ignore[no-any-return]

    with pytest.raises(ToolError, match=f"returned {type(returned).__name__}"):
        call(Registry([make_probe(probe)]), make_context("q", "One."), sentence="S1")


def test_a_tool_whose_condition_breaks_is_not_offered(
    make_context: Callable[..., ToolContext], caplog: pytest.LogCaptureFixture
) -> None:
    context = make_context("q", "One.")
    broken = make_probe(when=lambda context, sentence: sentence.nothing)
    registry = Registry([broken])
    for _ in range(2):
        assert registry.fits(broken, context, context.sentence(1)) is False
    assert len(caplog.records) == 1 and "probe" in caplog.text
    assert registry.fits(make_probe(), context, context.sentence(1)) is True


async def unannotated(context, sentence):  # type: ignore[no-untyped-def]
    return ToolResult(observation="")


async def odd(context: ToolContext, items: list[str]) -> ToolResult:
    return ToolResult(observation="")


async def chinese(context: ToolContext, 长度: int) -> ToolResult:
    return ToolResult(observation="")


def plain(context: ToolContext, sentence: Sentence) -> ToolResult:
    return ToolResult(observation="")


@pytest.mark.parametrize(
    ("function", "changes", "message"),
    [
        (unannotated, {}, "annotate the argument 'sentence'"),
        (odd, {}, "argument 'items' has type"),
        (plain, {}, "async"),
        (None, {"description": {"en": "only English"}}, "add a description in 'zh'"),
        (None, {"demos": DEMOS[:1]}, "add at least one Demo\\(language='zh'"),
        (None, {"name": "not a name"}, "identifier"),
        (None, {"name": "数字"}, "ASCII"),
        (chinese, {}, "name the argument '长度'"),
    ],
)
def test_an_incomplete_tool_is_refused_with_what_to_add(function: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_probe(function, **changes)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="already registered"):
        Registry([make_probe(), make_probe()])


def test_only_keeps_the_system_tools() -> None:
    assert [item.name for item in default_registry().only("date")] == ["split_text", "date", "get_answer"]
    with pytest.raises(ConfigError, match="no tool named 'nothing'"):
        default_registry().only("nothing")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_built_in_tool_can_be_shown_to_the_model(language: str) -> None:
    for item in default_registry():
        assert item.description[language]  # type: ignore[index]
        if not item.system:
            assert any(demo.language == language for demo in item.demos)
