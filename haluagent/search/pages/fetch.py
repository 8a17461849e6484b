"""Fetching a page from an untrusted address, without letting it reach into the user's own network.

Its host is looked up once, every address of it must be public, and the connection goes to the very address that was
checked, so a name that changes in between (DNS rebinding) gains nothing. The same holds for each redirect. A proxy
would look up the name itself, so none is used.
"""

import asyncio
import ipaddress
import socket
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx

from haluagent.search.documents.docx import MEDIA_TYPE as DOCX
from haluagent.search.pages.addresses import IPAddress, is_public
from haluagent.search.providers.jsonapi import tls_context, user_agent

TYPES = ("text/html", "application/xhtml+xml", "text/plain", "text/markdown", "application/pdf", DOCX)
REDIRECTS = (301, 302, 303, 307, 308)
_HEADERS = {"user-agent": user_agent(), "accept": ", ".join(TYPES), "accept-encoding": "gzip"}

Lookup = Callable[[str, int], Awaitable[list[str]]]


class PageError(Exception):
    """A page cannot be fetched; the message says why."""


@dataclass(frozen=True)
class Page:
    """A fetched page: the address after redirects, the bytes, and their type and charset as the server names them."""

    url: str
    data: bytes
    type: str
    charset: str | None


async def look_up(host: str, port: int) -> list[str]:
    """Return the addresses of a host, best first."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Fetcher:
    """A fetcher of pages of at most `size` bytes, each within `seconds` in all.

    `allowed` decides which addresses may be used, `ports` which ports (None: any); `lookup` finds the addresses of a
    host.
    """

    def __init__(
        self,
        *,
        size: int = 2_000_000,
        seconds: float = 10.0,
        redirects: int = 5,
        allowed: Callable[[IPAddress], bool] = is_public,
        ports: frozenset[int] | None = frozenset({80, 443}),
        lookup: Lookup = look_up,
    ) -> None:
        self._size = size
        self._seconds = seconds
        self._redirects = redirects
        self._allowed = allowed
        self._ports = ports
        self._lookup = lookup

    async def get(self, url: str) -> Page:
        """Fetch the page at an address. Raise `PageError`."""
        try:
            async with (
                asyncio.timeout(self._seconds),
                httpx.AsyncClient(
                    headers=_HEADERS, timeout=self._seconds, verify=tls_context(), trust_env=False
                ) as client,
            ):
                return await self._follow(client, url)
        except (TimeoutError, httpx.TimeoutException):
            raise PageError(f"it took more than {self._seconds:g} s") from None
        except (OSError, ValueError, httpx.HTTPError, httpx.InvalidURL) as error:  # ValueError: no URL, no host name
            raise PageError(f"{type(error).__name__}: {error}") from error

    async def _follow(self, client: httpx.AsyncClient, address: str) -> Page:
        url = httpx.URL(address)
        for _ in range(self._redirects + 1):
            response = await self._send(client, url)
            try:
                if response.status_code not in REDIRECTS:
                    return await self._read(response, url)
                url = url.join(response.headers.get("location", ""))
            finally:
                await response.aclose()
        raise PageError(f"more than {self._redirects} redirects")

    async def _send(self, client: httpx.AsyncClient, url: httpx.URL) -> httpx.Response:
        failure: httpx.ConnectError | None = None
        for address in await self._addresses(url):
            request = client.build_request(
                "GET",
                url.copy_with(host=address),
                headers={"host": url.netloc.decode("ascii")},
                extensions={"sni_hostname": url.raw_host.decode("ascii")},
            )
            try:
                return await client.send(request, stream=True)
            except httpx.ConnectError as error:  # such as an IPv6 address on a network with IPv4 only
                failure = error
        raise failure or PageError("its host has no address")

    async def _addresses(self, url: httpx.URL) -> list[str]:
        """Return the checked addresses to connect to.

        Raise `PageError` for an address, a port or a scheme that is not allowed.
        """
        port = url.port or {"http": 80, "https": 443}.get(url.scheme)
        if port is None or not url.host or url.userinfo:
            raise PageError("only http and https addresses without a password are fetched")
        if self._ports is not None and port not in self._ports:
            raise PageError(f"port {port} is not one of web pages")
        addresses = await self._lookup(url.raw_host.decode("ascii"), port)
        for address in addresses:
            if not self._allowed(ipaddress.ip_address(address)):
                raise PageError("its host is not on the public internet")
        return addresses

    async def _read(self, response: httpx.Response, url: httpx.URL) -> Page:
        if response.status_code != 200:
            raise PageError(f"the server answered {response.status_code}")
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in TYPES:
            raise PageError(f"a page of type {kind or 'unknown'} is not read")
        data = bytearray()
        async for chunk in response.aiter_raw():
            data += chunk
            if len(data) > self._size:
                raise PageError(f"it has more than {self._size} bytes")
        return Page(str(url), self._unpack(response, bytes(data)), kind, response.charset_encoding)

    def _unpack(self, response: httpx.Response, data: bytes) -> bytes:
        """Decompress data within the size limit, since a few bytes of gzip can become gigabytes."""
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding in ("identity", ""):
            return data
        if encoding not in ("gzip", "x-gzip"):
            raise PageError(f"its encoding {encoding} is not read")
        unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        try:
            unpacked = unpacker.decompress(data, self._size)
        except zlib.error as error:
            raise PageError("its compression is damaged") from error
        if unpacker.unconsumed_tail:
            raise PageError(f"it unpacks to more than {self._size} bytes")
        return unpacked
