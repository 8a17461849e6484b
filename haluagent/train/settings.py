"""How a model is taught: the numbers, and the sets of them that have a name."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from haluagent.errors import ConfigError

Targets = Literal["attention", "all"]
TARGETS: dict[Targets, tuple[str, ...]] = {
    "attention": ("q_proj", "k_proj", "v_proj", "o_proj"),
    "all": ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
}


@dataclass(frozen=True)
class Settings:
    """What a training is made with. `max_tokens` is the size of a row and so the longest call; `rows` are summed for one
    step. `rank` 0 teaches all weights, else a LoRA on the `targets`. `warmup` is a part of all steps; `choice_weight` that of
    the one token of a scored choice, against 1 for each token of a turn. `save_every` is in steps."""

    rate: float
    epochs: float
    max_tokens: int
    rows: int = 1
    rank: int = 16
    alpha: int = 32
    dropout: float = 0.0
    targets: Targets = "attention"
    warmup: float = 0.03
    choice_weight: float = 1.0
    seed: int = 0
    save_every: int = 50
    gradient_checkpointing: bool = False


# The paper's numbers are for all weights of a 7B and a 13B; `small` is for a LoRA of 0.1B to 3B, also on a CPU, and
# `preferences` for `dpo` with one, where more moves the model too far from where it was.
PRESETS: dict[str, Settings] = {
    "paper-en": Settings(rate=2e-5, epochs=3, max_tokens=4096, rows=8, rank=0),
    "paper-zh": Settings(rate=1e-5, epochs=5, max_tokens=4096, rows=8, rank=0),
    "small": Settings(rate=2e-4, epochs=1, max_tokens=1536),
    "preferences": Settings(rate=2e-5, epochs=1, max_tokens=1536, rows=4),
}


def settings(preset: str, **changes: Any) -> Settings:
    """A preset with what was asked for instead; None asks for nothing. Raises ConfigError for an unknown preset."""
    if preset not in PRESETS:
        raise ConfigError(f"there is no preset {preset}: take one of {', '.join(PRESETS)}")
    return replace(PRESETS[preset], **{name: value for name, value in changes.items() if value is not None})
