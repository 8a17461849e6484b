"""QLoRA: the weights of the base in four bits. The GPU that this needs is a stand-in here."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import tiny

from haluagent.errors import ConfigError

pytestmark = pytest.mark.train


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setitem(sys.modules, "bitsandbytes", ModuleType("bitsandbytes"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)


def test_the_quantization_is_that_of_the_paper() -> None:
    import torch

    from haluagent.train.base import four_bit_config

    config = four_bit_config()
    assert (config.load_in_4bit, config.bnb_4bit_quant_type, config.bnb_4bit_use_double_quant) == (True, "nf4", True)
    assert config.bnb_4bit_compute_dtype == torch.bfloat16


@pytest.mark.parametrize("missing", ["bitsandbytes", "GPU"])
def test_what_is_missing_is_said_in_one_line(missing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import torch

    from haluagent.train.base import load_model

    there = None if missing == "bitsandbytes" else ModuleType("bitsandbytes")
    monkeypatch.setitem(sys.modules, "bitsandbytes", there)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError) as caught:
        load_model(str(tmp_path), torch.bfloat16, four_bit=True)
    (line,) = str(caught.value).splitlines()
    assert 'pip install "haluagent[train,qlora]"' in line and missing in line.partition("(")[2]


def test_a_quantized_file_is_refused(tmp_path: Path, gpu: None) -> None:
    import torch

    from haluagent.train.base import load_model

    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    with pytest.raises(ConfigError, match="is quantized already"):
        load_model(str(tmp_path / "a.gguf"), torch.bfloat16, four_bit=True)


def test_the_base_is_loaded_in_four_bits_and_the_adapter_trained_in_float32(
    tmp_path: Path, gpu: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stand-in loads the base as it is, and marks it as quantized: then trl makes bfloat16 of the adapter."""
    import torch
    import transformers
    from transformers import AutoModelForCausalLM

    from haluagent.train import sft
    from haluagent.train.settings import settings

    folder = tiny.model("qwen2", tmp_path / "base")
    asked: dict[str, Any] = {}
    load = AutoModelForCausalLM.from_pretrained

    def stand_in(place: str, **options: Any) -> Any:
        asked.update(options)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)  # the training itself runs on the CPU
        monkeypatch.delitem(sys.modules, "bitsandbytes")
        model = load(place, dtype=options["dtype"])
        model.is_loaded_in_8bit = True  # what is marked as 4 bits is looked into with bitsandbytes
        return model

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", stand_in)
    kinds: set[torch.dtype] = set()
    step = torch.optim.AdamW.step

    def watched(optimizer: Any, *arguments: Any, **options: Any) -> Any:
        kinds.update(weights.dtype for group in optimizer.param_groups for weights in group["params"])
        return step(optimizer, *arguments, **options)

    monkeypatch.setattr(torch.optim.AdamW, "step", watched)
    data = tiny.trajectories(tmp_path / "data.jsonl")
    chosen = settings("small", max_tokens=256, four_bit=True)
    place = sft.train(str(folder), data, tmp_path / "run", chosen, max_steps=2)
    assert asked["quantization_config"].bnb_4bit_quant_type == "nf4"
    assert asked["device_map"] == {"": 0}
    assert kinds == {torch.float32}
    assert (place / "adapter_model.safetensors").is_file()
