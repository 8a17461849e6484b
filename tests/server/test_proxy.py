"""The proxy on a real socket, between a client and a scripted endpoint: what it finds, what it lets out, and what it leaves
alone. The checker's model is scripted: a calculation is right or wrong, and any other sentence stays unverified."""

import asyncio
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from scripted import ScriptedModel
from serving import RESPONSE, Held, Serving, http, make_agent, until
from upstream import EVENTS, Asked, Reply, Upstream, chat, chunk, chunks, response, response_events

from haluagent.agent import HaluAgent
from haluagent.errors import ConfigError, ModelError
from haluagent.server.proxy.app import make_proxy
from haluagent.server.proxy.settings import ProxySettings, ReferenceRule, Rules
from haluagent.server.settings import ServerSettings

RIGHT, WRONG, OPEN = "It is 12 * 7 = 84.", "There are 84 - 4 = 79 left.", "The sea is blue."
ASK: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "How many?"}]}
STREAM = ASK | {"stream": True}
BLOCK = Rules(policy="block", on_error="closed")
REFUSED, REST, FAILED = (
    "I could not confirm everything",
    "I could not confirm the rest",
    "could not be checked just now",
)

Start = Callable[..., str]


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()


@pytest.fixture
def start(upstream: Upstream) -> Iterator[Start]:
    """Starts a proxy before the upstream, and gives its address."""
    running: list[Serving] = []

    def proxy(rules: Rules = Rules(), agent: HaluAgent | None = None, **options: Any) -> str:  # noqa: B008
        server = ServerSettings(grace=0.2, **options.pop("server", {}))
        settings = ProxySettings(server=server, upstream=options.pop("url", upstream.url), rules=rules, **options)
        agent = agent or make_agent(ScriptedModel(ScriptedModel.calculate))
        running.append(Serving(agent, server, app=make_proxy(agent, settings)))
        return running[-1].url

    yield proxy
    for server in running:
        with server:
            pass


def post(url: str, body: Any = ASK, path: str = "/v1/chat/completions", **options: Any) -> Any:
    return http.post(url + path, json=body, **options)


