"""What the client's side counts, and the traces that its requests join: real requests to an endpoint on loopback."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from haluagent.errors import ConfigError, ModelError
from haluagent.models import OpenAIModel, calls
from haluagent.models.metrics import ModelMetrics

USAGE = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}}
ANSWER = {"choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}], "usage": USAGE}


class Endpoint(ThreadingHTTPServer):
    """Answers with these statuses in turn, the last one again and again, and keeps the headers of each request."""

    daemon_threads = True

    def __init__(self, *statuses: int) -> None:
        left, self.headers = list(statuses), []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                endpoint.headers.append({name.lower(): value for name, value in self.headers.items()})
                data = json.dumps(ANSWER).encode()
                self.send_response(left.pop(0) if len(left) > 1 else left[0])
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *arguments: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()


async def _at_once(seconds: float) -> None:
    pass


def ask(base_url: str, **options: Any) -> None:
    async def run() -> None:
        model = OpenAIModel(base_url, "m", attempts=3, sleep=_at_once, **options)
        try:
            await model.generate([{"role": "user", "content": "Is it so?"}])
        finally:
            await model.aclose()

    asyncio.run(run())


@pytest.fixture
def metrics() -> Iterator[ModelMetrics]:
    counting = ModelMetrics()
    yield counting
    counting.close()
    assert counting not in calls.watchers


def samples(text: str) -> dict[tuple[str, ...], float]:
    """Every sample of the client's own, by its name and the values of its labels, in the order of their names."""
    families = text_string_to_metric_families(text)
    found = (sample for family in families for sample in family.samples if sample.name.startswith("haluagent_"))
    return {
        (one.name, *map(one.labels.get, sorted(one.labels))): one.value
        for one in found
        if not one.name.endswith("_created")
    }


def test_calls_tokens_retries_and_failures_are_counted_by_endpoint(metrics: ModelMetrics) -> None:
    good, bad = Endpoint(503, 429, 200), Endpoint(500)
    ask(good.url)
    ask(good.url)
    with pytest.raises(ModelError):
        ask(bad.url)
    metrics.item("failed")

    found = samples(metrics.text().decode())

    assert found[("haluagent_model_calls_total", "answered", good.url)] == 2
    assert found[("haluagent_model_calls_total", "failed", good.url)] == 0
    assert found[("haluagent_model_calls_total", "answered", bad.url)] == 0
    assert found[("haluagent_model_calls_total", "failed", bad.url)] == 1
    assert found[("haluagent_model_retries_total", good.url)] == 2
    assert found[("haluagent_model_retries_total", bad.url)] == 2
    kinds = {
        kind: found[("haluagent_model_tokens_total", good.url, kind)] for kind in ("evaluated", "cached", "generated")
    }
    assert kinds == {"evaluated": 80, "cached": 120, "generated": 14}
    assert found[("haluagent_model_call_seconds_count", good.url)] == 2
    assert found[("haluagent_model_call_seconds_bucket", good.url, "+Inf")] == 2
    assert found[("haluagent_items_total", "failed")] == 1


def test_an_answer_without_a_text_is_a_failure(metrics: ModelMetrics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ANSWER, "choices", [])
    endpoint = Endpoint(200)
    with pytest.raises(ModelError):
        ask(endpoint.url)
    assert samples(metrics.text().decode())[("haluagent_model_calls_total", "failed", endpoint.url)] == 1


def test_a_password_in_an_address_is_not_shown(metrics: ModelMetrics) -> None:
    endpoint = Endpoint(200)
    ask(endpoint.url.replace("//", "//user:secret@"))
    text = metrics.text().decode()
    assert endpoint.url in text and "secret" not in text
    assert endpoint.headers[0]["authorization"] == "Basic dXNlcjpzZWNyZXQ="


def test_metrics_are_served_on_loopback_and_a_taken_port_is_an_error(metrics: ModelMetrics) -> None:
    port = metrics.serve(0)
    text = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).text
    assert samples(text)[("haluagent_items_total", "supported")] == 0 and "process_cpu_seconds_total" in text
    other = ModelMetrics()
    with pytest.raises(ConfigError, match=f"port {port} cannot be had"):
        other.serve(port)
    other.close()


def test_without_an_active_span_no_trace_is_named() -> None:
    endpoint = Endpoint(200)
    ask(endpoint.url)
    assert "traceparent" not in endpoint.headers[0]


@pytest.mark.integrations
def test_a_request_to_the_model_names_the_span_that_is_active() -> None:
    from opentelemetry.sdk.trace import TracerProvider

    endpoint = Endpoint(503, 200)
    with TracerProvider().get_tracer("test").start_as_current_span("checking") as span:
        ask(endpoint.url)
    ask(endpoint.url)
    context = span.get_span_context()
    named = (f"{context.trace_id:032x}", f"{context.span_id:016x}")
    given = [headers.get("traceparent") for headers in endpoint.headers]
    assert [one and tuple(one.split("-")[1:3]) for one in given] == [named, named, None]


@pytest.mark.integrations
def test_the_span_of_a_synchronous_caller_reaches_the_endpoint(scripted: Any) -> None:
    """`detect` runs on a thread of its own."""
    from opentelemetry.sdk.trace import TracerProvider

    from haluagent import HaluAgent

    endpoint = Endpoint(200)
    agent = HaluAgent(OpenAIModel(endpoint.url, "m"), sandbox="none", search="none")
    with TracerProvider().get_tracer("test").start_as_current_span("checking") as span, agent:
        agent.detect("Where is Paris?", "Paris is in France.", "Paris is the capital of France.")
    named = {headers.get("traceparent", "none").split("-")[2] for headers in endpoint.headers}
    assert named == {f"{span.get_span_context().span_id:016x}"}
