"""Pages that strangers name are fetched from the public internet alone, within limits."""

import asyncio
import contextlib
import gzip
import http.server
import ipaddress
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from haluagent.search.pages.addresses import IPAddress, is_public
from haluagent.search.pages.fetch import Fetcher, Page, PageError
from haluagent.search.providers.jsonapi import tls_context

HTML = {"content-type": "text/html; charset=utf-8"}


class Site:
    """Answers by path: a status with headers and a body, or "hang" or "drip"."""

    def __init__(self) -> None:
        self.pages: dict[str, Any] = {}
        self.asked: list[tuple[str, str]] = []
        self.over = threading.Event()
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append((self.headers["host"], self.path))
                what = site.pages.get(self.path, (404, {}, b""))
                if what == "hang":
                    site.over.wait(5)
                    return
                status, headers, body = (200, HTML, b"") if what == "drip" else what
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                while what == "drip" and not site.over.wait(0.05):
                    self.wfile.write(b"x")
                    self.wfile.flush()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

            def handle(self) -> None:
                with contextlib.suppress(ConnectionError):  # the client has had enough
                    super().handle()

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.over.set()
    site.http.shutdown()
    site.http.server_close()


def is_loopback(address: IPAddress) -> bool:
    return address.is_loopback


def get(url: str, **options: Any) -> Page:
    """From a server of these tests: loopback alone is allowed, on any port."""
    return asyncio.run(Fetcher(**({"allowed": is_loopback, "ports": None} | options)).get(url))


def test_a_page(site: Site) -> None:
    site.pages["/a?b=c"] = (200, {"content-type": "Text/HTML; charset=GBK"}, "中文".encode("gbk"))
    page = get(f"{site.url}/a?b=c#part")
    assert page == Page(f"{site.url}/a?b=c#part", "中文".encode("gbk"), "text/html", "gbk")


def test_a_host_is_looked_up_once_and_that_address_is_used(site: Site) -> None:
    """No name server knows this host: a second look-up, which could give another address, would fail."""
    lookups: list[tuple[str, int]] = []

    async def lookup(host: str, port: int) -> list[str]:
        lookups.append((host, port))
        return ["127.0.0.1"]

    site.pages["/a"] = (200, HTML, b"text")
    assert get(f"http://rebinding.invalid:{site.port}/a", lookup=lookup).data == b"text"
    assert lookups == [("rebinding.invalid", site.port)]
    assert site.asked == [(f"rebinding.invalid:{site.port}", "/a")]


def test_the_next_address_where_one_does_not_answer(site: Site) -> None:
    async def lookup(host: str, port: int) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]  # the site listens on the second alone

    site.pages["/"] = (200, HTML, b"text")
    assert get(f"http://two.invalid:{site.port}/", lookup=lookup).data == b"text"


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
        "100.64.0.1", "0.0.0.0", "0.1.2.3", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "192.0.2.1",
        "198.18.0.1", "198.51.100.1", "203.0.113.1", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1",
        "fec0::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "2002:7f00:1::", "2002:c0a8:101::1",
        "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:db8::1", "100::1",
    ],
)  # fmt: skip
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "93.184.215.14", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]
)
def test_addresses_that_are_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "[::1]", "[::ffff:7f00:1]"]
)
def test_the_users_own_machine_is_out_of_reach(host: str, site: Site) -> None:
    site.pages["/"] = (200, HTML, b"secret")
    with pytest.raises(PageError, match="not on the public internet|gaierror|InvalidURL"):
        get(f"http://{host}:{site.port}/", allowed=is_public)
    assert site.asked == []


def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    async def lookup(host: str, port: int) -> list[str]:
        return ["8.8.8.8", "192.168.0.1"]

    with pytest.raises(PageError, match="not on the public internet"):
        get("http://example.org/", allowed=is_public, lookup=lookup)


