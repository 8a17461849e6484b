"""The failures of a query, each with the one-line message that says what to check."""

import socket
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from haluagent.errors import QuotaExhausted, SearchError, SearchTimeout
from haluagent.types import Language

Kind = Literal[
    "quota", "busy", "timeout", "server", "unreachable", "name", "certificate", "moved", "key", "refused", "answer"
]
TRANSIENT = frozenset({"busy", "timeout", "server", "unreachable", "name"})
MAX_WORDS = 120  # characters of a service's own message that are shown

_TEXTS: dict[Kind, dict[Language, str]] = {
    "quota": {
        "en": "{service} allows no more requests for now ({detail}): wait for its quota to be renewed, or raise it",
        "zh": "{service} 暂时不再接受请求（{detail}）：请等待配额恢复，或提高配额",
    },
    "busy": {
        "en": "{service} accepts no more requests for now ({detail}; tries: {tries}): wait, or ask less often",
        "zh": "{service} 暂时不再接受请求（{detail}；尝试次数：{tries}）：请等待，或降低请求频率",
    },
    "timeout": {
        "en": "{service} did not answer in time ({detail}; tries: {tries}): check {address}, or try again later",
        "zh": "{service} 未能及时回应（{detail}；尝试次数：{tries}）：请检查 {address}，或稍后再试",
    },
    "server": {
        "en": "{service} failed ({detail}; tries: {tries}): try again later",
        "zh": "{service} 出错（{detail}；尝试次数：{tries}）：请稍后再试",
    },
    "unreachable": {
        "en": "{service} could not be reached ({detail}; tries: {tries}): check {address}",
        "zh": "无法连接 {service}（{detail}；尝试次数：{tries}）：请检查 {address}",
    },
    "name": {
        "en": "the host of {service} was not found ({detail}; tries: {tries}): check {address} and the name server",
        "zh": "找不到 {service} 的主机（{detail}；尝试次数：{tries}）：请检查 {address} 和域名解析",
    },
    "certificate": {
        "en": "no secure connection to {service} ({detail}): check its certificate and {address}",
        "zh": "无法与 {service} 建立安全连接（{detail}）：请检查其证书和 {address}",
    },
    "moved": {
        "en": "{service} has moved to {detail}: check {address}",
        "zh": "{service} 已移至 {detail}：请检查 {address}",
    },
    "key": {
        "en": "{service} does not accept the key or the login ({detail}): check {key}",
        "zh": "{service} 不接受密钥或登录信息（{detail}）：请检查 {key}",
    },
    "refused": {
        "en": "{service} refused the request ({detail}): {refusal}",
        "zh": "{service} 拒绝了请求（{detail}）：{refusal}",
    },
    "answer": {
        "en": "{service} sent what is no answer ({detail}): check {address}",
        "zh": "{service} 返回的不是有效答复（{detail}）：请检查 {address}",
    },
}
_NETWORK: dict[Language, str] = {"en": "the network", "zh": "网络"}
_REFUSAL: dict[Language, str] = {"en": "check the settings of the service", "zh": "请检查该服务的设置"}
_ERRORS: dict[Kind, type[SearchError]] = {"quota": QuotaExhausted, "busy": QuotaExhausted, "timeout": SearchTimeout}


class Failure(Exception):
    """A request that failed.

    `detail` is a few words without keys; `retry_after` is what the service asked for, in seconds; `tries` counts the
    requests made.
    """

    def __init__(self, kind: Kind, detail: str, retry_after: float | None = None) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail
        self.retry_after = retry_after
        self.tries = 1


@dataclass(frozen=True)
class Service:
    """A service's name in messages, and what its user can check: the settings of its address and its key, and what to
    do if it refuses a request."""

    label: str
    address: str | None = None
    key: str | None = None
    refusal: dict[Language, str] | None = None

    def explain(self, failure: Failure, language: Language) -> str:
        """Return one line for the user and the model: what happened, and what to check."""
        return _TEXTS[failure.kind][language].format(
            service=self.label,
            detail=failure.detail,
            tries=failure.tries,
            address=self.address or _NETWORK[language],
            key=self.key or self.address,
            refusal=(self.refusal or _REFUSAL)[language],
        )

    @contextmanager
    def explaining(self, language: Language) -> Iterator[None]:
        """Turn a `Failure` inside into the matching `SearchError`, `QuotaExhausted` or `SearchTimeout`."""
        try:
            yield
        except Failure as failure:
            error = _ERRORS.get(failure.kind, SearchError)(self.explain(failure, language))
            raise error from None


def connection_failure(error: BaseException) -> Failure:
    """Return the reason that no connection was made, from the causes beneath a client's own exception.

    The exception's text can hold addresses with keys in them, so only the system's words for the cause are used.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return Failure("certificate", cause.verify_message)
        if isinstance(cause, ssl.SSLError):
            return Failure("certificate", cause.reason or "TLS error")
        if isinstance(cause, socket.gaierror):
            return Failure("name", cause.strerror or "not resolved")
        if isinstance(cause, TimeoutError):
            return Failure("timeout", "no connection")
        if isinstance(cause, OSError) and cause.strerror:
            return Failure("unreachable", cause.strerror)
        cause = cause.__cause__ or cause.__context__
    return Failure("unreachable", type(error).__name__)


def in_short(text: str, secrets: Iterable[str]) -> str:
    """Return a service's message on one short line, without the secrets that it may repeat."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return " ".join("".join(c for c in text if c.isprintable() or c.isspace()).split())[:MAX_WORDS]
