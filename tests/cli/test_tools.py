"""`haluagent tools`: the registry as a person reads it, and the demos run for real."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_agent import DEMOS, lookup

import haluagent.tooling.demo_runs
import haluagent.tooling.services
import haluagent.tools
from haluagent.cli import main as cli
from haluagent.errors import ConfigError, ModelError, SandboxError, SearchError, ToolError
from haluagent.protocols import Services
from haluagent.tooling.definition import make_tool
from haluagent.tooling.registry import Registry
from haluagent.tooling.tool import Demo, Tool
from haluagent.types import Sentence, ToolResult

DESCRIPTION: Any = {"en": "Measures 1.5 things. Then more.", "zh": "测量。还有。"}
FILE = """
from fake_agent import DEMOS
from haluagent import Sentence, ToolContext, ToolResult, tool

demos = [demo.model_copy(update={"call": "look(sentence=S1)"}) for demo in DEMOS]

@tool(description={"en": "Look.", "zh": "查。"}, demos=demos)
async def look(context: ToolContext, sentence: Sentence) -> ToolResult:
    return ToolResult(observation="O" if context.language == "en" else "看")
"""


async def measure(context: object, text: str, unit: str = "m") -> ToolResult:
    return ToolResult(observation="")


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> list[Tool]:
    tools = [lookup, make_tool(measure, "measure", DESCRIPTION, (), system=True)]
    monkeypatch.setattr(haluagent.tools, "default_registry", lambda: Registry(tools))
    return tools


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "mine.py"
    path.write_text(FILE, encoding="utf-8")
    return str(path)


def test_list_names_every_tool_in_both_languages(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["tools", "list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "lookup(sentence)",
        "    Look it up.",
        "    查一查。",
        "measure(text, unit?)",
        "    Measures 1.5 things.",
        "    测量。",
    ]


def test_show_has_the_description_and_the_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["tools", "show", "lookup"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == ["lookup(sentence)", "  en: Look it up.", "  zh: 查一查。", ""]
    assert "    ACTION: lookup(sentence=S1)" in lines and "    行为：lookup(sentence=S1)" in lines
    assert "    question: Q?" in lines and "    观察：看" in lines
    assert not any("reference" in line for line in lines)
    assert cli.run(["tools", "show", "measure"]) == 0
    assert "Then more." in capsys.readouterr().out


def test_a_file_adds_its_tools(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["tools", "list", "--tools", file]) == 0
    assert "look(sentence)" in capsys.readouterr().out.splitlines()
    assert cli.run(["tools", "show", "look", "--tools", file]) == 0
    assert "  en: Look." in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "lokup"], "did you mean 'lookup'?"),
        (["show", "zzz"], "the tools are lookup, measure"),
        (["show"], "Missing argument"),
        (["test"], "nothing to test: give a tool's name, --tools FILE or --all"),
        (["test", "lookup", "--all"], "give a tool's name or --all, not both"),
        (["test", "lokup"], "did you mean 'lookup'?"),
        (["test", "lookup", "--lang", "fr"], "'fr' is not one of"),
        (["list", "--tools", "/no/such/file.py"], "there is no file /no/such/file.py"),
        (["test", "--tools", "{FILE}", "--tools", "{FILE}"], "a tool named 'look' is already registered"),
    ],
)
def test_a_mistake_is_one_line(
    file: str, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert cli.run(["tools", *(argument.format(FILE=file) for argument in arguments)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) == 1
    assert err.startswith("haluagent: ") and message in err


def test_without_a_command_it_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["tools"]) == 2
    assert "list" in capsys.readouterr().err


def test_the_demos_of_a_file_are_run(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["tools", "test", "--tools", file]) == 0
    assert capsys.readouterr().out.splitlines() == ["look", "  ✓ en look(sentence=S1)", "  ✓ zh look(sentence=S1)"]
    assert cli.run(["tools", "test", "look", "--tools", file, "--lang", "zh"]) == 0
    assert capsys.readouterr().out.splitlines() == ["look", "  ✓ zh look(sentence=S1)"]


def test_a_demo_that_says_something_else_is_shown_beside_it(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["tools", "test", "--all", "--tools", file, "--lang", "zh"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "lookup",
        "  ✗ zh lookup(sentence=S1)",
        "      expected: 看",
        "      got:",
        "measure",
        "look",
        "  ✓ zh look(sentence=S1)",
    ]


def test_a_tool_without_a_demo_is_not_said_to_have_passed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["tools", "test", "measure"]) == 2
    assert "no example to run" in capsys.readouterr().err


@pytest.fixture
def try_tool(
    registered: list[Tool], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Run the English demo of a tool made of `function`, with `parts` behind it: the exit code and its line."""

    def run(function: Any, parts: dict[str, Any], observation: str = "1 of 2 (40%)", **changes: Any) -> tuple[int, str]:
        def make(name: str) -> Any:
            if isinstance(parts[name], Exception):
                raise parts[name]
            return parts[name]

        demos = [demo.model_copy(update={"call": "tried(sentence=S1)", "observation": observation}) for demo in DEMOS]
        registered[:] = [make_tool(function, "tried", DESCRIPTION, tuple(demos), **changes)]
        monkeypatch.setattr(haluagent.tooling.demo_runs, "make_part", make)
        code = cli.run(["tools", "test", "tried", "--lang", "en"])
        return code, capsys.readouterr().out.split("\n", 1)[1]

    return run


