"""The proxy's metrics, beside those of the detections that it makes. The names are listed in docs/proxy.md."""

from collections.abc import Callable, Iterable
from typing import get_args

from prometheus_client import Counter, Gauge, Histogram

from haluagent.server.metrics import SECONDS, Metrics
from haluagent.server.proxy.records import VERDICTS, AnswerReport, Handling

FAILURES = ("upstream", "model", "deadline", "not_ready", "stopping", "internal", "report")


class ProxyMetrics(Metrics):
    """Count checked answers and failures, and detections as the server does."""

    def __init__(self, tools: Iterable[str]) -> None:
        super().__init__(tools)
        registry = self.registry
        self.answers = Counter(
            "haluagent_proxy_answers",
            "Checked requests, by verdict and what became of the answer",
            ["api", "verdict", "handling"],
            registry=registry,
        )
        self.added = Histogram(
            "haluagent_proxy_added_seconds",
            "That an answer waited for checks and for a second try",
            ["api"],
            buckets=(0.01, 0.05, *SECONDS),
            registry=registry,
        )
        self.failures = Counter(
            "haluagent_proxy_failures", "Failed checks, upstreams and reports", ["kind"], registry=registry
        )
        for kind in FAILURES:
            self.failures.labels(kind)
        for api in ("chat", "responses"):
            self.added.labels(api)
            for verdict in VERDICTS:
                for handling in get_args(Handling):
                    self.answers.labels(api, verdict, handling)

    def follow_conversations(self, count: Callable[[], int]) -> None:
        """Show how many requests are in progress: `count` is called whenever the metrics are read."""
        gauge = Gauge("haluagent_proxy_requests_running", "Requests passed on and not answered", registry=self.registry)
        gauge.set_function(count)

    def count_report(self, report: AnswerReport) -> None:
        self.answers.labels(report.api, report.verdict, report.handling).inc()
        self.added.labels(report.api).observe(report.added_seconds)

    def count_failure(self, kind: str) -> None:
        self.failures.labels(kind if kind in FAILURES else "internal").inc()
