"""Crossref's REST API, or another server that answers like it. https://api.crossref.org (no key; a contact is asked for)

https://www.crossref.org/documentation/retrieve-metadata/rest-api/
"""

from typing import Any
from urllib.parse import quote

from haluagent.protocols import Publication
from haluagent.search.providers.calls import Calls
from haluagent.search.providers.failures import Failure, Service
from haluagent.search.providers.jsonapi import JsonApi, service_url, user_agent
from haluagent.search.providers.results import plain
from haluagent.types import Language

SETTING = "HALUAGENT_DOI_REGISTRY"
SERVICE = Service("the DOI registry", address=SETTING)
DATES = ("issued", "published-print", "published-online", "published", "posted", "accepted", "created")


class _Absent(Failure):
    """The server does not know what it was asked for."""


class Crossref:
    """The registry at `url`. `contact` is an address of the user; `timeout` is in seconds per try.

    Crossref has the works of its own members. A DOI that it has no work for may be another agency's (DataCite, mEDRA, ISTIC), so
    it is asked for the agency then: only a DOI without one has never been given out. And only a server that lists works is
    believed that it does not know one; any other address would answer the same.
    """

    name = "crossref"

    def __init__(
        self, url: str, *, contact: str | None = None, timeout: float = 10.0, calls: Calls | None = None
    ) -> None:
        self._url = str(service_url(url, SETTING)).rstrip("/")
        self._headers = {"user-agent": user_agent(contact)}
        self._timeout = timeout
        self._calls = calls or Calls()
        self._lists_works = False

    async def work(self, doi: str, language: Language = "en") -> Publication | None:
        """See `Bibliography.work`."""
        place = f"/works/{quote(doi, safe='')}"
        with SERVICE.explaining(language):
            try:
                return _read(await self._get(place), doi)
            except _Absent:
                pass
            await self._check()
            try:
                agency = (await self._get(f"{place}/agency")).get("agency")
            except _Absent:
                return None
            if not isinstance(agency, dict) or not agency.get("id"):
                raise Failure("answer", "no agency")
            return Publication(url=_link(doi))

    async def _check(self) -> None:
        """Raise `Failure` for a server that lists no works."""
        if self._lists_works:
            return
        try:
            listed = await self._get("/works", rows=0)
        except _Absent:
            raise Failure("answer", "it lists no works") from None
        if not isinstance(listed.get("total-results"), int) or not listed["total-results"]:
            raise Failure("answer", "it lists no works")
        self._lists_works = True

    async def _get(self, path: str, **parameters: int) -> dict[str, Any]:
        """Return the `message` of an answer. Raise `Failure`."""
        api = JsonApi(self._url + path, self._calls, headers=self._headers, timeout=self._timeout, judge=_judge)
        async with api.client() as client:
            answer = (await api.get(client, **parameters)).get("message")
        if not isinstance(answer, dict):
            raise Failure("answer", "no message")
        return answer


def _judge(status: int, answer: Any) -> Failure | None:
    return _Absent("refused", "404") if status == 404 else None


def _read(item: dict[str, Any], doi: str) -> Publication:
    """Return the work of an answer. Raise `Failure` if it is none."""
    if not isinstance(item.get("DOI"), str):
        raise Failure("answer", "no DOI")
    people = [one for key in ("author", "editor") for one in _list(item.get(key)) if isinstance(one, dict)]
    names = [plain(one.get("family")) or plain(one.get("name")) for one in people]
    titles = [plain(title) for key in ("title", "subtitle") for title in _list(item.get(key))[:1]]
    return Publication(
        title=": ".join(filter(None, titles)),
        authors=tuple(filter(None, names)) if all(names) else (),
        years=tuple(sorted({year for key in DATES if (year := _year(item.get(key)))})),
        url=_link(doi),
    )


def _link(doi: str) -> str:
    return f"https://doi.org/{quote(doi, safe='/:;()')}"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _year(value: Any) -> int | None:
    parts = _list(value.get("date-parts")) if isinstance(value, dict) else []
    year = _list(parts[0])[:1] if parts else []
    return year[0] if year and isinstance(year[0], int) else None