async def ask_model(context: Any, sentence: Sentence) -> ToolResult:
    choice = await context.model.choose([], ["A", "B"])
    return ToolResult(observation=f"1 of 2 ({choice.probabilities['A']:.0%})")


async def ask_sandbox(context: Any, sentence: Sentence) -> ToolResult:
    if context.sandbox is None:
        raise ToolError("no sandbox")
    raise SandboxError("the daemon is dead")


async def ask_search(context: Any, sentence: Sentence) -> ToolResult:
    if context.search is None:
        return ToolResult(observation="nothing to search with")
    return ToolResult(observation=await context.search("Q?"))


async def find(query: str) -> str:
    return "found"


async def fail(query: str) -> str:
    raise SearchError("the index is locked")


@pytest.mark.parametrize(
    ("function", "parts", "code", "line"),
    [
        (ask_model, {"model": ConfigError("no weights")}, 3, "? en tried(sentence=S1) (no weights)"),
        (ask_model, {"model": ModelError("no answer")}, 3, "? en tried(sentence=S1) (no answer)"),
        (ask_sandbox, {"sandbox": None}, 3, "(it needs a sandbox: see haluagent sandbox status)"),
        (ask_sandbox, {"sandbox": object()}, 3, "(the daemon is dead)"),
        (ask_search, {"search": None}, 3, "(it needs a search: "),
        (ask_search, {"search": find}, 3, "(what it says depends on what the search finds)\n      expected: 1 of 2"),
        (ask_search, {"search": fail}, 3, "(the index is locked)"),
    ],
)
def test_what_cannot_be_run_is_not_verified(
    try_tool: Callable[..., tuple[int, str]], function: Any, parts: dict[str, Any], code: int, line: str
) -> None:
    got, out = try_tool(function, parts)
    assert got == code and out.startswith("  ? en") and line in out


def test_the_numbers_of_a_model_are_not_compared(try_tool: Callable[..., tuple[int, str]], scripted: Any) -> None:
    model = scripted(choose=0.9)
    assert try_tool(ask_model, {"model": model}) == (
        0,
        "  ✓ en tried(sentence=S1) (numbers not compared: they are the model's)\n"
        "      expected: 1 of 2 (40%)\n      got: 1 of 2 (90%)\n",
    )
    assert try_tool(ask_model, {"model": model}, "1 of 2 (90%)") == (0, "  ✓ en tried(sentence=S1)\n")
    code, out = try_tool(ask_model, {"model": model}, "one of 2 (90%)")
    assert code == 1 and out.startswith("  ✗ en")


