"""Rows of a step that are computed at once."""

import json
from pathlib import Path

import pytest
import tiny

from haluagent.errors import ConfigError
from haluagent.train.settings import settings


def test_a_step_has_whole_batches() -> None:
    assert settings("small", rows=4, together=2).together == 2
    with pytest.raises(ConfigError, match="--rows 1 cannot be computed 4 together: give a multiple"):
        settings("small", together=4)


@pytest.mark.train
def test_a_training_is_the_same_with_rows_computed_together(tmp_path: Path) -> None:
    from haluagent.train import sft

    base, data = tiny.model("qwen2", tmp_path / "base"), tiny.trajectories(tmp_path / "data.jsonl")
    curves = []
    for together in (1, 2):
        chosen = settings("small", rate=1e-2, epochs=6, max_tokens=256, rows=2, together=together)
        sft.train(str(base), data, tmp_path / str(together), chosen)
        lines = (tmp_path / str(together) / "loss.jsonl").read_text().splitlines()
        curves.append([json.loads(line)["loss"] for line in lines])
    assert len(curves[0]) > 3
    assert curves[0] == pytest.approx(curves[1], rel=0.02)
