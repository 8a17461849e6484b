"""A small real model on the CPU: taught, exported, loaded by the embedded engine; and preferences."""

import json
from pathlib import Path
from typing import Any

import pytest
import tiny

from haluagent.errors import ConfigError
from haluagent.train.trajectories import records

pytestmark = pytest.mark.train
BASE = "smollm2-135m-instruct-q4_1"
SOUGHT = "THOUGHT: zebra\nACTION: match(sentence=S1)"  # what no model says by itself


def losses(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "loss.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a training of some steps, which was interrupted once."""
    from haluagent.train.settings import settings
    from haluagent.train.sft import train

    folder = tmp_path_factory.mktemp("sft")
    records.write(folder / "data.jsonl", [tiny.trajectory(number, reply=SOUGHT) for number in range(100, 110)])
    chosen = settings("small", rate=3e-3, epochs=4, max_tokens=160, save_every=100)
    said: list[str] = []
    train(BASE, folder / "data.jsonl", folder / "run", chosen, minutes=0.0, say=said.append)
    stopped = len(losses(folder / "run"))
    train(BASE, folder / "data.jsonl", folder / "run", chosen, say=said.append)
    assert stopped == 1
    assert any(line == "continued from step 1" for line in said)
    return folder


def test_the_loss_falls_and_the_curve_is_whole(taught: Path) -> None:
    rows = losses(taught / "run")
    assert [row["step"] for row in rows] == list(range(1, len(rows) + 1))
    assert rows[-1]["loss"] < 0.2 * rows[0]["loss"]
    with pytest.raises(ConfigError, match="other settings"):
        from haluagent.train.settings import settings
        from haluagent.train.sft import train

        train(BASE, taught / "data.jsonl", taught / "run", settings("small"))


def test_a_second_round_goes_on_from_the_first(taught: Path) -> None:
    """It begins where the first ended: with what was taught, and at its rate's warm-up again."""
    from haluagent.train.settings import settings
    from haluagent.train.sft import train

    chosen = settings("small", max_tokens=160)
    train(BASE, taught / "data.jsonl", taught / "second", chosen, adapter=taught / "run" / "adapter", max_steps=1)
    first, second = losses(taught / "run"), losses(taught / "second")
    assert second[0]["loss"] < 1.5 * first[-1]["loss"] < 0.5 * first[0]["loss"]
    assert json.loads((taught / "second" / "training.json").read_text())["adapter"] == str(taught / "run" / "adapter")


def test_a_second_round_may_add_matrices(taught: Path) -> None:
    """They change nothing before the first step; those of layers that are not trained are not exported."""
    from safetensors.torch import load_file

    from haluagent.train.export import export
    from haluagent.train.settings import settings
    from haluagent.train.sft import train

    chosen = settings("small", max_tokens=160, targets="all", first_layer=20)
    place = train(BASE, taught / "data.jsonl", taught / "wide", chosen, adapter=taught / "run" / "adapter", max_steps=2)
    narrow, wide = losses(taught / "second"), losses(taught / "wide")
    assert abs(wide[0]["loss"] - narrow[0]["loss"]) < 1e-3
    exported = load_file(export(place, taught / "wide-exported").peft / "adapter_model.safetensors")
    layers = {name.split(".layers.")[1].split(".")[0] for name in exported if "mlp" in name}
    assert layers and all(int(layer) >= 20 for layer in layers)
    assert any(".layers.0.self_attn" in name for name in exported)


def test_an_exported_adapter_says_in_the_engine_what_it_says_in_transformers(taught: Path) -> None:
    from haluagent.train import check as checks
    from haluagent.train.base import gguf_path
    from haluagent.train.export import export

    written = export(taught / "run" / "adapter", taught / "exported", name="a/base")
    assert json.loads((written.peft / "adapter_config.json").read_text())["base_model_name_or_path"] == "a/base"
    conversations = checks.conversations_of(list(records.read(taught / "data.jsonl")))[:4]
    weights = gguf_path(BASE)
    assert weights is not None
    answers = checks.check(BASE, written.peft, weights, written.gguf, conversations, tokens=16)
    assert checks.judge(answers).split()[0] in ("3", "4")
    assert all(answer.engine_tuned != answer.engine_plain for answer in answers)


def test_queries_and_keys_are_in_the_order_of_llama_cpp() -> None:
    """The weights themselves tell: the file has them in the one order, transformers in the other."""
    import gguf
    import numpy as np
    import torch

    from haluagent.train.base import gguf_path, load_config, load_model
    from haluagent.train.export import _as_llama_rotates

    weights = gguf_path(BASE)
    assert weights is not None
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(weights).tensors}
    layer = load_model(BASE, torch.float32).model.layers[3].self_attn
    for name, place in (("q_proj", "blk.3.attn_q.weight"), ("k_proj", "blk.3.attn_k.weight")):
        there = gguf.quants.dequantize(tensors[place].data, tensors[place].tensor_type)
        here = getattr(layer, name).weight.detach().numpy()
        assert not np.allclose(here, there)
        assert np.allclose(_as_llama_rotates(here, name, load_config(BASE)), there)


def test_preferences(taught: Path) -> None:
    from haluagent.train.dpo import train
    from haluagent.train.settings import settings

    runs = [tiny.trajectory(number, label, reply, sample) for number in (1, 2) for sample, (label, reply) in enumerate(
        [("contradicted", SOUGHT), ("supported", "THOUGHT: no\nACTION: get_answer()")]
    )]  # fmt: skip
    records.write(taught / "samples.jsonl", runs)
    place = train(
        BASE, taught / "samples.jsonl", taught / "dpo", settings("preferences", rows=2, rate=1e-3, epochs=3),
        adapter=taught / "run" / "adapter",
    )  # fmt: skip
    rows = losses(taught / "dpo")
    assert abs(rows[0]["loss"] - 0.6931) < 1e-3  # before the first step it is the reference itself
    assert rows[-1]["loss"] < rows[0]["loss"]
    assert rows[-1]["right"] == 1.0
    assert sorted(file.name for file in place.iterdir() if file.suffix in (".json", ".safetensors")) == [
        "adapter_config.json", "adapter_model.safetensors",
    ]  # fmt: skip
