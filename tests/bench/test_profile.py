"""Where time goes, and how busy the engine is kept: on the real engine."""

import json
from pathlib import Path

import pytest

from haluagent.bench.speed.profile import profile
from haluagent.bench.speed.throughput import measure
from haluagent.errors import ConfigError

ITEMS = [
    {"question": "What do they cost?", "response": "18 licences cost 18 * 45 = $810."},
    {
        "question": "Where does it rise?",
        "response": "In the hills.",
        "reference": "The Osk rises in the hills of Brod.",
    },
    {"question": "When did it open?", "response": "It opened in 1987.", "reference": "The library opened in 1978."},
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in ITEMS))
    return path


@pytest.mark.engine
def test_all_the_time_is_accounted_for(source: Path, model_path: Path) -> None:
    found = profile(source)
    parts = (found.prompt, found.generation, found.transport, found.tools, found.agent)
    assert found.items == 3 and min(parts) >= 0
    assert found.prompt > 0.1 and found.generation > 0.1  # the engine's own clock was read
    assert found.prompt + found.generation > 0.5 * found.total


@pytest.mark.engine
def test_the_engine_is_kept_busy(source: Path, model_path: Path) -> None:
    source.write_text("".join(source.read_text().splitlines(keepends=True)[:2]))
    (found,) = measure(source, in_flight=2, rounds=1)
    assert found.items == 2 and found.raw.failures == 0
    assert found.raw.requests == found.usage.calls  # the same requests were sent again
    assert 0.5 < found.share < 2


def test_an_item_that_cannot_be_checked_ends_the_measurement(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("{\n")
    with pytest.raises(ConfigError, match="not JSON"):
        profile(tmp_path / "in.jsonl")
