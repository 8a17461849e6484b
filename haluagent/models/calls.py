"""The requests to models that this process sends: for those who count them, and for the trace that they belong to."""

import sys
from typing import Protocol

from haluagent.types import Usage


class CallWatcher(Protocol):
    """Told of every request to a model. It must not raise, and must not hold up the event loop."""

    def retried(self, endpoint: str) -> None:
        """Note that a try failed and another one follows."""

    def ended(self, endpoint: str, usage: Usage | None, seconds: float) -> None:
        """Note that a request was answered, at a cost, or failed (None) after the last try. `seconds` are those of all tries."""


watchers: list[CallWatcher] = []


def retried(endpoint: str) -> None:
    for watcher in watchers:
        watcher.retried(endpoint)


def ended(endpoint: str, usage: Usage | None, seconds: float) -> None:
    for watcher in watchers:
        watcher.ended(endpoint, usage, seconds)


def trace_headers() -> dict[str, str]:
    """Return the headers that name the active span (`traceparent`, W3C Trace Context), so that an engine's spans join its
    trace. Empty where no span is active, or OpenTelemetry is not in use."""
    found: dict[str, str] = {}
    if "opentelemetry.trace" in sys.modules:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        TraceContextTextMapPropagator().inject(found)
    return found
