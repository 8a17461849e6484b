"""The spans of requests. Some go over HTTP to a collector on loopback, as they do in use."""

import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from haluagent.errors import ConfigError
from haluagent.events import Action, Observation
from haluagent.server import tracing
from haluagent.server.watch import Outcome
from haluagent.types import Detection, Step, ToolCall, ToolResult, Usage

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SECRET = "the secret formula"
DETECTION = Detection(
    question=SECRET, response=SECRET, language="en", hallucination=None, score=0.5, sentences=(),
    usage=Usage(calls=2, prompt_tokens=100, cached_tokens=60, generated_tokens=7),
)  # fmt: skip


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch):
    """Tracing, and the spans that came of it, by name. No span stays active afterwards."""
    from opentelemetry.context import attach, detach, get_current
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    active = attach(get_current())
    yield (
        tracing.Tracing(provider.get_tracer("test"), "small-model"),
        lambda: {span.name: span for span in memory.get_finished_spans()},
    )
    detach(active)


def act(watch: tracing.Traced, name: str, **came: object) -> None:
    call = ToolCall(name=name, arguments={"text": SECRET})
    watch.event(Action(sentence=1, call=call))
    watch.event(Observation(sentence=1, step=Step(sentence=1, thought=SECRET, call=call, **came), text=SECRET))


@pytest.mark.integrations
def test_a_request_is_a_span_below_the_callers_with_its_tool_calls_below_it(kept) -> None:
    traced, spans = kept
    watch = traced.watch("detect", {"traceparent": PARENT})
    watch.started()
    act(watch, "calculator", result=ToolResult(observation=SECRET, label="supported"))
    act(watch, "match", result=None, error=SECRET)
    watch.ended(Outcome(job="detect", ending="done", waited=0.1, worked=1, result=DETECTION))

    found = spans()

    assert set(found) == {"invoke_agent haluagent", "execute_tool calculator", "execute_tool match"}
    root, good, bad = (
        found[name] for name in ("invoke_agent haluagent", "execute_tool calculator", "execute_tool match")
    )
    assert f"{root.parent.span_id:016x}" == PARENT.split("-")[2]
    assert f"{root.context.trace_id:032x}" == PARENT.split("-")[1]
    assert dict(root.attributes) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "haluagent",
        "gen_ai.request.model": "small-model",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.cache_read.input_tokens": 60,
        "gen_ai.usage.output_tokens": 7,
        "haluagent.job": "detect",
        "haluagent.ending": "done",
    }
    assert root.status.is_unset and good.status.is_unset
    assert not bad.status.is_ok and bad.attributes["error.type"] == "failed"
    assert good.attributes["gen_ai.tool.name"] == "calculator"
    for child in (good, bad):
        assert child.parent.span_id == root.context.span_id
        assert root.start_time <= child.start_time <= child.end_time <= root.end_time
    assert not [span for span in found.values() if SECRET in span.to_json()]


@pytest.mark.integrations
def test_a_request_that_ends_while_a_tool_runs_leaves_no_span_open(kept) -> None:
    traced, spans = kept
    watch = traced.watch("detect", {"traceparent": "nonsense"})
    watch.event(Action(sentence=None, call=ToolCall(name="web_search")))
    watch.ended(Outcome(job="detect", ending="deadline", waited=0, worked=300))

    found = spans()

    assert found["invoke_agent haluagent"].parent is None
    for span in found.values():
        assert not span.status.is_ok and span.attributes["error.type"] == "deadline"
    assert len(found) == 2


@pytest.mark.integrations
@pytest.mark.parametrize("ending", ["done", "invalid", "busy", "gone"])
def test_what_the_client_did_is_no_error_of_the_server(kept, ending: str) -> None:
    traced, spans = kept
    traced.watch("check", {}).ended(Outcome(job="check", ending=ending, waited=0, worked=0))
    assert spans()["invoke_agent haluagent"].status.is_unset


def test_without_an_endpoint_there_are_no_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in tracing.ENDPOINTS:
        monkeypatch.delenv(name, raising=False)
    assert tracing.from_environment("m") is None


def test_without_the_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(ConfigError, match=r'OTEL_EXPORTER_OTLP_ENDPOINT is set.*pip install "haluagent\[otel\]"'):
        tracing.from_environment("m")


@pytest.mark.integrations
def test_spans_reach_a_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    came: list[tuple[str, bytes]] = []
    arrived = threading.Event()

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            came.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()
            arrived.set()

        def log_message(self, *arguments: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    traced = tracing.from_environment("small-model")
    assert traced is not None
    traced.watch("runs", {}).ended(Outcome(job="runs", ending="done", waited=0, worked=0))
    assert arrived.wait(10)
    server.shutdown()
    server.server_close()
    path, body = came[0]
    assert path == "/v1/traces"
    assert b"invoke_agent haluagent" in body and b"small-model" in body
    assert b"service.name" in body and b"unknown_service" not in body


@pytest.mark.integrations
def test_a_request_to_the_model_names_the_span_of_the_servers_request(kept) -> None:
    from scripted import ScriptedEndpoint
    from serving import http, make_agent, serving

    from haluagent.models import OpenAIModel

    traced, spans = kept
    named: list[str | None] = []
    endpoint = ScriptedEndpoint(lambda messages: "THOUGHT: a sum\nACTION: calculator(sentence=S1)")

    class Handler(endpoint.RequestHandlerClass):
        def do_POST(self) -> None:
            named.append(self.headers.get("traceparent"))
            super().do_POST()

    endpoint.RequestHandlerClass = Handler
    agent = make_agent(OpenAIModel(endpoint.base_url, "m"))
    body = {"question": "Who wrote it?", "response": "Anna wrote it. Ben read it.", "reference": "Anna wrote a book."}
    with serving(agent, watchers=[traced]) as url:
        http.post(f"{url}/v1/detect", json=body, headers={"traceparent": PARENT})
    endpoint.close()

    root = spans()["invoke_agent haluagent"]
    parents = {given and tuple(given.split("-")[1:3]) for given in named}
    assert parents == {(PARENT.split("-")[1], f"{root.context.span_id:016x}")}
