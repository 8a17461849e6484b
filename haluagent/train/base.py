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
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

EXTRA = 'training needs torch, transformers, trl and peft: pip install "haluagent[train]"'


def require_extra() -> None:
    """Check that the packages for training are installed, and raise ConfigError if not. Let torch use every available
    core, and silence the warnings and progress bars of the libraries."""
    os.environ.setdefault("TQDM_DISABLE", "1")  # both variables are read at import
    # Otherwise OpenMP's threads spin while waiting: beside another busy process, a step took three times as long.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
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


def load_tokenizer(base: str) -> "PreTrainedTokenizerBase":
    """Return the tokenizer with its chat template. Raises ConfigError if it cannot be loaded."""
    from transformers import AutoTokenizer

    place, options = _place(base)
    try:
        return AutoTokenizer.from_pretrained(place, **options)
    except (OSError, ValueError) as error:
        raise _not_loaded(base, error) from error


def load_config(base: str) -> "PretrainedConfig":
    """Return the model's configuration. Raises ConfigError if it cannot be loaded."""
    from transformers import AutoConfig

    place, options = _place(base)
    try:
        return AutoConfig.from_pretrained(place, **options)
    except (OSError, ValueError) as error:
        raise _not_loaded(base, error) from error


def load_model(base: str, dtype: "torch.dtype") -> "PreTrainedModel":
    """Return the weights as `dtype`. Those of a GGUF file are dequantized, which needs their size in float32 (8.6 GB
    and 40 s for 1.5 billion parameters). Raises ConfigError if they cannot be loaded."""
    import torch
    from transformers import AutoModelForCausalLM, GgufConfig

    place, options = _place(base)
    if options:
        options |= {"quantization_config": GgufConfig(dequantize=True), "dtype": torch.float32}
    else:
        options = {"dtype": dtype}
    try:
        model = AutoModelForCausalLM.from_pretrained(place, attn_implementation="sdpa", **options)
    except (OSError, ValueError) as error:
        raise _not_loaded(base, error) from error
    model.config.use_cache = False
    return model.to(dtype)


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
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return ConfigError(f"the base model {base} cannot be loaded: {reason}")
