"""Adapters that were made by chance: the same numbers as a GGUF file and as a peft directory."""

import hashlib
import random
import struct
from math import prod
from pathlib import Path
from typing import NamedTuple

from haluagent.models.adapters import Adapter, AdapterCard
from haluagent.models.peft import write_peft

F32, F16, Q8 = 0, 1, 8
BYTES = {F32: 4, F16: 2}
RANK = 8
LAYERS, HIDDEN, VALUES = 30, 576, 192  # of SmolLM2-135M


class Pair(NamedTuple):
    gguf: Path
    peft: Path


def gguf(tensors: dict[str, tuple[tuple[int, ...], int]], data: bytes, architecture: str = "qwen2") -> bytes:
    """A GGUF file of an adapter, with an alignment of 8 and the tensors' numbers one behind the other."""
    fields = [
        _field("general.architecture", architecture),
        _field("general.type", "adapter"),
        _field("adapter.type", "lora"),
        _text("general.alignment") + struct.pack("<II", 4, 8),
        _text("adapter.lora.alpha") + struct.pack("<If", 6, 32.0),
    ]
    listed, at = b"", 0
    for name, (shape, kind) in tensors.items():
        listed += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, at)
        at += prod(shape) * BYTES.get(kind, 1)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(fields)) + b"".join(fields) + listed
    return head + b"\0" * (-len(head) % 8) + data


def _text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def _field(key: str, value: str) -> bytes:
    return _text(key) + struct.pack("<I", 8) + _text(value)


def card(file: str, data: bytes, base: str, rank: int) -> AdapterCard:
    return AdapterCard(
        name=file.removesuffix(".gguf"), version="1", base=base, file=file, sha256=hashlib.sha256(data).hexdigest(),
        bytes=len(data), rank=rank, licence="Apache-2.0", data_sources=(),
    )  # fmt: skip


def random_adapter(folder: Path, base: str) -> Pair:
    """An adapter of SmolLM2's values, whose rows have the same order in both forms; so `write_peft`, which refuses the
    reordered queries and keys of this architecture, may be told another name."""
    shapes = {"a": (HIDDEN, RANK), "b": (RANK, VALUES)}
    tensors = {
        f"blk.{layer}.attn_v.weight.lora_{side}": (shape, F16)
        for layer in range(LAYERS)
        for side, shape in shapes.items()
    }
    count = sum(prod(shape) for shape, _ in tensors.values())
    chance = random.Random(0)
    data = struct.pack(f"<{count}e", *(chance.gauss(0, 0.05) for _ in range(count)))
    file = folder / "random.gguf"
    file.write_bytes(gguf(tensors, data, "llama"))
    other = gguf(tensors, data)
    (folder / "other.gguf").write_bytes(other)
    return Pair(file, write_peft(Adapter(folder / "other.gguf", card("random.gguf", other, base, RANK)), folder))
