"""A ZIM file as a collection to search. The work is done in `archive`, in a process with limits."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from haluagent.errors import ConfigError, SearchError, ToolError
from haluagent.protocols import SearchResult
from haluagent.sandbox.worker.limited import LimitedWorker
from haluagent.search.index.rank import MOST_RESULTS, Candidates, Hit, rank
from haluagent.search.index.terms import terms
from haluagent.types import Language, Record

SECONDS = 60.0  # for one call: the first search of a large file on a slow disk
MEMORY = 2**34  # bytes of address space: libzim maps the tables of a file, and those of the largest are gigabytes

_worker = LimitedWorker("haluagent.search.knowledge.archive:answer", seconds=SECONDS, memory=MEMORY)


class BrokenZim(SearchError):
    """A ZIM file that cannot be searched. `problem` says why without naming it."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path} cannot be read: {problem}")
        self.problem = problem


class ZimSummary(Record):
    """What a ZIM file says of itself. `language` is a list of ISO 639-3 codes; `full_text` is False where only titles
    can be searched."""

    title: str
    language: str
    licence: str
    articles: int
    full_text: bool


class ZimPack:
    """A `SearchProvider` over a ZIM file.

    Its methods raise `ConfigError` without the extra `knowledge`, and `BrokenZim` if the file is gone or damaged.
    """

    name = "zim"

    def __init__(self, path: Path) -> None:
        self.path = path

    async def search(self, query: str, count: int = 5, language: Language = "en") -> list[SearchResult]:
        """Return the passages of the best articles, in any language, that fit a query best."""
        count = min(count, MOST_RESULTS)
        return rank(query, [await asyncio.to_thread(self.find, query, count)], count)

    def find(self, query: str, count: int) -> Candidates:
        """Return the candidates for `count` results, to be ranked together with those of other collections."""
        found = self._call("find", query, count, self.path.as_uri())
        hits = [
            Hit(document, start, text, url, title, Counter(terms(text)))
            for document, start, text, url, title in found["hits"]
        ]
        return Candidates(hits, found["frequencies"], found["total"])

    def summary(self) -> ZimSummary:
        """Return what the file says of itself."""
        return ZimSummary(**self._call("about"))

    def articles(self) -> Iterator[tuple[str, str, str]]:
        """Yield the path, title and text of every article."""
        start = 0
        while start is not None:
            read = self._call("read", start)
            yield from map(tuple, read["articles"])
            start = read["next"]

    def _call(self, method: str, *arguments: object) -> Any:
        if find_spec("libzim") is None or find_spec("bs4") is None:
            raise ConfigError('a ZIM file needs more packages: pip install "haluagent[knowledge]"')
        try:
            answer = _worker.call({"path": str(self.path), "method": method, "arguments": arguments})
        except ToolError as error:
            raise BrokenZim(self.path, f"damaged, or too slow (more than {SECONDS:g} s)") from error
        if "problem" in answer:
            raise BrokenZim(self.path, answer["problem"])
        return answer