def datas(raw: bytes) -> list[dict[str, Any]]:
    """The JSON of the events of a stream."""
    lines = [line.removeprefix("data: ") for line in raw.decode().split("\n") if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def said(raw: bytes, index: int = 0) -> str:
    """The text that a streamed chat completion says."""
    choices = [choice for data in datas(raw) for choice in data["choices"] if choice["index"] == index]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


def metric(url: str, name: str) -> float:
    (line,) = [line for line in http.get(url + "/metrics").text.splitlines() if line.startswith(name + " ")]
    return float(line.rpartition(" ")[2])


@pytest.mark.parametrize(
    ("text", "verdict", "spans"),
    [
        (RIGHT, "supported", []),
        (f"{RIGHT} {WRONG}", "contradicted", [[19, 46]]),
        (OPEN, "unverified", [[0, 16]]),
        ("Hello! How can I help you?", "no_claim", []),
    ],
)
def test_a_complete_answer_has_its_verdict_in_the_headers(
    start: Start, upstream: Upstream, text: str, verdict: str, spans: Any
) -> None:
    url, upstream.answer = start(), chat(text)
    answer = post(url)
    assert answer.content == upstream.answer.chunks[0]
    assert answer.headers["x-haluagent-verdict"] == verdict and answer.headers["x-haluagent-handling"] == "passed"
    assert [flaw["span"] for flaw in json.loads(answer.headers["x-haluagent-spans"])] == spans
    report = http.get(f"{url}/reports/{answer.headers['x-haluagent-report']}").json()
    assert report["verdict"] == verdict and report["question"] == "How many?"
    assert report["answers"][0]["text"] == text and report["answers"][0]["finding"]["sentences"]
    assert metric(url, f'haluagent_proxy_answers_total{{api="chat",handling="passed",verdict="{verdict}"}}') == 1
    assert metric(url, 'haluagent_proxy_added_seconds_count{api="chat"}') == 1


def test_a_stream_passes_unchanged_and_ends_with_the_report(start: Start, upstream: Upstream) -> None:
    events = [b": a comment\r\n\r\n", *chunks("It is 12 * 7 ", "= 85, 你", "好。", usage=True)]
    raw = b"".join(events)
    upstream.answer = Reply([raw[at : at + 7] for at in range(0, len(raw), 7)], EVENTS)  # also within a character
    url = start()
    answer = post(url, STREAM)
    *before, report = datas(answer.content)
    done = b"data: [DONE]\n\n"
    assert answer.content.endswith(done) and answer.content.startswith(raw.removesuffix(done))
    assert before[-1]["usage"]["total_tokens"] == 14 and before[-2]["choices"][0]["finish_reason"] == "stop"
    assert report["haluagent"]["verdict"] == "contradicted" and report["choices"][0]["delta"] == {}
    assert report["haluagent"]["report"] == answer.headers["x-haluagent-report"]
    kept = http.get(f"{url}/reports/{answer.headers['x-haluagent-report']}").json()
    assert kept["answers"][0]["text"] == "It is 12 * 7 = 85, 你好。"


@pytest.mark.parametrize(("question", "refusal"), [("How many?", REFUSED), ("还剩几支钢笔？", "无法得到证实")])
def test_a_wrong_answer_is_blocked_in_the_language_of_the_user(
    start: Start, upstream: Upstream, question: str, refusal: str
) -> None:
    url, upstream.answer = start(BLOCK), chat(WRONG, reasoning="none")
    answer = post(url, {"messages": [{"role": "user", "content": question}]})
    data = answer.json()
    assert refusal in data["choices"][0]["message"]["content"] and WRONG not in answer.text
    assert data["choices"][0]["finish_reason"] == "stop" and data["usage"]["total_tokens"] == 14
    assert answer.headers["x-haluagent-handling"] == "blocked"
    report = http.get(f"{url}/reports/{answer.headers['x-haluagent-report']}").json()
    assert report["answers"][0]["text"] == WRONG and report["answers"][0]["sent"] in answer.text


def test_each_choice_is_checked(start: Start, upstream: Upstream) -> None:
    url, upstream.answer = start(BLOCK), chat(RIGHT, WRONG, None)
    answer = post(url, ASK | {"n": 3})
    first, second, third = (choice["message"]["content"] for choice in answer.json()["choices"])
    assert first == RIGHT and REFUSED in second and third is None
    pieces = [
        chunk({"content": RIGHT}, 0),
        chunk({"content": WRONG}, 1),
        chunk({}, 0, "length"),
        chunk({}, 1, "length"),
    ]
    upstream.answer = Reply([*pieces, b"data: [DONE]\n\n"], EVENTS)
    raw = post(url, STREAM | {"n": 2}).content
    assert said(raw, 0) == RIGHT and REFUSED in said(raw, 1) and "79" not in said(raw, 1)
    ends = {choice["index"]: choice["finish_reason"] for data in datas(raw)[:-1] for choice in data["choices"]}
    assert ends == {0: "length", 1: "stop"}


def test_a_message_that_only_calls_tools_is_not_checked(start: Start, upstream: Upstream) -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    upstream.answer = chat(choices=[{"index": 0, "message": message, "finish_reason": "tool_calls"}])
    model = ScriptedModel(ScriptedModel.calculate)
    url = start(Rules(policy="block", on_error="closed", on_unverified="block"), make_agent(model))
    answer = post(url)
    assert answer.content == upstream.answer.chunks[0] and answer.headers["x-haluagent-verdict"] == "no_answer"
    events = [chunk({"role": "assistant", "tool_calls": calls}), chunk({}, finish="tool_calls"), b"data: [DONE]\n\n"]
    upstream.answer = Reply(events, EVENTS)
    assert post(url, STREAM).content.startswith(b"".join(events[:2]))
    assert model.seen == []


def test_a_held_stream_goes_out_sentence_by_sentence(start: Start, upstream: Upstream) -> None:
    """The second sentence is only said when the first has arrived at the client."""
    first, second = threading.Event(), threading.Event()

    async def wait(event: threading.Event) -> None:
        while not event.is_set():
            await asyncio.sleep(0.005)

    head, *words, end, done = chunks("It is 12 ", "* 7 = 84", ". The ", "sea is blue. 84 - ", "4 = 79", ".")
    upstream.answer = lambda asked: Reply(
        [head, *words[:3], wait(first), *words[3:5], wait(second), words[5], end, done], EVENTS
    )
    url = start(BLOCK)
    raw = b""
    with http.stream("POST", url + "/v1/chat/completions", json=STREAM) as answer:
        for part in answer.iter_raw():
            raw += part
            if said(raw).startswith("It is 12 * 7 = 84."):
                assert "sea" not in said(raw) or first.is_set()
                first.set()
            if "sea is blue." in said(raw):
                second.set()
    assert said(raw).startswith("It is 12 * 7 = 84. The sea is blue. \n\n" + REST) and "79" not in raw.decode()
    assert datas(raw)[-2]["choices"][0]["finish_reason"] == "stop"
    report = datas(raw)[-1]["haluagent"]
    assert (report["verdict"], report["handling"]) == ("contradicted", "blocked")
    assert report["spans"][-1] == {"choice": "0", "span": [36, 48], "label": "contradicted"}


def test_a_held_stream_that_is_right_keeps_its_bytes(start: Start, upstream: Upstream) -> None:
    events = [b": hi\n\n", *chunks("It is ", "12 * 7", " = 84.\n", "12 * 8 ", "= 96.", usage=True)]
    upstream.answer = Reply(events, EVENTS)
    raw = post(start(BLOCK), STREAM).content
    assert said(raw) == "It is 12 * 7 = 84.\n12 * 8 = 96."
    assert raw.startswith(b"".join(events[:-1])) and raw.endswith(events[-1])


@pytest.mark.parametrize(("choice", "out"), [("pass", True), ("block", False)])
def test_what_could_not_be_checked_is_said_and_follows_its_option(
    start: Start, upstream: Upstream, choice: Any, out: bool
) -> None:
    url = start(Rules(policy="block", on_error="open", on_unverified=choice))
    upstream.answer = chat(OPEN)
    answer = post(url)
    assert answer.headers["x-haluagent-verdict"] == "unverified" and (OPEN in answer.text) is out
    upstream.answer = chat("Le chat est noir et il dort sur le canapé depuis ce matin, comme tous les jours.")
    french = {
        "messages": [{"role": "user", "content": "Pourquoi est-ce que mon chat dort toute la journée sur le canapé ?"}]
    }
    answer = post(url, french)
    assert answer.headers["x-haluagent-verdict"] == "unverified" and ("canap" in answer.text) is out
    upstream.answer = Reply(chunks(OPEN), EVENTS)
    assert (OPEN in said(post(url, STREAM).content)) is out


class Broken(ScriptedModel):
    async def generate(self, *args: Any, **options: Any) -> Any:
        raise ModelError("the endpoint is down")


@pytest.mark.parametrize("choice", ["open", "closed"])
def test_a_checker_that_is_down_lets_all_out_or_nothing(start: Start, upstream: Upstream, choice: Any) -> None:
    url = start(Rules(policy="block", on_error=choice), make_agent(Broken()))
    upstream.answer = chat(RIGHT)
    answer = post(url)
    assert answer.headers["x-haluagent-verdict"] == "unchecked"
    assert (RIGHT if choice == "open" else FAILED) in answer.text
    upstream.answer = Reply(chunks(RIGHT), EVENTS)
    assert (RIGHT if choice == "open" else FAILED) in said(post(url, STREAM).content)
    assert metric(url, 'haluagent_proxy_failures_total{kind="model"}') == 2


def test_a_check_that_takes_too_long_leaves_the_answer_open(start: Start, upstream: Upstream, scripted: Any) -> None:
    held = Held(scripted)
    url = start(Rules(policy="block", on_error="open", on_unverified="block"), held.agent, server={"deadline": 0.1})
    upstream.answer = chat(RESPONSE)
    answer = post(url)
    assert held.asked and answer.headers["x-haluagent-verdict"] == "unverified" and RESPONSE not in answer.text


def again(asked: Asked) -> bool:
    """Whether a request is the second try."""
    return "held back" in asked.body.decode()


@pytest.mark.parametrize("second", [RIGHT, WRONG, "error"])
@pytest.mark.parametrize("after", ["block", "annotate"])
@pytest.mark.parametrize("streamed", [False, True])
def test_a_wrong_answer_is_asked_for_once_more(
    start: Start, upstream: Upstream, second: str, after: Any, streamed: bool
) -> None:
    def answer(asked: Asked) -> Reply:
        text = second if again(asked) else f"{RIGHT} {WRONG}"
        if text == "error":
            return Reply([b"{}"], status=500)
        return Reply(chunks(*text.partition("=")), EVENTS) if streamed else chat(text)

    upstream.answer = answer
    url = start(Rules(policy="revise", on_error="closed", after_revision=after))
    found = post(url, STREAM | {"temperature": 0.5} if streamed else ASK | {"temperature": 0.5})
    text = said(found.content) if streamed else found.json()["choices"][0]["message"]["content"]
    retried = upstream.asked[1].json
    assert len(upstream.asked) == 2 and retried["temperature"] == 0.5
    assert [message["role"] for message in retried["messages"]] == ["user", "assistant", "user"]
    assert f"<statement>{WRONG}</statement>" in retried["messages"][2]["content"]
    out = second == RIGHT or (second == WRONG and after == "annotate")
    assert text == second if out else text.startswith(REFUSED)
    report = http.get(f"{url}/reports/{found.headers['x-haluagent-report']}").json()
    assert report["handling"] == ("revised" if out else "blocked")
    assert report["verdict"] == ("supported" if second == RIGHT else "contradicted")
    assert metric(url, 'haluagent_proxy_failures_total{kind="upstream"}') == (second == "error")


def test_an_answer_that_is_right_is_not_asked_for_again(start: Start, upstream: Upstream) -> None:
    url = start(Rules(policy="revise", on_error="open"))
    events = chunks(RIGHT, usage=True)
    upstream.answer = Reply(events, EVENTS)
    assert post(url, STREAM).content.startswith(b"".join(events[:-1])) and len(upstream.asked) == 1


def test_responses_are_checked_too(start: Start, upstream: Upstream) -> None:
    url, body = start(BLOCK), {"model": "m", "input": "How many?", "instructions": "Be kind."}
    upstream.answer = Reply([json.dumps(response(RIGHT, WRONG)).encode()])
    data = post(url, body, "/v1/responses").json()
    first, second = (item["content"][0]["text"] for item in data["output"])
    assert first == RIGHT and second.startswith(REFUSED)
    events = response_events("It is 12 * 7", " = 84. 84 ", "- 4 = 79.")
    upstream.answer = Reply(events, EVENTS)
    raw = post(url, body | {"stream": True}, "/v1/responses").content
    sent = "It is 12 * 7 = 84. \n\n" + REST
    found = datas(raw)
    assert "79" not in raw.decode()
    assert "".join(data["delta"] for data in found if data["type"] == "response.output_text.delta").startswith(sent)
    by_type = {data["type"]: data for data in found}
    assert by_type["response.output_text.done"]["text"].startswith(sent)
    assert by_type["response.content_part.done"]["part"]["text"].startswith(sent)
    assert by_type["response.output_item.done"]["item"]["content"][0]["text"].startswith(sent)
    ended = by_type["response.completed"]["response"]
    assert ended["output"][0]["content"][0]["text"].startswith(sent)
    assert [data["sequence_number"] for data in found] == list(range(len(found)))
    assert found[-1]["haluagent"]["handling"] == "blocked"
    for policy in (Rules(), BLOCK):
        upstream.answer = Reply(response_events(RIGHT), EVENTS)
        raw = post(start(policy), body | {"stream": True}, "/v1/responses").content
        assert (
            raw.startswith(b"".join(response_events(RIGHT))) and datas(raw)[-1]["haluagent"]["verdict"] == "supported"
        )


def test_a_stream_without_deltas_is_held_too(start: Start, upstream: Upstream) -> None:
    events = [event for event in response_events(WRONG) if b"text.delta" not in event]
    upstream.answer = Reply(events, EVENTS)
    raw = post(start(BLOCK), {"input": "How many?", "stream": True}, "/v1/responses").content
    assert "79" not in raw.decode() and REFUSED in raw.decode()


def test_a_background_response_cannot_be_held(start: Start, upstream: Upstream) -> None:
    body = {"input": "Hi", "background": True}
    assert post(start(BLOCK), body, "/v1/responses").status_code == 400 and not upstream.asked
    upstream.answer = Reply([json.dumps(response() | {"status": "queued"}).encode()])
    assert post(start(), body, "/v1/responses").headers["x-haluagent-verdict"] == "no_answer"


def test_the_rest_of_the_api_passes_through(start: Start, upstream: Upstream) -> None:
    url = start(BLOCK)
    upstream.answer = Reply([b'{"data": ', b"[]}"], headers=(("x-ratelimit-remaining", "7"), ("x-request-id", "up")))
    answer = http.get(url + "/v1/models?after=a%2Fb", headers={"Authorization": "Bearer sk-1", "X-Own": "1"})
    asked = upstream.asked[0]
    assert answer.json() == {"data": []} and answer.headers["x-ratelimit-remaining"] == "7"
    assert answer.headers["x-request-id"] == "up"
    assert (asked.method, asked.path, asked.headers["authorization"]) == (
        "GET",
        "/v1/models?after=a%2Fb",
        "Bearer sk-1",
    )
    assert asked.headers["x-own"] == "1" and asked.headers["host"] in upstream.url
    post(url, {"input": "x", "own": 1}, "/v1/embeddings")
    assert upstream.asked[1].json == {"input": "x", "own": 1}
    http.request("DELETE", url + "/v1/files/a%20b")
    assert (upstream.asked[2].method, upstream.asked[2].path) == ("DELETE", "/v1/files/a%20b")
    send(url, {}, "/v1/bare").close()
    until(lambda: len(upstream.asked) == 4)
    assert {*upstream.asked.pop().headers} <= {"host", "content-length", "connection"}
    for path in ("/tokenize", "/v1/../admin", "/v1/%2e%2e/admin", "/v1"):
        assert http.request("GET", url + "/x", extensions={"target": path.encode()}).status_code == 404
    assert len(upstream.asked) == 3
    upstream.answer = chat(WRONG)
    for path in ("/v1//chat/completions", "/v1/chat/completions/", "/v1/chat%2Fcompletions"):
        refused = http.request("POST", url + "/x", json=ASK, extensions={"target": path.encode()})
        assert REFUSED in refused.text, path


def test_what_the_upstream_refuses_comes_back_as_it_is(start: Start, upstream: Upstream) -> None:
    error = b'{"error": {"message": "slow down", "type": "rate_limit"}}'
    upstream.answer = Reply([error], status=429, headers=(("retry-after", "7"),))
    url = start(BLOCK)
    for body in (ASK, STREAM):
        answer = post(url, body)
        assert (answer.status_code, answer.content, answer.headers["retry-after"]) == (429, error, "7")
    assert "x-haluagent-verdict" not in answer.headers


def test_an_upstream_that_fails_is_told(start: Start, upstream: Upstream) -> None:
    async def breaks() -> None:
        raise RuntimeError("the upstream breaks off")

    dead = start(url="http://127.0.0.1:9/v1")
    answer = post(dead)
    assert answer.status_code == 502 and answer.json()["error"]["type"] == "upstream"
    assert metric(dead, 'haluagent_proxy_failures_total{kind="upstream"}') == 1
    for rules in (Rules(), BLOCK):
        upstream.answer = lambda asked: Reply([*chunks("84 - 4 = 79.", "And")[:3], breaks()], EVENTS)
        url = start(rules)
        last = datas(post(url, STREAM).content)[-1]
        assert (
            last["error"]["type"] == "upstream" and metric(url, 'haluagent_proxy_failures_total{kind="upstream"}') == 1
        )


@pytest.mark.parametrize("body", [b"<html>", b"[1]", b'{"choices": 1}', b'{"object": "list"}', b'{"choices": [[]]}'])
def test_an_answer_that_cannot_be_read_is_not_clean(start: Start, upstream: Upstream, body: bytes) -> None:
    upstream.answer = Reply([body])
    answer = post(start())
    assert answer.content == body and answer.headers["x-haluagent-verdict"] in ("unchecked", "no_answer")
    if answer.headers["x-haluagent-verdict"] == "unchecked":
        assert post(start(BLOCK)).status_code == 502


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"messages": [], "messages": []}', b'{"n": NaN}', b"\xff", b"[" * 200_000]
)
def test_a_request_that_can_be_read_in_two_ways_is_refused(start: Start, upstream: Upstream, body: bytes) -> None:
    answer = http.post(start() + "/v1/chat/completions", content=body)
    assert answer.status_code == 400 and answer.json()["error"]["type"] == "invalid" and not upstream.asked


