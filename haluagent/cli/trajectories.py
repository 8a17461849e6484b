"""`haluagent trajectories`: make the data for fine-tuning a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from haluagent.cli import options, trajectories_perturb
from haluagent.cli.options import AgentOptions

if TYPE_CHECKING:
    from haluagent.train.trajectories.records import Trajectory

app = typer.Typer(help="Make trajectories for fine-tuning: detections by a teacher, filtered.", no_args_is_help=True)

app.command()(trajectories_perturb.perturb)

_File = Annotated[Path, typer.Argument(help="A file of trajectories.")]


@app.command()
@options.takes(*options.MODEL, "strategy", "sandbox")
def build(
    out: Annotated[Path, typer.Option(help="The file of trajectories; continued if it exists.")],
    data: Annotated[Path | None, typer.Option(help="The directory with the published files of the sets.")] = None,
    items: Annotated[
        Path | None, typer.Option(help="A file of labelled items of your own instead (docs/trajectories.md).")
    ] = None,
    teacher: Annotated[
        Literal["gold", "model"], typer.Option(help="gold: calls made from the gold labels; model: the model below.")
    ] = "gold",
    samples: Annotated[int, typer.Option(min=1, help="Samples per item; those after the first use --temperature.")] = 1,
    temperature: Annotated[float, typer.Option(min=0.0, max=2.0)] = 0.7,
    hint: Annotated[
        bool, typer.Option("--hint", help="Show the teacher the gold label if no sample was right.")
    ] = False,
    scale: Annotated[float, typer.Option(min=0.0, help="How many items of --data: 1 is about 2,500.")] = 1.0,
    without: Annotated[
        list[str] | None, typer.Option(help="Leave this source out; may be given several times.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option(help="Take only this source; may be given several times.")] = None,
    *,
    wanted: AgentOptions,
) -> None:
    """Let the agent check labelled items with a teacher in place of its model, and record all calls."""
    import asyncio

    from haluagent.errors import ConfigError
    from haluagent.sandbox.choose import advice
    from haluagent.sandbox.choose import resolve as resolve_sandbox
    from haluagent.tools import default_registry
    from haluagent.train.trajectories import build as building
    from haluagent.train.trajectories import sources

    if (data is None) == (items is None):
        raise ConfigError("give --data, the directory of the published sets, or --items, a file of your own")
    if hint and teacher == "gold":
        raise ConfigError("--hint is for --teacher model: the gold teacher knows the labels")
    if items is not None:
        lessons = sources.read_items(items)
    elif data is not None:
        lessons = sources.make(data, scale, without or (), only or ())
    if (code := sum(lesson.kind == "code" for lesson in lessons)) and resolve_sandbox(wanted.sandbox) is None:
        typer.echo(f"{code} items are code and will be filtered away: {advice('en')}", err=True)
    chosen: building.Teacher
    if teacher == "gold":
        chosen = building.gold_teacher(item.name for item in default_registry())
    else:
        chosen = building.model_teacher(options.make_model(wanted))
    made = building.build(
        lessons, chosen, out, samples=samples, temperature=temperature, hint=hint, strategy=wanted.strategy,
        sandbox=wanted.sandbox, progress=lambda text: typer.echo(text, err=True),
    )  # fmt: skip
    typer.echo(f"{asyncio.run(made):,} trajectories were added to {out}")


@app.command()
def judgements(
    data: Annotated[Path, typer.Option(help="The directory with one .jsonl file of labelled claims for each source.")],
    out: Annotated[Path, typer.Option(help="The file of trajectories; overwritten if it exists.")],
    scale: Annotated[float, typer.Option(min=0.0, help="How many claims: 1 is about 9,000.")] = 1.0,
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Of the texts that are kept from teaching, for a check.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Another one chooses other texts and another order of the options.")] = 17,
) -> None:
    """Make single judgements of claims beside texts, and first turns that choose a tool, without a detection around them."""
    from haluagent.train.trajectories import choices, records, worked_out
    from haluagent.train.trajectories import judgements as making

    made = [*making.make(data, scale, held=held_out, seed=seed), *worked_out.make(seed, held=held_out)]
    turns = choices.make(seed, held=held_out)
    records.write(out, [*made, *turns])
    typer.echo(f"{len(made):,} judgements and {len(turns):,} choices of a tool are in {out}")


@app.command("filter")
def filter_(
    file: _File,
    out: Annotated[Path, typer.Option(help="The file for the kept trajectories; overwritten if it exists.")],
    beyond: Annotated[
        Path | None, typer.Option(help="Leave out the groups in this file, which were used for training before.")
    ] = None,
) -> None:
    """Keep the trajectories whose calls are valid, whose format is right and whose verdict is the gold label."""
    from haluagent.errors import ConfigError
    from haluagent.train.trajectories import records, stats
    from haluagent.train.trajectories.filter import keep

    if out.resolve() in (file.resolve(), beyond and beyond.resolve()):
        raise ConfigError(f"--out {out} is the file that is read: name another one")
    known = {one.group for one in _read(beyond)} if beyond else set()
    everything = [one for one in _read(file) if one.group not in known]
    found = keep(everything)
    written = records.write(out, found.kept)
    typer.echo(stats.table(everything, found))
    typer.echo(f"\n{written:,} of {len(everything):,} trajectories are in {out}")


@app.command("stats")
def stats_(file: _File) -> None:
    """Show counts by source and filter, and whether length, words or source alone predict the labels."""
    from haluagent.train.trajectories import stats
    from haluagent.train.trajectories.filter import keep

    everything = _read(file)
    found = keep(everything)
    typer.echo(stats.table(everything, found))
    shares = stats.shortcuts(found.kept)
    shown = ", ".join(f"{name} {share:.1f} %" for name, share in shares.items())
    typer.echo(f"\nBalanced accuracy of telling the kept labels without checking anything (50 is chance): {shown}")


@app.command()
def show(
    file: _File,
    id: Annotated[str | None, typer.Option(help="The trajectory with this id; the first by default.")] = None,
    prompts: Annotated[
        bool, typer.Option("--prompts", help="Show the messages sent as well, not only the replies.")
    ] = False,
) -> None:
    """Show one trajectory: the item and the teacher's replies. Replies used for training are marked with a star."""
    from haluagent.errors import ConfigError
    from haluagent.train.trajectories import records

    for one in records.read(file):
        if id is None or one.id == id:
            typer.echo(_shown(one, prompts))
            return
    raise ConfigError(f"{file} has no trajectory {id}" if id else f"{file} is empty")


def _read(file: Path) -> "list[Trajectory]":
    from haluagent.errors import ConfigError
    from haluagent.train.trajectories import records

    everything = list(records.read(file))
    if not everything:
        raise ConfigError(f"{file} holds no trajectories: name a file that `haluagent trajectories build` wrote")
    return everything


def _shown(one: "Trajectory", prompts: bool) -> str:
    lines = [f"{one.id} ({one.source}, {one.kind}, teacher {one.teacher}{', hinted' if one.hinted else ''})"]
    lines += [f"question: {one.question}", f"response: {one.response}"]
    lines += [f"reference: {one.reference}"] if one.reference else []
    lines += [f"gold: {one.gold} {' '.join(one.gold_labels)}", f"verdict: {one.verdict} {' '.join(one.labels)}"]
    if one.change:
        lines.append(f"changed ({one.change.kind}): {one.change.before} -> {one.change.after}")
    for call in one.calls:
        lines.append(
            f"\n{'*' if call.learn else ' '} {call.prompt}{f' S{call.sentence}' if call.sentence is not None else ''}"
        )
        if prompts:
            lines += [f"  [{message.role}] {message.content}" for message in call.messages]
        lines.append("  " + call.reply.replace("\n", "\n  "))
    return "\n".join(lines)
