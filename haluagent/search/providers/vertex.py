"""Google's Vertex AI Search (Discovery Engine), which Google names as the successor of the Custom Search JSON API.

It searches the websites that an app of yours lists, through `searchLite`, which takes an API key.
https://cloud.google.com/generative-ai-app-builder/docs/reference/rest/v1/projects.locations.collections.engines.servingConfigs/searchLite
"""

from typing import Any

from haluagent.protocols import SearchResult
from haluagent.search.providers.calls import Calls
from haluagent.search.providers.failures import Failure, Service
from haluagent.search.providers.google_api import KEY_SETTING
from haluagent.search.providers.jsonapi import JsonApi, service_url
from haluagent.search.providers.results import read_hits, whole
from haluagent.types import Language

SETTING = "GOOGLE_SEARCH_URL"
SERVICE = Service("Vertex AI Search", address=SETTING, key=KEY_SETTING)
_CODES: dict[Language, str] = {"en": "en", "zh": "zh-CN"}


class VertexSearch:
    """The app whose `searchLite` address is `url`, asked with an API key. `timeout` is in seconds per try."""

    name = "vertex"
    gives_text = False

    def __init__(self, key: str, url: str, *, timeout: float = 10.0, calls: Calls | None = None) -> None:
        self.endpoint = str(service_url(url, SETTING))
        self._api = JsonApi(
            self.endpoint,
            calls or Calls(),
            headers={"x-goog-api-key": key},
            timeout=timeout,
            secrets=(key,),
            judge=_judge,
        )

    async def search(self, query: str, count: int = 5, language: Language = "en") -> list[SearchResult]:
        """Search the app's websites; see `SearchProvider.search`. Snippets come in the language of the page."""
        body = {
            "query": whole(query),
            "pageSize": count,
            "languageCode": _CODES[language],
            "contentSearchSpec": {"snippetSpec": {"returnSnippet": True}},
        }
        with SERVICE.explaining(language):
            async with self._api.client() as client:
                answer = await self._api.post(client, body)
            if not ({"results", "totalSize", "attributionToken"} & answer.keys()):
                raise Failure("answer", "no list of results")
            return read_hits(_documents(answer.get("results", [])), title="title", url="link", snippet="snippet")[
                :count
            ]


def _judge(status: int, answer: Any) -> Failure | None:
    error = answer.get("error") if isinstance(answer, dict) else None
    text = str(error.get("message")) if isinstance(error, dict) else ""
    if status in (400, 403) and ("API key" in text or "unregistered callers" in text):
        return Failure("key", str(status))
    return None


def _documents(results: Any) -> Any:
    """Return the title, the address and the first snippet of each result."""
    if not isinstance(results, list):
        return results
    found = []
    for result in results:
        document = result.get("document") if isinstance(result, dict) else None
        data = document.get("derivedStructData") if isinstance(document, dict) else None
        data = data if isinstance(data, dict) else {}
        snippets = data.get("snippets")
        first = snippets[0] if isinstance(snippets, list) and snippets else None
        found.append({**data, "snippet": first.get("snippet") if isinstance(first, dict) else None})
    return found
