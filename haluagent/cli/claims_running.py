"""What the commands of `haluagent claims` that do items have in common: progress, resuming, and how they end."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from haluagent.checks.claims.file import ClaimItem
    from haluagent.checks.claims.run import ClaimsRow
    from haluagent.types import Record

FAILED = 3


def check_output(output: Path, source: Path) -> None:
    """Raise `ConfigError` if the output is the input, or would be Excel."""
    from haluagent.batch.results import refuse_excel
    from haluagent.batch.tables import ENDINGS
    from haluagent.errors import ConfigError

    refuse_excel(output, ENDINGS.get(output.suffix.lower()))
    if output.exists() and output.resolve() == source.resolve():
        raise ConfigError(f"{output} is the input: name another file for the results")


def carry_out(
    items: "Sequence[ClaimItem]",
    output: Path,
    task: "Record",
    run: "Callable[[Callable[[ClaimsRow], None]], str | None]",
    summary: Callable[[Sequence[dict[str, Any]]], str],
    *,
    again: bool,
) -> None:
    """Call `run`, which is given what to call with each finished item, show the progress, and print the summary of all items.

    Raise `typer.Exit` if an item failed or a budget ended the run.
    """
    from haluagent.checks.claims import run as runs
    from haluagent.cli.counting import counting

    rows = runs.finished(items, output, task)
    done = {number: row for number, row in rows.items() if not (row.failed and again)}
    tokens = 0

    def failed() -> int:
        return sum(row.failed for row in done.values())

    with counting() as show:

        def progress(row: "ClaimsRow") -> None:
            nonlocal tokens
            done[row.number] = row
            tokens += row.usage.evaluated_tokens + row.usage.generated_tokens
            show(len(done), len(items), f"{tokens} tokens, {failed()} failed")

        show(len(done), len(items), "")
        ended = run(progress)
    if ended:
        kept = runs.partial(output)
        message = f"stopped at {ended}: {len(done)} of {len(items)} items are in {kept}; the same command goes on"
        typer.echo(message, err=True)
        raise typer.Exit(FAILED)
    typer.echo(summary([done[item.number].item for item in items]))
    if count := failed():
        typer.echo(f"{count} items failed: see `error` in {output}; --retry-errors does them again", err=True)
        raise typer.Exit(FAILED)
