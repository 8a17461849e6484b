"""Subclasses of trl's trainers for rows that are trees of tokens."""

import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

from haluagent.errors import ConfigError
from haluagent.train.curve import LossCurve, Say
from haluagent.train.lion import Lion
from haluagent.train.pack import attention_mask
from haluagent.train.settings import TrainingSettings

SAY_EVERY = 10  # steps
NOT_FINITE = 10  # steps in a row, after which a training ends
WORKERS = 4  # beside a GPU: a mask of 4,096 tokens takes a tenth of a step


def lora(settings: TrainingSettings, targets: Sequence[str]) -> LoraConfig:
    """Return the LoRA configuration of the settings."""
    return LoraConfig(
        task_type="CAUSAL_LM",
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=list(targets),
    )


def sft_arguments(out: Path, settings: TrainingSettings, max_steps: int | None) -> SFTConfig:
    """Return the arguments for fine-tuning on rows that are already prepared."""
    return SFTConfig(dataset_kwargs={"skip_prepare_dataset": True}, **_arguments(out, settings, max_steps))


def dpo_arguments(out: Path, settings: TrainingSettings, max_steps: int | None, beta: float) -> DPOConfig:
    """Return the arguments for preference training; `beta` is the strength of the pull towards the reference model."""
    return DPOConfig(beta=beta, loss_type=["sigmoid"], **_arguments(out, settings, max_steps))


def _arguments(out: Path, settings: TrainingSettings, max_steps: int | None) -> dict[str, Any]:
    """Return the arguments shared by both trainers. What is trained, an adapter or all weights, is stored in float32: at these
    learning rates, a step is too small for a bfloat16 weight to change. Everything is computed in bfloat16."""
    return dict(
        output_dir=str(out),
        learning_rate=settings.rate,
        num_train_epochs=settings.epochs,
        max_steps=max_steps or -1,
        per_device_train_batch_size=settings.together,
        gradient_accumulation_steps=settings.rows // settings.together,
        lr_scheduler_type="cosine",
        warmup_steps=settings.warmup,
        seed=settings.seed,
        data_seed=settings.seed,
        bf16=True,
        use_cpu=not torch.cuda.is_available(),
        gradient_checkpointing=settings.gradient_checkpointing,
        logging_steps=1,
        save_steps=settings.save_every,
        save_total_limit=2,
        max_length=None,
        remove_unused_columns=False,
        dataloader_pin_memory=False,
        dataloader_num_workers=WORKERS if torch.cuda.is_available() else 0,
        disable_tqdm=True,
        report_to=[],
    )


def optimizer_of(settings: TrainingSettings) -> tuple[type[torch.optim.Optimizer], dict[str, Any]] | None:
    """Return the class of the settings' optimizer with its arguments; None for the trainer's own, AdamW. Gradients are
    clipped to a norm of 1 with both."""
    if settings.optimizer == "adamw":
        return None
    return Lion, {"lr": settings.rate, "betas": (0.9, 0.95)}  # Lynx, appendix B.1


def collate(rows: Sequence[dict[str, list[Any]]]) -> dict[str, torch.Tensor]:
    """Return a batch of rows, filled up to the longest. `sources` counts through all of them. `shift_labels` is the name under which
    the trainer counts the targets of a step."""
    size = max(len(row["ids"]) for row in rows)
    targets = torch.tensor([target for row in rows for target in row["targets"]])
    return {
        "input_ids": torch.tensor([_filled(row["ids"], size) for row in rows]),
        "position_ids": torch.tensor([_filled(row["depths"], size) for row in rows]),
        "attention_mask": torch.stack([attention_mask(row["parents"], size) for row in rows]),
        "sources": torch.tensor([place * size + source for place, row in enumerate(rows) for source in row["sources"]]),
        "shift_labels": targets,
        "labels": targets,
        "weights": torch.tensor([weight for row in rows for weight in row["weights"]]),
    }


def tree_loss(model: Any, batch: dict[str, torch.Tensor], apart: bool = False) -> torch.Tensor:
    """Return the weighted sum of the targets' negative log-likelihoods. Logits are computed only where there is a loss. If each call
    stands `apart` in a row of its own, the model needs to know nothing but to read from left to right."""
    sources, index = torch.unique(batch["sources"], return_inverse=True)
    size = batch["input_ids"].shape[1]
    rows, places = sources // size, sources % size
    if apart:
        logits = model(input_ids=batch["input_ids"], use_cache=False).logits[rows, places]
    else:
        kept, where = torch.unique(places, return_inverse=True)
        logits = model(
            input_ids=batch["input_ids"],
            position_ids=batch["position_ids"],
            attention_mask=batch["attention_mask"],
            logits_to_keep=kept,
            use_cache=False,
        ).logits[rows, where]
    logits = logits.float()
    normalizer = logits.logsumexp(-1)
    return ((normalizer[index] - logits[index, batch["labels"]]) * batch["weights"]).sum()