@pytest.mark.parametrize(
    "body", [{}, {"messages": 1}, {"messages": [1, {}, {"role": 2, "content": {}}]}, {"input": [[]]}]
)
def test_strange_requests_are_the_upstreams_to_judge(start: Start, upstream: Upstream, body: Any) -> None:
    url = start(Rules(policy="revise", on_error="open"))
    upstream.answer = lambda asked: (
        chat(WRONG) if "chat" in asked.path else Reply([json.dumps(response(WRONG)).encode()])
    )
    for path in ("/v1/chat/completions", "/v1/responses"):
        answer = post(url, body, path)
        assert answer.status_code == 200 and answer.headers["x-haluagent-handling"] == "blocked"


def test_bodies_are_bounded(start: Start, upstream: Upstream) -> None:
    url = start(BLOCK, server={"body": 1000})
    assert post(url, ASK | {"user": "x" * 1000}).status_code == 413 and not upstream.asked
    upstream.answer = chat("x" * 1000)
    assert post(url).status_code == 502
    upstream.answer = Reply([b"data: ", *[b"x" * 100] * 20], EVENTS)
    assert datas(post(url, STREAM).content)[-1]["error"]["type"] == "upstream"


def test_texts_that_are_too_long_are_unverified(start: Start, upstream: Upstream) -> None:
    upstream.answer = chat(RIGHT * 100)
    answer = post(start(server={"text": 1000}))
    assert answer.headers["x-haluagent-verdict"] == "unverified" and answer.content == upstream.answer.chunks[0]


