"""`haluagent bench answers`: answers of several sentences beside a document, sentence by sentence."""

from pathlib import Path
from typing import Annotated

import typer

from haluagent.cli import options
from haluagent.cli.bench_running import show
from haluagent.cli.endpoints import WorkOptions, make_agents, works
from haluagent.cli.options import AgentOptions


@options.takes(
    *options.MODEL,
    "autonomy",
    "base_rate",
    "no_reflect",
    "ablate",
    "sandbox",
    "search",
    "index",
    "tools",
    search="none",
)
@works(without=["limit"])
def answers(
    data: Annotated[
        list[Path],
        typer.Option(help="A .jsonl file of labelled answers; may be given several times (docs/benchmarks.md)."),
    ],
    out: Annotated[Path, typer.Option(metavar="RUN", help="The file of the run, JSON Lines; continued if it exists.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N answers of each file.")] = None,
    *,
    work: WorkOptions,
    wanted: AgentOptions,
) -> None:
    """Check labelled answers beside their documents with the agent, and print what it makes of right and of wrong
    sentences. The same command resumes where it stopped."""
    from haluagent.bench import answers as bench
    from haluagent.bench import run
    from haluagent.bench.methods.registry import METHODS

    known = {str(one.name): one for file in data for one in bench.load(file)[:limit]}
    agents, at_once = make_agents(wanted, work.endpoint, work.in_flight)
    show(
        lambda progress: run.judge(
            [("answers", answer.item(), "haluagent") for answer in known.values()],
            agents,
            out,
            methods={"haluagent": METHODS["haluagent"]},
            in_flight=at_once,
            bounds=work.bounds,
            again=work.retry_errors,
            progress=progress,
        ),
        out,
        lambda rows: bench.table(bench.found(known, rows)),
    )
