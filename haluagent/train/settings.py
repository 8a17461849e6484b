"""The hyperparameters of a training, and named presets."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from haluagent.errors import ConfigError

Targets = Literal["attention", "all"]
Optimizer = Literal["adamw", "lion"]
# Of these, the ones that the model has. W_pack is Baichuan's matrix of queries, keys and values.
TARGETS: dict[Targets, tuple[str, ...]] = {
    "attention": ("q_proj", "k_proj", "v_proj", "o_proj", "W_pack"),
    "all": ("q_proj", "k_proj", "v_proj", "o_proj", "W_pack", "gate_proj", "up_proj", "down_proj"),
}


@dataclass(frozen=True)
class TrainingSettings:
    """The hyperparameters of a training.

    `max_tokens` is the size of a row, and so of the longest call; `rows` make a step, of which so many are computed `together`. With
    `rank` 0 all weights are trained, otherwise a LoRA on the `targets` of the layers from `first_layer` on: those below, counted
    from 0, stay as they are, which saves their share of the backward pass. `warmup` is a fraction of all steps, or from 1 on a
    number of steps. `choice_weight` is the weight of the single token of a scored choice, where each token of a turn has weight 1.
    `save_every` is in steps. `four_bit` holds the weights that are not trained in four bits (QLoRA, Dettmers et al. 2023).
    """

    rate: float
    epochs: float
    max_tokens: int
    rows: int = 1
    together: int = 1
    rank: int = 16
    alpha: int = 32
    dropout: float = 0.0
    targets: Targets = "attention"
    first_layer: int = 0
    warmup: float = 0.03
    choice_weight: float = 1.0
    seed: int = 0
    save_every: int = 50
    gradient_checkpointing: bool = False
    four_bit: bool = False
    optimizer: Optimizer = "adamw"


# The paper's settings train all weights of a 7B or 13B model, those of Lynx (Ravi et al. 2024) of an 8B or 70B model. `small` is
# for a LoRA on 0.1B to 3B, on a CPU as well, and `preferences` for `dpo` with a LoRA, where a higher rate moves the model too far
# from its start.
PRESETS: dict[str, TrainingSettings] = {
    "paper-en": TrainingSettings(rate=2e-5, epochs=3, max_tokens=4096, rows=8, rank=0),
    "paper-zh": TrainingSettings(rate=1e-5, epochs=5, max_tokens=4096, rows=8, rank=0),
    "lynx": TrainingSettings(
        rate=5e-7,
        epochs=3,
        max_tokens=8192,
        rows=256,
        rank=0,
        warmup=100,
        optimizer="lion",
        gradient_checkpointing=True,
    ),
    "small": TrainingSettings(rate=2e-4, epochs=1, max_tokens=1536),
    "preferences": TrainingSettings(rate=2e-5, epochs=1, max_tokens=1536, rows=4),
}


def settings(preset: str, **changes: Any) -> TrainingSettings:
    """Return a preset with the given changes; a value of None changes nothing. Raises ConfigError for an unknown
    preset, and for `rows` that are no multiple of those computed `together`."""
    if preset not in PRESETS:
        raise ConfigError(f"there is no preset {preset}: take one of {', '.join(PRESETS)}")
    chosen = replace(PRESETS[preset], **{name: value for name, value in changes.items() if value is not None})
    if chosen.rows % chosen.together:
        raise ConfigError(
            f"--rows {chosen.rows} cannot be computed {chosen.together} together: give a multiple of that"
        )
    return chosen
