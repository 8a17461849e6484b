"""Models that were trained here, on the real vLLM: what was taught is what it says."""

import asyncio
import json
from pathlib import Path

import engines
import pytest
import tiny

from haluagent import HaluAgent
from haluagent.models import OpenAIModel
from haluagent.protocols import Message

pytestmark = pytest.mark.vllm
HEADS = {"hidden_size": 128, "head_dim": 32}  # vLLM has no heads of 16 on a CPU
LONG = json.dumps({"max_position_embeddings": 32768})


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_an_adapter_is_trained_exported_and_served(family: str, tmp_path: Path) -> None:
    """The module says what was taught, its base something else; the agent's every call to the module is served."""
    from haluagent.train import sft
    from haluagent.train.export import export
    from haluagent.train.settings import settings

    base = tiny.model(family, tmp_path / "base", **HEADS)
    chosen = settings("small", rate=1e-2, epochs=15, max_tokens=256, targets="all")
    adapter = sft.train(str(base), tiny.trajectories(tmp_path / "data.jsonl"), tmp_path / "run", chosen)
    written = export(adapter, tmp_path / "exported")
    rank = json.loads((written.peft / "adapter_config.json").read_text())["r"]
    arguments = [
        "--model", str(base), "--lora", f"taught={written.peft}", "--max-lora-rank", str(rank), "--context", "16384",
        "--", "--enforce-eager", "--served-model-name", "base", "--hf-overrides", LONG,
    ]  # fmt: skip
    asked: list[Message] = [
        {"role": "system", "content": tiny.SYSTEM},
        {"role": "user", "content": "The tower is 3 metres high. Check S1."},
    ]

    async def said(model: OpenAIModel) -> str:
        try:
            return (await model.generate(asked, max_tokens=60)).text
        finally:
            await model.aclose()

    with engines.serving("vllm", arguments, tmp_path) as server:
        taught = engines.client(server, "taught")
        assert taught.context == 16384
        assert asyncio.run(said(taught)) == tiny.REPLY
        assert asyncio.run(said(engines.client(server, "base"))) != tiny.REPLY
        with HaluAgent(taught, sandbox="none", search="none") as agent:
            found = agent.detect("How high is the tower?", "It is 330 metres high.", "The tower is 330 metres high.")
    assert found.stop == "answer" and len(found.sentences) == 1
    assert all(step.call is not None for step in found.steps)
