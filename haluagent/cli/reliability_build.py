"""`haluagent reliability build`: make variants of tasks that cannot be solved."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from haluagent.cli import options
from haluagent.cli.endpoints import WorkOptions, make_agents, works
from haluagent.cli.options import AgentOptions

if TYPE_CHECKING:
    from haluagent.checks.reliability.variants import MadeVariant

FAILED = 3


@options.takes_model
@works(without=["retry_errors"])
def build(
    data: Annotated[
        Path, typer.Option("--data", metavar="DIR|FILE", help="Solvable tasks, as rows of RelyToolBench in JSON Lines.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="VARIANTS.jsonl", help="The file of variants.")],
    seed: Annotated[int, typer.Option(help="Seed for choosing tools that do not fit.")] = 0,
    *,
    work: WorkOptions,
    wanted: AgentOptions,
) -> None:
    """Make two variants of each task that cannot be solved: a missing parameter, and unmatched tools.

    A model writes or chooses them; what is no good variant is dropped, with the reason in OUT. The same command resumes
    where it stopped. Exit code: 0 all variants were tried, 3 some failed or a limit ended the run, 2 invalid options or
    input.
    """
    import asyncio
    from collections import Counter

    from haluagent.checks.reliability import variants
    from haluagent.checks.reliability.toolbench import rows
    from haluagent.cli.counting import counting
    from haluagent.errors import ConfigError

    originals = [variants.Original(row=row, task=task) for row, task in rows(data) if task.solvable]
    if not originals:
        raise ConfigError(f"{data} has no task of the kind original: variants are made of those")
    total = len(originals) * len(variants.VARIANTS)
    done = dict(variants.made(originals, out))
    errors: list[str] = []
    agents, at_once = make_agents(wanted, work.endpoint, work.in_flight)
    with counting() as show:

        def progress(made: "MadeVariant") -> None:
            if made.error is None:
                done[made.row["kind"], made.row["query_id"]] = made.row
            else:
                errors.append(made.error)
            show(len(done), total, f"{sum('dropped' in row for row in done.values())} dropped, {len(errors)} failed")

        show(len(done), total, "")
        ended = asyncio.run(
            variants.build(originals, out, agents, seed=seed, in_flight=at_once, bounds=work.bounds, progress=progress)
        )
    for kind in variants.VARIANTS:
        of = [row for row in done.values() if row["kind"] == kind]
        typer.echo(f"{kind}: {sum('dropped' not in row for row in of)} of {len(of)} are in {out}")
        for reason, count in Counter(row["dropped"] for row in of if "dropped" in row).most_common():
            typer.echo(f"  dropped: {count}, {reason}")
    if errors or ended:
        why = f"stopped at {ended}" if ended else f"{len(errors)} failed, the last with: {errors[-1]}"
        typer.echo(f"{why}; the same command goes on", err=True)
        raise typer.Exit(FAILED)