def test_too_many_requests_are_turned_away(start: Start, upstream: Upstream) -> None:
    go = threading.Event()

    async def wait() -> None:
        while not go.is_set():
            await asyncio.sleep(0.005)

    upstream.answer = lambda asked: Reply([wait(), *chat(RIGHT).chunks])
    url = start(conversations=1)
    thread = threading.Thread(target=lambda: post(url))
    thread.start()
    until(lambda: upstream.asked)
    answer = post(url)
    assert answer.status_code == 429 and int(answer.headers["retry-after"]) >= 1 and len(upstream.asked) == 1
    assert http.get(url + "/health").status_code == 200
    assert metric(url, "haluagent_proxy_requests_running") == 1
    go.set()
    thread.join()
    until(lambda: post(url).status_code == 200)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
@pytest.mark.parametrize("rules", [Rules(), BLOCK])
def test_a_client_that_leaves_ends_the_request_behind(
    start: Start, upstream: Upstream, rules: Rules, path: str
) -> None:
    async def forever() -> None:
        await asyncio.sleep(600)

    upstream.answer = lambda asked: Reply([*chunks("It is")[:2], forever()], EVENTS)
    url = start(rules)
    client = send(url, STREAM, path)
    client.recv(100)
    client.close()
    until(lambda: upstream.left == 1)
    client = send(url, ASK, path)  # without waiting for its answer
    until(lambda: len(upstream.asked) == 2)
    client.close()
    until(lambda: upstream.left == 2 and metric(url, "haluagent_proxy_requests_running") == 0)


