"""Metrics for Prometheus: `GET /metrics`. The names are listed in docs/server.md.

Every label has few values: nothing that a client or a model wrote becomes one.
"""

import time
from collections.abc import Callable, Iterable
from typing import get_args

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from haluagent.checks.claims.records import ClaimReport
from haluagent.checks.faithfulness.records import Faithfulness
from haluagent.events import Action, Event, Observation, Verdict
from haluagent.server.watch import Ending, Job, Outcome, Result
from haluagent.types import Detection, Label, Step, Usage

SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 150, 300)
DETECTED = {True: "contradicted", False: "supported", None: "unverified"}


class Metrics:
    """Count requests (a `Watcher`). `tools` are the names that calls are counted under; any other is "unknown"."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self, tools: Iterable[str]) -> None:
        self.tools = frozenset(tools)
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self.requests = Counter(
            "haluagent_requests", "Requests, by how they ended", ["job", "ending"], registry=registry
        )
        self.verdicts = Counter(
            "haluagent_verdicts", "Results, by their verdict", ["job", "verdict"], registry=registry
        )
        self.sentences = Counter(
            "haluagent_sentences", "Sentences of detections, by label", ["label"], registry=registry
        )
        self.tokens = Counter("haluagent_tokens", "Tokens of the model", ["kind"], registry=registry)
        self.calls = Counter("haluagent_tool_calls", "Tool calls of detections", ["tool", "outcome"], registry=registry)
        self.waited = Histogram("haluagent_wait_seconds", "In the queue", ["job"], buckets=SECONDS, registry=registry)
        self.worked = Histogram(
            "haluagent_work_seconds", "After the queue", ["job"], buckets=SECONDS, registry=registry
        )
        self.first_event = Histogram(
            "haluagent_first_event_seconds",
            "From a detection's request to its first event",
            buckets=SECONDS,
            registry=registry,
        )
        self.first_verdict = Histogram(
            "haluagent_first_verdict_seconds",
            "From a detection's request to its first verdict",
            buckets=SECONDS,
            registry=registry,
        )
        self._show_zeros()

    def _show_zeros(self) -> None:
        """Create every counter: a rate needs one that was there before it first counted."""
        for job in get_args(Job):
            self.waited.labels(job)
            self.worked.labels(job)
            for ending in get_args(Ending):
                self.requests.labels(job, ending)
        for label in get_args(Label):
            self.sentences.labels(label)
        self.count_tokens(Usage())

    def follow_queue(self, state: Callable[[], tuple[int, int]]) -> None:
        """Show how many requests are running and waiting: `state` is called whenever the metrics are read."""
        running = Gauge("haluagent_requests_running", "Requests being worked on", registry=self.registry)
        running.set_function(lambda: state()[0])
        waiting = Gauge("haluagent_requests_waiting", "Requests in the queue", registry=self.registry)
        waiting.set_function(lambda: state()[1])

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self.registry)

    def watch(self, job: Job, headers: dict[str, str]) -> "RequestMetrics":
        return RequestMetrics(self)

    def count_tokens(self, usage: Usage) -> None:
        self.tokens.labels("evaluated").inc(max(usage.evaluated_tokens, 0))  # an endpoint may report anything
        self.tokens.labels("cached").inc(max(usage.cached_tokens, 0))
        self.tokens.labels("generated").inc(max(usage.generated_tokens, 0))

    def count_result(self, job: Job, result: Result) -> None:
        self.verdicts.labels(job, verdict_of(result)).inc()
        if isinstance(result, Detection):
            for entry in result.sentences:
                if entry.sentence.index:  # 0 is the response as a whole
                    self.sentences.labels(entry.label).inc()


class RequestMetrics:
    """Count one request (a `Watch`)."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._since = time.monotonic()
        self._started = self._event_came = self._verdict_came = False
        self._acting: set[int | None] = set()
        self._used = Usage()

    def started(self) -> None:
        self._started = True

    def event(self, event: Event) -> None:
        if not self._event_came:
            self._event_came = True
            self._metrics.first_event.observe(time.monotonic() - self._since)
        match event:
            case Action(sentence=sentence):
                self._acting.add(sentence)
            case Observation(sentence=sentence, step=step):
                self._used += step.usage
                self._count_call(step, made=sentence in self._acting)
                self._acting.discard(sentence)
            case Verdict() if not self._verdict_came:
                self._verdict_came = True
                self._metrics.first_verdict.observe(time.monotonic() - self._since)

    def _count_call(self, step: Step, made: bool) -> None:
        if step.call is None:  # what the model wrote was no call
            return
        tool = step.call.name if step.call.name in self._metrics.tools else "unknown"
        if step.result is not None:
            outcome = "undecided" if step.result.label is None else "decided"
        else:
            outcome = "failed" if made and not step.rejected else "rejected"
        self._metrics.calls.labels(tool, outcome).inc()

    def ended(self, outcome: Outcome) -> None:
        metrics, result = self._metrics, outcome.result
        metrics.requests.labels(outcome.job, outcome.ending).inc()
        if self._started:
            metrics.waited.labels(outcome.job).observe(outcome.waited)
            metrics.worked.labels(outcome.job).observe(outcome.worked)
        metrics.count_tokens(getattr(result, "usage", self._used))  # of work that was stopped: what its steps took
        if outcome.ending in ("done", "deadline") and result is not None:
            metrics.count_result(outcome.job, result)


def verdict_of(result: Result) -> str:
    """Return the verdict in the words of its job; "undecided" where there is none."""
    if isinstance(result, Detection):
        return DETECTED[result.hallucination]
    if isinstance(result, Faithfulness | ClaimReport):
        return result.verdict or "undecided"
    return result.action
