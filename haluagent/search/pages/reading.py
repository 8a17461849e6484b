"""Passages from the pages behind results: each page is fetched, converted to text, and searched for the query's
subject."""

import asyncio
import base64
import logging

from haluagent.errors import ToolError
from haluagent.protocols import SearchResult
from haluagent.sandbox.worker.limited import LimitedWorker
from haluagent.search.documents.document import require
from haluagent.search.pages.fetch import Fetcher, PageError

logger = logging.getLogger(__name__)

# A page is untrusted and may attack the parser, so it is parsed in a process with limits.
worker = LimitedWorker("haluagent.search.pages.extract:passage_of", seconds=10.0, memory=2**30)


class Pages:
    """A reader of the pages behind results, those of one search concurrently, with a `fetcher`.

    Making one raises `ConfigError` without the extra `documents`.
    """

    def __init__(self, fetcher: Fetcher | None = None) -> None:
        require("bs4", "pypdf")
        self._fetcher = fetcher or Fetcher()

    async def add_passages(self, results: list[SearchResult], query: str) -> list[SearchResult]:
        """Return the results, adding `text` and its `offset` in the text of the page to those without.

        A page that cannot be fetched or read leaves its result unchanged; the debug log says why.
        """
        return list(await asyncio.gather(*(self._add_passage(result, query) for result in results)))

    async def _add_passage(self, result: SearchResult, query: str) -> SearchResult:
        if result.text is not None:
            return result
        try:
            page = await self._fetcher.get(result.url)
            request = {
                "data": base64.b64encode(page.data).decode(),
                "type": page.type,
                "charset": page.charset,
                "query": query,
            }
            passage = await asyncio.to_thread(worker.call, request)
        except (PageError, ToolError) as error:
            logger.debug("no passage of %s: %s", result.url, error)
            return result
        return result.model_copy(update=passage)
