"""JSON over HTTP from one service. Messages and exceptions contain neither addresses nor keys."""

import asyncio
import json
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import version
from ssl import SSLContext
from typing import Any, NoReturn

import httpx

from haluagent.errors import ConfigError
from haluagent.models.endpoint import is_local, read_retry_after
from haluagent.search.providers.calls import Calls
from haluagent.search.providers.failures import Failure, Kind, connection_failure, in_short

MAX_ANSWER = 5_000_000  # bytes

_KINDS: dict[int, Kind] = {401: "key", 402: "quota"}


class JsonApi:
    """The API at `url`: one object per answer.

    `timeout` is in seconds per try. `secrets` are never shown, even if the service repeats them. `judge` may turn an
    answer into a `Failure`, given its status and its object (None if it is not JSON); otherwise the status alone
    decides.
    """

    def __init__(
        self,
        url: str,
        calls: Calls,
        *,
        headers: dict[str, str] | None = None,
        timeout: float = 10.0,
        secrets: tuple[str, ...] = (),
        judge: Callable[[int, Any], Failure | None] = lambda status, answer: None,
    ) -> None:
        address = httpx.URL(url)
        self.url = address.copy_with(userinfo=b"")  # the client logs addresses
        self._login = (address.username, address.password) if address.userinfo else None
        self._calls = calls
        self._headers = {"user-agent": user_agent()} | (headers or {})
        self._timeout = timeout
        self._secrets = tuple(filter(None, (*secrets, address.password)))
        self._judge = judge

    def client(self) -> httpx.AsyncClient:
        """Return a client for a series of requests. It belongs to the running event loop, so it is not kept."""
        return httpx.AsyncClient(
            headers=self._headers,
            auth=self._login,
            timeout=self._timeout,
            verify=tls_context(),
            trust_env=not is_local(str(self.url)),
        )

    async def get(self, client: httpx.AsyncClient, **parameters: str | int) -> dict[str, Any]:
        """Send a GET with these parameters and return the object. Raise `Failure`."""
        return await self._calls.run(
            lambda: self._try(client, client.build_request("GET", self.url, params=parameters))
        )

    async def post(self, client: httpx.AsyncClient, body: dict[str, Any]) -> dict[str, Any]:
        """Send a POST with this object and return the answer's. Raise `Failure`."""
        return await self._calls.run(lambda: self._try(client, client.build_request("POST", self.url, json=body)))

    async def _try(self, client: httpx.AsyncClient, request: httpx.Request) -> dict[str, Any]:
        try:
            async with asyncio.timeout(self._timeout):
                response, data = await _fetch(client, request)
        except (httpx.TimeoutException, TimeoutError):
            failure = Failure("timeout", f"{self._timeout:g} s")
        except httpx.DecodingError:
            failure = Failure("answer", "damaged compression")
        except httpx.HTTPError as error:
            failure = connection_failure(error)
        else:
            return self._read(response, data)
        raise failure  # here and not above, because a client's exception holds the request with its key

    def _read(self, response: httpx.Response, data: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError):
            answer = None
        status = response.status_code
        if failure := self._judge(status, answer):
            raise failure
        if status != 200:
            self._refuse(response, answer)
        if not isinstance(answer, dict):
            raise Failure("answer", "not a JSON object" if answer is not None else "not JSON")
        return answer

    def _refuse(self, response: httpx.Response, answer: Any) -> NoReturn:
        status = response.status_code
        detail = f"{status} {self._words(answer)}".strip()
        wait = read_retry_after(response.headers.get("retry-after"))
        if status == 429:
            raise Failure("busy", detail if wait is None else f"{detail}, asks to wait {wait:.0f} s", wait)
        if status >= 500 or status == 408:
            raise Failure("server", detail, wait)
        if status in (301, 302, 303, 307, 308):
            raise Failure("moved", self._target(response))
        raise Failure(_KINDS.get(status, "refused"), detail)

    def _words(self, answer: Any) -> str:
        """Return the service's message, if it is in one of the usual places."""
        if isinstance(answer, dict):
            for place in (answer.get("error"), answer):
                text = place.get("message") or place.get("info") if isinstance(place, dict) else place
                if isinstance(text, str):
                    return in_short(text, self._secrets)
        return ""

    def _target(self, response: httpx.Response) -> str:
        try:
            target = self.url.join(response.headers.get("location", ""))
        except httpx.InvalidURL:
            return "an address that cannot be read"
        return in_short(f"{target.scheme}://{target.netloc.decode()}{target.path}", self._secrets)


async def _fetch(client: httpx.AsyncClient, request: httpx.Request) -> tuple[httpx.Response, bytes]:
    response = await client.send(request, stream=True)
    try:
        data = bytearray()
        async for chunk in response.aiter_bytes():
            data += chunk
            if len(data) > MAX_ANSWER:
                raise Failure("answer", f"more than {MAX_ANSWER} bytes")
    finally:
        await response.aclose()
    return response, bytes(data)


def service_url(value: str, setting: str) -> httpx.URL:
    """Return the address of a service. Raise a `ConfigError` that names the setting if it is not an http(s) address."""
    try:
        url = httpx.URL(value.strip())
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise ConfigError(f"{setting} is no http or https address: write it like https://search.example.org")
    return url


def user_agent(contact: str | None = None) -> str:
    """Return the User-Agent for requests; `contact` is an address of the user, for services that want one."""
    name = f"HaluAgent/{version('haluagent')}"
    return f"{name} ({contact})" if contact else name


@lru_cache(maxsize=1)
def tls_context() -> SSLContext:
    """Load the certificates once, since that takes longer than a request on the same machine."""
    return httpx.create_ssl_context()
