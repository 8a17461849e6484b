"""Serper: a paid service that gives Google's results as JSON. https://serper.dev"""

from typing import Any

from haluagent.protocols import SearchResult
from haluagent.search.providers.calls import Calls
from haluagent.search.providers.failures import Failure, Service
from haluagent.search.providers.jsonapi import JsonApi
from haluagent.search.providers.results import read_hits, whole
from haluagent.types import Language

URL = "https://google.serper.dev/search"
SERVICE = Service("Serper", key="SERPER_API_KEY")
_PAGES: dict[Language, dict[str, str]] = {"en": {"hl": "en", "gl": "us"}, "zh": {"hl": "zh-cn", "gl": "cn"}}


class Serper:
    """Google's results through Serper, with the key of an account there. `timeout` is in seconds per try."""

    name = "serper"
    gives_text = False

    def __init__(self, key: str, *, url: str = URL, timeout: float = 10.0, calls: Calls | None = None) -> None:
        self._api = JsonApi(
            url, calls or Calls(), headers={"x-api-key": key}, timeout=timeout, secrets=(key,), judge=_judge
        )
        self.endpoint = url

    async def search(self, query: str, count: int = 5, language: Language = "en") -> list[SearchResult]:
        """Search with Google; see `SearchProvider.search`. The results' language and country follow `language`."""
        with SERVICE.explaining(language):
            async with self._api.client() as client:
                answer = await self._api.post(client, {"q": whole(query), "num": count} | _PAGES[language])
            return read_hits(answer.get("organic"), title="title", url="link", snippet="snippet")[:count]


def _judge(status: int, answer: Any) -> Failure | None:
    if status == 403:
        return Failure("key", "403")
    if status == 400 and isinstance(answer, dict) and "credits" in str(answer.get("message")).lower():
        return Failure("quota", "not enough credits")
    return None
