"""Export one adapter in two forms: a peft directory for vLLM and a GGUF file for llama.cpp."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from haluagent.errors import ConfigError
from haluagent.models.peft import CONFIG, WEIGHTS
from haluagent.train.base import load_config, require_extra

if TYPE_CHECKING:
    import numpy as np
    import torch

_TENSOR = re.compile(r"base_model\.model\.(.+)\.lora_(A|B)\.weight")
_ARCHITECTURES = {"mistral": "llama"}  # architectures that llama.cpp names differently
_ROTATED = ("llama", "baichuan")  # those whose queries and keys llama.cpp has in another order


class Exported(NamedTuple):
    """The paths of the two forms."""

    peft: Path
    gguf: Path


def export(adapter: Path, out: Path, *, base: str | None = None, name: str | None = None) -> Exported:
    """Write `out/peft` and `out/adapter.gguf`, both in float16 and so with the same numbers. `base` is the model that
    the adapter was trained on (by default as recorded in the adapter); `name` is the name of the base in the peft
    directory, such as a hub's name for users who do not have this machine's files. Raises ConfigError if the adapter is
    not a plain LoRA."""
    require_extra()
    config = read_config(adapter)
    tensors = _read_tensors(adapter)
    base = base or str(config["base_model_name_or_path"])
    peft, file = out / "peft", out / "adapter.gguf"
    try:
        peft.mkdir(parents=True, exist_ok=True)
        _write_peft(tensors, config | {"base_model_name_or_path": name or base}, peft)
        _write_gguf(tensors, config, base, name or Path(base).name, file)
    except OSError as error:
        raise ConfigError(f"{out} cannot be written: {error}") from error
    return Exported(peft, file)


def read_config(adapter: Path) -> dict[str, Any]:
    """Return the adapter's configuration. Raises ConfigError if there is none or llama.cpp cannot express it."""
    path = adapter / CONFIG
    if not path.is_file():
        raise ConfigError(f"{adapter} holds no adapter: name the directory 'adapter' of a training")
    config: dict[str, Any] = json.loads(path.read_text())
    unusual = [
        key for key in ("use_rslora", "use_dora", "modules_to_save", "rank_pattern", "alpha_pattern") if config.get(key)
    ]
    if config.get("peft_type") != "LORA" or unusual:
        raise ConfigError(
            f"{adapter} is no plain LoRA ({', '.join(unusual) or config.get('peft_type')}): it has no GGUF form"
        )
    return config


def _read_tensors(adapter: Path) -> dict[tuple[str, str], "torch.Tensor"]:
    """Return the matrices by module and side (A or B), without those of modules that were not trained: their B is zero."""
    import torch
    from safetensors.torch import load_file

    tensors = {}
    for key, tensor in load_file(adapter / WEIGHTS).items():
        match = _TENSOR.fullmatch(key)
        if match is None:
            raise ConfigError(f"{adapter / WEIGHTS} has the tensor {key}, which is not of a LoRA: it has no GGUF form")
        tensors[match[1], match[2]] = tensor.to(torch.float16).contiguous()
    trained = {module for (module, side), tensor in tensors.items() if side == "B" and tensor.any()}
    if not trained:
        raise ConfigError(f"{adapter / WEIGHTS} changes nothing: all its B matrices are zero")
    return {(module, side): tensor for (module, side), tensor in tensors.items() if module in trained}


def _write_peft(tensors: dict[tuple[str, str], "torch.Tensor"], config: dict[str, Any], directory: Path) -> None:
    from safetensors.torch import save_file

    named = {f"base_model.model.{module}.lora_{side}.weight": tensor for (module, side), tensor in tensors.items()}
    save_file(named, directory / WEIGHTS, metadata={"format": "pt"})
    (directory / CONFIG).write_text(json.dumps(config, indent=2) + "\n")


def _write_gguf(
    tensors: dict[tuple[str, str], "torch.Tensor"], config: dict[str, Any], base: str, name: str, path: Path
) -> None:
    import gguf

    model = load_config(base)
    architecture = _ARCHITECTURES.get(model.model_type, model.model_type)
    known = {named: number for number, named in gguf.MODEL_ARCH_NAMES.items()}
    if architecture not in known:
        raise ConfigError(f"llama.cpp has no architecture {architecture}: there is no GGUF adapter for this base")
    names = gguf.get_tensor_name_map(known[architecture], model.num_hidden_layers)
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, float(config["lora_alpha"]))
    writer.add_base_model_count(1)
    writer.add_base_model_name(0, name)
    for (module, side), tensor in tensors.items():
        for part, matrix in _parts(module, side, tensor.numpy(), model):
            place = names.get_name(part)
            if place is None:
                raise ConfigError(f"llama.cpp has no place for {part} in {architecture}: train other --targets")
            if architecture in _ROTATED and side == "B":
                matrix = _as_llama_rotates(matrix, part, model)
            writer.add_tensor(f"{place}.weight.lora_{side.lower()}", matrix)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _parts(module: str, side: str, matrix: "np.ndarray", model: Any) -> Iterator[tuple[str, "np.ndarray"]]:
    """Yield a matrix under the name of its module; that of Baichuan's W_pack as those of queries, keys and values, which
    llama.cpp has apart. They have their A in common."""
    if not module.endswith("W_pack"):
        yield module, matrix
        return
    for number, name in enumerate(("q_proj", "k_proj", "v_proj")):
        size = model.hidden_size  # as many keys and values as queries
        part = matrix[number * size : (number + 1) * size] if side == "B" else matrix
        yield module.replace("W_pack", name), part


def _as_llama_rotates(matrix: "np.ndarray", module: str, model: Any) -> "np.ndarray":
    """Reorder the rows of a query or key matrix for llama.cpp, whose rotary embedding pairs neighbouring rows for this
    architecture; transformers pairs the two halves of a head."""
    if module.endswith("q_proj"):
        heads = model.num_attention_heads
    elif module.endswith("k_proj"):
        heads = getattr(model, "num_key_value_heads", None) or model.num_attention_heads
    else:
        return matrix
    halves = matrix.reshape(heads, 2, matrix.shape[0] // heads // 2, matrix.shape[1])
    return halves.swapaxes(1, 2).reshape(matrix.shape)