def test_redirects_are_followed_and_checked(site: Site) -> None:
    site.pages |= {
        "/1": (302, {"location": "/2"}, b""),
        "/2": (308, {"location": f"http://localhost:{site.port}/3"}, b""),
    }
    site.pages["/3"] = (200, HTML, b"there")
    assert get(f"{site.url}/1").data == b"there"
    asked: list[str] = []

    async def lookup(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if host == "outside.invalid" else ["10.0.0.1"]

    site.pages["/1"] = (301, {"location": f"http://inside.invalid:{site.port}/"}, b"")
    with pytest.raises(PageError, match="not on the public internet"):
        get(f"http://outside.invalid:{site.port}/1", lookup=lookup)
    assert asked == ["outside.invalid", "inside.invalid"]


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "ftp://example.org/", "http://", "http://[", "gopher://127.0.0.1/"]
)
def test_redirects_to_what_is_no_web_address(location: str, site: Site) -> None:
    site.pages["/"] = (302, {"location": location}, b"")
    with pytest.raises(PageError):
        get(f"{site.url}/")


def test_redirects_without_end(site: Site) -> None:
    site.pages["/"] = (302, {"location": "/"}, b"")
    with pytest.raises(PageError, match="more than 3 redirects"):
        get(f"{site.url}/", redirects=3)
    assert len(site.asked) == 4


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "ftp://example.org", "javascript:x", "http://", "http://a:b@127.0.0.1/", "", "//x", "http://[x",
     "http://a..b/", "http://\ud800/", "http://" + "a" * 300 + "/", "http://a\x00b/", "http://example.org:99999/"],
)  # fmt: skip
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(PageError):
        get(url)


def test_other_ports_are_not_for_pages(site: Site) -> None:
    with pytest.raises(PageError, match=f"port {site.port} is not"):
        get(f"{site.url}/", ports=frozenset({80, 443}))
    assert site.asked == []


@pytest.mark.parametrize("packed", [False, True])
def test_a_page_that_is_too_long(packed: bool, site: Site) -> None:
    body = b"x" * 10_001
    site.pages["/"] = (
        200,
        HTML | ({"content-encoding": "gzip"} if packed else {}),
        gzip.compress(body) if packed else body,
    )
    assert len(get(f"{site.url}/", size=10_001).data) == 10_001
    with pytest.raises(PageError, match="more than 10000 bytes"):
        get(f"{site.url}/", size=10_000)


@pytest.mark.parametrize("encoding", ["br", "deflate", "gzip, gzip", "gzip"])
def test_compression_that_is_not_read(encoding: str, site: Site) -> None:
    site.pages["/"] = (200, HTML | {"content-encoding": encoding}, b"nonsense")
    with pytest.raises(PageError, match="encoding|compression"):
        get(f"{site.url}/")


@pytest.mark.parametrize("kind", ["image/png", "application/octet-stream", "application/json", ""])
def test_what_is_no_page_of_text(kind: str, site: Site) -> None:
    site.pages["/"] = (200, {"content-type": kind}, b"x")
    with pytest.raises(PageError, match="is not read"):
        get(f"{site.url}/")


def test_a_page_that_is_not_there(site: Site) -> None:
    with pytest.raises(PageError, match="404"):
        get(f"{site.url}/none")


@pytest.mark.parametrize("what", ["hang", "drip"])
def test_a_page_has_its_time_in_all(what: str, site: Site) -> None:
    site.pages["/"] = what
    with pytest.raises(PageError, match="more than 0.3 s"):  # a server that drips goes on for ever
        get(f"{site.url}/", seconds=0.3)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_the_certificate_is_that_of_the_name(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", key, "-out", certificate, "-subj", "/CN=t", "-addext", "subjectAltName=DNS:secure.invalid"]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    names: list[str] = []
    context.sni_callback = lambda connection, name, _: names.append(name)
    site.http.socket = context.wrap_socket(site.http.socket, server_side=True)
    site.pages["/"] = (200, HTML, b"secret")
    monkeypatch.setenv("SSL_CERT_FILE", certificate)
    tls_context.cache_clear()

    async def lookup(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    try:
        assert get(f"https://secure.invalid:{site.port}/", lookup=lookup).data == b"secret"
        with pytest.raises(PageError, match="CERTIFICATE_VERIFY_FAILED"):
            get(f"https://other.invalid:{site.port}/", lookup=lookup)
    finally:
        tls_context.cache_clear()
    assert names == ["secure.invalid", "other.invalid"]


def test_no_proxy_stands_between(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    site.pages["/"] = (200, HTML, b"direct")
    assert get(f"{site.url}/").data == b"direct"
