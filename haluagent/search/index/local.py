"""Search in the user's own documents, without a network or a key.

SQLite is imported where it is used, so that a command that searches nothing does not pay for it.
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
    from haluagent.search.index.rank import Candidates
    from haluagent.search.index.update import FileChange, Summary


class Stats(Record):
    """The contents of an index.

    `left_out` counts rows and pages that could not be read; `bytes` is its size on disk.
    """

    path: Path
    files: int
    documents: int
    passages: int
    left_out: int
    bytes: int


class Copied(Record):
    """An encyclopaedia in an index. `size` is its file's, in bytes; it is not `complete` until it was added to its end."""

    path: Path
    size: int
    passages: int
    complete: bool


class LocalIndex:
    """A `SearchProvider` over an index file; the other methods change it. Any number of processes may do both at once.

    All raise `ConfigError` if the file is not an index, was made by a newer HaluAgent, or cannot be read or written.
    """

    name = "local"

    def __init__(self, path: Path | str | None = None) -> None:
        self.path = Path(path) if path is not None else default_path()

    async def search(self, query: str, count: int = 5, language: Language = "en") -> list[SearchResult]:
        """Return the passages, in any language, that fit a query best.

        `text` is a passage verbatim, and `offset` its place in the text extracted from its document.
        """
        return await asyncio.to_thread(self._search, query, count)

    async def languages(self) -> frozenset[Language]:
        """Return the languages of the passages; see `Multilingual.languages`."""
        return await asyncio.to_thread(self._languages)

    def _languages(self) -> frozenset[Language]:
        from haluagent.search.index.query import languages
        from haluagent.search.index.store import reading

        with reading(self.path) as connection:
            return languages(connection)

    def _search(self, query: str, count: int) -> list[SearchResult]:
        from haluagent.search.index.rank import MOST_RESULTS, rank

        count = min(count, MOST_RESULTS)
        return rank(query, [self.find(query, count)], count)

    def find(self, query: str, count: int) -> "Candidates":
        """Return the candidates for `count` results, to be ranked together with those of other collections."""
        from haluagent.search.index.query import find
        from haluagent.search.index.store import reading

        with reading(self.path) as connection:
            return find(connection, query, count)

    def add(
        self,
        paths: Sequence[Path | str],
        *,
        field: str | None = None,
        report: Callable[["FileChange"], None] = lambda change: None,
    ) -> "Summary":
        """Add files and folders; skip what has not changed, and remove what is gone from these folders.

        `field` is the field of JSON lines that holds the text. `report` is called for each file after it was committed
        to disk.
        """
        from haluagent.search.index.store import writing
        from haluagent.search.index.update import Adder

        with writing(self.path) as connection:
            adder = Adder(connection, field, report)
            adder.add(_absolute(paths))
            return adder.summary

    def remove(
        self, paths: Sequence[Path | str], *, report: Callable[["FileChange"], None] = lambda change: None
    ) -> int:
        """Remove files and folders from the index, whether or not they still exist, and return the number of files.

        Raise `ConfigError`, and remove nothing, if the index has nothing of one of them.
        """
        from haluagent.search.index.store import existing, writing
        from haluagent.search.index.update import remove

        with writing(existing(self.path)) as connection:
            return remove(connection, _absolute(paths), report)

    def encyclopaedias(self) -> list[Copied]:
        """Return the encyclopaedias that were copied into the index."""
        from haluagent.search.documents.reading import ENCYCLOPAEDIAS, kind_of
        from haluagent.search.index.store import is_folded, reading
        from haluagent.search.index.write import path_of

        with reading(self.path) as connection:
            if not is_folded(connection):  # from before there were any
                return []
            rows = connection.execute("SELECT url, size, passages, parts IS NULL FROM file ORDER BY url").fetchall()
        files = [Copied(path=path_of(row[0]), size=row[1], passages=row[2], complete=row[3]) for row in rows]
        return [file for file in files if kind_of(file.path) in ENCYCLOPAEDIAS]

    def stats(self) -> Stats:
        """Return the size and the contents of the index in numbers."""
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
    """Return absolute paths without `..`. Links are not followed, so that a document keeps the name it was given."""
    return [Path(os.path.abspath(Path(path).expanduser())) for path in paths]
