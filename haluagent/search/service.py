"""A wrapper around an online provider: a budget of queries, a disk cache, and passages from the pages."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Protocol

from haluagent.errors import QuotaExhausted, SearchError
from haluagent.protocols import SearchProvider, SearchResult
from haluagent.search.cache import Cache, cache_key
from haluagent.text.messages import message
from haluagent.types import Language

DAY = 86_400.0
SHORT = 3_600.0  # seconds to keep an answer that may soon improve: it is empty, or lacks texts
ReadPages = Callable[[list[SearchResult], str], Awaitable[list[SearchResult]]]


class OnlineProvider(SearchProvider, Protocol):
    """A provider that goes online.

    `endpoint` tells apart the places that a provider may ask; it contains no key. `gives_text` says that results come
    with passages of their pages.
    """

    endpoint: str
    gives_text: bool


class SearchService:
    """A provider with a budget and a cache.

    `max_queries` counts the queries sent (None: any number); cached answers are free. `keep` is how long answers are
    kept, in seconds. `read_pages` adds passages of the pages to results that have none.
    """

    def __init__(
        self,
        provider: OnlineProvider,
        *,
        cache: Cache | None = None,
        keep: float = 7 * DAY,
        max_queries: int | None = None,
        read_pages: ReadPages | None = None,
    ) -> None:
        self.name = provider.name
        self.provider = provider
        self.sent = 0
        self._cache = cache
        self._keep = keep
        self._max_queries = max_queries
        self._read_pages = read_pages
        self._lock = threading.Lock()

    async def search(self, query: str, count: int = 5, language: Language = "en") -> list[SearchResult]:
        """Search through the cache; see `SearchProvider.search`. Raise `QuotaExhausted` if the budget is used up."""
        query = " ".join(query.split())
        if not query:
            raise SearchError(message("search.query.empty", language))
        pages = self._read_pages is not None
        key = cache_key(self.name, self.provider.endpoint, query, count, language, pages)
        if self._cache is not None:
            known = await asyncio.to_thread(self._cache.get, key)
            if known is not None:
                return known
        self._spend(language)
        results = (await self.provider.search(query, count, language))[:count]
        if self._read_pages is not None:
            results = await self._read_pages(results, query)
        if self._cache is not None:
            await asyncio.to_thread(self._cache.put, key, results, self._lifetime(results))
        return results

    def _spend(self, language: Language) -> None:
        with self._lock:
            if self._max_queries is not None and self.sent >= self._max_queries:
                raise QuotaExhausted(message("search.query.budget", language, count=self._max_queries))
            self.sent += 1

    def _lifetime(self, results: list[SearchResult]) -> float:
        wanted = self._read_pages is not None or self.provider.gives_text
        whole = bool(results) and not (wanted and any(result.text is None for result in results))
        return self._keep if whole else min(SHORT, self._keep)