class TreeTrainer(SFTTrainer):
    """The loss of a step is the weighted loss of its rows' targets, divided by their number. `tokens` counts those computed since
    the start, as if the rows of all processes were as long as those of this one. `apart` is that of `tree_loss`."""

    tokens = 0
    apart = False

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> torch.Tensor:
        self.tokens += inputs["input_ids"].numel() * self.args.world_size
        loss = tree_loss(model, inputs, self.apart)
        if num_items_in_batch is None:
            return loss / len(inputs["labels"])
        # The targets of all processes are counted, and their gradients averaged.
        return loss / num_items_in_batch * self.args.world_size

    def create_model_card(self, *arguments: Any, **options: Any) -> None:
        """Write nothing: `training.json` describes the training."""


def collate_pair(pairs: Sequence[dict[str, list[Any]]]) -> dict[str, torch.Tensor]:
    """Return a batch of one pair, the better branch first, in the form of trl's loss: it reads the probability of a
    token at the preceding position in the row, which `Row.add_apart` provides for, and counts the tokens in
    `completion_mask`."""
    (pair,) = pairs
    size = max(len(pair["chosen_ids"]), len(pair["rejected_ids"]))
    sides = ("chosen", "rejected")
    said = torch.zeros(2, size, dtype=torch.long)
    for index, side in enumerate(sides):
        said[index, pair[f"{side}_said"]] = 1
    return {
        "input_ids": torch.tensor([_filled(pair[f"{side}_ids"], size) for side in sides]),
        "position_ids": torch.tensor([_filled(pair[f"{side}_depths"], size) for side in sides]),
        "attention_mask": torch.stack([attention_mask(pair[f"{side}_parents"], size) for side in sides]),
        "completion_mask": said,
    }


def _filled(values: list[int], size: int) -> list[int]:
    return values + [0] * (size - len(values))


class PairTrainer(DPOTrainer):
    """Direct preference optimization (Rafailov et al. 2023) on branches that are trees of tokens."""

    tokens = 0

    def _prepare_dataset(self, dataset: Any, *arguments: Any, **options: Any) -> Any:
        return dataset

    def compute_loss(self, model: Any, inputs: dict[str, Any], *arguments: Any, **options: Any) -> torch.Tensor:
        self.tokens += inputs["input_ids"].numel() * self.args.world_size
        return super().compute_loss(model, inputs, *arguments, **options)

    def create_model_card(self, *arguments: Any, **options: Any) -> None:
        """Write nothing, as in TreeTrainer."""


class Progress(TrainerCallback):
    """Writes the loss curve, reports progress, and stops a training on time: after `minutes`, or on Ctrl-C or SIGTERM
    (which only the main thread of a process receives). It leaves a checkpoint from which the same command resumes.

    A step whose gradient is infinite or not a number is left out: it would make every weight so, and the rest of the training be
    for nothing. Raises ConfigError after some in a row."""

    def __init__(self, curve: LossCurve, trainer: TreeTrainer | PairTrainer, minutes: float | None, say: Say) -> None:
        self._curve, self._trainer, self._minutes, self._say = curve, trainer, minutes, say
        self._told = False
        self._skipped = 0  # steps in a row
        self._before: dict[int, Any] = {}

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}

    def on_train_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, model: Any = None, **_: Any
    ) -> None:
        norms = [weights.grad.norm() for weights in model.parameters() if weights.grad is not None]
        if torch.isfinite(torch.stack(norms)).all():
            self._skipped = 0
            return
        model.zero_grad()
        self._skipped += 1
        step = state.global_step + 1
        self._say(f"step {step} is left out: its gradient is not finite")
        if self._skipped == NOT_FINITE:
            raise ConfigError(
                f"the gradients of {NOT_FINITE} steps in a row are not finite, up to step {step}: give a lower --rate; the same "
                "command goes on from the last checkpoint"
            )

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        if not logs or "loss" not in logs or self._skipped:
            return
        right = {"right": logs["rewards/accuracies"]} if "rewards/accuracies" in logs else {}
        self._curve.add(state.global_step, logs["loss"], logs["learning_rate"], self._trainer.tokens, **right)
        if state.global_step % SAY_EVERY == 0 or state.global_step <= 3 or state.global_step == state.max_steps:
            self._say(self._curve.progress(state.max_steps, self._trainer.tokens))
            self._curve.draw()

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if self._ends(args.device):
            self._say(
                f"stopped after step {state.global_step} of {state.max_steps}; the same command goes on from there"
            )
            control.should_training_stop = control.should_save = True

    def _ends(self, device: torch.device) -> bool:
        """Return whether the training is to end: one process that has been told ends all, which else would wait for it."""
        ends = self._told or (self._minutes is not None and self._curve.elapsed() > self._minutes * 60)
        if not torch.distributed.is_initialized():
            return ends
        told = torch.tensor(float(ends), device=device)
        torch.distributed.all_reduce(told, torch.distributed.ReduceOp.MAX)
        return bool(told)

    def _stop(self, number: int, frame: object) -> None:
        self._told = True
