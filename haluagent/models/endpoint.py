"""JSON over HTTP to one server: retries, time-outs, bounded concurrency, and errors that quote the server's answer."""

import asyncio
import email.utils
import json
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx
import tenacity

from haluagent.errors import ConfigError, ModelError
from haluagent.models import calls
from haluagent.text.failures import describe

RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
LONGEST_WAIT = 60.0
Sleep = Callable[[float], Awaitable[None]]


class RequestRefused(ModelError):
    """The server understood the request and refuses it (400 or 422); sending it again would change nothing."""


class _Transient(ModelError):
    """An error worth another try. `retry_after` is what the server asked for, in seconds."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass
class _Session:
    client: httpx.AsyncClient
    places: asyncio.Semaphore


class Endpoint:
    """A server at `base_url` (with its `/v1`).

    Connections belong to an event loop, so each running loop gets its own: one detection may run in a background thread
    while another runs in the caller's loop. At most `concurrency` requests run at a time per loop. `timeout` is in
    seconds per try; `attempts` counts the first try; `sleep` waits between tries.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeout: float = 300.0,
        attempts: int = 5,
        concurrency: int = 8,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.base_url = normalize(base_url)
        url = httpx.URL(self.base_url)
        self._url = str(url.copy_with(userinfo=b""))
        self._auth = (url.username, url.password) if url.userinfo else None
        self._headers = headers(api_key)
        self._timeout = httpx.Timeout(timeout, connect=min(10.0, timeout))
        self._attempts = attempts
        self._concurrency = concurrency
        self._sleep = sleep
        self._sessions: dict[asyncio.AbstractEventLoop, _Session] = {}

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Post a JSON object and return the server's.

        Raise `RequestRefused` for a 400 or 422, `ModelError` for anything else that still fails after the retries.
        """
        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception_type(_Transient),
            stop=tenacity.stop_after_attempt(self._attempts),
            wait=_wait,
            sleep=self._sleep,
            before_sleep=lambda state: calls.retried(self.base_url),
            reraise=True,
        )
        session = self._session()
        async with session.places:
            return await retrying(self._try, session.client, self._url + path, body)

    async def aclose(self) -> None:
        """Close the connections of the running loop, and forget those of loops that have ended."""
        self._forget_ended_loops()
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.client.aclose()

    def _session(self) -> _Session:
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None:
            self._forget_ended_loops()
            client = httpx.AsyncClient(
                headers=self._headers,
                auth=self._auth,
                timeout=self._timeout,
                trust_env=not is_local(self.base_url),
                transport=_transport(),
            )
            session = self._sessions[loop] = _Session(client, asyncio.Semaphore(self._concurrency))
        return session

    def _forget_ended_loops(self) -> None:
        for loop in [loop for loop in self._sessions if loop.is_closed()]:
            self._sessions.pop(loop, None)

    async def _try(self, client: httpx.AsyncClient, url: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            response = await client.post(url, json=body, headers=calls.trace_headers())
        except httpx.TransportError as error:
            raise _Transient(f"{url} gave no answer ({describe(error)}): is the server running?") from error
        except httpx.HTTPError as error:
            raise ModelError(f"{url} could not be read ({describe(error)})") from error
        if response.status_code in RETRIED:
            raise _Transient(_complaint(response), read_retry_after(response.headers.get("retry-after")))
        if response.status_code in (400, 422):
            raise RequestRefused(_complaint(response))
        return read_object(response)


def _transport() -> httpx.AsyncBaseTransport | None:
    """Return aiohttp's transport where it is installed (extra `aiohttp`), which costs a third of the CPU time of httpx's own (None)."""
    try:
        from httpx_aiohttp import AiohttpTransport
    except ImportError:
        return None
    return AiohttpTransport()


def normalize(base_url: str) -> str:
    """Return the URL without a trailing slash, and with `/v1` if it names only a host.

    Raise `ConfigError` if it is not an http(s) URL.
    """
    try:
        url = httpx.URL(base_url.strip())
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise ConfigError(f"{base_url!r} is no base URL: write it like http://127.0.0.1:8080/v1")
    return str(url).rstrip("/") + ("/v1" if url.path in ("", "/") else "")


def headers(api_key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {api_key}"} if api_key else {}


def is_local(base_url: str) -> bool:
    """Return whether the server is on this machine, where a proxy from the environment would only be in the way."""
    return httpx.URL(base_url).host in ("127.0.0.1", "localhost", "::1")


def read_object(response: httpx.Response) -> dict[str, Any]:
    """Return the JSON object of a 200. Raise a `ModelError` with the URL, the status and the answer otherwise."""
    if response.status_code != 200:
        raise ModelError(_complaint(response))
    try:
        answer = json.loads(response.content)
    except (ValueError, RecursionError):
        raise ModelError(_complaint(response, "with something that is not JSON")) from None
    if not isinstance(answer, dict) or answer.get("error"):
        raise ModelError(_complaint(response))
    return answer


def _complaint(response: httpx.Response, what: str = "") -> str:
    # Not `response.text`: its encoding is what the server says, and may be none for text.
    start = " ".join(response.content[:1600].decode(errors="replace")[:400].split())[:200]
    hint = " (set HALUAGENT_API_KEY or --api-key)" if response.status_code in (401, 403) else ""
    return f"{response.request.url} answered {response.status_code}{' ' + what if what else ''}{hint}: {start}"


def read_retry_after(value: str | None) -> float | None:
    """Return the seconds of a Retry-After header in either form of RFC 9110, a number or a date; None if it is neither."""
    if not value:
        return None
    with suppress(ValueError):
        seconds = float(value)
        return seconds if 0 <= seconds < math.inf else None
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


_backoff = tenacity.wait_exponential(multiplier=0.5, max=20.0) + tenacity.wait_random(0.0, 0.5)


def _wait(state: tenacity.RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, _Transient) and error.retry_after is not None:
        return min(error.retry_after, LONGEST_WAIT)
    return _backoff(state)
