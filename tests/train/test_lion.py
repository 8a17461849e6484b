"""Lion makes the steps of its paper's algorithm 2, and the preset is that of Lynx."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from haluagent.cli.train import app
from haluagent.errors import ConfigError
from haluagent.train.settings import PRESETS


@pytest.mark.train
def test_a_step_is_the_papers() -> None:
    import torch

    from haluagent.train.lion import Lion

    weight = torch.nn.Parameter(torch.tensor([1.0, -1.0, 0.5]))
    optimizer = Lion([weight], lr=0.1, betas=(0.9, 0.5), weight_decay=0.1)
    weight.grad = torch.tensor([2.0, -0.01, 0.0])
    optimizer.step()
    # The decay first, then the sign of the gradient, whatever its size; nothing for a gradient of zero.
    assert weight.tolist() == pytest.approx([0.99 - 0.1, -0.99 + 0.1, 0.495])
    weight.grad = torch.tensor([-1.0, 0.0, 0.0])
    optimizer.step()
    # The moment is half of the first gradient, (1, -0.005, 0): 0.9 of it still outweighs a tenth of the new one.
    assert weight.tolist() == pytest.approx([0.89 * 0.99 - 0.1, -0.89 * 0.99 + 0.1, 0.495 * 0.99])
    assert [moment.tolist() for moment in (state["moment"] for state in optimizer.state.values())] == [
        pytest.approx([0.0, -0.0025, 0.0])
    ]


@pytest.mark.train
def test_lion_finds_a_minimum() -> None:
    import torch

    from haluagent.train.lion import Lion

    weight = torch.nn.Parameter(torch.tensor([3.0]))
    optimizer = Lion([weight], lr=0.05, betas=(0.9, 0.95))

    def loss() -> Any:
        optimizer.zero_grad()
        found = ((weight - 1) ** 2).sum()
        found.backward()
        return found

    for _ in range(200):
        optimizer.step(loss)
    assert weight.item() == pytest.approx(1.0, abs=0.3)


def test_preferences_are_not_trained_with_it(tmp_path: Path) -> None:
    given = ["dpo", "--base", "b", "--data", "d", "--out", str(tmp_path), "--preset", "lynx", "--rank", "8"]
    error = CliRunner().invoke(app, given).exception
    assert isinstance(error, ConfigError) and "AdamW" in str(error)


def test_the_preset_is_that_of_lynx() -> None:
    lynx = PRESETS["lynx"]
    assert (lynx.rate, lynx.epochs, lynx.rows, lynx.rank, lynx.warmup, lynx.optimizer) == (5e-7, 3, 256, 0, 100, "lion")
