"""`haluagent bench`: measure the agent, and other detectors, on labelled sets."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haluagent.cli import bench_answers, bench_facts, bench_judge, bench_retrieval, bench_runs, bench_threshold, options
from haluagent.cli.bench_running import show
from haluagent.cli.endpoints import RetryErrors, WorkOptions, make_agents, works
from haluagent.cli.options import AgentOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from haluagent.agent import HaluAgent
    from haluagent.bench.methods.registry import Method
    from haluagent.bench.run import DatasetPart

app = typer.Typer(help="Measure the agent, and other detectors, on labelled sets.", no_args_is_help=True)
app.command()(bench_judge.judge)
app.command()(bench_answers.answers)
app.command()(bench_facts.facts)
app.command()(bench_retrieval.retrieval)
app.command()(bench_threshold.threshold)
app.command()(bench_runs.runs)

Sets = Annotated[
    str, typer.Option(metavar="NAME[:N],…", help="Sets; NAME:N takes the first N items. See 'bench list'.")
]
Data = Annotated[
    Path | None, typer.Option(help="The directory with the files of the sets; by default they are fetched.")
]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first N items of each set.")]
Out = Annotated[Path, typer.Option(metavar="RUN", help="The file of the run, JSON Lines; continued if it exists.")]


@app.command("list")
def list_sets() -> None:
    """List the labelled sets."""
    from haluagent.bench.datasets.loading import table

    typer.echo(table())


@app.command()
@options.takes(
    without=["closed_book", "max_tokens", "max_seconds", "concurrency", "fetch_pages", "max_queries"], search="none"
)
@works(without=["limit"])
def run(
    datasets: Sets,
    out: Out,
    data: Data = None,
    limit: Limit = None,
    item_budget: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many judgements (one item by one method).")
    ] = None,
    untaught: Annotated[
        bool, typer.Option("--untaught", help="Also run the agent on the base model, without its adapter.")
    ] = False,
    *,
    work: WorkOptions,
    wanted: AgentOptions,
) -> None:
    """Run the agent, and a simple prompt on the same model, over sets, and print their figures.

    The same command resumes where it stopped. Nothing is searched unless --search says so; for a set with passages of
    its own (webqa), those are indexed beside RUN.
    """
    from haluagent.bench.methods.registry import METHODS, without_adapter
    from haluagent.bench.run import DEFAULT, parse_parts
    from haluagent.errors import ConfigError

    parts = parse_parts(datasets, limit)
    agents, at_once = make_agents(wanted, work.endpoint, work.in_flight)
    bounds = replace(work, limit=item_budget).bounds
    methods = dict(DEFAULT)
    if untaught:
        if without_adapter(agents[0].model) is agents[0].model:
            raise ConfigError("--untaught compares with the weights without their adapter: this model has no adapter")
        methods["untaught"] = METHODS["untaught"]
    _run(parts, data, agents, out, methods, in_flight=at_once, bounds=bounds, again=work.retry_errors)


@app.command()
@options.takes(*options.MODEL, "sandbox", search="none")
def compare(
    datasets: Sets,
    out: Out,
    peers: Annotated[
        str, typer.Option(help="Other detectors, separated by commas.")
    ] = "lynx,refchecker,deepeval,selfcheckgpt",
    weights: bench_judge.Weights = None,
    data: Data = None,
    limit: Limit = None,
    retry_errors: RetryErrors = False,
    install: Annotated[
        bool, typer.Option("--install", help="Create the peers' environments if they are missing.")
    ] = False,
    *,
    wanted: AgentOptions,
) -> None:
    """Run the agent and other detectors over the same items at the same endpoint, to compare quality and cost."""
    from haluagent.bench.methods.registry import METHODS
    from haluagent.bench.peers import PEERS
    from haluagent.bench.peers import install as make_environment
    from haluagent.bench.peers.compare import Peers
    from haluagent.bench.run import parse_parts

    parts = parse_parts(datasets, limit)
    names, judges = bench_judge.other_methods(peers, weights)
    if install:
        for name in names:
            if name in PEERS:
                make_environment(name, say=lambda line: typer.echo(line, err=True))
    agents, _ = make_agents(wanted, None, 1)
    own = {name: method for name, method in METHODS.items() if name in ("haluagent", "prompt", *names)}
    others = Peers([name for name in names if name not in own], agents[0])
    _run(parts, data, agents, out, own | judges | others.methods, again=retry_errors, during=others.running())


@app.command()
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A file that 'bench run' or 'bench compare' wrote.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write, without a file extension; beside RUN by default.")
    ] = None,
) -> None:
    """Write the report of a run as Markdown, JSON and one HTML page, and print the figures."""
    from haluagent.bench.report import writing as reports
    from haluagent.bench.rows import read

    stem = out or run.with_name(run.name.removesuffix(".gz").removesuffix(".jsonl"))
    typer.echo(reports.table(read(run)[1]))
    for path in reports.write(run, stem):
        typer.echo(f"written: {path}")


@app.command()
def strip(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A file that 'bench run' or 'bench compare' wrote.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Where to write it, as .jsonl.gz.")],
) -> None:
    """Copy a run without the texts of its items: most sets may not be shared, but their figures may."""
    from haluagent.bench.strip import strip as without_texts

    typer.echo(f"written: {out} ({without_texts(run, out)} rows)")


def _run(
    parts: "list[DatasetPart]",
    data: Path | None,
    agents: "list[HaluAgent]",
    out: Path,
    methods: "Mapping[str, Method]",
    **settings: Any,
) -> None:
    """Run with progress on standard error, then print the figures."""
    from haluagent.bench.report import writing as reports
    from haluagent.bench.run import run

    show(
        lambda progress: run(parts, data, agents, out, methods=methods, progress=progress, **settings),
        out,
        reports.table,
    )
