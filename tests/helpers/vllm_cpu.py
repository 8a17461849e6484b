"""vLLM on the CPU, for the tests: its environment, and the model that it serves there. Both are in the cache.

`python tests/helpers/vllm_cpu.py` prepares them, which takes minutes and 2 GB. What is there already stays, and what was
interrupted is made again from what pip has downloaded. Why each step is needed: docs/engines.md.
"""

import os
import shutil
import sys
from pathlib import Path

PACKAGES = Path(__file__).with_suffix(
    ".txt"
)  # all of them; torchvision and others that belong to another torch are not
RELEASE = "0.32.0"
NAMED = f"vllm-{RELEASE}+cpu.dist-info"
BASE = "smollm2-135m-instruct-q4_1"
SETTINGS = {
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GB
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",  # two threads wait for each other where other processes have the cores
    "OMP_WAIT_POLICY": "passive",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS": "1800",  # a step on a machine that is busy with other things
    "HF_HUB_OFFLINE": "1",
}


def folder() -> Path:
    from haluagent.settings import cache_dir

    return cache_dir() / "vllm-cpu"


def executable() -> Path:
    return folder() / "environment" / "bin" / "vllm"


def model() -> Path:
    """The directory of the dequantized base."""
    return folder() / BASE


def is_prepared() -> bool:
    from haluagent.bench.peers.install import _is_made

    named = any(folder().glob(f"environment/lib/python3.*/site-packages/{NAMED}/METADATA"))
    return named and model().is_dir() and _is_made(folder() / "environment", PACKAGES.read_text("utf-8"))


def prepare() -> None:
    from haluagent.bench.peers.install import make

    make(folder() / "environment", PACKAGES.read_text("utf-8"), "vllm-cpu", print)
    _name()
    if not model().is_dir():
        _dequantize()
    print(f"the model is in {model()}")


def _name() -> None:
    """Name the distribution as vLLM asks for it; the version tells it that it runs on the CPU."""
    (packages,) = (folder() / "environment" / "lib").glob("python3.*/site-packages")
    (packages / NAMED).mkdir(exist_ok=True)
    (packages / NAMED / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {RELEASE}+cpu\n")


def _dequantize() -> None:
    """Write the base as bfloat16, which vLLM reads."""
    import torch

    from haluagent.train.base import load_model, load_tokenizer, require_extra

    require_extra()
    weights = load_model(BASE, torch.bfloat16)
    weights.hf_quantizer = None  # or it is saved as quantized, which it is no longer
    vars(weights.config).pop("quantization_config", None)
    part = model().with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    weights.save_pretrained(part)
    load_tokenizer(BASE).save_pretrained(part)
    os.replace(part, model())


if __name__ == "__main__":
    from haluagent.errors import ConfigError

    try:
        prepare()
    except ConfigError as error:
        sys.exit(f"error: {error}")
