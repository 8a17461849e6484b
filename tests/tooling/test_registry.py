"""Tools are described, validated and called through one door."""

import asyncio
from collections.abc import Callable
from typing import Any, Literal

import pytest

from haluagent.errors import ConfigError, DetectionEnded, FormatError, ModelError, ToolError
from haluagent.protocols import ToolContext
from haluagent.tooling.definition import tool
from haluagent.tooling.registry import Registry
from haluagent.tooling.tool import Demo, Tool
from haluagent.tools import default_registry
from haluagent.types import Sentence, ToolCall, ToolResult

DESCRIPTION = {"en": "does it", "zh": "做这件事"}
DEMOS = tuple(
    Demo(language=language, question="q", response="r", thought="t", call="probe(sentence=S1)", observation="o")
    for language in ("en", "zh")
)


def make_probe(function: Callable[..., Any] | None = None, **changes: Any) -> Tool:
    async def probe(
        context: ToolContext, sentence: Sentence, mode: Literal["a", "b"] = "a", n: int | None = None
    ) -> ToolResult:
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


@pytest.mark.parametrize("raised", [ModelError("no answer"), FormatError("write it so"), DetectionEnded("enough")])
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
    odd_one = make_probe(plausible=lambda context, sentence: sentence.nothing)
    assert registry.plausible(odd_one, context, context.sentence(1)) is False
    assert registry.plausible(make_probe(), context, context.sentence(1)) is False, "where a tool does not say"


async def unannotated(context, sentence):  # type: ignore[no-untyped-def]
    return ToolResult(observation="")


async def odd(context: ToolContext, items: list[str]) -> ToolResult:
    return ToolResult(observation="")


async def chinese(context: ToolContext, 长度: int) -> ToolResult:
    return ToolResult(observation="")


def plain(context: ToolContext, sentence: Sentence) -> ToolResult:
    return ToolResult(observation="")


async def nothing() -> ToolResult:
    return ToolResult(observation="")


async def without_context(sentence: Sentence) -> ToolResult:
    return ToolResult(observation="")


async def many(context: ToolContext, *sentences: Sentence) -> ToolResult:
    return ToolResult(observation="")


async def any_name(context: ToolContext, **values: str) -> ToolResult:
    return ToolResult(observation="")


async def by_place(context: ToolContext, n: int, /) -> ToolResult:
    return ToolResult(observation="")


async def private(context: ToolContext, _n: int) -> ToolResult:
    return ToolResult(observation="")


async def of_pydantic(context: ToolContext, model_fields: str) -> ToolResult:
    return ToolResult(observation="")


async def pointer_of_another_name(context: ToolContext, claim: Sentence) -> ToolResult:
    return ToolResult(observation="")


async def text_of_that_name(context: ToolContext, sentence: str) -> ToolResult:
    return ToolResult(observation="")


async def table(context: ToolContext, rows: dict[str, None]) -> ToolResult:
    return ToolResult(observation="")


async def number_choice(context: ToolContext, n: Literal[1, 2]) -> ToolResult:
    return ToolResult(observation="")


async def unknown_name(context: ToolContext, n: "Nowhere") -> ToolResult:  # type: ignore[name-defined]  # noqa: F821
    return ToolResult(observation="")


