"""The providers that go online, each with its real client against a server on loopback."""

import asyncio
import http.server
import json
import logging
import socket
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from haluagent.errors import ConfigError, QuotaExhausted, SearchError, SearchTimeout
from haluagent.protocols import SearchProvider, SearchResult
from haluagent.search.providers.calls import Calls
from haluagent.search.providers.google import GoogleSearch
from haluagent.search.providers.mediawiki import MediaWiki
from haluagent.search.providers.searxng import SearXNG
from haluagent.search.providers.serper import Serper
from haluagent.search.providers.vertex import VertexSearch

KEY = "s3cr3t/Key"
LONG_PAGE = (
    "Gold is a metal.\n" * 200 + "Canberra is the capital of Australia.\nIt lies inland.\n" + "Tin is too.\n" * 200
)


@dataclass
class Asked:
    path: str
    parameters: dict[str, str]
    headers: dict[str, str]
    body: bytes


@dataclass
class Server:
    """Answers with what is queued, the last one again and again: a status with headers and a body (JSON, or text as it
    stands), or "hang", or "die" in the middle. Keeps what it was asked."""

    queue: list[Any] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    url: str = ""
    over: threading.Event = field(default_factory=threading.Event)

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        url = urlsplit(request.path)
        parameters = {name: values[0] for name, values in parse_qs(url.query).items()}
        body = request.rfile.read(int(request.headers.get("content-length") or 0))
        self.asked.append(Asked(url.path, parameters, {k.lower(): v for k, v in request.headers.items()}, body))
        what = self.queue.pop(0) if len(self.queue) > 1 else self.queue[0]
        if callable(what):
            what = what(parameters)
        if what == "hang":
            self.over.wait(5)
            return
        status, headers, content = what if isinstance(what, tuple) else (200, {}, what)
        data = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        request.send_response(status)
        for name, value in ({"content-length": str(len(data) + 9 * (what == DIE))} | headers).items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(data)


DIE = (200, {}, '{"results": [')


@pytest.fixture
def server() -> Iterator[Server]:
    played = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            played.answer(self)

        do_POST = do_GET

        def log_message(self, *args: Any) -> None:
            pass

    listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    played.url = f"http://127.0.0.1:{listener.server_address[1]}"
    threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield played
    played.over.set()
    listener.shutdown()
    listener.server_close()


def wiki(parameters: dict[str, str]) -> Any:
    """A wiki with one long page."""
    if parameters.get("list") == "search":
        hit = {"ns": 0, "title": "Gold &amp; tin", "pageid": 7, "snippet": 'a <span class="searchmatch">metal</span>'}
        return {"query": {"search": [hit, {**hit, "pageid": 8}]}}
    page = {"pageid": 7, "title": "Gold", "extract": LONG_PAGE, "canonicalurl": "https://en.wikipedia.org/wiki/Gold"}
    return {"query": {"pages": [page]}}


HIT = {"title": "<b>Gold</b>", "snippet": "a&nbsp;<em>metal</em>,\n 2 < 3", "content": "a&nbsp;<em>metal</em>,\n 2 < 3"}
HITS = [HIT | {"link": f"https://example.org/{i}", "url": f"https://example.org/{i}"} for i in range(7)]


@dataclass
class Case:
    make: Callable[..., SearchProvider]
    full: Any
    empty: Any
    variable: str


CASES = {
    "searxng": Case(
        lambda url, **more: SearXNG(url, **more),
        {"results": HITS},
        {"results": [], "unresponsive_engines": []},
        "HALUAGENT_SEARXNG_URL",
    ),
    "mediawiki": Case(
        lambda url, **more: MediaWiki(url + "/w/api.php", **more),
        wiki,
        {"batchcomplete": True, "query": {"search": []}},
        "HALUAGENT_MEDIAWIKI_URL",
    ),
    "google": Case(
        lambda url, **more: GoogleSearch(KEY, "engine", endpoint=url, **more),
        {"items": HITS},
        {"searchInformation": {"totalResults": "0"}},
        "the network",
    ),
    "vertex": Case(
        lambda url, **more: VertexSearch(KEY, url + "/v1/engines/e/servingConfigs/s:searchLite", **more),
        {
            "results": [
                {"document": {"derivedStructData": HIT | {"link": one["link"], "snippets": [HIT]}}} for one in HITS
            ]
        },
        {"attributionToken": "x"},
        "GOOGLE_SEARCH_URL",
    ),
    "serper": Case(
        lambda url, **more: Serper(KEY, url=url + "/search", **more),
        {"searchParameters": {}, "organic": HITS},
        {"searchParameters": {}, "organic": []},
        "the network",
    ),
}
each = pytest.mark.parametrize("name", CASES)
with_a_key = pytest.mark.parametrize("name", ["google", "serper", "vertex"])


