"""The package's adapters as a peft directory, for engines that do not read GGUF (vLLM, transformers).

A GGUF adapter and a peft one hold the same matrices in the same order; only the names and the container differ. The formats:
https://github.com/ggml-org/ggml/blob/master/docs/gguf.md and https://github.com/huggingface/safetensors.
"""

import json
import re
import struct
from pathlib import Path

from haluagent.errors import ConfigError
from haluagent.models.adapters import Adapter
from haluagent.models.gguf import GGUFTensor, read_metadata, read_tensors
from haluagent.models.weights import store
from haluagent.models.weights.catalogue import KNOWN

WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"
ARCHITECTURES = ("qwen2", "qwen3")  # the rows of their queries and keys have the same order in both
_MODULES = {
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip
_NAME = re.compile(r"blk\.(?P<layer>\d+)\.(?P<module>\w+)\.weight\.lora_(?P<side>[ab])")
_TYPES = {0: "F32", 1: "F16"}  # of GGUF, and as safetensors calls them
_SIZE = struct.Struct("<Q")


def write_peft(adapter: Adapter, folder: Path | None = None) -> Path:
    """Write an adapter as `folder/NAME`, by default below the weights, with the files `adapter_model.safetensors` and
    `adapter_config.json`, and return that directory. One that is there is written anew. Raises ConfigError for an adapter without a
    card, of an architecture whose matrices llama.cpp reorders, or with tensors that are not those of a LoRA; and where nothing
    can be written."""
    file, card = adapter.checked(), adapter.card
    if card is None or card.base not in KNOWN:
        raise ConfigError(f"{file} has no card that names known weights: use the directory of its training instead")
    about = read_metadata(file)
    architecture = about.get("general.architecture")
    if architecture not in ARCHITECTURES:
        raise ConfigError(
            f"an adapter for {architecture} is reordered in GGUF: use the directory of its training instead"
        )
    tensors = {_named(tensor, file): tensor for tensor in read_tensors(file)}
    alpha = about.get("adapter.lora.alpha", card.rank)
    config = {
        "peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": KNOWN[card.base].repository,
        "r": card.rank, "lora_alpha": round(alpha), "lora_dropout": 0.0, "bias": "none", "inference_mode": True,
        "target_modules": sorted({name.rsplit(".", 3)[1] for name in tensors}),
    }  # fmt: skip
    place = (folder or store.folder() / "peft") / adapter.name
    try:
        place.mkdir(parents=True, exist_ok=True)
        _write_safetensors(tensors, file, place / WEIGHTS)
        (place / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{place} cannot be written: {error.strerror}") from error
    return place


def _named(tensor: GGUFTensor, file: Path) -> str:
    match = _NAME.fullmatch(tensor.name)
    if match is None or match["module"] not in _MODULES or tensor.kind not in _TYPES:
        raise ConfigError(f"{file} has the tensor {tensor.name}, which peft has no place for")
    return f"base_model.model.model.layers.{match['layer']}.{_MODULES[match['module']]}.lora_{match['side'].upper()}.weight"


def _write_safetensors(tensors: dict[str, GGUFTensor], file: Path, out: Path) -> None:
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, tensor in tensors.items():
        shape = list(reversed(tensor.shape))  # GGUF names the fastest dimension first
        header[name] = {"dtype": _TYPES[tensor.kind], "shape": shape, "data_offsets": [at, at + tensor.size]}
        at += tensor.size
    described = json.dumps(header).encode()
    described += b" " * (-len(described) % 8)
    with file.open("rb") as source, out.open("wb") as target:
        target.write(_SIZE.pack(len(described)) + described)
        for tensor in tensors.values():
            source.seek(tensor.offset)
            target.write(source.read(tensor.size))
