"""The passages of pages: what is read of them, and what they can do to their reader."""

import asyncio
import contextlib
import gzip
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from made_files import pdf

from haluagent.protocols import SearchResult
from haluagent.search.pages import extract, reading
from haluagent.search.pages.fetch import Fetcher
from haluagent.search.pages.reading import Pages
from haluagent.search.pages.relevance import best_passage

HTML = "text/html; charset=utf-8"
FILLER = "".join(f"<p>Number {number} is a number like any other, and nobody asks for it.</p>" for number in range(200))
PAGE = (
    "<html><head><title>T</title><script>Canberra = 'capital of Australia'</script></head><body><nav>Home</nav>"
    f"{FILLER}<p>Canberra &amp; not Sydney is the capital of Australia.</p>{FILLER}</body></html>"
)


@pytest.fixture
def site() -> Iterator[tuple[str, dict[str, tuple[str, bytes]]]]:
    """The address of a server and its pages by path: the type and the body."""
    served: dict[str, tuple[str, bytes]] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, body = served.get(self.path, ("", b""))
            self.send_response(200 if kind else 404)
            self.send_header("content-type", kind)
            if body.startswith(b"\x1f\x8b"):
                self.send_header("content-encoding", "gzip")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

        def handle(self) -> None:
            with contextlib.suppress(ConnectionError):
                super().handle()

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", served
        server.shutdown()


def read(urls: list[str], query: str = "capital of Australia", **options: Any) -> list[SearchResult]:
    results = [SearchResult(title="t", url=url, snippet="the snippet") for url in urls]
    fetcher = Fetcher(allowed=lambda address: address.is_loopback, ports=None, **options)
    return asyncio.run(Pages(fetcher).add_passages(results, query))


Site = tuple[str, dict[str, tuple[str, bytes]]]


def test_the_passage_is_verbatim_at_its_offset(site: Site) -> None:
    url, served = site
    served["/"] = (HTML, PAGE.encode())
    [result] = read([f"{url}/"])
    text = extract.read(PAGE.encode(), "text/html", "utf-8")
    assert result.text is not None and "Canberra & not Sydney is the capital of Australia." in result.text
    assert text[result.offset : result.offset + len(result.text)] == result.text
    assert result.offset > 1000 and len(result.text) < 1000 and result.snippet == "the snippet"
    assert "script" not in text and "Canberra =" not in text


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html", '<meta charset="gb2312"><p>澳大利亚的首都是堪培拉，朱镕基访问过。</p>'.encode("gb18030")),
        ("text/html; charset=GBK", "<p>澳大利亚的首都是堪培拉，朱镕基访问过。</p>".encode("gbk")),
        ("text/html; charset=nonsense", "<p>澳大利亚的首都是堪培拉，朱镕基访问过。</p>".encode()),
        ("text/plain; charset=big5", "澳大利亞的首都是堪培拉。".encode("big5")),
        ("text/plain", "澳大利亚的首都是堪培拉，朱镕基访问过。".encode("gbk")),
        ("application/xhtml+xml", '<?xml version="1.0"?><p>澳大利亚的首都是堪培拉，朱镕基访问过。</p>'.encode()),
        ("text/html", gzip.compress("<p>澳大利亚的首都是堪培拉，朱镕基访问过。</p>".encode(), mtime=0)),
    ],
)
def test_encodings(kind: str, body: bytes, site: Site) -> None:
    url, served = site
    served["/"] = (kind, body)
    text = read([f"{url}/"], "澳大利亚的首都")[0].text
    assert text is not None and text.replace("亞", "亚").startswith("澳大利亚的首都是堪培拉") and "\ufffd" not in text


def test_pdf(site: Site, tmp_path: Path) -> None:
    url, served = site
    stream = b"BT /F1 12 Tf 72 720 Td (Canberra is the capital of Australia.) Tj ET"
    served["/"] = ("application/pdf", pdf(stream))
    text = read([f"{url}/"])[0].text
    assert text == "Canberra is the capital of Australia."


@pytest.mark.parametrize(
    ("kind", "body"),
    [(HTML, b""), (HTML, b"<script>only</script>"), ("application/pdf", b"no PDF"), ("text/plain", b"\x00\xff\x01" * 99),
     ("image/png", b"\x89PNG"), ("", b"")],
)  # fmt: skip
def test_a_page_without_text_leaves_the_snippet(kind: str, body: bytes, site: Site) -> None:
    url, served = site
    served["/"] = (kind, body)
    [result] = read([f"{url}/"])
    assert (result.text, result.snippet) == (None, "the snippet")


def test_one_page_fails_alone(site: Site) -> None:
    url, served = site
    served["/a"] = served["/b"] = (HTML, PAGE.encode())
    results = read([f"{url}/a", f"{url}/none", "http://127.0.0.1:1/", "no address", f"{url}/b"])
    assert [result.text is not None for result in results] == [True, False, False, False, True]


def test_a_private_page_is_not_read(site: Site) -> None:
    url, served = site
    served["/"] = (HTML, PAGE.encode())
    result = SearchResult(title="t", url=f"{url}/", snippet="s")
    assert asyncio.run(Pages().add_passages([result], "capital")) == [result]


def test_what_has_its_text_is_not_fetched() -> None:
    result = SearchResult(title="t", url="http://no.such.host.invalid/", snippet="s", text="t", offset=9)
    assert asyncio.run(Pages().add_passages([result], "q")) == [result]


def test_a_page_made_to_keep_its_reader_busy_is_given_up(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    url, served = site
    served["/bomb"] = (HTML, b"<a b='" * 300_000)
    served["/deep"] = (HTML, b"<div>" * 300_000 + b"Canberra")
    served["/"] = (HTML, PAGE.encode())
    worker = reading.LimitedWorker(reading.worker.target, seconds=1.5, memory=2**30)
    monkeypatch.setattr(reading, "worker", worker)
    results = read([f"{url}/bomb", f"{url}/deep"])
    assert all(result.snippet == "the snippet" for result in results)
    assert read([f"{url}/"])[0].text is not None  # the next page has a reader again
    worker.close()


def test_the_best_passage() -> None:
    text = "Cats sleep.\n" * 100 + "Rarely does a platypus sleep long.\n" + "Dogs sleep.\n" * 100
    start, end = best_passage(text, "how long does a platypus sleep")
    assert "platypus" in text[start:end] and end - start < 1000
    start, end = best_passage("猫睡觉。\n" * 300 + "鸭嘴兽很少睡觉。\n" + "狗睡觉。\n" * 300, "鸭嘴兽睡多久")
    assert "鸭嘴兽" in ("猫睡觉。\n" * 300 + "鸭嘴兽很少睡觉。\n" + "狗睡觉。\n" * 300)[start:end]


@pytest.mark.parametrize(("text", "span"), [("", (0, 0)), (" \n", (0, 0)), (" Cats sleep. ", (1, 12))])
def test_the_best_passage_of_little(text: str, span: tuple[int, int]) -> None:
    assert best_passage(text, "dogs") == span
