"""Tiny random models of the architectures that may be trained: trained, exported, and loaded again."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import tiny

from haluagent.errors import ConfigError
from haluagent.protocols import Message

pytestmark = pytest.mark.train
FAMILIES = [*tiny.FAMILIES, "packed"]


@pytest.fixture(scope="module", autouse=True)
def own_code_goes_elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Transformers copies the code of models to a folder of the user's, and imports it from there; the engine keeps prefixes."""
    from transformers import dynamic_module_utils

    with pytest.MonkeyPatch.context() as patch:
        folder = str(tmp_path_factory.mktemp("modules"))
        patch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", folder)
        patch.syspath_prepend(folder)
        patch.setenv("HALUAGENT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


class Trained(NamedTuple):
    family: str
    folder: Path
    base: Path
    adapter: Path

    @property
    def own_code(self) -> bool:
        return self.family == "packed"


@pytest.fixture(scope="module", params=FAMILIES)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    from haluagent.train import sft
    from haluagent.train.settings import settings

    family, folder = request.param, tmp_path_factory.mktemp(request.param)
    base = tiny.model(family, folder / "base")
    chosen = settings("small", rate=1e-2, epochs=15, max_tokens=256, targets="all")
    data = tiny.trajectories(folder / "data.jsonl")
    adapter = sft.train(str(base), data, folder / "run", chosen, trust_remote_code=family == "packed")
    return Trained(family, folder, base, adapter)


def logits(trained: Trained, adapter: Path | None) -> Any:
    """The logits after a prompt, with an adapter loaded by peft as others would."""
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    model: Any = AutoModelForCausalLM.from_pretrained(
        trained.base, dtype=torch.float32, trust_remote_code=trained.own_code
    )
    if adapter is not None:
        model = PeftModel.from_pretrained(model, str(adapter))
    ids = tiny.tokenizer().encode(f"{tiny.SYSTEM} {tiny.REPLY}")
    with torch.no_grad():
        return model.eval()(input_ids=torch.tensor([ids])).logits


def test_the_loss_falls(trained: Trained) -> None:
    losses = [json.loads(line)["loss"] for line in (trained.folder / "run" / "loss.jsonl").read_text().splitlines()]
    assert sum(losses[-3:]) < 0.8 * sum(losses[:3])


def test_the_exported_adapter_computes_what_the_trained_one_does(trained: Trained) -> None:
    import torch

    from haluagent.train.export import export

    written = export(trained.adapter, trained.folder / "exported")
    plain, tuned, again = (logits(trained, adapter) for adapter in (None, trained.adapter, written.peft))
    effect = (tuned - plain).abs().mean()
    assert effect > 0.1
    assert (again - tuned).abs().mean() < 0.01 * effect  # the exported one is in float16
    names = set(json.loads((written.peft / "adapter_config.json").read_text())["target_modules"])
    attention = {"W_pack"} if trained.own_code else {"q_proj", "k_proj", "v_proj"}
    assert names == attention | {"o_proj", "gate_proj", "up_proj", "down_proj"}
    assert torch.isfinite(tuned).all()


def test_llama_cpp_says_with_the_adapter_what_was_taught(trained: Trained) -> None:
    """Without it, it says something else. What brings its own code has no weights for llama.cpp here: see the next test."""
    from haluagent.models.engines.embedded import EmbeddedModel
    from haluagent.train.export import export

    if trained.own_code:
        return
    adapter = export(trained.adapter, trained.folder / "for-llama-cpp").gguf
    weights = tiny.gguf(trained.base, trained.folder / "base.gguf")
    asked: list[Message] = [
        {"role": "system", "content": tiny.SYSTEM},
        {"role": "user", "content": "The tower is 3 metres high. Check S1."},
    ]

    async def said(lora: Path | None) -> str:
        model = EmbeddedModel(str(weights), lora=lora, adapter=None, context=512)
        try:
            return (await model.generate(asked, max_tokens=60)).text
        finally:
            await model.aclose()

    assert asyncio.run(said(adapter)) == tiny.REPLY
    assert asyncio.run(said(None)) != tiny.REPLY


def test_it_detects(trained: Trained) -> None:
    """It knows nothing; but what it writes is held to the grammar, and the detection comes to its end."""
    from haluagent import HaluAgent
    from haluagent.models.engines.embedded import EmbeddedModel
    from haluagent.train.export import export

    if trained.own_code:
        return
    adapter = export(trained.adapter, trained.folder / "for-detection").gguf
    weights = tiny.gguf(trained.base, trained.folder / "for-detection.gguf")
    model = EmbeddedModel(str(weights), lora=adapter, adapter=None, context=16384)
    with HaluAgent(model, sandbox="none", search=None) as agent:
        found = agent.detect("How high is the tower?", "It is 330 metres high.", "The tower is 330 metres high.")
    assert found.stop == "answer" and len(found.sentences) == 1


def test_a_packed_matrix_is_three_in_a_gguf_file(tmp_path: Path) -> None:
    """Queries and keys are reordered as those of the llama architecture, values are not; they have their A in common."""
    import gguf
    import numpy as np
    import torch
    from safetensors.torch import save_file

    from haluagent.train.export import _as_llama_rotates, export

    base = tiny.model("packed", tmp_path / "base")
    a, b = torch.randn(8, 64), torch.randn(192, 8)
    name = "base_model.model.model.layers.1.self_attn.W_pack.lora_{}.weight"
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    save_file({name.format("A"): a, name.format("B"): b}, adapter / "adapter_model.safetensors")
    (adapter / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 8, "lora_alpha": 16}))
    file = export(adapter, tmp_path / "out", base=str(base)).gguf
    found = {tensor.name: tensor.data for tensor in gguf.GGUFReader(file).tensors}
    heads = SimpleNamespace(num_attention_heads=4)
    for number, (short, long) in enumerate({"q": "q_proj", "k": "k_proj", "v": "v_proj"}.items()):
        part = b[64 * number : 64 * (number + 1)].half().numpy()
        assert np.array_equal(found[f"blk.1.attn_{short}.weight.lora_a"], a.half().numpy())
        assert np.array_equal(found[f"blk.1.attn_{short}.weight.lora_b"], _as_llama_rotates(part, long, heads))
    assert len(found) == 6


