"""Show a run of the benchmark while it goes on, and its figures at the end."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from haluagent.bench.rows import Row
    from haluagent.bench.run import State

UNFINISHED = 3


def show(
    judge: "Callable[[Callable[[State], None]], str | None]", out: Path, table: "Callable[[list[Row]], str]"
) -> None:
    """Run `judge`, which takes a function for its progress, with that progress on standard error, then print the table
    of its rows. Exits with 3 if something failed or a bound ended it."""
    from haluagent.cli.counting import counting

    last: State | None = None
    with counting() as count:

        def progress(state: "State") -> None:
            nonlocal last
            last = state
            count(len(state.rows), state.total, state.remark())

        ended = judge(progress)
    if last is not None and last.rows:
        typer.echo(table(last.rows))
        typer.echo(f"`haluagent bench report {out}` writes it all, with intervals and every trajectory.")
    if ended:
        typer.echo(f"stopped at {ended}; the same command goes on from there", err=True)
    if last is not None and last.failed:
        typer.echo(f"{last.failed} judgements failed: see `error` in {out}; --retry-errors makes them again", err=True)
    if ended or (last is not None and last.failed):
        raise typer.Exit(UNFINISHED)
