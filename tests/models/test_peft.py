"""The package's adapter as a peft directory: the same numbers under the names that peft and vLLM know."""

import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import lora
import pytest
from lora import F16, F32, Q8

from haluagent.errors import ConfigError
from haluagent.models import adapters
from haluagent.models.adapters import Adapter
from haluagent.models.gguf import read_tensors
from haluagent.models.peft import write_peft
from haluagent.models.weights import catalogue

NUMBERS = bytes(range(24))


def gguf(tensors: dict[str, tuple[tuple[int, ...], int]], architecture: str = "qwen2", data: bytes = NUMBERS) -> bytes:
    return lora.gguf(tensors, data, architecture)


def adapter(folder: Path, data: bytes, **changes: Any) -> Adapter:
    file = folder / "mine.gguf"
    file.write_bytes(data)
    card = lora.card("mine.gguf", data, catalogue.DEFAULT, 2)
    return Adapter(file, card.model_copy(update=changes))


def read(folder: Path) -> tuple[dict[str, Any], bytes]:
    """The header of the safetensors file, and the numbers behind it."""
    raw = (folder / "adapter_model.safetensors").read_bytes()
    (size,) = struct.unpack_from("<Q", raw)
    assert size % 8 == 0
    return json.loads(raw[8 : 8 + size]), raw[8 + size :]


SMALL: dict[str, tuple[tuple[int, ...], int]] = {
    "blk.3.attn_q.weight.lora_a": ((2, 2), F16),
    "blk.3.attn_q.weight.lora_b": ((2, 1), F32),
    "blk.10.ffn_down.weight.lora_a": ((4, 1), F16),
}


def test_names_and_shapes_are_those_of_peft_and_the_numbers_stay(tmp_path: Path) -> None:
    place = write_peft(adapter(tmp_path, gguf(SMALL)), tmp_path / "out")
    header, numbers = read(place)
    first = "base_model.model.model.layers.3.self_attn.q_proj.lora_A.weight"
    second = "base_model.model.model.layers.3.self_attn.q_proj.lora_B.weight"
    third = "base_model.model.model.layers.10.mlp.down_proj.lora_A.weight"
    assert header == {
        "__metadata__": {"format": "pt"},
        first: {"dtype": "F16", "shape": [2, 2], "data_offsets": [0, 8]},
        second: {"dtype": "F32", "shape": [1, 2], "data_offsets": [8, 16]},
        third: {"dtype": "F16", "shape": [1, 4], "data_offsets": [16, 24]},
    }
    assert numbers == NUMBERS
    config = json.loads((place / "adapter_config.json").read_text())
    assert (config["r"], config["lora_alpha"], config["peft_type"]) == (2, 32, "LORA")
    assert config["target_modules"] == ["down_proj", "q_proj"]
    assert config["base_model_name_or_path"] == "Qwen/Qwen2.5-Coder-1.5B-Instruct"
    assert write_peft(adapter(tmp_path, gguf(SMALL)), tmp_path / "out") == place, "written anew"


def test_the_adapter_that_comes_with_the_package(tmp_path: Path) -> None:
    (shipped,) = adapters.all_shipped()
    place = write_peft(shipped, tmp_path)
    header, numbers = read(place)
    tensors = read_tensors(shipped.path)
    assert place.name == shipped.name and len(header) == len(tensors) + 1 > 100
    file = shipped.path.read_bytes()
    for tensor, (name, described) in zip(tensors, list(header.items())[1:], strict=True):
        start, end = described["data_offsets"]
        assert described["shape"] == list(reversed(tensor.shape)) and min(tensor.shape) == 16, name
        assert numbers[start:end] == file[tensor.offset : tensor.offset + tensor.size]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (gguf(SMALL, "llama"), "an adapter for llama is reordered"),
        (gguf({"blk.0.ssm_in.weight.lora_a": ((2, 2), F16)}), "the tensor blk.0.ssm_in"),
        (gguf({"blk.0.attn_q.weight": ((2, 2), F16)}), "the tensor blk.0.attn_q.weight"),
        (gguf({"blk.0.attn_q.weight.lora_a": ((32,), Q8)}), "which peft has no place for"),
        (gguf(SMALL, data=NUMBERS[:9]), "cut off within its tensors"),
    ],
)
def test_what_peft_cannot_hold_is_said(tmp_path: Path, data: bytes, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        write_peft(adapter(tmp_path, data), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_without_a_card_or_a_place_to_write(tmp_path: Path) -> None:
    known = adapter(tmp_path, gguf(SMALL))
    with pytest.raises(ConfigError, match="no card"):
        write_peft(replace(known, card=None), tmp_path / "out")
    with pytest.raises(ConfigError, match="no card that names known weights"):
        write_peft(adapter(tmp_path, gguf(SMALL), base="others"), tmp_path / "out")
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(ConfigError, match="cannot be written"):
        write_peft(known, tmp_path / "taken")