def test_a_dry_run_knows_its_size(trained: Trained) -> None:
    from safetensors.torch import load_file

    from haluagent.train.architecture import read

    sizes = read(str(trained.base))
    assert sizes.own_code is trained.own_code
    numbers = sum(tensor.numel() for tensor in load_file(trained.base / "model.safetensors").values())
    assert sizes.parameters == numbers


def test_a_training_stopped_early_goes_on(trained: Trained) -> None:
    from haluagent.train import sft
    from haluagent.train.settings import settings

    out, said = trained.folder / "stopped", []  # type: ignore[var-annotated]
    chosen = settings("small", max_tokens=256)
    for minutes in (0.0, None):
        sft.train(
            str(trained.base), trained.folder / "data.jsonl", out, chosen,
            trust_remote_code=trained.own_code, minutes=minutes, max_steps=3, say=said.append,
        )  # fmt: skip
    assert "continued from step 1" in said
    assert [json.loads(line)["step"] for line in (out / "loss.jsonl").read_text().splitlines()] == [1, 2, 3]


def test_code_of_its_own_runs_only_with_consent(tmp_path: Path) -> None:
    from haluagent.train import sft
    from haluagent.train.base import load_model
    from haluagent.train.settings import settings

    base = tiny.model("packed", tmp_path / "base")
    ran = tmp_path / "ran"
    code = base / "configuration_packed.py"
    code.write_text(f"open({str(ran)!r}, 'w').close()\n" + code.read_text())
    data = tiny.trajectories(tmp_path / "data.jsonl")
    with pytest.raises(ConfigError, match="brings code of its own: read it, then give --trust-remote-code"):
        sft.train(str(base), data, tmp_path / "run", settings("small"), max_steps=1)
    assert not ran.exists()
    import torch

    load_model(str(base), torch.bfloat16, trust_remote_code=True)
    assert ran.exists()


def test_rows_of_one_call_each_have_the_loss_of_the_trees(tmp_path: Path) -> None:
    """What code of a model's own computes row by row is what transformers' models compute in trees."""
    import torch

    from haluagent.train.base import load_model, load_tokenizer
    from haluagent.train.examples import Encoder
    from haluagent.train.settings import settings
    from haluagent.train.sft import columns, rows_of
    from haluagent.train.trainer import collate, tree_loss

    base = str(tiny.model("qwen3", tmp_path / "base"))
    data, chosen = tiny.trajectories(tmp_path / "data.jsonl"), settings("small", max_tokens=600)
    model, encoder = load_model(base, torch.float32).eval(), Encoder(load_tokenizer(base))
    losses = []
    for apart in (False, True):
        rows, _ = rows_of(data, encoder, chosen, apart=apart)
        losses.append(sum(tree_loss(model, collate([columns(row)]), apart).item() for row in rows))
        assert len(rows) == (12 if apart else 2)
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
