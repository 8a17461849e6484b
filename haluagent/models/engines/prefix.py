"""The system prompt's state, kept on disk, so that a new process can restore it in milliseconds.

Evaluating the agent's system prompt takes about 15 seconds on two cores; its state is 24 MB and loads in 3 ms.
"""

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx

from haluagent.models.endpoint import headers

KEPT = 6  # the number of files kept, the most recently used
UNFINISHED_SECONDS = 3600  # no engine writes a state for that long: its process must have been stopped


class PrefixCache:
    """States of one engine's slots, as files in `directory`. `identity` is whatever makes a state fit an engine.

    The cache is optional: a state that cannot be written or read is evaluated again.
    """

    def __init__(self, server_url: str, api_key: str | None, directory: Path, identity: str) -> None:
        self._server_url = server_url
        self._headers = headers(api_key)
        self._directory = directory
        self._identity = identity

    async def restore(self, slot: int, text: str) -> bool:
        """Restore the state of a prompt into a slot. Return False if there is none, or none that fits."""
        name = self._name(text)
        if not (self._directory / name).is_file():
            return False
        if await self._ask(slot, "restore", name):
            with suppress(OSError):
                os.utime(self._directory / name)
            return True
        self._remove(self._directory / name)
        return False

    async def save(self, slot: int, text: str) -> None:
        """Write a slot's state, whole or not at all, and remove the oldest files."""
        name = self._name(text)
        part = f"{name}.{os.getpid()}.part"
        if await self._ask(slot, "save", part):
            with suppress(OSError):
                os.replace(self._directory / part, self._directory / name)
        for old in [*list(self._by_age())[KEPT:], *self._left_over()]:
            self._remove(old)

    def _name(self, text: str) -> str:
        return hashlib.sha256(f"{self._identity}\0{text}".encode()).hexdigest()[:32] + ".state"

    def _by_age(self) -> Iterator[Path]:
        with suppress(OSError):
            yield from sorted(self._directory.glob("*.state"), key=lambda path: -path.stat().st_mtime)

    def _left_over(self) -> Iterator[Path]:
        """Yield unfinished files of processes that ended while their engine wrote."""
        for part in self._directory.glob("*.part"):
            with suppress(OSError):
                if time.time() - part.stat().st_mtime > UNFINISHED_SECONDS:
                    yield part

    def _remove(self, path: Path) -> None:
        with suppress(OSError):
            path.unlink()

    async def _ask(self, slot: int, action: str, name: str) -> bool:
        try:
            async with httpx.AsyncClient(headers=self._headers, timeout=60, trust_env=False) as client:
                url = f"{self._server_url}/slots/{slot}?action={action}"
                return (await client.post(url, json={"filename": name})).status_code == 200
        except httpx.HTTPError:
            return False
