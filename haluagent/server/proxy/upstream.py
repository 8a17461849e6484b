"""The server behind the proxy: requests go to it, and answers come back, as they are."""

from collections.abc import AsyncIterator, Iterable, Mapping

import httpx
from starlette.requests import ClientDisconnect

from haluagent.models.endpoint import is_local
from haluagent.server.problems import HttpProblem
from haluagent.server.proxy.settings import ProxySettings
from haluagent.text.failures import describe

CONNECT, SILENCE = 10.0, 600.0  # seconds that a connection, and a byte of an answer, may take
# What belongs to one connection (RFC 9110, section 7.6.1), or is made anew for the next.
_OWN = frozenset(
    "connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade "
    "host content-length date".split()
)

Headers = list[tuple[bytes, bytes]]


class Upstream:
    """A client of the upstream. `aclose` frees its connections."""

    def __init__(self, settings: ProxySettings) -> None:
        self._url = httpx.URL(settings.upstream)
        self._key = settings.upstream_key
        self._token = settings.server.token is not None
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(SILENCE, connect=CONNECT, pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
            trust_env=not is_local(settings.upstream),
        )
        self._client.headers.clear()  # what the client did not ask for, such as compression, nobody asks for

    async def send(
        self,
        method: str,
        path: str,
        query: bytes,
        headers: Iterable[tuple[bytes, bytes]],
        body: bytes,
        plain: bool = False,
    ) -> httpx.Response:
        """Send a request and return the answer, of which nothing but the head was read; it has to be closed.

        `path` stands below the base URL, `plain` asks for an answer without compression. Raises HttpProblem where there
        is no answer.
        """
        url = self._url.copy_with(raw_path=self._url.raw_path + path.encode() + (b"?" + query if query else b""))
        request = self._client.build_request(method, url, headers=self._passed_on(headers, plain), content=body)
        try:
            return await self._client.send(request, stream=True)
        except httpx.HTTPError as error:
            raise HttpProblem("upstream", f"the upstream does not answer ({describe(error)})") from error

    def _passed_on(self, headers: Iterable[tuple[bytes, bytes]], plain: bool) -> Headers:
        kept = passed(headers)
        if self._key or self._token:  # the client's token is for the proxy
            kept = [pair for pair in kept if pair[0] != b"authorization"]
        if self._key:
            kept.append((b"authorization", f"Bearer {self._key}".encode()))
        if plain:
            kept = [pair for pair in kept if pair[0] != b"accept-encoding"] + [(b"accept-encoding", b"identity")]
        return kept

    async def aclose(self) -> None:
        await self._client.aclose()


def passed(headers: Iterable[tuple[bytes, bytes]], *without: str) -> Headers:
    """Return the headers that are passed on, names in lower case."""
    pairs = [(name.lower(), value) for name, value in headers]
    named = {
        part.strip()
        for name, value in pairs
        if name == b"connection"
        for part in value.decode("latin-1").lower().split(",")
    }
    dropped = {name.encode("latin-1") for name in _OWN | named | set(without)}
    return [(name, value) for name, value in pairs if name not in dropped]


async def raw(response: httpx.Response) -> AsyncIterator[bytes]:
    """Yield the bytes of an answer as they come. One that breaks off does so for the client, too."""
    try:
        async for chunk in response.aiter_raw():
            yield chunk
    except httpx.HTTPError as error:
        raise ClientDisconnect from error


async def decoded(response: httpx.Response) -> AsyncIterator[bytes]:
    """Yield the bytes of an answer without their compression. Raises HttpProblem for one that breaks off."""
    try:
        async for chunk in response.aiter_bytes():
            yield chunk
    except httpx.HTTPError as error:
        raise HttpProblem("upstream", f"the upstream's answer broke off ({describe(error)})") from error


async def whole(response: httpx.Response, longest: int) -> bytes:
    """Return an answer's body. Raises HttpProblem for one that breaks off, or has more than `longest` bytes."""
    body = bytearray()
    async for chunk in decoded(response):
        body += chunk
        if len(body) > longest:
            raise HttpProblem("upstream", f"the upstream's answer has more than {longest} bytes")
    return bytes(body)


def told(headers: Mapping[str, str]) -> Headers:
    """Return headers of the proxy's own."""
    return [(name.encode(), value.encode()) for name, value in headers.items()]
