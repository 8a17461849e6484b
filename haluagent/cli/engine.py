"""`haluagent model engine`: the embedded engine, compiled for the processor of this machine."""

from typing import Annotated

import typer

app = typer.Typer(help="Compile the embedded engine for this processor.", no_args_is_help=True)


@app.command()
def build(
    model: Annotated[str | None, typer.Option(help="Weights to compare with the wheel on.")] = None,
) -> None:
    """Compile the installed llama.cpp for this processor, check that it writes what the wheel writes, and use it from now on. Takes
    about ten minutes on two cores, and a C++ compiler."""
    from haluagent.models.engines import own_build
    from haluagent.models.weights import catalogue

    typer.echo("compiling; this takes about ten minutes on two cores", err=True)
    found = own_build.build(model or catalogue.DEFAULT)
    typer.echo(f"in use from now on: the same texts as the wheel's, prompts read {found.faster:.2f} times as fast")


@app.command()
def show() -> None:
    """Say which engine is used. Exit code 1 if it is the wheel's."""
    from haluagent.models.engines import own_build

    if found := own_build.installed():
        typer.echo(f"compiled here: xllamacpp {found.release} with {', '.join(found.options)} ({own_build.folder()})")
        return
    typer.echo("the wheel's" + ("" if own_build.options() else "; it already uses what this processor has"))
    raise typer.Exit(1)


@app.command()
def remove() -> None:
    """Remove the build; the wheel's engine is used again."""
    from haluagent.models.engines import own_build

    typer.echo("removed" if own_build.remove() else "there is no build")
