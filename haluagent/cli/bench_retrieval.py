"""`haluagent bench retrieval`: the local index."""

import asyncio
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from haluagent.cli import options
from haluagent.cli.options import AgentOptions


class Half(StrEnum):
    first = "first"
    second = "second"
    both = "both"


@options.takes_model
def retrieval(
    data: Annotated[
        list[Path], typer.Option(help="Files of reading sets or of claims beside texts, or folders of them.")
    ],
    beside: Annotated[
        list[Path] | None, typer.Option(help="Documents that are indexed besides, and that nothing asks for.")
    ] = None,
    passages: Annotated[
        int,
        typer.Option(min=0, help="Add made passages up to this number, for the times; the shares then mean little."),
    ] = 0,
    sample: Annotated[int | None, typer.Option(min=1, help="Only so many queries of each source.")] = None,
    half: Annotated[
        Half, typer.Option(help="The queries: change the index by one half, and report the other.")
    ] = Half.both,
    translate: Annotated[
        bool, typer.Option("--translate", help="Have the model translate queries about texts in the other language.")
    ] = False,
    *,
    wanted: AgentOptions,
) -> None:
    """Index the texts of sets, look up their questions and right claims, and print how often the passage with the evidence
    is the first, or among five, and how long a query takes. Only --translate needs a model."""
    from haluagent.bench import retrieval as bench

    texts, queries = bench.read(data)
    chosen = queries if half is Half.both else bench.in_half(queries, int(half is Half.second))
    chosen = bench.sample(chosen, sample) if sample else chosen
    if translate:
        with closing(options.make_agent(wanted)) as agent:
            chosen = agent.wait_for(bench.translated(agent.model, chosen))
    with TemporaryDirectory() as folder:
        index = bench.build(Path(folder), texts, beside or (), passages)
        typer.echo(f"{len(texts):,} texts, {index.stats().passages:,} passages, {len(chosen):,} queries", err=True)
        typer.echo(bench.table(asyncio.run(bench.look_up(index, chosen))))
