"""The pages behind results: each is fetched, made text, and searched for the passage that the query is about."""

import asyncio
import base64
import logging

from haluagent.errors import ToolError
from haluagent.protocols import SearchResult
from haluagent.sandbox.worker.limited import Worker
from haluagent.search.pages.fetch import Fetcher, PageError

logger = logging.getLogger(__name__)

# A page is a stranger's, and so is what it does to a parser: that is for a process with limits.
worker = Worker("haluagent.search.pages.extract:passage_of", seconds=10.0, memory=2**30)


class Pages:
    """Reads pages with a `fetcher`, the results of one search at a time together."""

    def __init__(self, fetcher: Fetcher | None = None) -> None:
        self._fetcher = fetcher or Fetcher()

    async def add_passages(self, results: list[SearchResult], query: str) -> list[SearchResult]:
        """The results, with `text` and its `offset` in the text of the page where they had none.

        A page that cannot be had or read leaves its result as it is; the log for debugging says why.
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
