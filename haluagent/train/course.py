"""The stages that every training shares: record what is trained, load the model, start or resume, save."""

import json
from collections.abc import Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haluagent.errors import ConfigError
from haluagent.train.base import is_main, load_model
from haluagent.train.curve import LossCurve, Say
from haluagent.train.settings import TARGETS, TrainingSettings

if TYPE_CHECKING:
    from haluagent.train.trainer import PairTrainer, TreeTrainer  # loads torch

_DEFAULTS = {field.name: field.default for field in fields(TrainingSettings) if field.default is not MISSING}


def remember(out: Path, training: dict[str, Any]) -> None:
    """Write what is trained to `out/training.json`. Raises ConfigError if the file describes another training."""
    if not is_main():
        return
    path = out / "training.json"
    try:
        out.mkdir(parents=True, exist_ok=True)
        if path.exists():
            before = json.loads(path.read_text())
            if "settings" in before:  # an earlier version knew fewer
                before["settings"] = _DEFAULTS | before["settings"]
            changed = [name for name in training if before.get(name) != training[name]]
            if changed:
                raise ConfigError(
                    f"{out} holds a training with other {' and '.join(changed)}: name another directory with --out"
                )
        path.write_text(json.dumps(training, indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise ConfigError(f"{out} cannot be written: {error}") from error


def check_adapter(adapter: Path | None, rank: int) -> None:
    """Raise ConfigError if the adapter to start from is not one, or if all weights are trained."""
    if adapter is not None and rank == 0:
        raise ConfigError("--full and the paper's presets teach all weights: leave them out to start from an adapter")
    if adapter is not None and not (adapter / "adapter_config.json").is_file():
        raise ConfigError(f"{adapter} holds no adapter: name the directory 'adapter' of a training")


def load(
    base: str,
    settings: TrainingSettings,
    say: Say,
    adapter: Path | None = None,
    *,
    add_targets: bool = False,
    trust_remote_code: bool = False,
) -> Any:
    """Return the base model in the data type that it is trained in (see `trainer._arguments`), with the adapter to start from, if
    any. With `add_targets`, those of the settings that the adapter lacks are added to it; they change nothing before the first
    step."""
    import torch

    dtype = torch.bfloat16 if settings.rank else torch.float32
    model = load_model(base, dtype, four_bit=settings.four_bit, trust_remote_code=trust_remote_code)
    say(f"{type(model).__name__} on {'a GPU' if torch.cuda.is_available() else 'the CPU'}")
    if adapter is None:
        return model
    return _with_adapter(model, str(adapter), targets_of(model, settings) if add_targets else ())


def targets_of(model: Any, settings: TrainingSettings) -> list[str]:
    """Return the names of the settings' targets that the model has. Raises ConfigError if it has none."""
    names = {name.rpartition(".")[2] for name, _ in model.named_modules()}
    if found := [target for target in TARGETS[settings.targets] if target in names]:
        return found
    raise ConfigError(f"{type(model).__name__} has none of the matrices {', '.join(TARGETS[settings.targets])}")


def _with_adapter(model: Any, adapter: str, targets: Sequence[str]) -> Any:
    from peft import PeftConfig, get_peft_model, load_peft_weights, set_peft_model_state_dict

    config = PeftConfig.from_pretrained(adapter)
    if targets:
        config.target_modules = {*config.target_modules, *targets}
    config.inference_mode = False
    model = get_peft_model(model, config)
    found = set_peft_model_state_dict(model, load_peft_weights(adapter, device="cpu"))
    if found.unexpected_keys:
        raise ConfigError(f"{adapter} is of another model: it has no place for {found.unexpected_keys[0]}")
    return model


def run(
    trainer: "TreeTrainer | PairTrainer", base: str, out: Path, full: bool, minutes: float | None, say: Say
) -> Path:
    """Train, resuming from the last checkpoint in `out` if there is one, and save the result; return its directory."""
    from transformers.trainer_callback import PrinterCallback
    from transformers.trainer_utils import get_last_checkpoint

    from haluagent.train.trainer import Progress

    last = get_last_checkpoint(str(out))
    step = int(Path(last).name.rpartition("-")[2]) if last else 0
    if last:
        say(f"continued from step {step}")
    for module in trainer.model.modules():
        if hasattr(module, "cast_input_dtype_enabled"):
            module.cast_input_dtype_enabled = False  # an adapter's matrices are cast, not the larger input
    for weights in trainer.model.parameters():
        if weights.requires_grad:
            weights.data = weights.data.float()  # trl makes bfloat16 of an adapter of a quantized model
    curve = LossCurve(out, step, writes=is_main())
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(Progress(curve, trainer, minutes, say))
    trainer.train(resume_from_checkpoint=last)
    curve.draw()
    place = out / ("model" if full else "adapter")
    save(trainer, place, base, full)
    say(f"written: {place}")
    return place


def save(trainer: "TreeTrainer | PairTrainer", place: Path, base: str, full: bool) -> None:
    """Write an adapter, recording the name of its base as the user gave it, or a whole model with its tokenizer. All processes of a
    training call this: where the weights are divided among them, they are brought together."""
    import torch

    state = trainer.accelerator.get_state_dict(trainer.model) if trainer.is_fsdp_enabled else None
    if not is_main():
        return
    model = trainer.accelerator.unwrap_model(trainer.model)
    if not full:
        model.peft_config["default"].base_model_name_or_path = base
        model.save_pretrained(place, selected_adapters=["default"], state_dict=state)
        return
    if state is None:
        model.to(torch.bfloat16)
    else:
        state = {name: weights.to(torch.bfloat16) for name, weights in state.items()}
    model.save_pretrained(place, state_dict=state)
    trainer.processing_class.save_pretrained(place)
