"""`haluagent reliability sample`: several turns of a model at each step of measured runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from haluagent.cli import options
from haluagent.cli.endpoints import WorkOptions, make_agents, works
from haluagent.cli.judging import JudgeModel, JudgeUrl, make_judge
from haluagent.cli.options import AgentOptions

if TYPE_CHECKING:
    from haluagent.checks.reliability.sampling import SampledTask

FAILED = 3


@options.takes_model
@works(without=["retry_errors"])
def sample(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN.jsonl...", help="Measured runs, with indecisive actions.")],
    data: Annotated[Path, typer.Option("--data", metavar="DIR|FILE", help="The tasks of these runs.")],
    out: Annotated[Path, typer.Option("--out", metavar="SAMPLES.jsonl", help="The file of sampled steps.")],
    samples: Annotated[int, typer.Option(min=2, help="Turns sampled at each step.")] = 10,
    temperature: Annotated[float, typer.Option(min=0.01, help="The temperature of sampling.")] = 1.0,
    judge_url: JudgeUrl = None,
    judge_model: JudgeModel = None,
    *,
    work: WorkOptions,
    wanted: AgentOptions,
) -> None:
    """Sample several turns of the model at each step of measured runs, and judge them, for preference pairs.

    `haluagent reliability data --samples` makes pairs of them. The same command resumes where it stopped, and repeats
    what failed. Exit code: 0 all runs were sampled, 3 some failed or a limit ended it, 2 invalid options or input.
    """
    from haluagent.checks.reliability import measure, sampling, toolbench
    from haluagent.cli.counting import counting

    measured = {row.task: row for path in runs for row in measure.read(path) if row.settings.indecisive}
    rows = [row for row in measured.values() if row.error is None]
    tasks = {task.id: task for task in toolbench.read(data)}
    judging = make_judge(judge_url, judge_model)
    settings = sampling.SampleSettings(
        samples=samples, temperature=temperature, judge=judging.name if judging else None
    )
    agents, at_once = make_agents(wanted, work.endpoint, work.in_flight)
    done = sampling.finished(rows, out, agents[0].model.name, settings)
    with counting() as show:

        def progress(one: "SampledTask") -> None:
            done[one.task] = one
            show(len(done), len(rows), f"{sum(of.error is not None for of in done.values())} failed")

        show(len(done), len(rows), "")
        ended = sampling.run(
            rows, tasks, out, agents, settings, judging=judging, in_flight=at_once,
            bounds=work.bounds, progress=progress,
        )  # fmt: skip
    failed = sum(one.error is not None for one in done.values())
    pairs = sum(len({turn.rank for turn in step.turns} - {None}) > 1 for one in done.values() for step in one.steps)
    steps = sum(len(one.steps) for one in done.values())
    typer.echo(f"{steps} steps of {len(done) - failed} runs are in {out}; {pairs} of them have turns of several ranks")
    if ended or failed:
        why = f"stopped at {ended}" if ended else f"{failed} runs failed: see `error` in {out}"
        typer.echo(f"{why}; the same command goes on", err=True)
        raise typer.Exit(FAILED)
