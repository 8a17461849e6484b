"""`haluagent bench judge`: the judge of single claims, source by source."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from haluagent.cli import options
from haluagent.cli.bench_running import show
from haluagent.cli.endpoints import WorkOptions, make_agents, works
from haluagent.cli.options import AgentOptions

if TYPE_CHECKING:
    from haluagent.bench.methods.registry import Method

Claims = Annotated[Path, typer.Option(help="The directory with one .jsonl file of labelled claims for each source.")]
Run = Annotated[Path, typer.Option(metavar="RUN", help="The file of the run, JSON Lines; continued if it exists.")]
Sources = Annotated[
    str | None,
    typer.Option(metavar="NAME,…", help="Only these sources; names of 'bench list' are read as those sets."),
]
Sample = Annotated[
    int, typer.Option(min=2, help="Claims taken of each source, at most half of them with either label.")
]
Weights = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=PATH",
        help="Also run minicheck, hhem or lettucedetect, with the weights of a directory, or of a hub (OWNER/NAME). Repeatable.",
    ),
]


def other_methods(peers: str | None, weights: list[str] | None) -> "tuple[list[str], dict[str, Method]]":
    """Return the names of `--peers`, and the small judges of `--weights`, which need not be named there as well. Raises
    ConfigError for weights that cannot be loaded."""
    from haluagent.bench.methods import small_judges

    judges = small_judges.load(weights or ())
    given = {label.partition(":")[0] for label in judges}
    names = [name.strip() for name in (peers or "").split(",") if name.strip()]
    return [name for name in names if name not in given], judges


@options.takes_model
@works(without=["limit"])
def judge(
    data: Claims,
    out: Run,
    sources: Sources = None,
    sample: Sample = 60,
    full: Annotated[bool, typer.Option("--full", help="All claims of each source.")] = False,
    peers: Annotated[
        str | None,
        typer.Option(help="Other methods on a part of the same claims, such as lynx,refchecker; see 'bench compare'."),
    ] = None,
    weights: Weights = None,
    peer_sample: Annotated[int, typer.Option(min=2, help="Claims of each source that the peers judge.")] = 15,
    *,
    work: WorkOptions,
    wanted: AgentOptions,
) -> None:
    """Judge labelled claims beside their texts, one by one, as `match` and `claims` do, and print the figures of each
    source. The same command resumes where it stopped; a larger sample goes on from a smaller one."""
    from haluagent.bench import run
    from haluagent.bench.datasets import claims_beside_texts as claims
    from haluagent.bench.methods.registry import METHODS
    from haluagent.bench.peers.compare import Peers
    from haluagent.bench.report.data import JUDGE
    from haluagent.bench.report.writing import judge_table

    items = claims.sources(data, sources)
    chosen = items if full else {name: claims.sample(own, sample) for name, own in items.items()}
    few = {name: claims.sample(own, min(peer_sample, sample)) for name, own in items.items()}
    names, judges = other_methods(peers, weights)
    agents, at_once = make_agents(wanted, work.endpoint, work.in_flight)
    others = Peers([name for name in names if name not in METHODS], agents[0])
    names = [*dict.fromkeys([*names, *judges])]
    show(
        lambda progress: run.judge(
            [
                *((name, item, JUDGE) for name, item in claims.in_turns(chosen)),
                *((name, item, peer) for peer in names for name, item in claims.in_turns(few)),
            ],
            agents,
            out,
            methods=METHODS | judges | others.methods,
            during=others.running(),
            in_flight=at_once,
            bounds=work.bounds,
            again=work.retry_errors,
            progress=progress,
        ),
        out,
        judge_table,
    )