async def never_plain(context: ToolContext, sentence: Sentence) -> bool:
    return True


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
        (nothing, {}, "make the context the first argument"),
        (without_context, {}, "make the context the first argument"),
        (many, {}, "cannot be given by name; write each one out"),
        (any_name, {}, "cannot be given by name; write each one out"),
        (by_place, {}, "cannot be given by name"),
        (private, {}, "give the argument '_n' another name"),
        (of_pydantic, {}, "give the argument 'model_fields' another name"),
        (pointer_of_another_name, {}, "call the argument for the sentence 'sentence'"),
        (text_of_that_name, {}, "call the argument for the sentence 'sentence', of type Sentence"),
        (table, {}, "argument 'rows' has type"),
        (number_choice, {}, "argument 'n' has type"),
        (unknown_name, {}, "annotations cannot be read .*Nowhere.*not under TYPE_CHECKING"),
        (None, {"description": "does it"}, "write the description as"),
        (None, {"description": {"en": "does it", "zh": " "}}, "add a description in 'zh'"),
        (None, {"demos": DEMOS[0]}, "write demos as a list"),
        (None, {"demos": ["probe(sentence=S1)"]}, "write demos as a list"),
        (None, {"when": never_plain}, "make when a plain function"),
        (None, {"when": True}, "make when a plain function"),
        (None, {"covers": never_plain}, "make covers a plain function"),
    ],
)
def test_an_incomplete_tool_is_refused_with_what_to_add(function: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_probe(function, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"call": "look at S1"}, r"call 'look at S1' cannot be read: write it like probe\(sentence=S1\)"),
        ({"call": "date(sentence=S1)"}, r"calls another tool: write it like probe\(sentence=S1\)"),
        ({"call": "probe(sentence=S3)"}, "points to S3: the sentences of its response are S0, S1, S2"),
        ({"call": 'probe(sentence="the first")'}, "points to the first"),
        ({"call": "probe()"}, "does not fit the arguments: sentence: Field required"),
        ({"call": "probe(sentence=S1, x=1)"}, "does not fit the arguments: x: Extra inputs"),
        ({"call": 'probe(sentence=S1, mode="c")'}, "does not fit the arguments: mode: Input should be 'a' or 'b'"),
        ({"call": 'probe(sentence=S1, n="3")'}, "does not fit the arguments: n: Input should be a valid integer"),
        ({"call": "probe(sentence=S1, mode='b')"}, r'as the model has to write it: probe\(sentence=S1, mode="b"\)'),
        ({"call": "probe(sentence=S1"}, r"as the model has to write it: probe\(sentence=S1\)"),
        ({"call": "  "}, "fill in the call of the zh demo"),
        ({"thought": ""}, "fill in the thought of the zh demo"),
        ({"observation": ""}, "fill in the observation of the zh demo"),
        ({"response": " "}, "fill in the response of the zh demo"),
        ({"response": "---"}, "points to S1: the sentences of its response are S0"),
        ({"thought": "one\ntwo"}, "write the thought of the zh demo on one line"),
    ],
)
def test_a_demo_that_could_not_be_a_turn_is_refused(changes: dict[str, Any], message: str) -> None:
    english, chinese = (demo.model_copy(update={"response": "第一句。第二句。"}) for demo in DEMOS)
    with pytest.raises(ConfigError, match=f"^tool probe: .*{message}") as raised:
        make_probe(demos=[english, chinese.model_copy(update=changes)])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("pointer", ["S0", "S2"])
def test_a_demo_is_shown_cut_into_sentences(pointer: str) -> None:
    demo = DEMOS[0].model_copy(
        update={"response": "It rained. It was 3 o'clock.", "call": f"probe(sentence={pointer})"}
    )
    shown = make_probe(demos=[demo, DEMOS[1]]).demos[0].item
    assert shown["sentences"] == [("S1", "It rained."), ("S2", "It was 3 o'clock.")]
    assert shown["target"] == pointer
    assert shown["claim"] == ("It was 3 o'clock." if pointer == "S2" else demo.response)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="'probe' is already registered; give the new one another name"):
        Registry([make_probe(), make_probe()])


@pytest.mark.parametrize("name", ["split_text", "get_answer"])
def test_the_names_of_the_agent_are_taken(name: str) -> None:
    demos = [demo.model_copy(update={"call": f"{name}(sentence=S1)"}) for demo in DEMOS]
    with pytest.raises(ConfigError, match=f"'{name}' belongs to the agent itself; give the new one another name"):
        default_registry().add(make_probe(name=name, demos=demos))


def test_what_is_no_tool_is_not_registered() -> None:
    with pytest.raises(ConfigError, match="is not a tool: decorate the function"):
        Registry([plain])  # type: ignore[list-item]


def test_only_keeps_the_system_tools() -> None:
    kept = default_registry().only("date")
    assert [item.name for item in kept if not item.system] == ["date"]
    assert {"split_text", "get_answer"} <= {item.name for item in kept}
    with pytest.raises(ConfigError, match="no tool named 'nothing'"):
        default_registry().only("nothing")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_built_in_tool_can_be_shown_to_the_model(language: str) -> None:
    for item in default_registry():
        assert item.description[language]  # type: ignore[index]
        if not item.system:
            assert any(demo.language == language for demo in item.demos)