@pytest.mark.parametrize("body", [ASK, STREAM])
def test_a_client_that_leaves_ends_the_check(start: Start, upstream: Upstream, scripted: Any, body: Any) -> None:
    held = Held(scripted)
    upstream.answer = Reply(chunks(RESPONSE), EVENTS) if body is STREAM else chat(RESPONSE)
    url = start(BLOCK, held.agent)
    client = send(url, body)
    until(lambda: held.asked)
    client.close()
    until(lambda: held.cancelled == 1)
    until(lambda: metric(url, "haluagent_proxy_requests_running") == 0)
    assert metric(url, 'haluagent_requests_total{ending="gone",job="detect"}') == 1


def send(url: str, body: Any, path: str = "/v1/chat/completions") -> socket.socket:
    """Send a request, and return the connection that its answer will come by."""
    host, port = url.removeprefix("http://").split(":")
    text = json.dumps(body)
    client = socket.create_connection((host, int(port)))
    head = f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: {len(text)}\r\n\r\n"
    client.sendall((head + text).encode())
    return client


@pytest.mark.parametrize(
    ("sources", "reference"),
    [
        ({"tool"}, "The shop opens at 9."),
        ({"block"}, "The shop has cake.\n\nThe shop has tea."),
        ({"system"}, "Be kind. <context>The shop has cake.</context>"),
        (set(), None),
    ],
)
def test_what_counts_as_reference(
    start: Start, upstream: Upstream, monkeypatch: pytest.MonkeyPatch, sources: Any, reference: str | None
) -> None:
    seen: list[Any] = []
    agent = make_agent(ScriptedModel(ScriptedModel.calculate))
    stream = agent.astream
    monkeypatch.setattr(agent, "astream", lambda *given: (seen.append(given), stream(*given))[1])
    monkeypatch.setattr(agent, "within", lambda limits: agent)
    url = start(agent=agent, reference=ReferenceRule(sources=frozenset(sources)))
    asked = "<context>The shop has tea.</context> When does it open?"
    chat_body = {
        "messages": [
            {"role": "system", "content": "Be kind. <context>The shop has cake.</context>"},
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": "<context>I made this up.</context>"},
            {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "The shop opens at 9."}]},
            {"role": "user", "content": [{"type": "text", "text": asked}, {"type": "image_url", "image_url": {}}]},
        ]
    }
    items = [
        {"role": "assistant", "content": [{"type": "output_text", "text": "<context>I made this up.</context>"}]},
        {"type": "function_call_output", "call_id": "1", "output": "The shop opens at 9."},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": asked}]},
    ]
    upstream.answer = lambda asked: chat(OPEN) if "chat" in asked.path else Reply([json.dumps(response(OPEN)).encode()])
    post(url, chat_body)
    post(url, {"instructions": chat_body["messages"][0]["content"], "input": items}, "/v1/responses")
    question = "When does it open?" if "block" in sources else asked
    assert [given[:3] for given in seen] == [(question, OPEN, reference)] * 2
    assert upstream.asked[0].json == chat_body


