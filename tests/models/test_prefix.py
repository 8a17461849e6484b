"""The state of a system prompt is kept on disk and found again by the next process."""

import asyncio
import hashlib
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from haluagent.errors import ConfigError, ModelError
from haluagent.models import EmbeddedModel
from haluagent.models.engines import llama_cpp
from haluagent.models.engines.prefix import KEPT, PrefixCache
from haluagent.models.weights import hub, parts
from haluagent.types import Usage

SYSTEM = "You count boxes. " * 40


def test_without_an_engine_nothing_is_kept_and_nothing_fails(tmp_path: Path) -> None:
    cache = PrefixCache("http://127.0.0.1:9", None, tmp_path, "engine")
    asyncio.run(cache.save(0, SYSTEM))
    assert asyncio.run(cache.restore(0, SYSTEM)) is False
    assert list(tmp_path.iterdir()) == []


def test_what_dead_processes_left_unfinished_is_removed(tmp_path: Path) -> None:
    old, new = tmp_path / "a.state.1.part", tmp_path / "b.state.2.part"
    for file in (old, new):
        file.write_bytes(b"half")
    os.utime(old, (0, 0))
    asyncio.run(PrefixCache("http://127.0.0.1:9", None, tmp_path, "engine").save(0, SYSTEM))
    assert list(tmp_path.iterdir()) == [new]


class Warming:
    """An engine's client and its states: `evaluate` raises what is queued, then succeeds."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors = list(errors)
        self.evaluated = 0

    async def evaluate(self, messages: Any, slot: int) -> Usage:
        self.evaluated += 1
        if self.errors:
            raise self.errors.pop(0)
        return Usage(calls=1)

    async def restore(self, slot: int, text: str) -> bool:
        return False

    async def save(self, slot: int, text: str) -> None:
        pass


def warmed(engine: Warming) -> EmbeddedModel:
    model = EmbeddedModel()
    model._client = model._prefixes = engine  # type: ignore[assignment]
    return model


def test_a_prompt_is_warm_only_after_it_was_evaluated() -> None:
    engine = Warming(OSError("interrupted"), ModelError("no answer"))
    model = warmed(engine)
    with pytest.raises(OSError):
        asyncio.run(model.warm(SYSTEM))
    assert [asyncio.run(model.warm(SYSTEM)).calls for _ in range(3)] == [0, 1, 0]
    assert engine.evaluated == 3


def test_a_template_that_refuses_is_not_asked_for_ever() -> None:
    engine = Warming(*[ModelError("roles must alternate")] * 9)
    model = warmed(engine)
    for _ in range(5):
        assert asyncio.run(model.warm(SYSTEM)) == Usage()
    assert engine.evaluated == 2


@pytest.mark.parametrize("name", ["smollm2-135m-instruct-q4_1", "hf:owner/repo/file.gguf"])
def test_a_full_disk_is_one_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("HALUAGENT_CACHE", str(tmp_path))
    monkeypatch.setattr(parts, "fetch", full)
    monkeypatch.setattr(hub, "fetch", full)
    with pytest.raises(ConfigError, match="No space left on device") as caught:
        EmbeddedModel(name, offline=False).start()
    assert "\n" not in str(caught.value)


def test_an_engine_that_cannot_be_read_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def unreadable(settings: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setenv("HALUAGENT_CACHE", str(tmp_path))
    monkeypatch.setattr(llama_cpp, "shared", unreadable)
    with pytest.raises(ConfigError, match=r"some\.gguf could not be loaded.*Permission denied"):
        EmbeddedModel("some.gguf").start()


def test_a_damaged_wheel_is_one_line(tmp_path: Path) -> None:
    wheel = tmp_path / "some_part-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("data.bin", bytes(range(256)) * 400)
    data = bytearray(wheel.read_bytes())
    data[60:160] = b"\xff" * 100
    wheel.write_bytes(data)
    with (tmp_path / "joined").open("ab") as joined, pytest.raises(ConfigError, match="some-part==1.0"):
        parts._append(parts.WeightPart("some-part==1.0", "data.bin"), tmp_path, joined, hashlib.sha256(), 1 << 20)


@pytest.mark.engine
def test_a_state_is_saved_found_and_dropped_when_it_is_broken(engine_model: Any) -> None:
    from haluagent.settings import cache_dir

    directory = cache_dir() / "states"
    cache = PrefixCache(engine_model.base_url.removesuffix("/v1"), engine_model.api_key, directory, "of this test")
    mine = directory / cache._name(SYSTEM)
    mine.unlink(missing_ok=True)
    assert asyncio.run(cache.restore(3, SYSTEM)) is False
    asyncio.run(engine_model.choose([{"role": "user", "content": SYSTEM}], ["A", "B"]))
    asyncio.run(cache.save(3, SYSTEM))
    assert mine.stat().st_size > 0
    assert asyncio.run(cache.restore(3, SYSTEM)) is True
    mine.write_bytes(b"not a state")
    assert asyncio.run(cache.restore(3, SYSTEM)) is False
    assert not mine.exists()
    assert len(list(directory.glob("*.state"))) <= KEPT


@pytest.mark.engine
def test_warming_is_paid_once(engine_model: Any) -> None:
    first, second = (asyncio.run(engine_model.warm(SYSTEM)) for _ in range(2))
    assert second.calls == 0
    assert first.calls <= 1
