"""A search that the sentences of one response share."""

import asyncio

from haluagent.protocols import Multilingual, SearchProvider, SearchResult
from haluagent.types import Language


def shared(provider: SearchProvider) -> "SharedSearch":
    """Return a search that the sentences of a response share, `Multilingual` where the provider is."""
    return SharedCollection(provider) if isinstance(provider, Multilingual) else SharedSearch(provider)


class SharedSearch:
    """A `SearchProvider` that sends a query once, however many sentences ask for it. What failed is asked again."""

    def __init__(self, provider: SearchProvider) -> None:
        self.name = provider.name
        self._provider = provider
        self._locks: dict[tuple[str, int, Language], asyncio.Lock] = {}
        self._found: dict[tuple[str, int, Language], list[SearchResult]] = {}

    async def search(self, query: str, count: int = 5, language: Language = "en") -> list[SearchResult]:
        """Search with the provider, or return what it found before; see `SearchProvider.search`."""
        key = (" ".join(query.split()), count, language)
        async with self._locks.setdefault(key, asyncio.Lock()):
            if key not in self._found:
                self._found[key] = await self._provider.search(query, count, language)
            return list(self._found[key])


class SharedCollection(SharedSearch):
    """The same of a collection on this machine, which knows the languages of its texts."""

    def __init__(self, provider: SearchProvider) -> None:
        super().__init__(provider)
        self._languages: frozenset[Language] | None = None

    async def languages(self) -> frozenset[Language]:
        """Return the languages that the provider has texts in; see `Multilingual.languages`."""
        assert isinstance(self._provider, Multilingual)
        if self._languages is None:
            self._languages = await self._provider.languages()
        return self._languages