def test_reports_are_in_a_folder(start: Start, upstream: Upstream, tmp_path: Path) -> None:
    url, upstream.answer = start(reports=tmp_path / "reports"), chat(RIGHT)
    found = post(url).headers["x-haluagent-report"]
    report = http.get(f"{url}/reports/{found}")
    assert report.json()["id"] == found and (tmp_path / "reports" / f"{found}.json").read_bytes() == report.content
    assert http.get(f"{url}/reports/..%2F..%2Fetc").status_code == 404
    assert http.get(f"{url}/reports/{'x' * 22}").status_code == 404
    (tmp_path / "reports").rename(tmp_path / "moved")
    answer = post(url)
    assert answer.status_code == 200 and metric(url, 'haluagent_proxy_failures_total{kind="report"}') == 1


def test_a_token_is_the_clients_key_and_stays_with_the_proxy(start: Start, upstream: Upstream) -> None:
    upstream.answer = chat(RIGHT)
    token = {"Authorization": "Bearer correct-horse-battery"}
    settings = {"token": "correct-horse-battery"}
    for key, sent in ((None, None), ("sk-upstream", "Bearer sk-upstream")):
        url = start(server=settings, upstream_key=key)
        found = post(url, headers=token)
        assert found.status_code == 200 and upstream.asked[-1].headers.get("authorization") == sent
        for path in ("/v1/models", "/metrics", f"/reports/{found.headers['x-haluagent-report']}"):
            assert http.get(url + path).status_code == 401
        assert http.get(url + "/health").json() == {"status": "ok", "checker": "ready"}


