"""SearXNG: a self-hosted metasearch engine. https://docs.searxng.org/dev/search_api.html"""

from typing import Any

from haluagent.protocols import SearchResult
from haluagent.search.providers.calls import Calls
from haluagent.search.providers.failures import Failure, Service
from haluagent.search.providers.jsonapi import JsonApi, service_url
from haluagent.search.providers.results import plain, read_hits, whole
from haluagent.types import Language

SERVICE = Service(
    "SearXNG",
    address="HALUAGENT_SEARXNG_URL",
    refusal="searxng",
)


class SearXNG:
    """The SearXNG server at `url`. `timeout` is in seconds per try."""

    name = "searxng"
    gives_text = False

    def __init__(self, url: str, *, timeout: float = 10.0, calls: Calls | None = None) -> None:
        """Check the address. Raise `ConfigError` if `url` is not an http(s) address."""
        base = service_url(url, "HALUAGENT_SEARXNG_URL")
        path = base.path.rstrip("/").removesuffix("/search")
        self._api = JsonApi(str(base.copy_with(path=f"{path}/search", query=None)), calls or Calls(), timeout=timeout)
        self.endpoint = str(self._api.url)

    async def search(self, query: str, count: int = 5, language: Language = "en") -> list[SearchResult]:
        """Search with the server; see `SearchProvider.search`.

        Raise `SearchError` if engines failed and there are no results.
        """
        with SERVICE.explaining(language):
            async with self._api.client() as client:
                answer = await self._api.get(client, q=whole(query), format="json", language=language)
            results = read_hits(answer.get("results"), title="title", url="url", snippet="content")
            if not results and (silent := _silent_engines(answer.get("unresponsive_engines"))):
                raise Failure("server", silent)
            return results[:count]


def _silent_engines(engines: Any) -> str:
    """Return the engines that did not answer, with reasons, from pairs such as `["google", "timeout"]`."""
    pairs = [pair for pair in engines if isinstance(pair, list)] if isinstance(engines, list) else []
    return "; ".join(" ".join(map(plain, pair)) for pair in pairs[:5])
