"""Supervised fine-tuning on the agent's own turns: equation 1 of Cheng et al. (2024), with observations masked."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from haluagent.errors import ConfigError
from haluagent.models.weights.store import sha256_of
from haluagent.train import architecture, course, dry_run
from haluagent.train.base import is_main, load_tokenizer, require_extra
from haluagent.train.curve import Say
from haluagent.train.examples import Counts, Encoder, RoughEncoder, make_examples
from haluagent.train.pack import PackedRow, pack
from haluagent.train.settings import TrainingSettings
from haluagent.train.trajectories import records


def train(
    base: str,
    data: Path,
    out: Path,
    settings: TrainingSettings,
    *,
    adapter: Path | None = None,
    trust_remote_code: bool = False,
    max_steps: int | None = None,
    minutes: float | None = None,
    say: Say = lambda line: None,
) -> Path:
    """Fine-tune `base` on the trajectories in `data`; return the directory of the adapter (of the model, if all weights
    are trained) below `out`. Starts from the `adapter` of an earlier training, if given, and resumes if `out` has a
    checkpoint of the same training. `trust_remote_code` runs code that the base brings along, which reads each call as a row of
    its own: it may know no masks. `minutes` stops it early, after a step. Raises ConfigError if something is missing or `out`
    holds another training."""
    course.check_adapter(adapter, settings.rank)
    require_extra()
    say = say if is_main() else lambda line: None
    encoder = Encoder(load_tokenizer(base, trust_remote_code))
    rows, counts = rows_of(data, encoder, settings, apart=trust_remote_code)
    say(summary(counts, rows))
    training = {
        "base": base,
        "data": data.name,
        "sha256": sha256_of(data).hexdigest(),
        "adapter": str(adapter) if adapter else None,
    }
    course.remember(out, training | {"settings": asdict(settings), "counts": asdict(counts), "rows": len(rows)})
    return _train(base, rows, out, settings, adapter, trust_remote_code, max_steps, minutes, say)


def reckon(
    base: str,
    data: Path,
    settings: TrainingSettings,
    *,
    machine: str | None = None,
    max_steps: int | None = None,
    say: Say = lambda line: None,
) -> bool:
    """Say what `train` would take, loading no weights, on this machine or on one that is named (`haluagent.train.machine`); return
    whether it fits. Raises ConfigError if something is missing."""
    encoder = dry_run.encoder_of(base)
    apart = architecture.read(base).own_code
    rows, counts = rows_of(data, encoder, settings, apart=apart)
    say(summary(counts, rows))
    if isinstance(encoder, RoughEncoder):
        say("These are estimates, with a tenth too many rows: the tokenizer of the base is not on this machine.")
    if apart:
        say("The base brings code of its own (--trust-remote-code): each call is a row of its own.")
    return dry_run.report(base, dry_run.load_of(rows), settings, on=machine, max_steps=max_steps, say=say)


def rows_of(
    data: Path, encoder: Encoder, settings: TrainingSettings, *, apart: bool = False
) -> tuple[list[PackedRow], Counts]:
    """Return the rows of a file of trajectories, with their counts. With `apart` each call has a row of its own. Raises ConfigError
    if there is nothing to learn."""
    examples, counts = make_examples(records.read(data), encoder, settings.max_tokens, settings.choice_weight)
    examples.sort(key=lambda example: example.ids)  # so that neighbours share the most
    groups = [[example] for example in examples] if apart else [examples]
    rows = [row for group in groups for row in pack(group, settings.max_tokens)]
    if not rows:
        raise ConfigError(f"{data} has nothing to learn: {counts.calls} calls, {counts.too_long} of them too long")
    return rows, counts


def summary(counts: Counts, rows: list[PackedRow]) -> str:
    """Summarise the training data on one line."""
    packed = sum(len(row) for row in rows)
    return (
        f"{counts.trajectories} trajectories, {counts.calls} calls: {counts.learned_tokens} tokens to learn; {counts.not_learned} "
        f"calls are not for learning, {counts.too_long} too long. {counts.tokens} tokens, {packed} with common ones once, in "
        f"{len(rows)} rows."
    )


def _train(
    base: str,
    rows: list[PackedRow],
    out: Path,
    settings: TrainingSettings,
    adapter: Path | None,
    trust_remote_code: bool,
    max_steps: int | None,
    minutes: float | None,
    say: Say,
) -> Path:
    from datasets import Dataset

    from haluagent.train.trainer import TreeTrainer, collate, lora, optimizer_of, sft_arguments  # loads torch

    full = settings.rank == 0
    model = course.load(
        base, settings, say, adapter, add_targets=settings.targets == "all", trust_remote_code=trust_remote_code
    )
    trainer = TreeTrainer(
        model=model,
        args=sft_arguments(out, settings, max_steps),
        train_dataset=Dataset.from_list([columns(row) for row in rows]),
        data_collator=collate,
        processing_class=load_tokenizer(base, trust_remote_code),
        peft_config=None if full or adapter else lora(settings, course.targets_of(model, settings)),
        optimizer_cls_and_kwargs=optimizer_of(settings),
    )
    trainer.apart = trust_remote_code
    freeze_below(trainer.model, settings.first_layer)
    return course.run(trainer, base, out, full, minutes, say)


def freeze_below(model: Any, first_layer: int) -> None:
    """Stop training the layers below `first_layer`. Raises ConfigError if the model has no more layers than that."""
    if not first_layer:
        return
    if first_layer >= model.config.num_hidden_layers:
        raise ConfigError(
            f"the model has {model.config.num_hidden_layers} layers: --first-layer must be less than that"
        )
    for name, weights in model.named_parameters():
        found = re.search(r"\.layers\.(\d+)\.", name)
        if found and int(found[1]) < first_layer:
            weights.requires_grad_(False)


def columns(row: PackedRow) -> dict[str, list[int] | list[float]]:
    """Return a row as data set columns. Its mask is computed from `parents` when needed."""
    return {
        "ids": row.ids,
        "parents": row.parents,
        "depths": row.depths,
        "sources": row.sources,
        "targets": row.targets,
        "weights": row.weights,
    }
