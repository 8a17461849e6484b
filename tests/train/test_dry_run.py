"""What a training takes is reckoned without its weights, and compared with a machine."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
from typer.testing import CliRunner

from haluagent.cli.train import app
from haluagent.errors import ConfigError
from haluagent.train import architecture, dry_run, machine
from haluagent.train.base import gguf_path
from haluagent.train.dry_run import Load
from haluagent.train.examples import RoughEncoder
from haluagent.train.memory import FOUR_BIT, kept_by_layer, memory, trained
from haluagent.train.settings import TARGETS, settings

GB = 10**9
PUBLISHED = {  # the numbers of parameters that the makers or the hub state
    "Qwen/Qwen2.5-7B-Instruct": 7_615_616_512,
    "baichuan-inc/Baichuan2-7B-Chat": 7_505_973_248,
    "baichuan-inc/Baichuan2-13B-Chat": 13_896_668_160,
    "meta-llama/Llama-3.1-8B-Instruct": 8_030_261_248,
    "Qwen/Qwen3-8B": 8_190_735_360,
}


@pytest.mark.parametrize("base", list(PUBLISHED))
def test_the_parameters_of_the_named_bases(base: str) -> None:
    assert architecture.read(base).parameters == PUBLISHED[base]


def test_a_lora_on_attention() -> None:
    """Rank 16, at 28 layers: (3584 + 3584) and twice (3584 + 512) and (3584 + 3584), for queries, keys, values and the outcome."""
    sizes = architecture.read("Qwen/Qwen2.5-7B-Instruct")
    assert trained(sizes, settings("small")) == 28 * 16 * (7168 + 2 * 4096 + 7168)
    assert trained(sizes, settings("small", first_layer=21)) * 4 == trained(sizes, settings("small"))
    assert trained(sizes, settings("paper-en")) == sizes.parameters
    packed = architecture.read("baichuan-inc/Baichuan2-7B-Chat")
    assert trained(packed, settings("small")) == 32 * 16 * (4096 + 3 * 4096 + 4096 + 4096)


@pytest.mark.parametrize(("tokens", "measured"), [(500, 6.0), (1500, 13.0)])
def test_what_was_measured_with_the_embedded_model(tokens: int, measured: float) -> None:
    """docs/training.md: on two cores, with a LoRA on attention; and 8.6 GB while the GGUF file is dequantized."""
    base = "qwen2.5-coder-1.5b-instruct-q4_k_m"
    needed = memory(
        architecture.read(base), settings("small"), tokens=tokens, learned=100, file=1_117_320_768
    )  # fmt: skip
    assert measured <= needed.total / GB < 1.35 * measured
    assert needed.loading / GB == pytest.approx(8.6, abs=0.1)


def test_the_parts_of_memory() -> None:
    sizes = architecture.read("Qwen/Qwen3-8B")
    plain, saving = settings("small"), settings("small", gradient_checkpointing=True)
    whole = memory(sizes, plain, tokens=1000, learned=50, gpus=1)
    assert whole.weights == 2 * sizes.parameters
    assert whole.trained == 16 * trained(sizes, plain)
    assert memory(sizes, saving, tokens=1000, learned=50, gpus=1).kept == 36 * 1000 * 4096 * 2
    four = memory(sizes, settings("small", four_bit=True), tokens=1000, learned=50, gpus=1)
    rest = sizes.parameters - 36 * sizes.layer
    assert four.weights == round(36 * sizes.layer * FOUR_BIT + 2 * rest)
    full = memory(sizes, settings("paper-en"), tokens=1000, learned=50, gpus=1)
    assert (
        full.weights + full.trained == 18 * sizes.parameters
    )  # 16 (docs/training.md), and a copy in bfloat16 during a step
    shared = memory(sizes, plain, tokens=1000, learned=50, gpus=4)
    assert shared.weights == whole.weights // 4 and shared.kept == whole.kept


def test_the_steps_and_their_time(capsys: pytest.CaptureFixture[str]) -> None:
    load = Load(rows=100, tokens=100_000, longest=1200, learned=60)
    base = "Qwen/Qwen2.5-7B-Instruct"
    assert dry_run.report(base, load, settings("small", rows=3, epochs=2), on="h100")
    assert "68 steps, 200000 tokens of rows" in capsys.readouterr().out  # 34 an epoch, the last one of a single row
    dry_run.report(base, load, settings("small"), on="2xh100")
    assert "50 steps, 100000 tokens" in capsys.readouterr().out
    dry_run.report(base, load, settings("small"), on="h100", max_steps=10)
    said = capsys.readouterr().out
    assert "10 steps, 10000 tokens" in said and "assumed, not measured: 30% of 989 TFLOP/s" in said


def test_what_to_change_if_it_does_not_fit(capsys: pytest.CaptureFixture[str]) -> None:
    load = Load(rows=100, tokens=150_000, longest=1536, learned=100)
    assert not dry_run.report("baichuan-inc/Baichuan2-13B-Chat", load, settings("paper-zh"), on="rtx-4090")
    *_, first, second, third, _ = capsys.readouterr().out.splitlines()
    assert first.startswith("with --rank 16: ")
    assert second.startswith("with --rank 16 and --gradient-checkpointing: ")
    assert third.startswith("with --rank 16 and --gradient-checkpointing and --four-bit it fits: ")
    assert dry_run.report("Qwen/Qwen3-8B", load, settings("small", four_bit=True, gradient_checkpointing=True), on="l4")


def test_machines() -> None:
    assert (machine.named("4xA100-80GB", False).gpus, machine.named("l4", False).memory) == (4, 24 * GB)
    assert machine.named("l4", True).speed < machine.named("l4", False).speed
    here = machine.this(False)
    assert here.memory > GB / 2 and here.speed > 0
    for name in ("tpu", "0xl4", "l4x2"):
        with pytest.raises(ConfigError, match="rtx-4090"):
            machine.named(name, False)


def test_the_gpus_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    about = SimpleNamespace(name="NVIDIA A100-SXM4-80GB", total_memory=80 * GB)
    cuda = SimpleNamespace(is_available=lambda: True, device_count=lambda: 2, get_device_properties=lambda index: about)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    here = machine.this(False)
    assert (here.name, here.gpus, here.memory, here.peak) == ("2 x NVIDIA A100-SXM4-80GB", 2, 80 * GB, 312)
    about.name = "Radeon"
    assert machine.this(False).peak == machine.UNKNOWN_GPU


def test_a_configuration_in_a_directory(tmp_path: Path) -> None:
    config = {
        "model_type": "llama",
        "vocab_size": 10,
        "hidden_size": 8,
        "intermediate_size": 12,
        "num_hidden_layers": 2,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError, match="lacks num_attention_heads"):
        architecture.read(str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps(config | {"num_attention_heads": 2}))
    sizes = architecture.read(str(tmp_path))
    assert (sizes.key_heads, sizes.head, sizes.own_code) == (2, 4, False)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "mamba"}))
    with pytest.raises(ConfigError, match="its family is mamba, not one of qwen2"):
        architecture.read(str(tmp_path))


def test_a_rough_encoder() -> None:
    encoder = RoughEncoder()
    first, second = (
        encoder.prompt([{"role": "system", "content": "Check."}, {"role": "user", "content": text}])
        for text in ("The tower", "The river")
    )
    assert first != second and first[:12] == second[:12]
    assert len(encoder.reply("核查这句话 1889", ends=False)) == 3 + 1 + 4
    assert encoder.reply("a")[-1] == encoder.end


def sft(*arguments: str, data: Path) -> Any:
    return CliRunner().invoke(app, ["sft", "--data", str(data), "--out", str(data.parent / "run"), *arguments])


def test_the_command_needs_no_tokenizer_no_weights_and_no_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("torch", "transformers", "huggingface_hub"):
        monkeypatch.setitem(sys.modules, name, None)
    data = tiny.trajectories(tmp_path / "data.jsonl")
    arguments = ["--base", "baichuan-inc/Baichuan2-7B-Chat", "--dry-run", "--machine", "rtx-4090", "--four-bit"]
    said = sft(*arguments, data=data)
    assert said.exit_code == 0, said.exception
    for part in (
        "12 rows",
        "estimates",
        "--trust-remote-code",
        "7.51 billion",
        "of 24 GB (1 x rtx-4090): it fits",
        "12 steps",
    ):
        assert part in said.output, said.output
    assert not (tmp_path / "run").exists()
    with_trees = sft("--base", "Qwen/Qwen3-8B", "--dry-run", data=data)
    assert "in 1 rows" in with_trees.output


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--machine", "h100"], "--machine is for --dry-run"),
        (["--dry-run", "--machine", "abacus"], "no machine abacus"),
        (["--four-bit", "--full"], "--four-bit is for an adapter"),
        (["--four-bit", "--preset", "paper-zh"], "--four-bit is for an adapter"),
    ],
)
def test_options_that_cannot_be(
    arguments: list[str], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tiny.trajectories(tmp_path / "data.jsonl")
    monkeypatch.setattr(dry_run, "encoder_of", lambda base: RoughEncoder())
    said = sft("--base", "Qwen/Qwen3-8B", *arguments, data=data)
    assert isinstance(said.exception, ConfigError) and reason in str(said.exception)


@pytest.mark.train
def test_the_sizes_in_a_gguf_file_are_those_of_its_name() -> None:
    name = "smollm2-135m-instruct-q4_1"
    file = gguf_path(name)
    assert file is not None
    assert architecture.read(str(file)) == architecture.read(name)


@pytest.mark.train
@pytest.mark.parametrize("family", list(tiny.FAMILIES))
@pytest.mark.parametrize("targets", ["attention", "all"])
def test_what_the_layers_keep_is_counted_in_their_own_code(family: str, targets: str) -> None:
    """Each tensor that is kept for the backward pass is counted once, but for the weights; small constants are not reckoned."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    config, tokens = tiny.config(family), 400
    sizes = architecture.parse(config.to_dict(), family)
    model: Any = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").to(torch.bfloat16)
    assert sum(weights.numel() for weights in model.parameters()) == sizes.parameters
    names = [name for name in TARGETS[targets] if name in sizes.matrices()]  # type: ignore[index]
    model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", r=16, target_modules=names))
    chosen = settings("small", targets=targets)
    assert sum(weights.numel() for weights in model.parameters() if weights.requires_grad) == trained(sizes, chosen)
    for module in model.modules():
        if hasattr(module, "cast_input_dtype_enabled"):
            module.cast_input_dtype_enabled = False
    own = {weights.untyped_storage().data_ptr() for weights in model.parameters()}
    kept: dict[int, Any] = {}

    def keep(tensor: Any) -> Any:
        if tensor.untyped_storage().data_ptr() not in own:
            kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage()
        return tensor

    mask = torch.ones(tokens, tokens, dtype=torch.bool).tril()[None, None]
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor), torch.autocast("cpu", torch.bfloat16):
        logits = model(
            input_ids=torch.zeros(1, tokens, dtype=torch.long), position_ids=torch.arange(tokens)[None],
            attention_mask=mask, logits_to_keep=1, use_cache=False,
        ).logits  # fmt: skip
        logits.float().logsumexp(-1).sum()
    counted = sum(storage.nbytes() for storage in kept.values())
    reckoned = sizes.layers * tokens * kept_by_layer(sizes, chosen, tokens)
    assert reckoned <= counted < 1.12 * reckoned  # the rest: the last norm, rotary angles, copies of the adapter
