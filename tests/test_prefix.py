"""The state of a system prompt is kept on disk and found again by the next process."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from haluagent.models.prefix import KEPT, PrefixCache

SYSTEM = "You count boxes. " * 40


def test_without_an_engine_nothing_is_kept_and_nothing_fails(tmp_path: Path) -> None:
    cache = PrefixCache("http://127.0.0.1:9", None, tmp_path, "engine")
    asyncio.run(cache.save(0, SYSTEM))
    assert asyncio.run(cache.restore(0, SYSTEM)) is False
    assert list(tmp_path.iterdir()) == []


@pytest.mark.engine
def test_a_state_is_saved_found_and_dropped_when_it_is_broken(engine_model: Any) -> None:
    from haluagent.models.config import cache_dir

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
