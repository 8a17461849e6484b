"""The reports of the proxy, by their ids: the last ones in memory, or all in a folder."""

import asyncio
import os
import re
import secrets
from collections import OrderedDict
from pathlib import Path

from haluagent.errors import ConfigError
from haluagent.server.proxy.records import AnswerReport

LARGEST = 64_000_000  # bytes of reports that are kept in memory
_ID = re.compile(r"[A-Za-z0-9_-]{22}")


class Reports:
    """Keep reports in `folder`, a file for each, or in memory, where the oldest make room for new ones.

    Raises ConfigError for a folder that cannot be written.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0
        if folder is not None:
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise ConfigError(
                    f"the folder {folder} cannot be made ({error.strerror}): give another --reports"
                ) from None
            if not os.access(folder, os.W_OK | os.X_OK):
                raise ConfigError(f"the folder {folder} cannot be written: give another --reports")

    @staticmethod
    def new_id() -> str:
        """Return an id that cannot be guessed."""
        return secrets.token_urlsafe(16)

    async def keep(self, report: AnswerReport) -> None:
        """Keep a report. Raises OSError where the folder does not take it."""
        text = report.model_dump_json().encode()
        if self._folder is not None:
            await asyncio.to_thread(_write, self._folder / f"{report.id}.json", text)
            return
        self._kept[report.id] = text
        self._size += len(text)
        while self._size > LARGEST:
            _, dropped = self._kept.popitem(last=False)
            self._size -= len(dropped)

    async def get(self, id: str) -> bytes | None:
        """Return a report as JSON; None where there is none of this id."""
        if not _ID.fullmatch(id):
            return None
        if self._folder is None:
            return self._kept.get(id)
        try:
            return await asyncio.to_thread((self._folder / f"{id}.json").read_bytes)
        except OSError:
            return None


def _write(path: Path, text: bytes) -> None:
    """Write a file that is whole as soon as it is there, and that only its owner reads."""
    part = path.with_suffix(".part")
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
