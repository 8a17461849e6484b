"""OpenTelemetry spans of the server's work, by the semantic conventions for generative AI. They take the extra `otel`.

A request is one span, `invoke_agent haluagent`, under the caller's where a `traceparent` header names it; each tool call of a
detection is one below it, `execute_tool NAME`. Their attributes hold no text of a request.
https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-agent-spans/
"""

import os
from typing import TYPE_CHECKING, Any

from haluagent.errors import ConfigError
from haluagent.events import Action, Event, Observation
from haluagent.server.watch import Job, Outcome
from haluagent.types import Step, Usage

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

AGENT = "haluagent"
ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
ERRORS = ("model", "deadline", "stopping", "internal")  # the endings that are no mistake of the client


def from_environment(model_name: str) -> "Tracing | None":
    """Return tracing set up by OpenTelemetry's variables (OTEL_EXPORTER_OTLP_ENDPOINT and the others of its SDK).

    None where they name no endpoint. Raises ConfigError where the extra is missing.
    """
    if not any(os.environ.get(name) for name in ENDPOINTS):
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        named = next(name for name in ENDPOINTS if os.environ.get(name))
        raise ConfigError(
            f'{named} is set, and traces need OpenTelemetry: pip install "haluagent[otel]", or unset it'
        ) from None
    own_name = Resource.create({"service.name": AGENT})
    provider = TracerProvider(resource=own_name.merge(OTELResourceDetector().detect()))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Tracing(provider.get_tracer(AGENT), model_name)


class Tracing:
    """Make spans of requests with `tracer` (a `Watcher`)."""

    def __init__(self, tracer: "Tracer", model_name: str) -> None:
        self._tracer = tracer
        self._model = model_name

    def watch(self, job: Job, headers: dict[str, str]) -> "Traced":
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": AGENT,
            "gen_ai.request.model": self._model,
            "haluagent.job": job,
        }
        caller = TraceContextTextMapPropagator().extract(headers)
        return Traced(self._tracer, self._tracer.start_span(f"invoke_agent {AGENT}", caller, attributes=attributes))


class Traced:
    """Make the spans of one request (a `Watch`).

    The span of a tool call lasts from its action to its observation; a sentence has one at a time.
    """

    def __init__(self, tracer: "Tracer", span: "Span") -> None:
        from opentelemetry.trace import set_span_in_context

        self._tracer = tracer
        self._span = span
        self._below: Any = set_span_in_context(span)
        self._calls: dict[int | None, Span] = {}

    def started(self) -> None:
        from opentelemetry.context import attach

        self._span.add_event("haluagent.started")
        attach(self._below)  # for the task that does the work: its requests to the model name this span

    def event(self, event: Event) -> None:
        match event:
            case Action(sentence=sentence, call=call):
                attributes = {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": call.name,
                    "gen_ai.tool.type": "function",
                }
                span = self._tracer.start_span(f"execute_tool {call.name}", self._below, attributes=attributes)
                self._calls[sentence] = span
            case Observation(sentence=sentence, step=step) if sentence in self._calls:
                _end_call(self._calls.pop(sentence), step)

    def ended(self, outcome: Outcome) -> None:
        for span in self._calls.values():  # the request ended while they ran
            _fail(span, outcome.ending)
            span.end()
        self._span.set_attribute("haluagent.ending", outcome.ending)
        usage = getattr(outcome.result, "usage", None)
        if usage is not None:
            self._span.set_attributes(_usage(usage))
        if outcome.ending in ERRORS:
            _fail(self._span, outcome.ending)
        self._span.end()


def _end_call(span: "Span", step: Step) -> None:
    if step.result is None:
        _fail(span, "rejected" if step.rejected else "failed")
    span.end()


def _fail(span: "Span", kind: str) -> None:
    from opentelemetry.trace import StatusCode

    span.set_status(StatusCode.ERROR)
    span.set_attribute("error.type", kind)


def _usage(usage: Usage) -> dict[str, int]:
    return {
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        "gen_ai.usage.output_tokens": usage.generated_tokens,
    }
