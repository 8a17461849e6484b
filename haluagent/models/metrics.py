"""Metrics of the client's side for Prometheus (extra `metrics`): what the endpoints of a fleet were asked, and how they answered.

The names are listed in docs/scale.md.
"""

from functools import lru_cache
from wsgiref.simple_server import WSGIServer

import httpx

from haluagent.errors import ConfigError
from haluagent.models import calls
from haluagent.types import Usage

try:
    from prometheus_client import (
        CollectorRegistry,
        Counter,
        Histogram,
        ProcessCollector,
        generate_latest,
        start_http_server,
    )
except ImportError:
    raise ConfigError('metrics need prometheus_client: pip install "haluagent[metrics]"') from None

SECONDS = (0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 150, 300)
VERDICTS = ("contradicted", "supported", "unverified", "failed")  # of a line of a batch


class ModelMetrics:
    """Count every request of this process to a model, from now on until `close()` (a `CallWatcher`)."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._calls = Counter(
            "haluagent_model_calls", "Requests to a model, by how they ended", ["endpoint", "ending"], registry=registry
        )
        self._retries = Counter(
            "haluagent_model_retries", "Tries that failed and were repeated", ["endpoint"], registry=registry
        )
        self._tokens = Counter("haluagent_model_tokens", "Tokens of the model", ["endpoint", "kind"], registry=registry)
        self._seconds = Histogram(
            "haluagent_model_call_seconds",
            "From a request to its answer, all tries together",
            ["endpoint"],
            buckets=SECONDS,
            registry=registry,
        )
        self._server: WSGIServer | None = None
        self._items = Counter("haluagent_items", "Lines of a batch, by their verdict", ["verdict"], registry=registry)
        for verdict in VERDICTS:
            self._items.labels(verdict)  # a rate needs a counter that was there before it first counted
        calls.watchers.append(self)

    def retried(self, endpoint: str) -> None:
        self._retries.labels(_label(endpoint)).inc()

    def ended(self, endpoint: str, usage: Usage | None, seconds: float) -> None:
        label = _label(endpoint)
        self._calls.labels(label, "failed" if usage is None else "answered").inc()
        self._calls.labels(label, "answered" if usage is None else "failed")
        self._retries.labels(label)
        if usage is not None:
            self._seconds.labels(label).observe(seconds)
            for kind in ("evaluated", "cached", "generated"):
                self._tokens.labels(label, kind).inc(max(0, getattr(usage, f"{kind}_tokens")))

    def item(self, verdict: str) -> None:
        """Count a line of a batch with one of `VERDICTS`."""
        self._items.labels(verdict).inc()

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def serve(self, port: int, host: str = "127.0.0.1") -> int:
        """Serve the metrics at `/metrics` on a thread of their own until `close()`, and return the port, which is chosen if it is
        0. Raises ConfigError where the port cannot be had."""
        try:
            server, _ = start_http_server(port, host, self._registry)
        except OSError as error:
            raise ConfigError(f"port {port} cannot be had for metrics ({error.strerror}): name another one") from error
        self._server = server
        return server.server_port

    def close(self) -> None:
        """Count no more, and stop serving."""
        calls.watchers.remove(self)
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()


@lru_cache(maxsize=256)
def _label(endpoint: str) -> str:
    """Return the endpoint's URL without what may be a password in it."""
    url = httpx.URL(endpoint)
    return f"{url.scheme}://{url.netloc.decode()}{url.path}"
