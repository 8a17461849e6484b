"""A step whose gradient is not a number is left out of a training, instead of making every weight so."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny

from haluagent.errors import ConfigError

pytestmark = pytest.mark.train

Trained = Callable[[set[int]], tuple[Path, list[str]]]


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trained:
    """Train a small model on rows of which those with the given numbers, from 1, have a loss that is not a number."""
    from haluagent.train import sft, trainer
    from haluagent.train.settings import settings

    base = tiny.model("qwen2", tmp_path / "base")
    data = tiny.trajectories(tmp_path / "data.jsonl")
    loss = trainer.tree_loss

    def train(broken: set[int]) -> tuple[Path, list[str]]:
        seen = 0

        def tree_loss(*given: Any) -> Any:
            nonlocal seen
            seen += 1
            return loss(*given) * (float("nan") if seen in broken else 1)

        monkeypatch.setattr(trainer, "tree_loss", tree_loss)
        said: list[str] = []
        chosen = settings("small", rate=1e-2, epochs=15, max_tokens=256)
        return sft.train(str(base), data, tmp_path / "run", chosen, say=said.append), said

    return train


def test_a_step_that_is_not_finite_is_left_out(trained: Trained) -> None:
    from safetensors.torch import load_file

    place, said = trained({2})
    assert all(tensor.isfinite().all() for tensor in load_file(place / "adapter_model.safetensors").values())
    assert "step 2 is left out: its gradient is not finite" in said
    steps = [json.loads(line)["step"] for line in (place.parent / "loss.jsonl").read_text().splitlines()]
    assert steps[:3] == [1, 3, 4] and (place.parent / "loss.svg").exists()


def test_a_training_ends_where_none_is_finite_any_more(trained: Trained) -> None:
    with pytest.raises(
        ConfigError, match="the gradients of 10 steps in a row are not finite, up to step 12: give a lower --rate"
    ):
        trained(set(range(3, 100)))
