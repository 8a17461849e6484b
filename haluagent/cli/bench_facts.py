"""`haluagent bench facts`: claims whose evidence has to be found."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from haluagent.cli import options
from haluagent.cli.bench_judge import Claims, Run, Sample, Sources
from haluagent.cli.bench_running import show
from haluagent.cli.endpoints import WorkOptions, make_agents, works
from haluagent.cli.options import AgentOptions

if TYPE_CHECKING:
    from haluagent.search.index.local import LocalIndex


@options.takes(
    *options.MODEL,
    "autonomy",
    "base_rate",
    "no_reflect",
    "ablate",
    "sandbox",
    "queries",
    "opinion_samples",
    search="none",
)
@works(without=["limit"])
def facts(
    data: Claims,
    out: Run,
    sources: Sources = None,
    sample: Sample = 60,
    beside: Annotated[list[Path] | None, typer.Option(help="Documents that are searched as well. Repeatable.")] = None,
    passages: Annotated[int, typer.Option(min=0, help="Add made passages up to this number.")] = 0,
    *,
    work: WorkOptions,
    wanted: AgentOptions,
) -> None:
    """Check labelled claims that the agent has to look up: the texts of all claims of all sources are in one index, which is
    made beside RUN. Print how many are decided, and rightly. The same command resumes where it stopped."""
    from haluagent.bench import facts as bench
    from haluagent.bench import run
    from haluagent.bench.datasets import claims_beside_texts as claims
    from haluagent.bench.methods.registry import METHODS

    opened = bench.without_texts(claims.sources(data, sources, passages=True))
    chosen = {name: claims.sample(own, sample) for name, own in opened.items.items()}
    agents, at_once = make_agents(wanted, work.endpoint, work.in_flight)
    folder = out.with_name(f"{out.name}.index")

    def searches() -> "dict[str, LocalIndex]":
        folder.mkdir(exist_ok=True)
        made = bench.index(folder, opened.texts, chosen, data, beside or (), passages)
        return dict.fromkeys(chosen, made)

    show(
        lambda progress: run.judge(
            [(name, item, "haluagent") for name, item in claims.in_turns(chosen)],
            agents,
            out,
            methods={"haluagent": METHODS["haluagent"]},
            searches=searches,
            in_flight=at_once,
            bounds=work.bounds,
            again=work.retry_errors,
            progress=progress,
        ),
        out,
        lambda rows: bench.table(rows, opened.evidence),
    )
