"""`haluagent tools`: the registry as a person reads it."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

import haluagent.tools
from fake_agent import lookup

from haluagent.cli import main as cli
from haluagent.registry import Registry, make_tool
from haluagent.types import ToolResult


async def measure(context: object, text: str, unit: str = "m") -> ToolResult:
    return ToolResult(observation="")


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    description = {"en": "Measures 1.5 things. Then more.", "zh": "测量。还有。"}
    tools = [lookup, make_tool(measure, "measure", description, (), system=True)]  # type: ignore[arg-type]
    monkeypatch.setattr(haluagent.tools, "default_registry", lambda: Registry(tools))


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "lokup"], "did you mean 'lookup'?"),
        (["show", "zzz"], "the tools are lookup, measure"),
        (["show"], "Missing argument"),
    ],
)
def test_a_mistake_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert cli.run(["tools", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) == 1
    assert err.startswith("haluagent: ") and message in err


def test_without_a_command_it_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["tools"]) == 2
    assert "list" in capsys.readouterr().err
