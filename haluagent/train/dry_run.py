"""Reckon what a training would take, and whether it fits, before anything is loaded."""

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from haluagent.errors import ConfigError
from haluagent.models.weights import catalogue
from haluagent.train import architecture, machine
from haluagent.train.architecture import Architecture
from haluagent.train.base import require_extra
from haluagent.train.curve import Say
from haluagent.train.examples import Encoder, RoughEncoder
from haluagent.train.machine import Machine
from haluagent.train.memory import MemoryNeed, memory, trained
from haluagent.train.pack import PackedRow
from haluagent.train.settings import TrainingSettings

GB = 10**9
SHORTER = 512  # tokens; a row of less leaves out too many calls


@dataclass(frozen=True)
class Load:
    """The work of an epoch: its `rows`, all their `tokens`, those of the `longest` row, and the most positions with a loss that a row
    has (`learned`)."""

    rows: int
    tokens: int
    longest: int
    learned: int


def load_of(rows: Sequence[PackedRow]) -> Load:
    """Return the work that rows make."""
    sizes = [len(row) for row in rows]
    return Load(len(rows), sum(sizes), max(sizes), max(len(set(row.sources)) for row in rows))


def encoder_of(base: str) -> Encoder:
    """Return the base's own encoder if its tokenizer is on this machine, otherwise a rough one. Nothing is downloaded."""
    try:
        require_extra()
        file = Path(base) if base.endswith(".gguf") else _installed(base)
        from transformers import AutoTokenizer

        if file is not None:
            return Encoder(AutoTokenizer.from_pretrained(str(file.resolve().parent), gguf_file=file.name))
        return Encoder(AutoTokenizer.from_pretrained(base, local_files_only=True))
    except (ConfigError, OSError, ValueError):
        return RoughEncoder()


def report(
    base: str,
    load: Load,
    settings: TrainingSettings,
    *,
    on: str | None = None,
    max_steps: int | None = None,
    say: Say = print,
) -> bool:
    """Say what a training takes on this machine, or on one that is named (`machine.named`), and what to change if that is too much.
    Return whether it fits. Raises ConfigError if the base or the machine is not known."""
    sizes = architecture.read(base)
    place = machine.named(on, settings.four_bit) if on else machine.this(settings.four_bit)
    file = _file_size(base)
    say(
        f"{base}: {sizes.parameters / 1e9:.2f} billion parameters, {trained(sizes, settings) / 1e6:.1f} million trained"
    )
    needed = _memory(sizes, settings, load, place, file)
    for line in _lines(needed, place):
        say(line)
    fits = _fits(needed, place)
    if not fits:
        for line in _changes(sizes, settings, load, place, file):
            say(line)
    steps, tokens = _steps(load, settings, place, max_steps)
    speed = place.speed / operations(sizes, settings, load.longest)
    say(
        f"{steps} steps, {tokens} tokens of rows; at {speed:.0f} tokens a second {_duration(tokens / speed)} (assumed, not measured: "
        f"{place.share:.0%} of {place.peak:.3g} TFLOP/s{' each' if place.gpus > 1 else ''})"
    )
    return fits


def operations(sizes: Architecture, settings: TrainingSettings, tokens: int) -> float:
    """Return the operations per token of a row of `tokens` tokens: two per weight forwards, two backwards, two more for the weights'
    own gradients and two for checkpoints, and those of attention, which grow with the row."""
    attention = 2 * tokens * sizes.heads * sizes.head  # its weights per token, as it were
    passes = 4 + 2 * (settings.rank == 0) + 2 * settings.gradient_checkpointing
    above = sizes.layers - settings.first_layer
    return (sizes.layer + attention) * (2 * settings.first_layer + passes * above)


def _memory(sizes: Architecture, settings: TrainingSettings, load: Load, place: Machine, file: int) -> MemoryNeed:
    return memory(sizes, settings, tokens=load.longest, learned=load.learned, gpus=place.gpus, file=file)


def _lines(needed: MemoryNeed, place: Machine) -> Iterator[str]:
    parts = {
        "weights": needed.weights,
        "what is trained, with its gradients and the optimizer": needed.trained,
        "kept for the backward pass": needed.kept,
        "logits": needed.logits,
        "for a moment in a step": needed.working,
    }
    parts["the program, and what the allocator adds"] = needed.total - sum(parts.values())
    for name, size in parts.items():
        yield f"{size / GB:8.1f} GB  {name}"
    each = " on each" if place.gpus > 1 else ""
    verdict = "it fits" if needed.total <= place.memory else "it does not fit"
    yield f"{needed.total / GB:8.1f} GB  in all{each}, of {place.memory / GB:.0f} GB ({place.name}): {verdict}"
    short = f": it has {place.ram / GB:.0f} GB" if place.ram is not None and needed.loading > place.ram else ""
    yield f"{needed.loading / GB:8.1f} GB  of main memory while the base is loaded{short}"


def _fits(needed: MemoryNeed, place: Machine) -> bool:
    return needed.total <= place.memory and (place.ram is None or needed.loading <= place.ram)


def _changes(sizes: Architecture, settings: TrainingSettings, load: Load, place: Machine, file: int) -> Iterator[str]:
    """Yield changes, each on top of those before it, until it fits."""
    given: list[str] = []
    for option, changed, shorter in _options(settings, load, place, file):
        given.append(option)
        needed = _memory(sizes, changed, shorter, place, file)
        if _fits(needed, place):
            yield f"with {' and '.join(given)} it fits: {needed.total / GB:.1f} GB"
            return
        yield f"with {' and '.join(given)}: {needed.total / GB:.1f} GB"
    yield "no option makes it fit: take a smaller base, or more or larger GPUs"


def _options(
    settings: TrainingSettings, load: Load, place: Machine, file: int
) -> Iterator[tuple[str, TrainingSettings, Load]]:
    if settings.rank == 0:
        settings = replace(settings, rank=16)
        yield "--rank 16", settings, load
    if not settings.gradient_checkpointing:
        settings = replace(settings, gradient_checkpointing=True)
        yield "--gradient-checkpointing", settings, load
    if place.gpus and not settings.four_bit and not file:
        settings = replace(settings, four_bit=True)
        yield "--four-bit", settings, load
    if load.longest > SHORTER:
        load = replace(load, longest=SHORTER, learned=min(load.learned, SHORTER))
        yield f"--max-tokens {SHORTER} (which leaves longer calls out)", settings, load


def _steps(load: Load, settings: TrainingSettings, place: Machine, max_steps: int | None) -> tuple[int, int]:
    """Return the steps of a training and the tokens of all its rows."""
    by_epoch = math.ceil(load.rows / (settings.rows * max(place.gpus, 1)))
    steps = max_steps or math.ceil(by_epoch * settings.epochs)
    return steps, round(load.tokens * steps / by_epoch)


def _duration(seconds: float) -> str:
    return f"{seconds / 3600:.1f} hours" if seconds > 5400 else f"{seconds / 60:.0f} minutes"


def _installed(base: str) -> Path | None:
    return next((found.path for found in catalogue.installed() if found.name == base), None)


def _file_size(base: str) -> int:
    """Return the bytes of a GGUF base, 0 for another."""
    if base in catalogue.KNOWN:
        return catalogue.KNOWN[base].size
    return os.path.getsize(base) if base.endswith(".gguf") else 0
