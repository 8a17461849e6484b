"""Google's Programmable Search Engine, through the Custom Search JSON API.

Google takes no new customers for this API and ends it for the others on 2027-01-01.
https://developers.google.com/custom-search/v1/overview
"""

import logging
from collections.abc import Callable
from datetime import date
from functools import cache

from haluagent.errors import ConfigError
from haluagent.protocols import SearchResult
from haluagent.search.providers.calls import Calls
from haluagent.search.providers.failures import Failure, Service
from haluagent.search.providers.google_api import CHINESE, KEY_SETTING, GoogleApi
from haluagent.search.providers.results import read_hits, whole
from haluagent.types import Language

logger = logging.getLogger(__name__)

CLOSES = date(2027, 1, 1)
INSTEAD = "`haluagent search migrate` moves your settings to searxng, mediawiki, serper, vertex (Google's Vertex AI Search) or local"
MOST = 10  # results that one request can bring
SERVICE = Service(
    "Google search",
    key=KEY_SETTING,
    refusal="google",
)
_PAGES: dict[Language, dict[str, str]] = {
    "en": {"hl": "en", "lr": "lang_en"},
    "zh": {"hl": CHINESE, "lr": "lang_zh-CN|lang_zh-TW"},
}


class GoogleSearch:
    """The search engine with the id `engine`, asked with an API key.

    `endpoint` is the address of the API, if it is not Google's; `timeout` is in seconds per try. From the day on that Google closes
    its own (by `today`), making one raises `ConfigError`; before, the first logs a warning.
    """

    name = "google"
    gives_text = False

    def __init__(
        self,
        key: str,
        engine: str,
        *,
        endpoint: str | None = None,
        timeout: float = 10.0,
        calls: Calls | None = None,
        today: Callable[[], date] = date.today,
    ) -> None:
        if endpoint is None and today() >= CLOSES:
            raise ConfigError(f"Google closed the Custom Search JSON API on {CLOSES}: {INSTEAD}")
        self._api = GoogleApi("customsearch", "v1", key, endpoint=endpoint, timeout=timeout, calls=calls or Calls())
        self._engine = engine
        self.endpoint = f"{endpoint or ''}?cx={engine}"
        if endpoint is None:
            _warn()

    async def search(self, query: str, count: int = 5, language: Language = "en") -> list[SearchResult]:
        """Search for pages in the language; see `SearchProvider.search`. At most ten results."""
        with SERVICE.explaining(language):
            answer = await self._api.call(
                lambda api: api.cse().list(q=whole(query), cx=self._engine, num=min(count, MOST), **_PAGES[language])
            )
            if "items" not in answer and "searchInformation" not in answer:
                raise Failure("answer", "no list of results")
            return read_hits(answer.get("items", []), title="title", url="link", snippet="snippet")[:count]


@cache
def _warn() -> None:
    """Log the warning, once in a process."""
    logger.warning("Google closes the Custom Search JSON API, the search `google`, on %s: %s", CLOSES, INSTEAD)
