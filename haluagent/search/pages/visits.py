"""Asking whether a page answers, with the limits of `fetch`: the public internet only."""

from haluagent.errors import SearchError
from haluagent.search.pages.fetch import Fetcher, PageError
from haluagent.text.messages import message
from haluagent.types import Language


class PageVisitor:
    """A `Visitor` with a `fetcher`."""

    def __init__(self, fetcher: Fetcher | None = None) -> None:
        self._fetcher = fetcher or Fetcher()

    async def visit(self, url: str, language: Language = "en") -> str:
        """See `Visitor.visit`."""
        try:
            return (await self._fetcher.get(url)).url
        except PageError as error:
            raise SearchError(message("citation.unvisited", language, why=error)) from error
