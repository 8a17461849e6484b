"""Two processes train what one with twice the rows does: each on a copy of the weights, or on its half of them (FSDP)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tiny

pytestmark = [pytest.mark.train, pytest.mark.timeout(600)]
# Accelerate divides weights among processes on GPUs only: here it takes the CPU for another kind of device.
DIVIDED = """
import sys
from accelerate import PartialState
from accelerate.utils import DistributedType

begin = PartialState.__init__

def as_devices(state, *arguments, **options):
    begin(state, *arguments, **options)
    if state.distributed_type == DistributedType.MULTI_CPU:
        state.distributed_type = DistributedType.MULTI_HPU

PartialState.__init__ = as_devices

from haluagent.cli.main import run
from haluagent.train import course

save = course.save

def checked(trainer, *arguments):
    assert trainer.is_fsdp_enabled
    save(trainer, *arguments)

course.save = checked
sys.exit(run(sys.argv[1:]))
"""
FSDP = {
    "ACCELERATE_USE_FSDP": "true", "FSDP_VERSION": "2", "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP",
    "FSDP_RESHARD_AFTER_FORWARD": "true", "FSDP_STATE_DICT_TYPE": "FULL_STATE_DICT", "FSDP_CPU_RAM_EFFICIENT_LOADING": "false",
}  # fmt: skip


def sft(folder: Path, out: str, launched: list[str], env: dict[str, str], *more: str) -> str:
    command = [sys.executable, *launched, "train", "sft", "--base", "base", "--data", "data.jsonl", "--out", out]
    command += ["--max-tokens", "256", "--max-steps", "3", *more]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | {"OMP_NUM_THREADS": "1"} | env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base, data, and what one process makes of them with two rows a step."""
    folder = tmp_path_factory.mktemp("several")
    tiny.model("qwen2", folder / "base")
    tiny.trajectories(folder / "data.jsonl", 12)
    (folder / "divided.py").write_text(DIVIDED)
    sft(folder, "one", ["-m", "haluagent"], {}, "--rows", "2")
    return folder


@pytest.mark.parametrize("kind", ["copies", "halves"])
def test_two_processes_do_what_one_does_with_two_rows(kind: str, folder: Path) -> None:
    from safetensors.torch import load_file

    module = ["-m", "haluagent"] if kind == "copies" else ["divided.py"]
    env = {} if kind == "copies" else FSDP
    said = sft(folder, kind, ["-m", "torch.distributed.run", "--nproc_per_node", "2", *module], env)
    assert said.count(f"written: {kind}/adapter") == 1  # one of them speaks and writes
    rows, one = (
        [json.loads(line) for line in (folder / name / "loss.jsonl").read_text().splitlines()] for name in (kind, "one")
    )
    assert [row["step"] for row in rows] == [1, 2, 3]
    assert [row["loss"] for row in rows] == pytest.approx([row["loss"] for row in one], abs=1e-3)
    made, alone = (load_file(folder / name / "adapter" / "adapter_model.safetensors") for name in (kind, "one"))
    assert made.keys() == alone.keys()
    assert max((made[name] - alone[name]).abs().max().item() for name in made) < 1e-3
