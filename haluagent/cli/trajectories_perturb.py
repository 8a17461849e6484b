"""`haluagent trajectories perturb`: wrong answers from right ones, made by a model and judged from both sides."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from haluagent.cli import options
from haluagent.cli.endpoints import WorkOptions, make_agents, works
from haluagent.cli.judging import JudgeModel, JudgeUrl, make_judge
from haluagent.cli.options import AgentOptions

if TYPE_CHECKING:
    from haluagent.corpora.semantic import PerturbedPair

FAILED = 3


@options.takes_model
@works(without=["retry_errors"])
def perturb(
    data: Annotated[Path, typer.Option("--data", metavar="FILE", help="The published file of the source.")],
    out: Annotated[Path, typer.Option("--out", metavar="PAIRS.jsonl", help="All pairs, also those that are dropped.")],
    source: Annotated[str, typer.Option(help="drop, covidqa, pubmedqa, financebench; own: your own rows.")] = "own",
    halubench: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the kept pairs as rows of HaluBench, too.")
    ] = None,
    items: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the kept pairs as items for `trajectories build`, too.")
    ] = None,
    judge_url: JudgeUrl = None,
    judge_model: JudgeModel = None,
    *,
    work: WorkOptions,
    wanted: AgentOptions,
) -> None:
    """Have a model change right answers subtly so that they are wrong; a judge must pass the one and fail the other.

    The same command resumes where it stopped. Exit code: 0 all were tried, 3 some failed or a limit ended it, 2 invalid
    options or input.
    """
    from collections import Counter

    from haluagent.cli.counting import counting
    from haluagent.corpora import gold_answers, semantic
    from haluagent.errors import ConfigError
    from haluagent.train.trajectories.perturbed import items_of
    from haluagent.train.trajectories.records import write

    places = [path.resolve() for path in (data, out, halubench, items) if path]
    if len(set(places)) < len(places):
        raise ConfigError("--data, --out, --halubench and --items are different files: name each its own")
    golds = gold_answers.read(data, source)
    judging = make_judge(judge_url, judge_model)
    agents, at_once = make_agents(wanted, work.endpoint, work.in_flight)
    made_by = agents[0].model.name
    done = semantic.made(golds, out, made_by, judging.name if judging else made_by)
    errors: list[str] = []
    with counting() as show:

        def progress(pair: "PerturbedPair") -> None:
            if pair.error is None:
                done[pair.gold.id] = pair
            else:
                errors.append(pair.error)
            show(len(done), len(golds), f"{sum(one.dropped is not None for one in done.values())} dropped")

        show(len(done), len(golds), "")
        ended = semantic.run(
            golds, out, agents, judging=judging, in_flight=at_once,
            bounds=work.bounds, progress=progress,
        )  # fmt: skip
    kept = [pair for pair in done.values() if pair.dropped is None]
    typer.echo(f"{len(kept)} of {len(done)} pairs are kept")
    for reason, count in Counter(pair.dropped for pair in done.values() if pair.dropped).most_common():
        typer.echo(f"  dropped: {count}, {reason}")
    if halubench is not None:
        write(halubench, (row for pair in kept for row in semantic.halubench_rows(pair)))
    if items is not None:
        write(items, (item for pair in kept for item in items_of(pair)))
    if errors or ended:
        why = f"stopped at {ended}" if ended else f"{len(errors)} failed, the last with: {errors[-1]}"
        typer.echo(f"{why}; the same command goes on", err=True)
        raise typer.Exit(FAILED)
