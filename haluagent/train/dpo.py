"""Preference training on whole branches, with observations masked: a branch that ended right becomes more likely than
one that did not (DPO, Rafailov et al. 2023)."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path

from haluagent.errors import ConfigError
from haluagent.models.weights.store import sha256_of
from haluagent.train import course
from haluagent.train.base import is_main, load_tokenizer, require_extra
from haluagent.train.curve import Say
from haluagent.train.examples import Encoder
from haluagent.train.preferences import Branch, branch_of, pairs
from haluagent.train.settings import TrainingSettings
from haluagent.train.trajectories import records

Columns = dict[str, list[int]]


def train(
    base: str,
    data: Path,
    out: Path,
    settings: TrainingSettings,
    *,
    adapter: Path | None = None,
    beta: float = 0.1,
    max_steps: int | None = None,
    minutes: float | None = None,
    say: Say = lambda line: None,
) -> Path:
    """Fine-tune `base` on the preferences in an unfiltered trajectory file with several samples per item; return the
    directory of the adapter below `out`. With an `adapter` written by `sft`, training starts from it and also stays
    close to it, as strongly as `beta` says. Resumes and stops early as `sft.train` does. Raises ConfigError if
    something is missing."""
    if settings.rank == 0:
        raise ConfigError("preferences are trained into an adapter: leave --full out")
    if settings.optimizer != "adamw":
        raise ConfigError("the preset lynx is for sft: preferences are trained with AdamW")
    course.check_adapter(adapter, settings.rank)
    require_extra()
    say = say if is_main() else lambda line: None
    encoder = Encoder(load_tokenizer(base))
    rows, counts = encoded(data, encoder, settings.max_tokens)
    if not rows:
        raise ConfigError(
            f"{data} has no pair to learn from ({counts['too long']} too long): build it with several samples an item, "
            "and do not filter it"
        )
    say(", ".join(f"{number} pairs {name}" for name, number in counts.items()))
    training = {"base": base, "data": data.name, "sha256": sha256_of(data).hexdigest(), "beta": beta}
    training |= {"adapter": str(adapter) if adapter else None}
    course.remember(out, training | {"settings": asdict(settings), "pairs": len(rows)})
    return _train(base, rows, out, settings, adapter, beta, max_steps, minutes, say)


def encoded(data: Path, encoder: Encoder, max_tokens: int) -> tuple[list[Columns], Counter[str]]:
    """Return the pairs of a file as tokens, and how many there are of each kind. Pairs with a branch of more than
    `max_tokens` tokens are left out."""
    rows: list[Columns] = []
    counts: Counter[str] = Counter()
    for pair in pairs(records.read(data)):
        better, worse = branch_of(pair.better, encoder), branch_of(pair.worse, encoder)
        if max(len(better.row), len(worse.row)) > max_tokens:
            counts["too long"] += 1
            continue
        counts[" over ".join(pair.outcomes)] += 1
        rows.append(columns("chosen", better) | columns("rejected", worse))
    return rows, counts


def columns(side: str, branch: Branch) -> Columns:
    """Return a branch as data set columns."""
    row = branch.row
    return {
        f"{side}_ids": row.ids,
        f"{side}_parents": row.parents,
        f"{side}_depths": row.depths,
        f"{side}_said": list(branch.said),
    }


def _train(
    base: str,
    rows: list[Columns],
    out: Path,
    settings: TrainingSettings,
    adapter: Path | None,
    beta: float,
    max_steps: int | None,
    minutes: float | None,
    say: Say,
) -> Path:
    from datasets import Dataset

    from haluagent.train.trainer import PairTrainer, collate_pair, dpo_arguments, lora  # loads torch

    model = course.load(base, settings, say, adapter)
    trainer = PairTrainer(
        model=model,
        args=dpo_arguments(out, settings, max_steps, beta),
        train_dataset=Dataset.from_list(rows),
        data_collator=collate_pair,
        processing_class=load_tokenizer(base),
        peft_config=None if adapter else lora(settings, course.targets_of(model, settings)),
    )
    return course.run(trainer, base, out, False, minutes, say)
