"""What a training can run on: this machine, or one that is named, with its memory and how fast it is assumed to compute."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from haluagent.errors import ConfigError

PEAKS = {
    "3090": 71,
    "4090": 165,
    "l4": 121,
    "a100": 312,
    "h100": 989,
    "h200": 989,
}  # dense bfloat16, TFLOP/s: data sheets
GPUS = {  # memory in GB, and the chip
    "rtx-3090": (24, "3090"),
    "rtx-4090": (24, "4090"),
    "l4": (24, "l4"),
    "a100-40gb": (40, "a100"),
    "a100-80gb": (80, "a100"),
    "h100": (80, "h100"),
    "h200": (141, "h200"),
}
USED, USED_FOUR_BIT = 0.3, 0.2  # assumed: the share of this that a training reaches
CORE_AMX, CORE = (
    0.3,
    0.02,
)  # assumed: TFLOP/s of a core; with AMX 85 to 170 tokens a second of a 1.5B were measured on two
UNKNOWN_GPU = 100  # assumed: TFLOP/s of a GPU that is not in the table


@dataclass(frozen=True)
class Machine:
    """Where a training runs. `memory` is in bytes, of each of its `gpus`, or its own where there is none; `ram` is its own.
    `peak` is in TFLOP/s, of which `share` is assumed to be reached."""

    name: str
    gpus: int
    memory: int
    ram: int | None
    peak: float
    share: float

    @property
    def speed(self) -> float:
        """The operations per second of all GPUs, or of the cores, that are assumed."""
        return self.peak * self.share * 1e12 * max(self.gpus, 1)


def named(name: str, four_bit: bool) -> Machine:
    """Return the machine of a name such as `rtx-4090` or `4xa100-80gb`. Raises ConfigError for an unknown one."""
    match = re.fullmatch(r"(?:([1-9]\d*)x)?([a-z0-9-]+)", name.lower())
    if match is None or match[2] not in GPUS:
        raise ConfigError(
            f"there is no machine {name}: take one of {', '.join(GPUS)}, with a number before it as in 4xl4"
        )
    size, chip = GPUS[match[2]]
    count = int(match[1] or 1)
    return Machine(f"{count} x {match[2]}", count, size * 10**9, None, PEAKS[chip], USED_FOUR_BIT if four_bit else USED)


def this(four_bit: bool) -> Machine:
    """Return this machine: its GPUs, if torch sees some, otherwise its cores."""
    ram = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        import torch

        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    except ImportError:
        count = 0
    if count:
        about = torch.cuda.get_device_properties(0)
        chip = re.search(rf"\b({'|'.join(PEAKS)})\b", about.name.lower())
        peak = PEAKS[chip[1]] if chip else UNKNOWN_GPU
        share = USED_FOUR_BIT if four_bit else USED
        return Machine(f"{count} x {about.name}", count, about.total_memory, ram, peak, share)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    amx = _has_amx()
    name = f"{cores} cores {'with' if amx else 'without'} AMX"
    return Machine(name, 0, ram, ram, cores * (CORE_AMX if amx else CORE), 1.0)


def _has_amx() -> bool:
    try:
        return "amx_bf16" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False
