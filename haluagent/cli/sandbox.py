"""`haluagent sandbox`: set up and try the sandboxes that code runs in."""

import asyncio
import sys
import unicodedata
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from haluagent.errors import ConfigError

if TYPE_CHECKING:
    from haluagent.protocols import Execution

app = typer.Typer(help="Set up and try the sandboxes that code from a response runs in.", no_args_is_help=True)

PROGRAM_FAILED = 1
NOT_RUN = 3


@app.command()
def status() -> None:
    """Show which sandboxes work here, and what the others need. Removes what a crash left behind.

    Exit code: 0 if one works, 2 if none does.
    """
    from haluagent.cli.terminal import Screen
    from haluagent.report.lines import Line
    from haluagent.sandbox import choose

    screen = Screen()
    found = choose.status()
    for item in found:
        mark = ("green", "works") if item.works else ("red", "does not work")
        screen.show(Line(("bold", f"{item.backend}: "), mark, ("", f": {item.text}")))
    first = next((item.backend for item in found if item.works), None)
    if first is None:
        raise ConfigError(choose.advice("en"))
    screen.show(Line(("", f"`--sandbox auto` uses {first}.")))


@app.command()
def build(
    base: Annotated[
        str | None, typer.Option(metavar="IMAGE", help="The image to build on; it needs Python 3.10.")
    ] = None,
    debootstrap: Annotated[
        bool,
        typer.Option("--debootstrap", help="Build the base image from Debian packages, without a registry (as root)."),
    ] = False,
    mirror: Annotated[str | None, typer.Option(metavar="URL", help="With --debootstrap: the Debian mirror.")] = None,
) -> None:
    """Build the Docker image that programs run in."""
    from haluagent.sandbox.docker import build as builder

    if debootstrap and base is not None:
        raise ConfigError("give --base or --debootstrap, not both")
    if mirror is not None and not debootstrap:
        raise ConfigError("--mirror is for --debootstrap")
    if debootstrap:
        typer.echo("making a base image from Debian packages: this takes a minute", err=True)
        base = builder.debootstrap(mirror)
    typer.echo(builder.build(base or builder.DEFAULT_BASE))


@app.command()
def run(
    file: Annotated[str, typer.Argument(help="A Python program; - is standard input.")],
    sandbox: Annotated[Literal["auto", "docker", "bubblewrap"], typer.Option(help="Where to run it.")] = "auto",
    seconds: Annotated[float, typer.Option(help="How long it may run.", min=0.1, max=3600)] = 10.0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of the program's output.")
    ] = False,
) -> None:
    """Run a program in a sandbox.

    Exit code: 0 it ran to its end, 1 it failed, 3 it could not be run (the sandbox failed, or lacks a package), 2
    invalid options or input.
    """
    from haluagent.cli.texts import read_text
    from haluagent.sandbox import choose

    code = read_text(file)
    chosen = choose.resolve(sandbox, spare=0)
    if chosen is None:
        raise ConfigError(choose.advice("en"))
    with closing(chosen):
        execution = asyncio.run(chosen.run(code, seconds=seconds))
    if as_json:
        # JSON is UTF-8, whatever the terminal's encoding.
        sys.stdout.buffer.write(execution.model_dump_json().encode() + b"\n")
    else:
        _show(execution)
    raise typer.Exit({"ok": 0, "missing_package": NOT_RUN}.get(execution.outcome, PROGRAM_FAILED))


def _show(execution: "Execution") -> None:
    for text, to_error in ((execution.stdout, False), (execution.stderr, True), (execution.traceback, True)):
        typer.echo(_harmless(text), nl=bool(text) and not text.endswith("\n"), err=to_error)
    ending = ": ".join(part for part in (execution.outcome, _harmless(execution.error)) if part)
    typer.echo(f"{ending} ({execution.backend}, {execution.seconds:.2f} s)", err=True)


def _harmless(text: str) -> str:
    """Return the text without control characters, which could colour it, move the cursor, or do worse to a terminal."""
    return "".join(character for character in text if character in "\n\t" or unicodedata.category(character) != "Cc")
