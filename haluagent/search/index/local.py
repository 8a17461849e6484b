"""A search over the user's own documents, without a network and without a key.

SQLite is imported where it is used, so that a command which searches nothing does not pay for it.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from haluagent.protocols import SearchResult
from haluagent.search.index.place import default_path
from haluagent.types import Language, Record

if TYPE_CHECKING:
    from haluagent.search.index.update import Change, Summary


class Stats(Record):
    """What is in an index. `left_out` counts rows and pages that could not be read; `bytes` is its size on the disk."""

    path: Path
    files: int
    documents: int
    passages: int
    left_out: int
    bytes: int


class LocalIndex:
    """A `SearchProvider` over a file; the other methods change it. Any number of processes may do both at once.

    All raise ConfigError where the file is no index, is one of a newer HaluAgent, or cannot be read or written.
    """

    name = "local"

    def __init__(self, path: Path | str | None = None) -> None:
        self.path = Path(path) if path is not None else default_path()

    async def search(self, query: str, count: int = 5, language: Language = "en") -> list[SearchResult]:
        """The passages of the documents, in whatever language, that fit a query best. `text` is a passage verbatim and
        `offset` its place in the text that was extracted from its document."""
        return await asyncio.to_thread(self._search, query, count)

    def _search(self, query: str, count: int) -> list[SearchResult]:
        from haluagent.search.index.query import search
        from haluagent.search.index.store import reading

        with reading(self.path) as connection:
            return search(connection, query, count)

    def add(
        self,
        paths: Sequence[Path | str],
        *,
        field: str | None = None,
        report: Callable[["Change"], None] = lambda change: None,
    ) -> "Summary":
        """Add files and folders; what has not changed is left alone, what is gone from these folders is removed.

        `field` is the field of JSON lines that holds the text. `report` is called for each file after the disk has it.
        """
        from haluagent.search.index.store import writing
        from haluagent.search.index.update import Adder

        with writing(self.path) as connection:
            adder = Adder(connection, field, report)
            adder.add(_absolute(paths))
            return adder.summary

    def remove(self, paths: Sequence[Path | str], *, report: Callable[["Change"], None] = lambda change: None) -> int:
        """Take files and folders out of the index, whether or not they still exist; the number of files.

        Raises ConfigError, and removes nothing, where the index has nothing of one of them.
        """
        from haluagent.search.index.store import existing, writing
        from haluagent.search.index.update import remove

        with writing(existing(self.path)) as connection:
            return remove(connection, _absolute(paths), report)

    def stats(self) -> Stats:
        from haluagent.search.index.store import reading, size

        queries = {
            "files": "SELECT count(*) FROM file",
            "documents": "SELECT count(*) FROM document",
            "passages": "SELECT ifnull(sum(passages), 0) FROM file",
            "left_out": "SELECT ifnull(sum(left_out), 0) FROM file",
        }
        with reading(self.path) as connection:
            numbers = {name: connection.execute(query).fetchone()[0] for name, query in queries.items()}
            return Stats(path=self.path, bytes=size(self.path), **numbers)


def _absolute(paths: Sequence[Path | str]) -> list[Path]:
    """Without `..`, and without following links: a document keeps the name it was given."""
    return [Path(os.path.abspath(Path(path).expanduser())) for path in paths]
