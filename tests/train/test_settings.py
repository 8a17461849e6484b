"""Presets, what a directory remembers, and the curve."""

import json
import sys
import xml.dom.minidom
from dataclasses import asdict
from pathlib import Path

import pytest
from typer.testing import CliRunner

from haluagent.cli.train import app
from haluagent.errors import ConfigError
from haluagent.train.base import require_extra
from haluagent.train.course import remember
from haluagent.train.curve import LossCurve, average
from haluagent.train.settings import PRESETS, settings


def test_the_papers_numbers() -> None:
    en, zh = PRESETS["paper-en"], PRESETS["paper-zh"]
    assert (en.rate, en.epochs, en.max_tokens, en.rank) == (2e-5, 3, 4096, 0)
    assert (zh.rate, zh.epochs, zh.max_tokens, zh.rank) == (1e-5, 5, 4096, 0)


def test_a_preset_with_something_else() -> None:
    assert settings("small", rate=1e-3, seed=0, epochs=None).rate == 1e-3
    assert settings("small", epochs=None) == PRESETS["small"]
    with pytest.raises(ConfigError, match="small"):
        settings("big")


def test_a_directory_holds_one_training(tmp_path: Path) -> None:
    remember(tmp_path / "run", {"base": "a", "rows": 2})
    remember(tmp_path / "run", {"base": "a", "rows": 2})
    with pytest.raises(ConfigError, match="other rows"):
        remember(tmp_path / "run", {"base": "a", "rows": 3})


def test_a_continued_curve_drops_the_steps_that_are_made_again(tmp_path: Path) -> None:
    first = LossCurve(tmp_path, 0)
    for step in (1, 2, 3):
        first.add(step, 3.0 / step, 1e-4, 100 * step)
    second = LossCurve(tmp_path, 2)
    second.add(3, 0.5, 1e-4, 50)
    second.draw()
    rows = [json.loads(line) for line in (tmp_path / "loss.jsonl").read_text().splitlines()]
    assert [(row["step"], row["loss"], row["tokens"]) for row in rows] == [(1, 3.0, 100), (2, 1.5, 200), (3, 0.5, 250)]
    assert rows[2]["seconds"] >= rows[1]["seconds"]
    drawing = xml.dom.minidom.parse(str(tmp_path / "loss.svg"))
    lines = [line.getAttribute("points").split() for line in drawing.getElementsByTagName("polyline")]
    assert [len(points) for points in lines] == [3, 3]
    heights = [float(point.split(",")[1]) for point in lines[0]]
    assert heights == sorted(heights)  # a smaller loss stands lower


def test_the_mean_of_the_last_steps() -> None:
    assert average([2.0, 4.0]) == [2.0, 3.0]
    assert average([1.0] * 10 + [11.0])[-1] == 2.0


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ConfigError, match=r"haluagent\[train\]"):
        require_extra()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--targets", "some"], "attention, all"),
        (["--full", "--rank", "8"], "--rank"),
        (["--preset", "big"], "paper-en"),
        (["--adapter", "no-such-folder"], "holds no adapter"),
        (["--adapter", "a", "--full"], "teach all weights"),
        (["--adapter", "a", "--preset", "paper-zh"], "teach all weights"),
        (["--adapter", "a", "--rank", "8"], "--rank is that of the adapter"),
        (["--adapter", "a", "--dropout", "0.1", "--alpha", "8"], "--alpha, --dropout is that of the adapter"),
    ],
)
def test_options_that_cannot_be(arguments: list[str], reason: str, tmp_path: Path) -> None:
    said = CliRunner().invoke(app, ["sft", "--base", "b", "--data", "d", "--out", str(tmp_path), *arguments])
    assert isinstance(said.exception, ConfigError)
    assert reason in str(said.exception)


def test_a_directory_of_an_earlier_version_is_resumed(tmp_path: Path) -> None:
    """It was written when there were fewer settings; these have their defaults since."""
    now = asdict(settings("small"))
    earlier = {name: value for name, value in now.items() if name != "four_bit"}
    remember(tmp_path, {"base": "a", "settings": earlier})
    remember(tmp_path, {"base": "a", "settings": now})
    with pytest.raises(ConfigError, match="other settings"):
        remember(tmp_path, {"base": "a", "settings": now | {"four_bit": True}})
