"""MediaWiki: Wikipedia and other wikis, with the text of their pages. https://www.mediawiki.org/wiki/API:Search"""

import asyncio
from typing import Any

import httpx

from haluagent.protocols import SearchResult
from haluagent.search.pages.relevance import best_passage
from haluagent.search.providers.calls import Calls
from haluagent.search.providers.failures import Failure, Service
from haluagent.search.providers.jsonapi import JsonApi, service_url, user_agent
from haluagent.search.providers.results import is_web_address, plain, whole
from haluagent.types import Language

URL = "https://{language}.wikipedia.org/w/api.php"
MAX_QUERY = 300  # characters; CirrusSearch refuses longer ones
SERVICE = Service(
    "MediaWiki",
    address="HALUAGENT_MEDIAWIKI_URL",
    refusal="mediawiki",
)
_BUSY = ("ratelimited", "maxlag", "cirrussearch-too-busy-error")
_BROKEN = ("internal_api_error", "readonly", "cirrussearch-backend-error")


class MediaWiki:
    """The wiki whose API is at `url`, in which `{language}` stands for `en` or `zh`.

    Each result has as `text` the passage of its page that shares most terms with the query, and as `offset` its place
    in the page's plain text. `contact` goes into the User-Agent, as Wikimedia asks of programs; `timeout` is in seconds
    per try.
    """

    name = "mediawiki"
    gives_text = True

    def __init__(
        self,
        url: str = URL,
        *,
        contact: str | None = None,
        timeout: float = 10.0,
        calls: Calls | None = None,
    ) -> None:
        """Check the address. Raise `ConfigError` if `url` is not an http(s) address."""
        service_url(url.replace("{language}", "en"), "HALUAGENT_MEDIAWIKI_URL")
        self.endpoint = url
        self._contact = contact
        self._timeout = timeout
        self._calls = calls or Calls()

    async def search(self, query: str, count: int = 5, language: Language = "en") -> list[SearchResult]:
        """Search the wiki; see `SearchProvider.search`.

        A result whose page text cannot be fetched has only the snippet.
        """
        api = JsonApi(
            self.endpoint.replace("{language}", language),
            self._calls,
            headers={"user-agent": user_agent(self._contact)},
            timeout=self._timeout,
            judge=_judge,
        )
        with SERVICE.explaining(language):
            async with api.client() as client:
                found = await api.get(
                    client, action="query", list="search", srsearch=whole(query)[:MAX_QUERY], srlimit=count, format="json",
                    formatversion=2,
                )  # fmt: skip
                return await _with_text(api, client, _read_hits(found)[:count], query, language)


async def _with_text(
    api: JsonApi, client: httpx.AsyncClient, hits: list[dict[str, Any]], query: str, language: Language
) -> list[SearchResult]:
    """Fetch the pages one after another: whole texts come one at a time, and Wikimedia wants no parallel requests."""
    results: list[SearchResult] = []
    silent = False
    for hit in hits:
        page: dict[str, Any] = {}
        if not silent:
            try:
                page = await _read_page(api, client, hit["pageid"], language)
            except Failure:  # a wiki that stopped answering is not asked for the rest
                silent = True
        results.append(await asyncio.to_thread(_result, api, hit, page, query))  # a long page takes a while
    return results


def _result(api: JsonApi, hit: dict[str, Any], page: dict[str, Any], query: str) -> SearchResult:
    url = page.get("canonicalurl")
    if not is_web_address(url):
        url = str(api.url.join(f"index.php?curid={hit['pageid']}"))
    result = SearchResult(title=plain(hit["title"]), url=whole(url), snippet=plain(hit.get("snippet")))
    extract = page.get("extract")
    if not isinstance(extract, str) or not extract.strip():
        return result
    extract = whole(extract)
    start, end = best_passage(extract, query)
    return result.model_copy(update={"text": extract[start:end], "offset": start})


async def _read_page(api: JsonApi, client: httpx.AsyncClient, page: int, language: Language) -> dict[str, Any]:
    variant = {"variant": "zh-cn"} if language == "zh" else {}
    answer = await api.get(
        client, action="query", prop="extracts|info", explaintext=1, exsectionformat="plain", exlimit=1, inprop="url",
        pageids=page, format="json", formatversion=2, **variant,
    )  # fmt: skip
    query = answer.get("query")
    pages = query.get("pages") if isinstance(query, dict) else None
    if not isinstance(pages, list) or not pages or not isinstance(pages[0], dict):
        raise Failure("answer", "no page")
    return pages[0]


def _read_hits(answer: dict[str, Any]) -> list[dict[str, Any]]:
    query = answer.get("query")
    hits = query.get("search") if isinstance(query, dict) else None
    if not isinstance(hits, list):
        raise Failure("answer", "no list of results")
    read = [
        hit for hit in hits if isinstance(hit, dict) and isinstance(hit.get("pageid"), int) and plain(hit.get("title"))
    ]
    if hits and not read:
        raise Failure("answer", "results without pages")
    return read


def _judge(status: int, answer: Any) -> Failure | None:
    """Return the failure in an answer, since MediaWiki reports its own errors with status 200.

    https://www.mediawiki.org/wiki/API:Errors_and_warnings
    """
    error = answer.get("error") if isinstance(answer, dict) else None
    if status != 200 or not isinstance(error, dict):
        return None
    code = plain(error.get("code"))[:60]
    if code.startswith(_BUSY):
        return Failure("busy", code)
    return Failure("server" if code.startswith(_BROKEN) else "refused", code)