def test_the_example_talks_to_the_proxy(start: Start, upstream: Upstream, tmp_path: Path) -> None:
    models = Reply([b'{"data": [{"id": "m"}]}'])
    upstream.answer = lambda asked: models if "models" in asked.path else Reply(chunks("84 - 4 = ", "79."), EVENTS)
    key = tmp_path / "key"
    key.write_text("correct-horse-battery\n")
    url = start(BLOCK, server={"token": "correct-horse-battery"})
    ran = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "chat.py"), url + "/v1", str(key)], input="How many?\nAnd now?\n",
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout.count(REFUSED) == 2 and "[contradicted, blocked, report " in ran.stdout and "79" not in ran.stdout
    assert len(upstream.asked[-1].json["messages"]) == 3


def test_no_text_is_logged(start: Start, upstream: Upstream, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "haluagent.server")
    upstream.answer = chat(WRONG)
    post(start(BLOCK))
    assert "chat contradicted blocked" in caplog.text
    assert "How many" not in caplog.text and WRONG not in caplog.text


@pytest.mark.parametrize(
    "rules",
    [
        {"on_unverified": "block"},
        {"on_error": "closed"},
        {"policy": "block"},
        {"policy": "revise"},
        {"policy": "block", "on_error": "open", "after_revision": "annotate"},
        {"policy": "revise", "on_error": "open", "after_revision": "annotate", "on_unverified": "block"},
    ],
)
def test_rules_that_contradict_each_other_are_refused(rules: Any) -> None:
    with pytest.raises(ConfigError):
        Rules(**rules)
