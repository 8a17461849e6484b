"""What citations are looked up in: a registry of DOIs on loopback, pages, and the settings without which nothing is asked."""

import asyncio
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from haluagent.errors import ConfigError, QuotaExhausted, SearchError
from haluagent.protocols import Bibliography, Publication, Visitor
from haluagent.search.citations import resolve_bibliography, resolve_visitor
from haluagent.search.pages.fetch import Fetcher
from haluagent.search.pages.visits import PageVisitor
from haluagent.search.providers.calls import Calls
from haluagent.search.providers.crossref import Crossref
from haluagent.settings import VARIABLES
from haluagent.tooling.services import make_services

DEEP = {
    "DOI": "10.1038/nature14539",
    "title": ["Deep <i>learning</i>"],
    "author": [{"given": "Yann", "family": "LeCun"}, {"name": "The Team"}],
    "issued": {"date-parts": [[2015, 5, 27]]},
    "created": {"date-parts": [[2016]]},
}
LIST = {"/works": {"message": {"total-results": 7}}}
AGENCY = {"message": {"DOI": "10.5281/zenodo.1", "agency": {"id": "datacite", "label": "DataCite"}}}


class Server:
    """Answers each path with its object, or a number with that status; any other with 404."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.asked: list[str] = []
        self.agents: list[str] = []
        played = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = urlsplit(self.path).path
                played.asked.append(path)
                played.agents.append(self.headers["user-agent"])
                what = played.answers.get(path, 404)
                data = b"Resource not found." if isinstance(what, int) else json.dumps(what).encode()
                self.send_response(what if isinstance(what, int) else 200)
                self.send_header("content-type", "text/html")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: Any) -> None:
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.http.shutdown()
    server.http.server_close()


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A user without settings."""
    for name in (*VARIABLES.values(), "HALUAGENT_CONFIG", "HALUAGENT_INDEX"):
        monkeypatch.delenv(name, raising=False)
    for kind in ("CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path))
    return monkeypatch


async def no_wait(seconds: float) -> None:
    pass


def look_up(server: Server, doi: str = "10.1038/nature14539", **answers: Any) -> Publication | None:
    server.answers |= answers
    registry = Crossref(server.url + "/", contact="me@example.org", calls=Calls(sleep=no_wait))
    assert isinstance(registry, Bibliography)
    return asyncio.run(registry.work(doi))


def test_a_work(server: Server) -> None:
    server.answers = {"/works/10.1038%2Fnature14539": {"message": DEEP}}
    work = look_up(server)
    assert work and work.title == "Deep learning" and work.url == "https://doi.org/10.1038/nature14539"
    assert (work.authors, work.years) == (("LeCun", "The Team"), (2015, 2016))
    assert len(server.asked) == 1 and "(me@example.org)" in server.agents[0]


def test_a_doi_of_another_agency_exists(server: Server) -> None:
    server.answers = {**LIST, "/works/10.5281%2Fzenodo.1/agency": AGENCY}
    assert look_up(server, "10.5281/zenodo.1") == Publication(url="https://doi.org/10.5281/zenodo.1")


def test_a_doi_that_no_agency_knows(server: Server) -> None:
    server.answers = dict(LIST)
    assert look_up(server, "10.1/../../other?x#y") is None
    assert server.asked == [
        "/works/10.1%2F..%2F..%2Fother%3Fx%23y",
        "/works",
        "/works/10.1%2F..%2F..%2Fother%3Fx%23y/agency",
    ]


@pytest.mark.parametrize("listing", [404, {"message": {}}, {"message": {"total-results": 0}}, {"no": "message"}])
def test_a_server_that_lists_no_works_is_not_believed(server: Server, listing: Any) -> None:
    """A wrong address answers 404 to everything."""
    server.answers = {"/works": listing}
    with pytest.raises(SearchError, match="check HALUAGENT_DOI_REGISTRY"):
        look_up(server)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (429, QuotaExhausted),
        (500, SearchError),
        (403, SearchError),
        ([], SearchError),
        ({"message": {"title": []}}, SearchError),
        ({"message": 5}, SearchError),
    ],
)
def test_any_other_answer_says_nothing_of_the_doi(server: Server, answer: Any, error: type) -> None:
    server.answers = {**LIST, "/works/10.1038%2Fnature14539": answer}
    with pytest.raises(error):
        look_up(server)


@pytest.mark.parametrize(
    "item", [{"title": "x"}, {"author": [5, {}]}, {"issued": {"date-parts": [[None]]}}, {"issued": []}]
)
def test_what_cannot_be_read_is_left_out(server: Server, item: dict[str, Any]) -> None:
    server.answers = {"/works/10.1038%2Fnature14539": {"message": {"DOI": "10.1038/nature14539", **item}}}
    work = look_up(server)
    assert work and (work.title, work.authors, work.years) == ("", (), ())


def test_a_page(server: Server) -> None:
    server.answers = {"/page": {}}
    visitor = PageVisitor(Fetcher(allowed=lambda address: True, ports=None))
    assert isinstance(visitor, Visitor)
    assert asyncio.run(visitor.visit(f"{server.url}/page")) == f"{server.url}/page"
    with pytest.raises(SearchError, match="the server answered 404.*does not mean that it never existed"):
        asyncio.run(visitor.visit(f"{server.url}/other"))
    with pytest.raises(SearchError, match="port"):
        asyncio.run(PageVisitor().visit(f"{server.url}/page"))


def test_without_a_setting_nothing_is_looked_up() -> None:
    assert resolve_bibliography() is None and resolve_visitor() is None
    services = make_services(sandbox="none")
    assert services.bibliography is None and services.visitor is None


def test_what_is_configured_is_used_unless_search_is_off(settings: pytest.MonkeyPatch) -> None:
    settings.setenv("HALUAGENT_DOI_REGISTRY", "https://registry.invalid")
    settings.setenv("HALUAGENT_CITED_PAGES", "1")
    services = make_services(sandbox="none")
    assert isinstance(services.bibliography, Crossref) and isinstance(services.visitor, PageVisitor)
    for off in ("none", None):
        services = make_services(sandbox="none", search=off)
        assert services.bibliography is None and services.visitor is None
    settings.setenv("HALUAGENT_DOI_REGISTRY", "registry")
    with pytest.raises(ConfigError, match="HALUAGENT_DOI_REGISTRY is no http"):
        make_services(sandbox="none")