def test_the_numbers_of_a_tool_are_compared(try_tool: Callable[..., tuple[int, str]]) -> None:
    async def count(context: Any, sentence: Sentence) -> ToolResult:
        return ToolResult(observation="1 of 3 (40%)")

    assert try_tool(count, {})[0] == 1


def test_a_bug_is_shown_as_what_the_tool_says(try_tool: Callable[..., tuple[int, str]]) -> None:
    async def broken(context: Any, sentence: Sentence) -> ToolResult:
        raise ZeroDivisionError("by zero")

    code, out = try_tool(broken, {})
    assert code == 1 and "got: tried failed: ZeroDivisionError: by zero" in out


def test_an_error_that_the_demo_shows_is_as_shown(try_tool: Callable[..., tuple[int, str]]) -> None:
    async def refuse(context: Any, sentence: Sentence) -> ToolResult:
        raise ToolError("not this one")

    assert try_tool(refuse, {}, "not this one")[0] == 0


def test_a_demo_where_the_tool_is_not_offered_misleads(try_tool: Callable[..., tuple[int, str]]) -> None:
    code, out = try_tool(ask_model, {}, when=lambda context, sentence: sentence.index == 0)
    assert (code, out) == (1, "  ✗ en tried(sentence=S1) (its `when` does not offer it here)\n")


def test_a_tool_that_is_not_offered_without_its_search_is_not_verified(
    try_tool: Callable[..., tuple[int, str]],
) -> None:
    code, out = try_tool(ask_search, {"search": None}, when=lambda context, sentence: context.search is not None)
    assert code == 3 and out.startswith("  ? en tried(sentence=S1) (it needs a search: ")


def test_a_demo_is_held_to_where_its_arguments_come_from(
    registered: list[Tool], capsys: pytest.CaptureFixture[str]
) -> None:
    async def add(context: Any, sentence: Sentence, n: int) -> ToolResult:
        return ToolResult(observation="O")

    demos = tuple(
        Demo(
            language=language,
            question="Q?",
            response="It is 12.",
            thought="T",
            call=f"add(sentence=S1, n={n})",
            observation="O",
        )
        for language, n in (("en", 12), ("zh", 34))
    )
    registered[:] = [make_tool(add, "add", DESCRIPTION, demos)]
    assert cli.run(["tools", "test", "add"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "  ✓ en add(sentence=S1, n=12)"
    assert lines[2] == "  ✗ zh add(sentence=S1, n=34)" and "34" in lines[4]


def test_parts_are_made_once_and_closed(scripted: Any, try_tool: Callable[..., tuple[int, str]]) -> None:
    closed = []

    async def aclose() -> None:
        closed.append(True)

    async def twice(context: Any, sentence: Sentence) -> ToolResult:
        assert context.model is context.model
        return ToolResult(observation="1 of 2 (40%)")

    model = scripted()
    model.aclose = aclose
    assert try_tool(twice, {"model": model}) == (0, "  ✓ en tried(sentence=S1)\n")
    assert closed == [True]


def test_a_part_is_the_configured_one_and_no_other_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, Any]] = []

    def make_services(sandbox: Any = "auto", search: Any = "auto", translator: Any = None) -> Services:
        made.append({"sandbox": sandbox, "search": search, "translator": translator})
        return Services(sandbox="S" if sandbox else None, search="F" if search else None, translator="T")  # type: ignore[arg-type]

    monkeypatch.setattr(haluagent.tooling.demo_runs, "make_services", make_services)
    make = haluagent.tooling.demo_runs.make_part
    assert [make("sandbox"), make("search"), make("translator")] == ["S", "F", "T"]
    assert made == [
        {"sandbox": "auto", "search": None, "translator": None},
        {"sandbox": None, "search": "auto", "translator": None},
        {"sandbox": None, "search": None, "translator": None},
    ]
    monkeypatch.setenv("HALUAGENT_MODEL", "no-such-model")
    with pytest.raises(ConfigError, match="no-such-model"):
        make("model")
