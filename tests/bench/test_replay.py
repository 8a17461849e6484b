"""Recorded requests are sent again in order, so many at a time, and what they cost is added up."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from haluagent.bench.speed.replay import Replayed, read_trace, replay
from haluagent.errors import ConfigError


class Server:
    """A loopback endpoint. It answers when `together` requests are in its hands, so that a client with fewer in flight
    would wait for ever (and fail by the barrier's time-out)."""

    def __init__(self) -> None:
        self.together = threading.Barrier(1)
        self.bodies: list[dict[str, Any]] = []
        self.keys: set[str | None] = set()
        self.paths: set[str] = set()
        self.now = self.most = 0
        self.answers: dict[str, tuple[int, Any]] = {}
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                status, answer = outer.take(self.path, self.headers.get("authorization"), body)
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"

    def take(self, path: str, key: str | None, body: dict[str, Any]) -> tuple[int, Any]:
        with self.lock:
            self.paths.add(path)
            self.keys.add(key)
            self.bodies.append(body)
            self.now += 1
            self.most = max(self.most, self.now)
        self.together.wait(timeout=20)
        with self.lock:
            self.now -= 1
        return self.answers.get(body["messages"][0]["content"], (200, completion(prompt=100, cached=60, generated=5)))


def completion(prompt: int, cached: int | None, generated: int) -> dict[str, Any]:
    usage: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": generated}
    if cached is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    return {"choices": [{"message": {"content": "yes"}}], "usage": usage}


@pytest.fixture
def server() -> Iterator[Server]:
    served = Server()
    thread = threading.Thread(target=served.http.serve_forever, args=(0.01,))
    thread.start()
    yield served
    served.http.shutdown()
    thread.join()
    served.http.server_close()


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write(tmp_path / "trace.jsonl", [request(f"item {number}") for number in range(8)])


def request(text: str, **fields: Any) -> dict[str, Any]:
    body = {"model": "recorded", "messages": [{"role": "user", "content": text}], "max_tokens": 1} | fields
    return {"at": 3600.0, "path": "/v1/chat/completions", "body": body}


def write(path: Path, entries: list[Any]) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


def texts(server: Server) -> list[str]:
    return [body["messages"][0]["content"] for body in server.bodies]


def test_requests_go_out_in_order_as_recorded_and_their_cost_is_added_up(server: Server, trace: Path) -> None:
    done = replay(trace, server.url, "secret")
    assert server.bodies == [json.loads(line)["body"] for line in trace.read_text().splitlines()]
    assert server.most == 1
    assert server.keys == {"Bearer secret"}
    assert server.paths == {"/v1/chat/completions"}
    assert (done.requests, done.failures, done.first_failure) == (8, 0, None)
    assert (done.prompt_tokens, done.cached_tokens, done.evaluated_tokens, done.generated_tokens) == (800, 480, 320, 40)
    assert done.requests_per_second == pytest.approx(8 / done.seconds)


def test_so_many_are_in_flight_and_no_more(server: Server, trace: Path) -> None:
    server.together = threading.Barrier(4)
    done = replay(trace, server.url, in_flight=4)
    assert (done.requests, done.failures) == (8, 0)
    assert server.most == 4
    assert sorted(texts(server)[:4]) == [f"item {number}" for number in range(4)]
    assert sorted(texts(server)) == [f"item {number}" for number in range(8)]


def test_a_place_is_filled_as_soon_as_it_is_free(server: Server, tmp_path: Path) -> None:
    """The first request is held until all others were answered through the other place."""
    plain, others = server.take, threading.Event()

    def take(path: str, key: str | None, body: dict[str, Any]) -> tuple[int, Any]:
        answer = plain(path, key, body)
        if body["messages"][0]["content"] == "item 0":
            assert others.wait(timeout=20)
        elif body["messages"][0]["content"] == "item 5":
            others.set()
        return answer

    server.take = take  # type: ignore[method-assign]
    done = replay(write(tmp_path / "t.jsonl", [request(f"item {n}") for n in range(6)]), server.url, in_flight=2)
    assert (done.requests, done.failures) == (6, 0)


def test_failures_are_counted_sent_once_and_cost_no_tokens(server: Server, trace: Path) -> None:
    server.answers = {
        "item 2": (503, {"error": {"message": "no slot"}}),
        "item 3": (200, b"not json"),
        "item 4": (200, {"choices": []}),
    }
    done = replay(trace, server.url)
    assert (done.requests, done.failures, done.prompt_tokens) == (8, 3, 500)
    assert done.first_failure is not None
    assert "503" in done.first_failure
    assert "no slot" in done.first_failure
    assert done.requests_per_second == pytest.approx(5 / done.seconds)
    assert texts(server) == [f"item {number}" for number in range(8)]


def test_a_server_that_is_not_there_fails_every_request(trace: Path) -> None:
    closed = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    closed.server_close()  # so that nothing listens on its port
    done = replay(trace, f"http://127.0.0.1:{closed.server_port}/v1", in_flight=3)
    assert (done.requests, done.failures) == (8, 8)
    assert "ConnectError" in str(done.first_failure)


def test_without_a_word_on_the_cache_everything_counts_as_evaluated(server: Server, trace: Path) -> None:
    server.answers = {"item 0": (200, completion(prompt=100, cached=None, generated=2))}
    done = replay(trace, server.url)
    assert (done.cached_tokens, done.evaluated_tokens) == (420, 380)


def test_another_model_can_be_named_and_other_paths_are_left_out(server: Server, tmp_path: Path) -> None:
    entries = [
        {"at": 0.0, "path": "/v1/models", "body": None},
        request("a", model="recorded"),
        {"at": 1.0, "path": "/tokenize", "body": {"content": "b"}},
        {"at": 2.0, "path": "/chat/completions", "body": request("c")["body"]},
    ]
    done = replay(write(tmp_path / "trace.jsonl", entries), server.url, model="other")
    assert texts(server) == ["a", "c"]
    assert {body["model"] for body in server.bodies} == {"other"}
    assert done.requests == 2


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"path": 3, "body": {}}',
        '{"path": "/v1/chat/completions", "body": "text"}',
        '{"path": "/v1/chat/completions"}',
    ],
)
def test_a_line_that_is_no_request_is_named(tmp_path: Path, line: str) -> None:
    file = write(tmp_path / "trace.jsonl", [request("a")])
    with file.open("a") as out:
        out.write(line + "\n")
    with pytest.raises(ConfigError, match=r"trace\.jsonl, line 2 is no recorded request"):
        read_trace(file)


def test_a_recording_that_is_missing_or_empty_is_the_users_to_fix(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_trace(tmp_path / "none.jsonl")
    with pytest.raises(ConfigError, match="holds no chat completion"):
        read_trace(write(tmp_path / "empty.jsonl", [{"at": 0.0, "path": "/v1/models", "body": None}]))


def test_no_place_in_flight_is_refused(trace: Path) -> None:
    with pytest.raises(ConfigError, match="in_flight=0"):
        replay(trace, "http://127.0.0.1:9/v1", in_flight=0)


def test_nothing_in_no_time_is_no_rate() -> None:
    assert Replayed(requests=3, seconds=0.0).requests_per_second == 0.0
