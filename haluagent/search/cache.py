"""A disk cache of answers, so that the same query is not sent twice. Several processes may share the file."""

import hashlib
import json
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from haluagent.protocols import SearchResult

logger = logging.getLogger(__name__)

FORMAT = 1  # version of the stored format; answers in another version are not found
FILE = "search.sqlite3"

_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_RESULTS = TypeAdapter(list[SearchResult])
_TABLE = "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, expires REAL NOT NULL, results TEXT NOT NULL)"
Result = TypeVar("Result")


class Cache:
    """A cache file, created if missing and put aside if damaged.

    A cache that cannot be read or written costs queries, not results: it logs one warning and raises nothing. `now`
    returns the time in seconds since the epoch; `patience` is how long to wait for another process, in seconds.
    """

    def __init__(self, path: Path, *, now: Callable[[], float] = time.time, patience: float = 2.0) -> None:
        self.path = path
        self._now = now
        self._patience = patience
        self._complained = False

    def get(self, key: str) -> list[SearchResult] | None:
        """Return what was kept under a key, or None if it is missing or expired."""
        query = "SELECT results FROM answers WHERE key = ? AND expires > ?"
        row = self._in_transaction(lambda database: database.execute(query, (key, self._now())).fetchone())
        try:
            return _RESULTS.validate_json(row[0]) if row else None
        except ValidationError:
            return None

    def put(self, key: str, results: Sequence[SearchResult], seconds: float) -> None:
        """Keep results for `seconds`, and delete what has expired."""
        text = _RESULTS.dump_json(list(results)).decode()

        def write(database: sqlite3.Connection) -> None:
            database.execute("DELETE FROM answers WHERE expires <= ?", (self._now(),))
            database.execute("REPLACE INTO answers VALUES (?, ?, ?)", (key, self._now() + seconds, text))

        self._in_transaction(write)

    def _in_transaction(self, work: Callable[[sqlite3.Connection], Result]) -> Result | None:
        """Run `work` in a connection of its own, since one could neither be shared by threads nor outlive a fork."""
        try:
            _make_private(self.path)
            with closing(sqlite3.connect(self.path, timeout=self._patience)) as database, database:
                database.execute(_TABLE)
                return work(database)
        except (sqlite3.Error, OSError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _BROKEN:
                self._put_aside()
            if not self._complained:
                self._complained = True
                logger.warning("the search cache %s does not work, so queries are sent again: %s", self.path, error)
            return None

    def _put_aside(self) -> None:
        """Move the file away with its journals, which would otherwise be played back into the file that replaces it."""
        for suffix in ("", "-journal", "-wal", "-shm"):
            part = self.path.with_name(self.path.name + suffix)
            with suppress(OSError):
                os.replace(part, part.with_name(part.name + ".broken"))


def cache_key(provider: str, endpoint: str, query: str, count: int, language: str, pages: bool) -> str:
    """Return a key that is the same for the same request to the same place."""
    parts = json.dumps([FORMAT, provider, endpoint, query, count, language, pages])
    return hashlib.sha256(parts.encode()).hexdigest()


def _make_private(path: Path) -> None:
    """Create the file readable by its owner only, since queries are private."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
