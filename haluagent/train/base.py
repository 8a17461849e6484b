"""Load the base model of a training from a hub, a directory or a GGUF file."""

import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haluagent.errors import ConfigError
from haluagent.models.engines.embedded import EmbeddedModel
from haluagent.models.weights import catalogue

if TYPE_CHECKING:
    import torch
    from transformers import BitsAndBytesConfig, PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

FOUR_BIT = 'training with --four-bit needs a GPU with CUDA and bitsandbytes: pip install "haluagent[train,qlora]"'
EXTRA = 'training needs torch, transformers, trl and peft: pip install "haluagent[train]"'
COMPILED = "64"  # more than a row needs: fewer would be compiled anew for every layer


def require_extra() -> None:
    """Check that the packages for training are installed, and raise ConfigError if not. Let torch use every available
    core, and silence the warnings and progress bars of the libraries."""
    os.environ.setdefault("TQDM_DISABLE", "1")  # both variables are read at import
    # Otherwise OpenMP's threads spin while waiting: beside another busy process, a step took three times as long.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    # By default 1,024 compiled operations of each length of row are kept: after 40 rows, three times the memory.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", COMPILED)
    os.environ.setdefault("LRU_CACHE_CAPACITY", COMPILED)
    warnings.filterwarnings("ignore", module=r"(transformers|peft|trl)\.")
    try:
        import gguf  # noqa: F401
        import peft  # noqa: F401
        import torch
        import transformers
        import trl  # noqa: F401
    except ImportError as error:
        raise ConfigError(f"{EXTRA} ({error})") from error
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if sys.platform == "linux":  # torch counts the cores of the machine, not those that this process may use
        torch.set_num_threads(len(os.sched_getaffinity(0)))


def is_main() -> bool:
    """Return whether this is the process that writes, of those that `accelerate launch` started, or the only one."""
    return os.environ.get("RANK", "0") == "0"


def load_tokenizer(base: str, trust_remote_code: bool = False) -> "PreTrainedTokenizerBase":
    """Return the tokenizer with its chat template. Raises ConfigError if it cannot be loaded, as where it brings code of its own
    that is not to be trusted."""
    from transformers import AutoTokenizer

    place, options = _place(base)
    try:
        return AutoTokenizer.from_pretrained(place, trust_remote_code=trust_remote_code, **options)
    except (OSError, ValueError) as error:
        raise _not_loaded(base, error) from error


def load_config(base: str) -> "PretrainedConfig":
    """Return the model's configuration, of which code of its own is not run. Raises ConfigError if it cannot be loaded."""
    from transformers import AutoConfig, PretrainedConfig

    place, options = _place(base)
    try:
        return AutoConfig.from_pretrained(place, trust_remote_code=False, **options)
    except (OSError, ValueError) as error:
        if "trust_remote_code" in str(error):
            return PretrainedConfig.from_pretrained(place)
        raise _not_loaded(base, error) from error


def load_model(
    base: str, dtype: "torch.dtype", *, four_bit: bool = False, trust_remote_code: bool = False
) -> "PreTrainedModel":
    """Return the weights as `dtype`, or in four bits on the GPU of this process. Those of a GGUF file are dequantized, which needs
    their size in float32 (8.6 GB and 40 s for 1.5 billion parameters). Raises ConfigError if they cannot be loaded."""
    import torch
    from transformers import AutoModelForCausalLM, GgufConfig

    place, file = _place(base)
    options: dict[str, Any] = {"dtype": dtype, "trust_remote_code": trust_remote_code}
    if not trust_remote_code:  # a model's own code may know no attention but its own
        options["attn_implementation"] = "sdpa"
    if file and four_bit:
        raise ConfigError(f"{base} is quantized already: for --four-bit name the model that it was made from")
    if file:
        options |= file | {"quantization_config": GgufConfig(dequantize=True), "dtype": torch.float32}
    elif four_bit:
        require_four_bit()
        gpu = int(os.environ.get("LOCAL_RANK", "0"))  # of several processes, each has its own
        options |= {"quantization_config": four_bit_config(), "device_map": {"": gpu}}
    try:
        model = AutoModelForCausalLM.from_pretrained(place, **options)
    except (OSError, ValueError) as error:
        raise _not_loaded(base, error) from error
    model.config.use_cache = False
    return model if four_bit else model.to(dtype)


def require_four_bit() -> None:
    """Check that weights can be held in four bits, and raise ConfigError if not."""
    import torch

    try:
        import bitsandbytes  # noqa: F401
    except ImportError as error:
        raise ConfigError(f"{FOUR_BIT} ({error})") from error
    if not torch.cuda.is_available():
        raise ConfigError(f"{FOUR_BIT} (torch sees no GPU)")


def four_bit_config() -> "BitsAndBytesConfig":
    """Return the quantization of QLoRA (Dettmers et al. 2023): NormalFloat4, its scales quantized too, computed in bfloat16. Stored
    as bfloat16, because only so can FSDP divide it."""
    import torch
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
        bnb_4bit_quant_storage=torch.bfloat16,
    )


def gguf_path(base: str) -> Path | None:
    """Return the file if the base is a GGUF file or a name from `haluagent model list`, pulling it if necessary;
    otherwise None."""
    if base.endswith(".gguf") and not base.startswith(catalogue.HUB):
        return Path(base)
    if not catalogue.is_known(base):
        return None

    return EmbeddedModel(base).path()


def _place(base: str) -> tuple[str, dict[str, Any]]:
    """Return the argument for `from_pretrained`, with the options for a GGUF file."""
    file = gguf_path(base)
    if file is None:
        return base, {}
    if not file.is_file():
        raise ConfigError(f"{file} is not there: name a GGUF file, a directory or a model of a hub")
    return str(file.resolve().parent), {"gguf_file": file.name}


def _not_loaded(base: str, error: Exception) -> ConfigError:
    if "trust_remote_code" in str(error):
        return ConfigError(f"{base} brings code of its own: read it, then give --trust-remote-code to run it")
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return ConfigError(f"the base model {base} cannot be loaded: {reason}")
