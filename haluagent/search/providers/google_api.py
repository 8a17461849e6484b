"""Google's APIs through its client library: the common part of search and translation."""

import asyncio
import json
import logging
import threading
from collections.abc import Callable
from http.client import HTTPException
from typing import Any
from urllib.parse import quote_plus

from haluagent.errors import ConfigError
from haluagent.models.endpoint import is_local, read_retry_after
from haluagent.search.providers.calls import Calls
from haluagent.search.providers.failures import Failure, connection_failure, in_short

CHINESE = "zh-CN"  # these APIs' code for Chinese in simplified characters
KEY_SETTING = "GOOGLE_API_KEY"

# https://developers.google.com/webmaster-tools/v1/errors lists the reasons that are common to the older APIs.
_USED_UP = {"dailyLimitExceeded", "dailyLimitExceededUnreg", "quotaExceeded", "limitExceeded"}
_TOO_FAST = {"rateLimitExceeded", "userRateLimitExceeded", "RATE_LIMIT_EXCEEDED", "RESOURCE_EXHAUSTED"}
_BAD_KEY = {"API_KEY_INVALID", "keyInvalid", "keyExpired", "UNAUTHENTICATED"}


def is_installed() -> bool:
    """Check whether the client library is there, which the extra `google` brings."""
    try:
        import googleapiclient  # noqa: F401  (this is quick; its parts are loaded with the first request)
    except ImportError:
        return False
    return True


class GoogleApi:
    """One of Google's APIs, such as `customsearch` `v1`, with an API key.

    The client library is blocking and not thread-safe, so each thread has a client of its own. `endpoint` is the
    address of the API, if it is not Google's; `timeout` is in seconds per try. Raise `ConfigError` without the extra
    `google`.
    """

    def __init__(
        self, api: str, version: str, key: str, *, endpoint: str | None = None, timeout: float = 10.0, calls: Calls
    ) -> None:
        if not is_installed():
            raise ConfigError('Google search and translation need one more package: pip install "haluagent[google]"')
        self._api = api
        self._version = version
        self._key = key
        self._endpoint = endpoint
        self._timeout = timeout
        self._calls = calls
        self._clients = threading.local()

    async def call(self, request: Callable[[Any], Any]) -> dict[str, Any]:
        """Run the request that `request` makes of the client, and return its answer. Raise `Failure`."""
        return await self._calls.run(lambda: asyncio.to_thread(self._try, request))

    def _try(self, request: Callable[[Any], Any]) -> dict[str, Any]:
        import httplib2
        from googleapiclient.errors import HttpError

        prepared = request(self._client())
        try:
            answer = prepared.execute()
        except HttpError as error:
            failure = _judge(error.resp, error.content, self._key)
        except TimeoutError:
            failure = Failure("timeout", f"{self._timeout:g} s")
        except (httplib2.HttpLib2Error, HTTPException, OSError) as error:
            failure = connection_failure(error)
        except (UnicodeDecodeError, TypeError):  # the library uses answers that it has not checked
            failure = Failure("answer", "not a JSON object")
        else:
            if isinstance(answer, dict):
                return answer
            failure = Failure("answer", "not JSON" if isinstance(answer, str) else "not a JSON object")
        raise failure  # here and not above, because the library's exceptions hold the address with the key

    def _client(self) -> Any:
        client = getattr(self._clients, "client", None)
        if client is None:
            client = self._clients.client = self._build()
        return client

    def _build(self) -> Any:
        import httplib2
        from googleapiclient.discovery import build

        _hide(self._key)
        local = {"proxy_info": None} if self._endpoint and is_local(self._endpoint) else {}
        http = httplib2.Http(timeout=self._timeout, **local)
        http.follow_redirects = False  # the key is in the address
        return build(
            self._api,
            self._version,
            developerKey=self._key,
            http=http,
            static_discovery=True,
            cache_discovery=False,
            client_options={"api_endpoint": self._endpoint} if self._endpoint else None,
        )


def _judge(response: Any, content: bytes, key: str) -> Failure:
    status = int(response.status)
    reasons, message = _read_error(content)
    reason = min(reasons & (_USED_UP | _TOO_FAST | _BAD_KEY), default="")
    detail = f"{status} {reason}".strip()
    wait = read_retry_after(response.get("retry-after"))
    if status in (403, 429) and (reasons & _USED_UP or "per day" in message):
        return Failure("quota", detail)
    if status == 429 or (status == 403 and reasons & _TOO_FAST):
        return Failure("busy", detail if wait is None else f"{detail}, asks to wait {wait:.0f} s", wait)
    if status == 401 or reasons & _BAD_KEY or "API key" in message:
        return Failure("key", detail)
    if status >= 500 or status == 408:
        return Failure("server", detail, wait)
    if 300 <= status < 400:
        return Failure("moved", "another address")
    return Failure("refused", f"{status} {in_short(message, [key])}".strip())


def _read_error(content: bytes) -> tuple[set[str], str]:
    """Return the reasons that an error gives, in the older or the newer form (https://google.aip.dev/193), and its
    message."""
    try:
        error = json.loads(content)["error"]
        listed = [*error.get("errors", ()), *error.get("details", ()), {"reason": error.get("status")}]
        return {str(item["reason"]) for item in listed if item.get("reason")}, str(error.get("message", ""))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return set(), ""


class _WithoutKeys(logging.Filter):
    """A log filter that hides keys: the library logs the address of each request, with the key in it, for debugging,
    and a server's comments on it as a warning."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        for key in self.keys:
            message = message.replace(key, "***")
        record.msg, record.args = message, ()
        return True


_without_keys = _WithoutKeys()


def _hide(key: str) -> None:
    _without_keys.keys |= {key, quote_plus(key)}
    for module in ("discovery", "http", "model"):
        logging.getLogger(f"googleapiclient.{module}").addFilter(_without_keys)
