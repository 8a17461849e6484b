"""`haluagent tools`: show the tools that the agent can call, and test their examples."""

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from haluagent.cli.options import ToolFiles
from haluagent.errors import ConfigError

if TYPE_CHECKING:
    from haluagent.report.lines import Line
    from haluagent.tooling.demo_runs import DemoRun
    from haluagent.tooling.registry import Registry
    from haluagent.tooling.tool import Demo, Tool

DIFFERENT, UNVERIFIED = 1, 3

app = typer.Typer(help="The tools the agent can call.", no_args_is_help=True)

NAME_HELP = "The tool's name, as shown by 'haluagent tools list'."


@app.command("list")
def list_tools(tools: ToolFiles = None) -> None:
    """List every tool with what it does."""
    from haluagent.cli.terminal import Screen
    from haluagent.report.lines import Line

    screen = Screen()
    for tool in registry_with(tools):
        screen.show(Line(("bold cyan", tool.signature())))
        for text in tool.description.values():
            screen.show(Line(("", _first_sentence(text)), indent=4))


@app.command()
def show(name: Annotated[str, typer.Argument(help=NAME_HELP)], tools: ToolFiles = None) -> None:
    """Show one tool: its arguments, its descriptions, and the examples that the model sees."""
    from haluagent.cli.terminal import Screen
    from haluagent.report.lines import Line

    screen = Screen()
    tool = find_tool(name, registry_with(tools))
    screen.show(Line(("bold cyan", tool.signature())))
    for language, text in tool.description.items():
        screen.show(Line(("dim", f"{language}: "), ("", text), indent=2))
    for demo in tool.demos:
        screen.show(Line())
        screen.show(_demo_lines(demo))


@app.command()
def test(
    name: Annotated[str | None, typer.Argument(help=NAME_HELP)] = None,
    tools: ToolFiles = None,
    everything: Annotated[bool, typer.Option("--all", help="Test every tool.")] = False,
    lang: Annotated[Literal["en", "zh"] | None, typer.Option(help="Only the examples in this language.")] = None,
) -> None:
    """Run a tool's examples and compare the results with what they show.

    Without a name: the tools of the files. Exit code: 0 all as shown, 1 something differs, 3 something could not be
    verified (no model, sandbox or search, or a service that failed), 2 invalid options or input.
    """
    import asyncio

    registry = registry_with(tools)
    chosen = _chosen(name, tools, everything, registry)
    runs = asyncio.run(_run_all(registry, chosen, lang))
    if not runs:
        raise ConfigError("there is no example to run")
    outcomes = {run.outcome for run in runs}
    raise typer.Exit(DIFFERENT if "different" in outcomes else UNVERIFIED if "unverified" in outcomes else 0)


def registry_with(files: list[Path] | None) -> "Registry":
    """Return the built-in tools, those of installed packages, and those of `files`. Raises ConfigError if a file cannot
    be loaded."""
    from haluagent.tooling.plugins import load_file
    from haluagent.tools import default_registry

    registry = default_registry()
    for path in files or ():
        for tool in load_file(path):
            registry.add(tool)
    return registry


def find_tool(name: str, registry: "Registry") -> "Tool":
    """Return the tool with this name. Raises ConfigError for an unknown name, suggesting the nearest one."""
    tools = {tool.name: tool for tool in registry}
    if name not in tools:
        near = difflib.get_close_matches(name, tools, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"the tools are {', '.join(tools)}"
        raise ConfigError(f"there is no tool named {name!r}: {hint}")
    return tools[name]


def _chosen(name: str | None, files: list[Path] | None, everything: bool, registry: "Registry") -> "list[Tool]":
    from haluagent.tools import default_registry

    if name is not None and everything:
        raise ConfigError("give a tool's name or --all, not both")
    if name is not None:
        return [find_tool(name, registry)]
    if everything:
        return list(registry)
    if not files:
        raise ConfigError("nothing to test: give a tool's name, --tools FILE or --all")
    others = default_registry()
    return [tool for tool in registry if tool.name not in others]


async def _run_all(registry: "Registry", tools: "Iterable[Tool]", language: str | None) -> "list[DemoRun]":
    """Run and show the demos one after another."""
    from haluagent.cli.terminal import Screen
    from haluagent.report.lines import Line
    from haluagent.tooling.demo_runs import Parts, make_part, run_demo

    screen, parts, runs = Screen(), Parts(make_part), []
    try:
        for tool in tools:
            screen.show(Line(("bold cyan", tool.name)))
            for demo in tool.demos:
                if language in (None, demo.language):
                    run = await run_demo(registry, tool, demo, parts)
                    screen.show(_run_lines(run))
                    runs.append(run)
    finally:
        await parts.aclose()
    return runs


def _run_lines(run: "DemoRun") -> "list[Line]":
    from haluagent.report.lines import Line

    mark, style = {"same": ("✓", "green"), "different": ("✗", "bold red"), "unverified": ("?", "yellow")}[run.outcome]
    note = f" ({run.note})" if run.note else ""
    lines = [Line((style, f"{mark} "), ("", f"{run.demo.language} {run.demo.call}"), ("dim", note), indent=2)]
    if run.got is not None and run.got != run.demo.observation:
        lines.append(Line(("dim", "expected: "), ("", run.demo.observation), indent=6))
        lines.append(Line(("dim", "got: "), ("", run.got), indent=6))
    return lines


def _first_sentence(text: str) -> str:
    for mark in (". ", "。", "\n"):
        head, found, _ = text.partition(mark)
        text = head + found.strip() if found else text
    return text


def _demo_lines(demo: "Demo") -> "list[Line]":
    from haluagent.report.lines import Line
    from haluagent.text.messages import templates
    from haluagent.tooling.turn_format import ACTION, OBSERVATION, THOUGHT

    labels = templates("demo", demo.language)
    rows = [
        (labels["question"], demo.question),
        (labels["reference"], demo.reference or ""),
        (labels["response"], demo.response),
    ]
    rows += [
        (THOUGHT[demo.language], demo.thought),
        (ACTION[demo.language], demo.call),
        (OBSERVATION[demo.language], demo.observation),
    ]
    lines = [Line(("bold", f"{labels['example']} ({demo.language})"), indent=2)]
    return lines + [Line(("dim", label), ("", text), indent=4) for label, text in rows if text]