class Clock:
    """What the provider waits with here: it only remembers how long it should have been."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


def search(provider: SearchProvider, query: str = "Canberra capital", **options: Any) -> list[SearchResult]:
    return asyncio.run(provider.search(query, **options))


def make(name: str, server: Server, *queue: Any, clock: Clock | None = None, **options: Any) -> SearchProvider:
    server.queue = list(queue)
    return CASES[name].make(server.url, calls=Calls(sleep=(clock or Clock()).sleep), **options)


@each
def test_results(name: str, server: Server) -> None:
    results = search(make(name, server, CASES[name].full), count=2)
    assert len(results) == 2
    assert results[0].url == ("https://en.wikipedia.org/wiki/Gold" if name == "mediawiki" else "https://example.org/0")
    assert results[0].title == ("Gold & tin" if name == "mediawiki" else "Gold")
    assert results[0].snippet == ("a metal" if name == "mediawiki" else "a metal, 2 < 3")


@each
def test_nothing_found(name: str, server: Server) -> None:
    assert search(make(name, server, CASES[name].empty)) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("searxng", {"q": "黄金", "format": "json", "language": "zh"}),
        ("google", {"q": "黄金", "cx": "engine", "num": "3", "hl": "zh-CN", "lr": "lang_zh-CN|lang_zh-TW", "key": KEY}),
        ("mediawiki", {"action": "query", "list": "search", "srsearch": "黄金", "srlimit": "3", "format": "json"}),
    ],
)
def test_what_is_asked(name: str, expected: dict[str, str], server: Server) -> None:
    search(make(name, server, CASES[name].full), "黄金", count=3, language="zh")
    assert expected.items() <= server.asked[0].parameters.items()


def test_what_serper_is_asked(server: Server) -> None:
    search(make("serper", server, CASES["serper"].full), "黄金", count=3, language="zh")
    assert json.loads(server.asked[0].body) == {"q": "黄金", "num": 3, "hl": "zh-cn", "gl": "cn"}
    assert server.asked[0].headers["x-api-key"] == KEY


@each
def test_429_is_tried_again_after_the_time_asked_for(name: str, server: Server) -> None:
    clock = Clock()
    provider = make(name, server, (429, {"retry-after": "7"}, "slow down"), CASES[name].full, clock=clock)
    assert search(provider) and clock.waits == [7]


@each
def test_429_without_end_is_an_exhausted_quota(name: str, server: Server) -> None:
    with pytest.raises(QuotaExhausted, match="429; tries: 3"):
        search(make(name, server, (429, {}, "slow down")))
    assert len(server.asked) == 3


@each
def test_a_wait_that_is_too_long_is_not_waited_for(name: str, server: Server) -> None:
    clock = Clock()
    with pytest.raises(QuotaExhausted, match="asks to wait 3600 s"):
        search(make(name, server, (429, {"retry-after": "3600"}, ""), clock=clock))
    assert (len(server.asked), clock.waits) == (1, [])


@each
def test_500_once(name: str, server: Server) -> None:
    assert search(make(name, server, (500, {}, "oops"), CASES[name].full))


@each
def test_500_without_end(name: str, server: Server) -> None:
    clock = Clock()
    with pytest.raises(SearchError, match="failed .500; tries: 3.: try again later") as raised:
        search(make(name, server, (500, {}, "oops"), clock=clock))
    assert type(raised.value) is SearchError
    assert len(server.asked) == 3 and clock.waits[1] > clock.waits[0] > 0


@each
def test_no_answer_in_time(name: str, server: Server) -> None:
    with pytest.raises(SearchTimeout, match="0.2 s; tries: 3") as raised:
        search(make(name, server, "hang", timeout=0.2))
    assert CASES[name].variable in str(raised.value) and len(server.asked) == 3


@each
@pytest.mark.parametrize(
    "body",
    ['{"results": [', "<html>", "null", "[]", "5", '"x"', "{}", '{"results": 5, "items": 5, "organic": 5, "query": 5}',
     '{"results": [5], "items": [{"link": 5}], "organic": [{}], "query": {"search": [{}]}}', b"\xff\xfe".decode("latin1")],
)  # fmt: skip
def test_broken_answers(name: str, body: str, server: Server) -> None:
    with pytest.raises(SearchError, match="sent what is no answer") as raised:
        search(make(name, server, body))
    assert type(raised.value) is SearchError and "\n" not in str(raised.value)
    assert len(server.asked) == 1


@each
def test_an_answer_that_breaks_off_is_asked_for_again(name: str, server: Server) -> None:
    assert search(make(name, server, DIE, CASES[name].full))


@each
def test_half_a_character_is_no_problem(name: str, server: Server) -> None:
    spoilt = json.dumps(wiki({"list": "search"}) if name == "mediawiki" else CASES[name].full)
    spoilt = spoilt.replace("metal", "m\\ud800tal")
    result = search(make(name, server, spoilt, CASES[name].full), query="x\ud800y")[0]
    assert "m\ufffdtal" in result.snippet


@each
def test_nobody_there(name: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        provider = CASES[name].make(url, calls=Calls(sleep=Clock().sleep))
        with pytest.raises(SearchError, match="Connection refused|Connect call failed|refused.*tries: 3") as raised:
            search(provider)
    assert CASES[name].variable in str(raised.value)


@pytest.fixture
def nameless(monkeypatch: pytest.MonkeyPatch) -> None:
    """No name server is asked: whatever is no address is unknown."""

    def unknown(*args: object, **more: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)


@each
def test_no_such_host(name: str, nameless: None) -> None:
    provider = CASES[name].make("http://no.such.host.invalid", calls=Calls(sleep=Clock().sleep))
    with pytest.raises(SearchError, match="host of .* was not found.*name server"):
        search(provider)


@each
def test_a_server_without_tls(name: str, server: Server) -> None:
    provider = CASES[name].make(server.url.replace("http:", "https:"), calls=Calls(sleep=Clock().sleep))
    with pytest.raises(SearchError, match="no secure connection"):
        search(provider)


@each
def test_a_redirect_is_not_followed(name: str, server: Server) -> None:
    with pytest.raises(SearchError, match="has moved"):
        search(make(name, server, (301, {"location": f"{server.url}/elsewhere?key={KEY}"}, ""), CASES[name].full))
    assert len(server.asked) == 1


@each
def test_messages_in_chinese(name: str, server: Server) -> None:
    with pytest.raises(SearchError, match="出错（500；尝试次数：3）"):
        search(make(name, server, (500, {}, "")), language="zh")


@each
def test_searches_on_several_loops_at_once(name: str, server: Server) -> None:
    provider = make(name, server, CASES[name].full)
    found: list[int] = []

    async def both() -> None:
        for results in await asyncio.gather(provider.search("a", 2), provider.search("b", 2)):
            found.append(len(results))

    threads = [threading.Thread(target=asyncio.run, args=(both(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [2] * 8


@with_a_key
@pytest.mark.parametrize(
    "answer",
    [
        (401, {}, {"message": f"bad key {KEY}"}),
        (403, {}, {"error": {"message": f"The key {KEY} is not allowed"}}),
        (400, {}, {"error": {"message": f"API key {KEY} not valid. Please pass a valid API key."}}),
        (418, {}, {"message": f"no {KEY}"}),
        (500, {}, f"Traceback: {KEY}"),
        (302, {"location": f"https://example.org/{KEY}?key={KEY}"}, ""),
        f"no JSON {KEY}",
        "hang",
        DIE,
    ],
)
def test_the_key_is_not_shown(name: str, answer: Any, server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(SearchError) as raised:
        search(make(name, server, answer, timeout=0.2 if answer == "hang" else 30))
    error: BaseException | None = raised.value
    while error is not None:  # what a debugger or a crash reporter would show
        assert KEY not in "".join(traceback.format_exception_only(error)) + repr(error)
        error = error.__cause__ or error.__context__
    written = [record.getMessage() for record in caplog.records if record.name != "httpcore.http11"]  # raw answers
    assert written and not [line for line in written if KEY in line]


def test_a_key_that_is_refused_is_named(server: Server) -> None:
    with pytest.raises(SearchError, match="Serper does not accept the key or the login .403.: check SERPER_API_KEY"):
        search(make("serper", server, (403, {}, {"message": "Unauthorized."})))
    with pytest.raises(SearchError, match="check GOOGLE_API_KEY"):
        search(make("google", server, (400, {}, {"error": {"details": [{"reason": "API_KEY_INVALID"}]}})))


def test_no_credits_are_an_exhausted_quota(server: Server) -> None:
    with pytest.raises(QuotaExhausted, match="not enough credits"):
        search(make("serper", server, (400, {}, {"message": "Not enough credits"})))


@pytest.mark.parametrize("reason", ["dailyLimitExceeded", "quotaExceeded"])
def test_googles_quota_of_the_day(reason: str, server: Server) -> None:
    answer = {"error": {"errors": [{"domain": "usageLimits", "reason": reason}], "message": "no more"}}
    with pytest.raises(QuotaExhausted, match=reason):
        search(make("google", server, (403, {}, answer)))
    assert len(server.asked) == 1


def test_googles_newer_words_for_the_quota_of_the_day(server: Server) -> None:
    message = "Quota exceeded for quota metric 'Queries' and limit 'Queries per day' of service 'customsearch'"
    answer = {"error": {"code": 429, "message": message, "errors": [{"reason": "rateLimitExceeded"}]}}
    with pytest.raises(QuotaExhausted):
        search(make("google", server, (429, {}, answer)))
    assert len(server.asked) == 1


def test_google_is_asked_again_where_it_was_asked_too_fast(server: Server) -> None:
    too_fast = (403, {}, {"error": {"errors": [{"reason": "rateLimitExceeded"}]}})
    assert search(make("google", server, too_fast, CASES["google"].full))
    with pytest.raises(QuotaExhausted, match="rateLimitExceeded; tries: 3"):
        search(make("google", server, too_fast))


@pytest.mark.parametrize(
    ("name", "hint"),
    [("google", "GOOGLE_CSE_ID"), ("searxng", "json under search.formats"), ("mediawiki", "HALUAGENT_CONTACT")],
)
def test_403_says_what_to_check(name: str, hint: str, server: Server) -> None:
    with pytest.raises(SearchError, match=hint) as raised:
        search(make(name, server, (403, {}, "Forbidden")))
    assert type(raised.value) is SearchError and len(server.asked) == 1


def test_engines_that_failed_are_not_an_empty_result(server: Server) -> None:
    answer = {"results": [], "unresponsive_engines": [["google", "Suspended: CAPTCHA"], ["brave", "timeout"]]}
    with pytest.raises(SearchError, match="google Suspended: CAPTCHA; brave timeout"):
        search(make("searxng", server, answer))


@pytest.mark.parametrize("path", ["", "/", "/search", "/searx", "/searx/search/"])
def test_addresses_of_searxng(path: str, server: Server, caplog: pytest.LogCaptureFixture) -> None:
    server.queue = [{"results": []}]
    caplog.set_level(logging.DEBUG)
    provider = SearXNG(server.url.replace("//", "//me:s3cr3t@") + path)
    search(provider)
    assert server.asked[0].path == ("/searx" if "searx" in path else "") + "/search"
    assert server.asked[0].headers["authorization"].startswith("Basic ")
    assert "s3cr3t" not in caplog.text + provider.endpoint


@pytest.mark.parametrize("url", ["", "localhost:8080", "ftp://example.org", "http://"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(ConfigError, match="HALUAGENT_SEARXNG_URL"):
        SearXNG(url)
    with pytest.raises(ConfigError, match="HALUAGENT_MEDIAWIKI_URL"):
        MediaWiki(url)


def test_a_wiki_gives_the_passage_of_its_page(server: Server) -> None:
    result = search(make("mediawiki", server, wiki))[0]
    assert result.text is not None and "Canberra is the capital" in result.text and len(result.text) < 1000
    assert LONG_PAGE[result.offset : result.offset + len(result.text)] == result.text
    assert server.asked[1].parameters["pageids"] == "7" and server.asked[1].parameters["explaintext"] == "1"


def test_a_wiki_in_chinese(server: Server) -> None:
    server.queue = [wiki]
    search(MediaWiki(server.url + "/{language}/api.php", contact="me@example.org"), language="zh")
    assert server.asked[0].path == "/zh/api.php" and server.asked[1].parameters["variant"] == "zh-cn"
    assert "me@example.org" in server.asked[0].headers["user-agent"]


def test_a_wiki_whose_pages_fail_gives_snippets(server: Server) -> None:
    results = search(make("mediawiki", server, wiki, (500, {}, "")))
    assert [(result.text, result.snippet) for result in results] == [(None, "a metal")] * 2
    assert results[0].url == f"{server.url}/w/index.php?curid=7"
    assert len(server.asked) == 1 + 3  # a wiki that fails is left alone


@pytest.mark.parametrize(
    ("code", "kind"),
    [("ratelimited", QuotaExhausted), ("internal_api_error_DBQueryError", SearchError), ("nosuchaction", SearchError)],
)
def test_a_wikis_errors_come_with_200(code: str, kind: type, server: Server) -> None:
    with pytest.raises(kind, match=code):
        search(make("mediawiki", server, {"error": {"code": code, "info": "..."}}))


def test_google_says_why_it_refuses(server: Server) -> None:
    message = "This project does not have the access to Custom Search JSON API.\n" + "x" * 500
    with pytest.raises(SearchError, match="403 This project does not have the access.*check GOOGLE_CSE_ID") as raised:
        search(make("google", server, (403, {}, {"error": {"message": message, "status": "PERMISSION_DENIED"}})))
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 300


def test_a_wiki_needs_its_password(server: Server) -> None:
    with pytest.raises(SearchError, match="key or the login .401.: check HALUAGENT_MEDIAWIKI_URL"):
        search(make("mediawiki", server, (401, {}, "")))
