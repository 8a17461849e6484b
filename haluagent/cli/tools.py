"""`haluagent tools`: what the agent can call."""

import difflib
from typing import TYPE_CHECKING, Annotated

import typer

from haluagent.errors import ConfigError

if TYPE_CHECKING:
    from haluagent.registry import Demo, Tool
    from haluagent.report import Line

app = typer.Typer(help="The tools the agent can call.", no_args_is_help=True)


@app.command("list")
def list_tools() -> None:
    """Every tool with what it does."""
    from haluagent.cli.terminal import Screen
    from haluagent.report import Line
    from haluagent.tools import default_registry

    screen = Screen()
    for tool in default_registry():
        screen.show(Line(("bold cyan", tool.signature())))
        for text in tool.description.values():
            screen.show(Line(("", _first_sentence(text)), indent=4))


@app.command()
def show(name: Annotated[str, typer.Argument(help="The tool's name, as 'haluagent tools list' has it.")]) -> None:
    """One tool: its arguments, its descriptions, and the examples that the model sees."""
    from haluagent.cli.terminal import Screen
    from haluagent.report import Line

    screen = Screen()
    tool = find_tool(name)
    screen.show(Line(("bold cyan", tool.signature())))
    for language, text in tool.description.items():
        screen.show(Line(("dim", f"{language}: "), ("", text), indent=2))
    for demo in tool.demos:
        screen.show(Line())
        screen.show(_demo_lines(demo))


def find_tool(name: str) -> "Tool":
    """Raises ConfigError for an unknown name, with the nearest one."""
    from haluagent.tools import default_registry

    tools = {tool.name: tool for tool in default_registry()}
    if name not in tools:
        near = difflib.get_close_matches(name, tools, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"the tools are {', '.join(tools)}"
        raise ConfigError(f"there is no tool named {name!r}: {hint}")
    return tools[name]


def _first_sentence(text: str) -> str:
    for mark in (". ", "。", "\n"):
        head, found, _ = text.partition(mark)
        text = head + found.strip() if found else text
    return text


def _demo_lines(demo: "Demo") -> "list[Line]":
    from haluagent.report import Line
    from haluagent.wire import ACTION, OBSERVATION, THOUGHT

    labels = {
        "en": ("example", "question: ", "reference: ", "response: "),
        "zh": ("示例", "问题：", "参考：", "回答："),
    }[demo.language]
    rows = [(labels[1], demo.question), (labels[2], demo.reference or ""), (labels[3], demo.response)]
    rows += [
        (THOUGHT[demo.language], demo.thought),
        (ACTION[demo.language], demo.call),
        (OBSERVATION[demo.language], demo.observation),
    ]
    lines = [Line(("bold", f"{labels[0]} ({demo.language})"), indent=2)]
    return lines + [Line(("dim", label), ("", text), indent=4) for label, text in rows if text]
