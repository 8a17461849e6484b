"""A local index and the packs attached to it, searched as one collection."""

import asyncio
import logging
from pathlib import Path

from haluagent.errors import ConfigError, SearchError
from haluagent.protocols import SearchResult
from haluagent.search.index.local import LocalIndex
from haluagent.search.index.place import exists
from haluagent.search.index.rank import MOST_RESULTS, rank
from haluagent.search.knowledge.packs import read_packs
from haluagent.search.knowledge.zim import ZimPack
from haluagent.types import Language

_LANGUAGES: dict[str, Language] = {"eng": "en", "zho": "zh"}  # ISO 639-3, as in ZIM files

logger = logging.getLogger(__name__)


class Library:
    """A `SearchProvider` over an index, if it exists, and its packs, which are looked up anew for every search."""

    name = "local"

    def __init__(self, index: Path) -> None:
        self.index = index
        self._told: set[str] = set()

    async def languages(self) -> frozenset[Language]:
        """Return the languages of the index and its packs, as far as they can be read; see `Multilingual.languages`."""
        try:
            found = await LocalIndex(self.index).languages() if exists(self.index) else frozenset[Language]()
            codes = {
                code for pack in await asyncio.to_thread(read_packs, self.index) for code in pack.language.split(",")
            }
        except ConfigError:  # a search says what is wrong
            return frozenset()
        return found | {_LANGUAGES[code] for code in codes if code in _LANGUAGES}

    async def search(self, query: str, count: int = 5, language: Language = "en") -> list[SearchResult]:
        """Return the passages, in any language, that fit a query best.

        What cannot be searched is left out with a warning in the log. Raise `SearchError` if nothing was found and
        something could not be searched, because then there may be something to find.
        """
        count = min(count, MOST_RESULTS)
        problems: list[str] = []
        collections: list[LocalIndex | ZimPack] = [LocalIndex(self.index)] if exists(self.index) else []
        try:
            collections += [ZimPack(pack.path) for pack in read_packs(self.index)]
        except ConfigError as error:
            problems.append(str(error))
        found = []
        for collection in collections:
            try:
                found.append(await asyncio.to_thread(collection.find, query, count))
            except (SearchError, ConfigError) as error:
                problems.append(str(error))
        results = rank(query, found, count)
        if problems and not results:
            raise SearchError("; ".join(problems))
        for problem in problems:
            if problem not in self._told:
                self._told.add(problem)
                logger.warning("%s; the rest was searched", problem)
        return results
