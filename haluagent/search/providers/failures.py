"""The failures of a query, each with the one-line message that says what to check."""

import socket
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from haluagent.errors import QuotaExhausted, SearchError, SearchTimeout
from haluagent.text.messages import message
from haluagent.types import Language

Kind = Literal[
    "quota", "busy", "timeout", "server", "unreachable", "name", "certificate", "moved", "key", "refused", "answer"
]
TRANSIENT = frozenset({"busy", "timeout", "server", "unreachable", "name"})
MAX_WORDS = 120  # characters of a service's own message that are shown

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
    """A service's name in messages, and what its user can check: the settings of its address and its key, and the message
    `search.refusal.*` that says what to do if it refuses a request."""

    label: str
    address: str | None = None
    key: str | None = None
    refusal: str = "any"

    def explain(self, failure: Failure, language: Language) -> str:
        """Return one line for the user and the model: what happened, and what to check."""
        return message(
            f"search.failure.{failure.kind}",
            language,
            service=self.label,
            detail=failure.detail,
            tries=failure.tries,
            address=self.address or message("search.network", language),
            key=self.key or self.address,
            refusal=message(f"search.refusal.{self.refusal}", language),
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
