"""The meter between a program and an endpoint, with a real server on the loopback behind it."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from haluagent.bench.peers.meter_proxy import MeterProxy
from haluagent.errors import ConfigError
from haluagent.types import Usage

ASKED = {"model": "m", "messages": [{"role": "user", "content": "你好"}]}


def chat(*texts: str, prompt: int = 10, generated: int = 3, **more: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": prompt, "completion_tokens": generated} | more.pop("usage", {})
    return {"choices": [{"message": {"content": text}} for text in texts], "usage": usage} | more


class Upstream:
    """An endpoint that answers `(status, object)`, or what a function of the request gives; keeps what it was sent."""

    def __init__(self) -> None:
        self.answer: Any = (200, chat("hello"))
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.reply()

            def do_POST(self) -> None:
                self.reply()

            def reply(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                upstream.requests.append((self.command, self.path, dict(self.headers), body))
                answer = upstream.answer(body) if callable(upstream.answer) else upstream.answer
                if answer is None:
                    self.close_connection = True
                    return
                content = json.dumps(answer[1]).encode()
                self.send_response(answer[0])
                self.send_header("content-type", "application/json")
                self.send_header("retry-after", "7")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()


@pytest.fixture
def proxy(upstream: Upstream) -> Iterator[MeterProxy]:
    with MeterProxy(upstream.url, "secret", count_tokens=len) as meter:
        yield meter


def post(proxy: MeterProxy, path: str = "/chat/completions", body: Any = ASKED, **options: Any) -> httpx.Response:
    options.setdefault("headers", {"Authorization": f"Bearer {proxy.api_key}"})
    return httpx.post(proxy.url + path, json=body, trust_env=False, **options)


def cost(usage: Usage) -> tuple[int, int, int, int]:
    return usage.calls, usage.prompt_tokens, usage.cached_tokens, usage.generated_tokens


@pytest.mark.parametrize("path", ["/chat/completions", "/completions", "/embeddings"])
def test_a_request_goes_through_as_it_is_with_the_endpoints_key(
    upstream: Upstream, proxy: MeterProxy, path: str
) -> None:
    answer = post(proxy, path)
    assert (answer.status_code, answer.json(), answer.headers["retry-after"]) == (200, chat("hello"), "7")
    method, asked, headers, body = upstream.requests[0]
    assert (method, asked, json.loads(body)) == ("POST", f"/v1{path}", ASKED)
    assert headers["Authorization"] == "Bearer secret"
    assert cost(proxy.usage) == (1, 10, 0, 3) and proxy.usage.seconds > 0 and proxy.failures == 0


def test_the_list_of_models_goes_through_and_costs_nothing(upstream: Upstream, proxy: MeterProxy) -> None:
    upstream.answer = (200, {"data": [{"id": "m"}]})
    answer = httpx.get(f"{proxy.url}/models", headers={"Authorization": f"Bearer {proxy.api_key}"}, trust_env=False)
    assert answer.json() == {"data": [{"id": "m"}]} and upstream.requests[0][:2] == ("GET", "/v1/models")
    assert proxy.usage == Usage()


@pytest.mark.parametrize(
    "answer, expected",
    [
        (chat("a", usage={"prompt_tokens_details": {"cached_tokens": 6}}), (1, 10, 6, 3)),
        (chat("a", timings={"cache_n": 4}), (1, 10, 4, 3)),
        (chat("a", usage={"prompt_tokens_details": {"cached_tokens": 0}}, timings={"cache_n": 4}), (1, 10, 0, 3)),
        (chat("a", usage={"prompt_tokens_details": None}), (1, 10, 0, 3)),
        (chat("four", "five5", timings={}), (1, 10, 0, 9)),  # llama.cpp: the tokens of one sample only
        (chat("four", "five5", generated=7), (1, 10, 0, 7)),  # others: those of all
        ({"choices": []}, (1, 0, 0, 0)),
        (["no object"], (1, 0, 0, 0)),
    ],
)
def test_what_an_answer_says_it_cost(
    upstream: Upstream, proxy: MeterProxy, answer: Any, expected: tuple[int, int, int, int]
) -> None:
    upstream.answer = (200, answer)
    post(proxy)
    assert cost(proxy.usage) == expected


def test_a_failure_comes_back_as_it_is_and_is_counted(upstream: Upstream, proxy: MeterProxy) -> None:
    upstream.answer = (503, {"error": "full"} | chat("a"))
    assert post(proxy).status_code == 503
    upstream.answer = None
    broken = post(proxy)
    assert broken.status_code == 502 and "gave no answer" in broken.json()["error"]["message"]
    assert cost(proxy.usage) == (2, 0, 0, 0) and proxy.failures == 2


def test_an_endpoint_that_is_not_there_is_a_502() -> None:
    gone = Upstream()
    gone.close()
    with MeterProxy(gone.url) as proxy:
        assert post(proxy).status_code == 502 and proxy.failures == 1


@pytest.mark.parametrize("body", [ASKED | {"stream": True}, ["a list"]])
def test_what_cannot_be_metered_is_refused_and_not_sent(upstream: Upstream, proxy: MeterProxy, body: Any) -> None:
    answer = post(proxy, body=body)
    assert answer.status_code == 400 and answer.json()["error"]["message"]
    assert not upstream.requests and proxy.usage == Usage()


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer secret"}, {"Authorization": "Bearer ünlike"}])
def test_without_its_own_key_it_answers_nothing(upstream: Upstream, proxy: MeterProxy, headers: dict[str, str]) -> None:
    sent = {name: value.encode() for name, value in headers.items()}
    assert post(proxy, headers=sent).status_code == 401
    assert not upstream.requests


def test_only_the_api_is_forwarded(upstream: Upstream, proxy: MeterProxy) -> None:
    key = {"Authorization": f"Bearer {proxy.api_key}"}
    assert (
        httpx.post(proxy.url.removesuffix("/v1") + "/slots", json={}, headers=key, trust_env=False).status_code == 404
    )
    assert not upstream.requests


def test_a_body_of_unknown_length_is_refused(upstream: Upstream, proxy: MeterProxy) -> None:
    key = {"Authorization": f"Bearer {proxy.api_key}"}
    answer = httpx.post(f"{proxy.url}/completions", content=iter([b"{}"]), headers=key, trust_env=False)
    assert answer.status_code == 411 and not upstream.requests


def test_calls_at_the_same_time_are_all_counted(upstream: Upstream, proxy: MeterProxy) -> None:
    together = threading.Barrier(4, timeout=20)

    def answer(body: bytes) -> tuple[int, Any]:
        together.wait()  # so that it takes four at once, or fails
        return 200, chat("a")

    upstream.answer = answer
    with ThreadPoolExecutor(4) as pool:
        statuses = [reply.status_code for reply in pool.map(lambda _: post(proxy), range(8))]
    assert statuses == [200] * 8 and cost(proxy.usage) == (8, 80, 0, 24)


def test_waiting_until_the_last_call_is_metered(upstream: Upstream, proxy: MeterProxy) -> None:
    arrived, let_go = threading.Event(), threading.Event()

    def answer(body: bytes) -> tuple[int, Any]:
        arrived.set()
        let_go.wait(20)
        return 200, chat("a")

    upstream.answer = answer
    with ThreadPoolExecutor(1) as pool:
        reply = pool.submit(post, proxy)
        assert arrived.wait(20) and not proxy.wait_idle(0.01)
        let_go.set()
        assert proxy.wait_idle(20) and cost(proxy.usage) == (1, 10, 0, 3)
        assert reply.result().status_code == 200


def test_requests_are_recorded_as_they_came(upstream: Upstream, tmp_path: Path) -> None:
    record = tmp_path / "requests.jsonl"
    upstream.answer = (500, {})
    for _ in range(2):  # a second run goes on after the first
        with MeterProxy(upstream.url, record=record) as proxy:
            post(proxy)
    lines = [json.loads(line) for line in record.read_text("utf-8").splitlines()]
    assert [(line["path"], line["body"]) for line in lines] == [("/v1/chat/completions", ASKED)] * 2
    assert all(0 <= line["at"] < 60 for line in lines) and "你好" in record.read_text("utf-8")


def test_what_is_no_url_is_the_users_to_correct() -> None:
    with pytest.raises(ConfigError, match="no base URL"):
        MeterProxy("nowhere")


def test_an_estimate_stands_in_where_there_is_no_tokenizer(upstream: Upstream) -> None:
    upstream.answer = (200, chat("one two three four", "five six seven", generated=1, timings={}))
    with MeterProxy(upstream.url) as proxy:
        post(proxy)
    assert proxy.usage.generated_tokens >= 7
