"""`haluagent train`: fine-tune a model for the agent."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from haluagent.train.settings import TrainingSettings

app = typer.Typer(help="Fine-tune a model for the agent.", no_args_is_help=True)

Base = Annotated[str, typer.Option(help="A model on a hub, a directory, a GGUF file, or a name from 'model list'.")]
Adapter = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Start from this adapter: the directory 'adapter' of a training.")
]
Out = Annotated[
    Path, typer.Option(metavar="DIR", help="Where to write the adapter; a training that is there is resumed.")
]
StepLimit = Annotated[int | None, typer.Option(min=1, help="Stop after this many steps.")]
Minutes = Annotated[float | None, typer.Option(help="Stop after this many minutes, at the end of a step.")]
Seed = Annotated[int, typer.Option(help="The seed for the order of the rows and the initial weights of the adapter.")]
Rank = Annotated[int | None, typer.Option(min=1, help="The rank of the LoRA.")]
Alpha = Annotated[int | None, typer.Option(min=1, help="The LoRA is scaled by alpha / rank.")]
Targets = Annotated[str | None, typer.Option(help="The modules of the LoRA: attention or all.")]
FirstLayer = Annotated[
    int | None, typer.Option(min=0, help="Train this layer, counted from 0, and those above it; the others stay.")
]
Dropout = Annotated[float | None, typer.Option(min=0, max=1, help="The dropout on the LoRA's input.")]
Rate = Annotated[float | None, typer.Option(help="The peak learning rate.")]
Epochs = Annotated[float | None, typer.Option(help="The number of passes over the examples.")]
RowTokens = Annotated[int | None, typer.Option(min=16, help="Tokens per row; longer calls are left out.")]
Rows = Annotated[int | None, typer.Option(min=1, help="Rows, or pairs, per step.")]
Together = Annotated[
    int | None,
    typer.Option(min=1, help="Rows computed at once: more memory and, on a GPU, more speed. --rows is a multiple."),
]
SaveEvery = Annotated[int | None, typer.Option(min=1, help="Steps between checkpoints.")]
Checkpointing = Annotated[bool | None, typer.Option("--gradient-checkpointing", help="Less memory, a third more time.")]
FourBit = Annotated[
    bool, typer.Option("--four-bit", help="QLoRA: hold the base's weights in 4 bits. Needs a GPU and bitsandbytes.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Reckon memory and time, and compare them with the machine; train nothing.")
]
Machine = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Of a dry run: another machine, such as rtx-4090 or 4xa100-80gb."),
]
TrustCode = Annotated[
    bool,
    typer.Option("--trust-remote-code", help="Run code that the base brings along. Read it first: it can do anything."),
]


@app.command()
def sft(
    base: Base,
    data: Annotated[Path, typer.Option(metavar="FILE", help="Trajectories, as written by 'trajectories filter'.")],
    out: Out,
    adapter: Adapter = None,
    preset: Annotated[str, typer.Option(help="small, paper-en, paper-zh or lynx.")] = "small",
    max_steps: StepLimit = None,
    minutes: Minutes = None,
    seed: Seed = 0,
    full: Annotated[bool, typer.Option("--full", help="Train all weights, as the paper's presets do.")] = False,
    rank: Rank = None,
    alpha: Alpha = None,
    targets: Targets = None,
    dropout: Dropout = None,
    rate: Rate = None,
    epochs: Epochs = None,
    max_tokens: RowTokens = None,
    rows: Rows = None,
    together: Together = None,
    first_layer: FirstLayer = None,
    choice_weight: Annotated[
        float | None, typer.Option(help="The weight of a scored choice; a token of a turn has 1.")
    ] = None,
    save_every: SaveEvery = None,
    gradient_checkpointing: Checkpointing = None,
    four_bit: FourBit = False,
    trust_remote_code: TrustCode = False,
    dry_run: DryRun = False,
    machine: Machine = None,
) -> None:
    """Fine-tune a model on the turns of trajectories; what it reads between them is masked."""
    from haluagent.errors import ConfigError
    from haluagent.train.sft import reckon, train

    if full and rank:
        raise ConfigError("--full trains all weights: leave --rank out")
    _check_form(adapter, rank=rank, alpha=alpha, dropout=dropout)
    chosen = _settings(
        preset, rate=rate, epochs=epochs, max_tokens=max_tokens, rows=rows, together=together, rank=0 if full else rank, alpha=alpha,
        targets=targets, dropout=dropout, first_layer=first_layer, choice_weight=choice_weight, seed=seed, save_every=save_every,
        gradient_checkpointing=gradient_checkpointing, four_bit=four_bit,
    )  # fmt: skip
    if four_bit and not chosen.rank:
        raise ConfigError("--four-bit is for an adapter: give --rank, or leave the paper's presets and --full out")
    if dry_run:
        reckon(base, data, chosen, machine=machine, max_steps=max_steps, say=typer.echo)
        return
    if machine:
        raise ConfigError("--machine is for --dry-run: a training runs on this machine")
    train(
        base, data, out, chosen, adapter=adapter, trust_remote_code=trust_remote_code, max_steps=max_steps, minutes=minutes,
        say=typer.echo,
    )  # fmt: skip


@app.command()
def dpo(
    base: Base,
    data: Annotated[Path, typer.Option(metavar="FILE", help="Unfiltered trajectories with several samples per item.")],
    out: Out,
    adapter: Adapter = None,
    beta: Annotated[float, typer.Option(min=0, help="How close to stay to the model it starts from.")] = 0.1,
    preset: Annotated[str, typer.Option(help="The preset for all other hyperparameters.")] = "preferences",
    max_steps: StepLimit = None,
    minutes: Minutes = None,
    seed: Seed = 0,
    rank: Rank = None,
    alpha: Alpha = None,
    targets: Targets = None,
    dropout: Dropout = None,
    rate: Rate = None,
    epochs: Epochs = None,
    max_tokens: RowTokens = None,
    rows: Rows = None,
    save_every: SaveEvery = None,
    gradient_checkpointing: Checkpointing = None,
) -> None:
    """Train a model to prefer branches that ended right over those that did not."""
    from haluagent.train.dpo import train

    _check_form(adapter, rank=rank, alpha=alpha, targets=targets, dropout=dropout)
    chosen = _settings(
        preset, rate=rate, epochs=epochs, max_tokens=max_tokens, rows=rows, rank=rank, alpha=alpha, targets=targets,
        dropout=dropout, seed=seed, save_every=save_every, gradient_checkpointing=gradient_checkpointing,
    )  # fmt: skip
    train(base, data, out, chosen, adapter=adapter, beta=beta, max_steps=max_steps, minutes=minutes, say=typer.echo)


@app.command()
def export(
    adapter: Annotated[Path, typer.Argument(metavar="ADAPTER", help="The directory 'adapter' of a training.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write 'peft' and 'adapter.gguf'.")],
    base: Annotated[str | None, typer.Option(help="The model it was trained on, if that has moved.")] = None,
    name: Annotated[str | None, typer.Option(help="The name of the base for others, such as a name on a hub.")] = None,
    check: Annotated[
        str | None,
        typer.Option(
            metavar="WEIGHTS", help="Compare both forms, running these weights in llama.cpp: a GGUF file or a name."
        ),
    ] = None,
    prompts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Trajectories whose prompts are used for the check.")
    ] = None,
    tokens: Annotated[int, typer.Option(min=1, help="Tokens of each answer in the check.")] = 32,
) -> None:
    """Write an adapter for vLLM and for the embedded engine, and check that both give the same text."""
    from haluagent.errors import ConfigError
    from haluagent.train import check as checks
    from haluagent.train.base import gguf_path
    from haluagent.train.export import export, read_config
    from haluagent.train.trajectories import records

    written = export(adapter, out, base=base, name=name)
    for path in written:
        typer.echo(f"written: {path}")
    if check is None:
        return
    weights = gguf_path(check)
    if weights is None or prompts is None:
        raise ConfigError("--check takes a GGUF file or a name of 'model list', and needs --prompts")
    conversations = checks.conversations_of(list(records.read(prompts)))
    trained_on = base or read_config(adapter)["base_model_name_or_path"]
    typer.echo(checks.judge(checks.check(trained_on, written.peft, weights, written.gguf, conversations, tokens)))


def _check_form(adapter: Path | None, **form: float | str | None) -> None:
    """Raise ConfigError if options on the form of the adapter are given beside an adapter to start from."""
    from haluagent.errors import ConfigError

    if adapter and (given := [f"--{name}" for name, value in form.items() if value is not None]):
        raise ConfigError(f"{', '.join(given)} is that of the adapter to start from: leave it out")


def _settings(preset: str, **changes: Any) -> "TrainingSettings":
    from haluagent.errors import ConfigError
    from haluagent.train.settings import TARGETS, settings

    targets = changes["targets"]
    if targets is not None and targets not in TARGETS:
        raise ConfigError(f"--targets is one of {', '.join(TARGETS)}, not {targets}")
    return settings(preset, **changes)
