"""`haluagent reliability`: measure how reliably a model uses tools, after Relign (Xu et al. 2024)."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from haluagent.checks.runs import RunSource
from haluagent.cli import options, reliability_agreement, reliability_build, reliability_sample
from haluagent.cli.endpoints import WorkOptions, make_agents, works
from haluagent.cli.judging import JudgeModel, JudgeUrl, make_judge, run_judged
from haluagent.cli.options import AgentOptions

if TYPE_CHECKING:
    from haluagent.checks.reliability.lessons import LessonStep
    from haluagent.checks.reliability.records import Kind, ReliabilityRow
    from haluagent.protocols import Model
    from haluagent.train.trajectories.records import Trajectory
    from haluagent.types import Label

FAILED = 3

app = typer.Typer(help="Measure how reliably a model uses tools.", no_args_is_help=True)
app.command()(reliability_build.build)
app.command()(reliability_sample.sample)
app.command()(reliability_agreement.agreement)

_Data = Annotated[Path, typer.Option("--data", metavar="DIR|FILE", help="The rows of RelyToolBench, as JSON Lines.")]


@app.command("run")
@options.takes_model
@works()
def run(
    data: _Data,
    out: Annotated[Path, typer.Option("--out", metavar="RUN.jsonl", help="The file of measured tasks.")],
    kinds: Annotated[
        str,
        typer.Option(
            metavar="LIST", help="Any of original, missing_parameter and unmatched_tools, separated by commas."
        ),
    ] = "original,missing_parameter,unmatched_tools",
    indecisive: Annotated[
        bool,
        typer.Option("--indecisive/--no-indecisive", help="Offer ChangeTools and TalkToUser in addition to the tools."),
    ] = True,
    grammar: Annotated[
        bool,
        typer.Option("--grammar/--no-grammar", help="Constrain the model to the tools' schemas, if the endpoint can."),
    ] = True,
    max_calls: Annotated[int, typer.Option(min=1, help="The maximum number of calls per task.")] = 6,
    temperature: Annotated[
        float, typer.Option(min=0.0, help="The temperature of the model that uses the tools.")
    ] = 0.0,
    lang: options.Lang = "auto",
    sample: Annotated[
        int | None, typer.Option(min=1, help="Only so many tasks, equally from each kind and subset.")
    ] = None,
    judge_url: JudgeUrl = None,
    judge_model: JudgeModel = None,
    *,
    work: WorkOptions,
    wanted: AgentOptions,
) -> None:
    """Have a model do tasks with simulated tools, and judge every call.

    The judge is the measured model itself, or with --judge-url another one. The same command resumes where it stopped.
    Exit code: 0 all tasks are in OUT, 3 some of them failed or a limit ended the run, 2 invalid options or input, 130
    stopped with Ctrl-C.
    """
    from haluagent.checks.reliability import measure
    from haluagent.checks.reliability.records import ReliabilitySettings
    from haluagent.checks.reliability.table import table
    from haluagent.checks.reliability.toolbench import read, stratified
    from haluagent.cli.counting import counting

    tasks = read(data, _kinds(kinds))
    tasks = stratified(tasks, sample) if sample else tasks
    judging = make_judge(judge_url, judge_model)
    settings = ReliabilitySettings(
        indecisive=indecisive, grammar=grammar, max_calls=max_calls, temperature=temperature, language=lang,
        judge=judging.name if judging else None,
    )  # fmt: skip
    agents, at_once = make_agents(wanted, work.endpoint, work.in_flight)
    done = measure.finished(tasks, out, agents[0].model.name, settings)
    with counting() as show:

        def progress(row: "ReliabilityRow") -> None:
            done[row.task] = row
            show(len(done), len(tasks), f"{sum(one.error is not None for one in done.values())} failed")

        show(len(done), len(tasks), "")
        ended = measure.run(
            tasks, out, agents, settings, judging=judging, in_flight=at_once, bounds=work.bounds, again=work.retry_errors,
            progress=progress,
        )  # fmt: skip
    typer.echo(table(done.values()))
    if ended:
        typer.echo(
            f"stopped at {ended}: {len(done)} of {len(tasks)} tasks are in {out}; the same command goes on", err=True
        )
        raise typer.Exit(FAILED)
    if failed := sum(row.error is not None for row in done.values()):
        typer.echo(f"{failed} tasks failed: see `error` in {out}; --retry-errors does them again", err=True)
        raise typer.Exit(FAILED)


@app.command("report")
def report(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN.jsonl...", help="Files that `haluagent reliability run` wrote.")
    ],
) -> None:
    """Print a table of the figures: rates in percent, by model, variant and kind of task."""
    from haluagent.checks.reliability.measure import read
    from haluagent.checks.reliability.table import table

    typer.echo(table(row for path in runs for row in read(path)))


@app.command("classify")
@options.takes_model
def classify(
    files: Annotated[
        list[str],
        typer.Argument(metavar="RUN.json...", help="Recorded runs: JSON or JSON Lines; - is standard input."),
    ],
    source: Annotated[
        RunSource, typer.Option("--from", help="The format of the runs: ours, or that of another library.")
    ] = "haluagent",
    rules: Annotated[bool, typer.Option("--rules", help="Use the rules alone. Needs no model.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per run.")] = False,
    judge_url: JudgeUrl = None,
    judge_model: JudgeModel = None,
    *,
    wanted: AgentOptions,
) -> None:
    """Classify what is wrong with each call of recorded runs.

    With --from detection, HaluAgent's own loop is measured, from the output of `detect --json`, `batch` or `bench run`.
    """
    from haluagent.checks.reliability import recorded
    from haluagent.checks.reliability.table import recorded_table
    from haluagent.cli.texts import STANDARD_INPUT, read_text

    judging = make_judge(judge_url, judge_model, rules=rules)
    found = []

    async def read_all(model: "Model | None") -> None:
        for file in files:
            place = "standard input" if file == STANDARD_INPUT else file
            for run in recorded.runs_in(read_text(file), place, source):
                found.append(await recorded.classified(run, model, judging))
                if as_json:
                    typer.echo(found[-1].model_dump_json())

    run_judged(read_all, wanted, judging, rules=rules)
    if not as_json:
        typer.echo(recorded_table(found))


@app.command("data")
def data_rows(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[RUN.jsonl...]", help="Runs over tasks that are not used for measuring."),
    ] = None,
    sft: Annotated[Path | None, typer.Option("--sft", metavar="FILE", help="Where to write steps to imitate.")] = None,
    dpo: Annotated[
        Path | None, typer.Option("--dpo", metavar="FILE", help="Where to write pairs of a better and a worse step.")
    ] = None,
    samples: Annotated[
        list[Path] | None,
        typer.Option("--samples", metavar="SAMPLES.jsonl", help="Pairs of what `reliability sample` wrote, too."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed for drawing tasks and turns.")] = 0,
) -> None:
    """Write trajectories for `haluagent train` from measured runs, after Relign.

    For --sft: originals, unmatched tools and missing parameters in the ratio 4:3:3. For --dpo: a correct call is better
    than an indecisive action, which is better than a hallucinated call.
    """
    from haluagent.checks.reliability import lessons, sampling
    from haluagent.checks.reliability.measure import read
    from haluagent.errors import ConfigError
    from haluagent.train.trajectories.records import write

    if sft is None and dpo is None:
        raise ConfigError("name --sft FILE, --dpo FILE, or both")
    if not runs and (sft is not None or not samples):
        raise ConfigError("name the runs: files that `haluagent reliability run` wrote")
    rows = [row for path in runs or () for row in read(path)]
    sampled = [one for path in samples or () for one in sampling.read(path)]
    for path, steps in (
        (sft, lessons.good_steps(rows, seed) if sft else []),
        (dpo, [*lessons.ranked_steps(rows), *sampling.ranked_samples(sampled, seed)] if dpo else []),
    ):
        if path is not None:
            count = write(path, (_trajectory(number, step) for number, step in enumerate(steps)))
            typer.echo(f"{count} steps in {path}")


def _trajectory(number: int, step: "LessonStep") -> "Trajectory":
    """Return a step as a trajectory for the training commands. They rank branches as right, unverified or wrong, which
    stand for correct, indecisive and hallucinated steps."""
    from haluagent.train.trajectories.records import ModelCall, RecordedMessage, Trajectory

    labels: dict[str, Label] = {"correct": "supported", "indecisive": "unverified", "hallucinated": "contradicted"}
    label = labels[step.rank]
    messages = tuple(RecordedMessage(role=message["role"], content=message["content"]) for message in step.messages)
    return Trajectory(
        id=step.task, group=step.task, source="reliability", kind="consistency", language=step.language,
        question=step.messages[1]["content"], response=step.reply,
        gold=False, gold_labels=("supported",), teacher="reliability", sample=number, labels=(label,),
        verdict={"supported": False, "contradicted": True}.get(label),
        calls=(ModelCall(prompt="agent", sentence=1, messages=messages, reply=step.reply),),
    )  # fmt: skip


def _kinds(names: str) -> list["Kind"]:
    from haluagent.checks.reliability.records import KINDS
    from haluagent.errors import ConfigError

    wanted = [name.strip() for name in names.split(",")]
    if unknown := [name for name in wanted if name not in KINDS]:
        raise ConfigError(f"--kinds: {unknown[0]!r} is not known: use {', '.join(KINDS)}")
    return [kind for kind in KINDS if kind in wanted]
