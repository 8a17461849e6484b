"""What the server answers: the JSON of the command line, events as they happen, and one clear line where there is no answer."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from scripted import ScriptedModel
from serving import QUESTION, RESPONSE, TEXT, Held, Serving, events, http, make_agent, serving, stream, until

from haluagent.checks.claims import file
from haluagent.checks.claims.check import check_claims
from haluagent.checks.faithfulness.check import check
from haluagent.checks.runs.forms import reading
from haluagent.checks.runs.gate import check_run
from haluagent.errors import ConfigError, ModelError
from haluagent.judging import traced
from haluagent.server.settings import ServerSettings
from haluagent.types import Detection

CHECK = {
    "question": "What is blue?",
    "answer": "The sky is blue.",
    "documents": ["The sky is blue.", "Grass is green."],
}
CLAIMS = {"response": "The sky is blue.", "reference": "The sky is blue.", "id": 7}
RUN = {
    "run_id": "r1",
    "tools": [{"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}],
    "turns": [
        {"role": "user", "text": "How warm is Oslo?"},
        {
            "role": "assistant",
            "calls": [{"id": "c1", "tool": "weather", "arguments": {"city": "Oslo"}, "result": "Oslo: 12 degrees"}],
        },
    ],
    "answer": "Oslo has 12 degrees.",
}
EVERY = {"/v1/detect": TEXT, "/v1/check": CHECK, "/v1/claims": CLAIMS, "/v1/runs": RUN}


@pytest.fixture
def held(scripted: Any) -> Held:
    return Held(scripted)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(make_agent(ScriptedModel(ScriptedModel.calculate))) as url:
        yield url


def without_seconds(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_seconds(inner) for name, inner in value.items() if name != "seconds"}
    return [without_seconds(inner) for inner in value] if isinstance(value, list) else value


def test_each_endpoint_answers_as_the_command_line_does(scripted: Any, url: str) -> None:
    agent = make_agent(scripted(scripted.calculate))
    faithful = check(agent, "What is blue?", "The sky is blue.", CHECK["documents"])
    report = check_claims(agent, "The sky is blue.", "The sky is blue.")
    expected = {
        "/v1/detect": json.loads(agent.detect(**TEXT).model_dump_json()),
        "/v1/check": faithful.published() | faithful.model_dump(mode="json"),
        "/v1/claims": file.with_report(file.parse(CLAIMS, 1), report),
        "/v1/runs": check_run(agent, reading.parse(RUN)).model_dump(mode="json"),
    }
    for path, body in EVERY.items():
        answer = http.post(url + path, json=body)
        assert answer.status_code == 200 and answer.headers["content-type"] == "application/json"
        assert without_seconds(answer.json()) == without_seconds(json.loads(json.dumps(expected[path])))
        last = stream(url + path, body)[-1]
        assert without_seconds(last["detection" if path == "/v1/detect" else "result"]) == without_seconds(
            answer.json()
        )


def test_a_stream_has_the_events_of_the_agent(url: str, scripted: Any) -> None:
    agent = make_agent(scripted(scripted.calculate))
    direct = [json.loads(event.model_dump_json()) for event in agent.stream(QUESTION, RESPONSE)]
    assert without_seconds(stream(url + "/v1/detect", TEXT)) == without_seconds(direct)
    with http.stream("POST", url + "/v1/detect", json=TEXT, headers={"Accept": "text/event-stream"}) as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.headers["cache-control"] == "no-store" and answer.headers["x-accel-buffering"] == "no"


def test_a_reference_may_be_several_texts(scripted: Any) -> None:
    said = "The Ebro flows for 930 kilometres into the Mediterranean Sea."
    body = {"question": "Where does the Ebro flow?", "response": said, "reference": ["Grass is green.", said]}
    with serving(make_agent(scripted(lambda messages: "THOUGHT: see\nACTION: match(sentence=S1)"))) as url:
        (entry,) = http.post(url + "/v1/detect", json=body).json()["sentences"]
    assert entry["label"] == "supported" and entry["evidence"][0]["span"] == [17, 17 + len(said) - 1]


def test_a_run_may_be_in_the_form_of_another_library(url: str) -> None:
    messages = [{"role": "user", "content": "Say hello."}, {"role": "assistant", "content": "Hello!"}]
    body = {"source": "openai", "messages": messages, "task": "creative", "emit": 0.9}
    assert http.post(url + "/v1/runs", json=body).json()["action"] == "emit"
    wrong = http.post(url + "/v1/runs", json=body | {"emit": 0.1}).json()["error"]
    assert wrong["type"] == "invalid" and "emit 0.1" in wrong["message"]
    detection = http.post(url + "/v1/detect", json=TEXT).json()
    expected = check_run(make_agent(ScriptedModel(ScriptedModel.calculate)), reading.convert(detection, "detection"))
    report = http.post(url + "/v1/runs", json=detection | {"source": "detection"}).json()
    assert without_seconds(report) == without_seconds(expected.model_dump(mode="json"))
    assert report["claims"]


def test_what_is_known_of_the_server(url: str) -> None:
    assert http.get(url + "/healthz").status_code == http.get(url + "/readyz").status_code == 200
    tools = {tool["name"]: tool for tool in http.get(url + "/v1/tools").json()["tools"]}
    assert set(tools["calculator"]["description"]) == {"en", "zh"}
    assert "sentence" in tools["calculator"]["parameters"]["properties"]
    for path in ("/", "/healthz", "/readyz", "/metrics", "/v1/tools", "/openapi.json"):
        asked = http.head(url + path)
        assert asked.status_code == 200 and not asked.content
    missing = http.get(url + "/nothing")
    assert missing.status_code == 404 and missing.json()["error"]["type"] == "not_found"
    wrong = http.get(url + "/v1/detect")
    assert wrong.status_code == 405 and wrong.headers["allow"] == "POST" and wrong.json()["error"]["type"] == "method"


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        ("/v1/detect", {"question": "Q?"}, "`response` is missing"),
        ("/v1/detect", {"question": 5, "response": "A."}, "`question` should be a text"),
        ("/v1/detect", {"question": "Q?", "response": " "}, "`response` should be a text that is not blank"),
        ("/v1/detect", TEXT | {"reference": [1]}, "`reference` should be a text, or a list of texts"),
        ("/v1/detect", TEXT | {"referense": "x"}, "`referense` is no field here"),
        ("/v1/detect", TEXT | {"tools": ["abacus"]}, "there is no tool named 'abacus' to check with; the tools are "),
        ("/v1/detect", TEXT | {"tools": "calculator"}, "`tools` should be a list of names of tools"),
        ("/v1/detect", {"question": "これは何ですか？", "response": "これはペンです。"}, "Japanese is not supported"),
        ("/v1/check", {"answer": "A."}, "give `documents`"),
        ("/v1/check", CHECK | {"threshold": 2}, "`threshold` should be a probability"),
        ("/v1/check", CHECK | {"prompt_file": "/etc/passwd"}, "`prompt_file` is no field here"),
        ("/v1/claims", CLAIMS | {"claims": [["a", "b"]]}, "`claims` should be a list"),
        ("/v1/claims", CLAIMS | {"checker": "nli"}, "`checker` should be choice or joint"),
        ("/v1/claims", {"response": "The sky is blue."}, "there is no reference and no search"),
        ("/v1/runs", RUN | {"turns": [{"role": "robot"}]}, "turns[0].role"),
        ("/v1/runs", {"source": "openai", "messages": [1]}, "the run"),
    ],
)
def test_what_is_wrong_with_a_body_is_one_line(url: str, path: str, body: dict[str, Any], named: str) -> None:
    answer = http.post(url + path, json=body)
    error = answer.json()["error"]
    assert answer.status_code == 400 and error["type"] == "invalid"
    assert named in error["message"] and "\n" not in error["message"]


HOSTILE = {
    "no JSON": b"{",
    "a list": b"[]",
    "not UTF-8": b'{"question": "\xff", "response": "A."}',
    "UTF-16": json.dumps(TEXT).encode("utf-16"),
    "a lone surrogate": b'{"question": "\\ud800", "response": "A."}',
    "a surrogate in a name": b'{"\\ud800": 1, "question": "Q?", "response": "A."}',
    "NaN": b'{"answer": "A.", "document": "D.", "threshold": NaN}',
    "a float that is none": b'{"answer": "A.", "document": "D.", "threshold": 1e999}',
    "a huge number": b'{"response": "A.", "reference": "A.", "id": ' + b"9" * 4000 + b"}",
    "more digits than Python reads": b'{"response": "A.", "reference": "A.", "id": ' + b"9" * 40_000 + b"}",
    "a name twice": b'{"question": "Q?", "question": "R?", "response": "A."}',
    "deep": b'{"a": ' + b"[" * 200 + b"]" * 200 + b"}",
    "deeper than Python reads": b"[" * 100_000,
    "empty": b"",
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_body_is_the_clients_mistake(url: str, body: bytes) -> None:
    for path in EVERY:
        answer = http.post(url + path, content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == 400 and answer.json()["error"]["type"] == "invalid"


def test_limits_on_body_and_texts(scripted: Any) -> None:
    with serving(make_agent(scripted(scripted.calculate)), ServerSettings(body=5000, text=1000, grace=0)) as url:
        long = {"question": "Q?", "response": "a" * 600, "reference": ["b" * 500]}
        answer = http.post(url + "/v1/detect", json=long)
        assert answer.status_code == 413 and "characters" in answer.json()["error"]["message"]

        def parts() -> Iterator[bytes]:
            for _ in range(100):
                yield b" " * 1000

        headers = {"Content-Type": "application/json"}
        for content in (b" " * 100_000, parts()):  # with a Content-Length and without
            answer = http.post(url + "/v1/detect", content=content, headers=headers)
            assert answer.status_code == 413 and answer.json()["error"]["type"] == "too_large"


@pytest.mark.parametrize("length", ["999999999999", "20000001", "9" * 19])
def test_a_body_that_no_one_would_read_is_refused_before_it_comes(url: str, length: str) -> None:
    host, port = url.removeprefix("http://").split(":")
    head = f"POST /v1/detect HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=20) as client:
        client.sendall(head.encode())  # and nothing else
        answer = b""
        while part := client.recv(10_000):
            answer += part
    assert answer.startswith(b"HTTP/1.1 413 ") and b"too_large" in answer


@pytest.mark.parametrize("question", [{}, {"question": ""}, {"question": None}, {"question": " "}])
def test_a_question_is_optional(url: str, question: dict[str, Any]) -> None:
    answer = http.post(url + "/v1/detect", json=question | {"response": "It is 2 + 2 = 5."})
    assert answer.status_code == 200 and answer.json()["hallucination"] is True and answer.json()["question"] == ""
    body = {"answer": "It is warm in Oslo.", "document": "It is warm in Oslo."}
    assert http.post(url + "/v1/check", json=question | body).status_code == 200
    body = {"response": "It is warm in Oslo.", "reference": "It is warm in Oslo."}
    assert http.post(url + "/v1/claims", json=question | body).status_code == 200


def test_bodies_that_are_hard_to_read_hold_up_no_detection(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from haluagent.server import endpoint

    read, go, reading = endpoint.read, threading.Event(), []

    def hard(body: bytes, text: int) -> dict[str, Any]:
        if len(body) > endpoint.LARGE:
            reading.append(body)
            go.wait(20)
        return read(body, text)

    monkeypatch.setattr(endpoint, "read", hard)
    large = TEXT | {"reference": "a " * endpoint.LARGE}
    threads = [
        threading.Thread(target=http.post, args=(url + "/v1/detect",), kwargs={"json": large}) for _ in range(40)
    ]
    for thread in threads:
        thread.start()
    until(lambda: len(reading) == 2)
    try:
        assert http.post(url + "/v1/detect", json=TEXT, timeout=30).status_code == 200
        assert len(reading) == 2
    finally:
        go.set()
        for thread in threads:
            thread.join(20)


def test_what_takes_long_is_not_done_on_the_event_loop(url: str, monkeypatch: pytest.MonkeyPatch) -> None:

    from haluagent.checks.claims import extract
    from haluagent.checks.runs.answers import ground, probe
    from haluagent.text import language

    held_up: dict[str, bool] = {}

    def watched(module: Any, name: str) -> None:
        does = getattr(module, name)

        def call(*args: Any) -> Any:
            held_up[f"{module.__name__} {name}"] = asyncio._get_running_loop() is not None
            return does(*args)

        monkeypatch.setattr(module, name, call)

    watched(language, "choose")
    watched(extract, "claiming")
    watched(ground, "evidence_of")
    watched(probe, "evidence_of")
    watched(traced, "missing_numbers")
    for path, body in (EVERY | {"/v1/claims": CLAIMS | {"reference": "Grass is green and wet."}}).items():
        assert http.post(url + path, json=body).status_code == 200
    assert len(held_up) == 5 and not any(held_up.values()), held_up


def test_what_an_endpoint_refuses_is_not_logged() -> None:
    from haluagent.models.client import _status
    from haluagent.models.endpoint import RequestRefused

    assert (
        _status(RequestRefused("http://a.example/v1/chat answered 400: your prompt was"))
        == "http://a.example/v1/chat answered 400"
    )


def test_a_form_cannot_post(url: str) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = http.post(url + "/v1/detect", content=json.dumps(TEXT), headers={"Content-Type": kind})
        assert answer.status_code == 415 and answer.json()["error"]["type"] == "media_type"
    headers = {"Content-Type": "application/json; charset=utf-8"}
    assert http.post(url + "/v1/detect", content=json.dumps(TEXT), headers=headers).status_code == 200


def test_a_model_that_fails(scripted: Any) -> None:
    def gone(messages: Any) -> str:
        raise ModelError("the endpoint is gone")

    with serving(make_agent(scripted(gone, choose=gone))) as url:
        answer = http.post(url + "/v1/detect", json=TEXT)
        assert answer.status_code == 502 and Detection.model_validate(answer.json()).error == "the endpoint is gone"
        assert stream(url + "/v1/detect", TEXT)[-1]["detection"]["stop"] == "error"
        body = {"answer": "It is warm in Oslo.", "document": "Oslo has 12 degrees."}
        error = {"type": "model", "message": "the endpoint is gone"}
        answer = http.post(url + "/v1/check", json=body)
        assert answer.status_code == 502 and answer.json() == {"error": error}
        assert stream(url + "/v1/check", body) == [{"kind": "error", "error": error}]


def test_a_bug_is_not_shown_and_the_next_request_is_answered(scripted: Any, caplog: pytest.LogCaptureFixture) -> None:
    model = scripted(scripted.calculate)
    agent = make_agent(model)
    count = model.count_tokens
    model.count_tokens = lambda text: 1 / 0 if "break" in text else count(text)  # type: ignore[method-assign]
    with serving(agent) as url:
        body = {"question": "Why did it break?", "response": "A secret."}
        answer = http.post(url + "/v1/detect", json=body)
        assert answer.status_code == 500 and answer.json()["error"]["type"] == "internal"
        assert stream(url + "/v1/detect", body)[-1]["error"]["type"] == "internal"
        assert http.post(url + "/v1/detect", json=TEXT).status_code == 200
    assert "ZeroDivisionError" in caplog.text and "division by" not in caplog.text


def test_a_model_that_cannot_be_loaded_and_then_can(scripted: Any) -> None:
    class Unloaded(scripted):  # type: ignore[misc]
        there = False

        def start(self) -> None:
            if not self.there:
                raise ConfigError("the weights are not here")

    model = Unloaded(scripted.calculate)
    with serving(make_agent(model)) as url:
        until(lambda: "loading" not in http.get(url + "/readyz").text)
        answer = http.get(url + "/readyz")
        assert answer.status_code == 503 and "the weights are not here" in answer.json()["error"]["message"]
        assert http.get(url + "/healthz").status_code == 200
        answer = http.post(url + "/v1/detect", json=TEXT)
        assert answer.status_code == 503 and answer.json()["error"]["type"] == "not_ready"
        Unloaded.there = True
        assert http.post(url + "/v1/detect", json=TEXT).status_code == 200
        assert http.get(url + "/readyz").status_code == 200


def test_an_endpoint_that_is_gone_is_not_ready(endpoint: Any) -> None:
    from haluagent.models.client import OpenAIModel

    with serving(make_agent(OpenAIModel(endpoint.base_url, "scripted"))) as url:
        assert http.get(url + "/readyz").status_code == 200
    endpoint.close()
    with serving(make_agent(OpenAIModel(endpoint.base_url, "scripted"))) as url:
        answer = http.get(url + "/readyz")
        assert answer.status_code == 503 and "is the server running" in answer.json()["error"]["message"]


def test_the_deadline_gives_what_there_is(held: Held) -> None:
    with serving(held.agent, ServerSettings(deadline=0.2, grace=0), [held]) as url:
        answer = http.post(url + "/v1/detect", json=TEXT)
        assert answer.status_code == 200 and answer.json()["stop"] == "budget"
        assert "0.2 s" in answer.json()["sentences"][0]["reason"]
        until(lambda: held.outcomes)
        assert held.outcomes[0].ending == "deadline"


def test_work_that_heeds_no_limit_is_ended(scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from haluagent.server import scheduler

    class Slow(scripted):  # type: ignore[misc]
        async def choose(self, *args: Any, **options: Any) -> Any:
            await asyncio.sleep(30)

    monkeypatch.setattr(scheduler, "LATE", 0.1)
    with serving(make_agent(Slow()), ServerSettings(deadline=0.5, grace=0)) as url:
        answer = http.post(url + "/v1/check", json={"answer": "It is warm.", "document": "Oslo has 12 degrees."})
        assert answer.status_code == 504 and answer.json()["error"]["type"] == "deadline"


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_a_client_that_goes_away_stops_its_work(held: Held, accept: str) -> None:
    with Serving(held.agent, ServerSettings(running=1, grace=0), [held]) as server:
        body = json.dumps(TEXT)
        host, port = server.url.removeprefix("http://").split(":")
        head = f"POST /v1/detect HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nAccept: {accept}\r\n"
        with socket.create_connection((host, int(port))) as client:
            client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
            until(lambda: held.asked)
        until(lambda: held.outcomes)
        assert held.cancelled == 1 and held.outcomes[0].ending == "gone"
        held.go.set()
        assert http.post(server.url + "/v1/detect", json=TEXT).status_code == 200  # its place is free


def test_others_wait_in_order_and_more_are_turned_away(held: Held) -> None:
    with Serving(held.agent, ServerSettings(running=1, waiting=2, grace=0), [held]) as server:
        done: list[str] = []
        streams: dict[str, list[dict[str, Any]]] = {}

        def ask(name: str) -> None:
            streams[name] = stream(server.url + "/v1/detect", TEXT)
            done.append(name)

        queue = server.app.state.scheduler.queue
        threads = [threading.Thread(target=ask, args=(name,)) for name in "abc"]
        for number, thread in enumerate(threads):
            thread.start()
            until(lambda n=number: queue.state() == (1, n))
        busy = http.post(server.url + "/v1/detect", json=TEXT)
        assert (
            busy.status_code == 429 and busy.json()["error"]["type"] == "busy" and int(busy.headers["retry-after"]) >= 1
        )
        held.go.set()
        for thread in threads:
            thread.join(10)
        assert done == ["a", "b", "c"] and queue.state() == (0, 0)
        first = [events[0] for events in streams.values()]
        assert first[1:] == [{"kind": "waiting", "before": 0}, {"kind": "waiting", "before": 1}]
        assert [events[-1]["kind"] for events in streams.values()] == ["answer"] * 3
        until(lambda: len(held.outcomes) == 4)
        assert sorted(outcome.ending for outcome in held.outcomes) == ["busy", "done", "done", "done"]


def test_who_waits_and_goes_leaves_the_queue(held: Held) -> None:
    with Serving(held.agent, ServerSettings(running=1, waiting=1, grace=0), [held]) as server:
        queue = server.app.state.scheduler.queue
        first = threading.Thread(target=stream, args=(server.url + "/v1/detect", TEXT))
        first.start()
        until(lambda: queue.state() == (1, 0))
        with http.stream(
            "POST", server.url + "/v1/detect", json=TEXT, headers={"Accept": "text/event-stream"}
        ) as waiting:
            assert events(next(waiting.iter_text())) == [{"kind": "waiting", "before": 0}]
        until(lambda: queue.state() == (1, 0))
        held.go.set()
        first.join(10)
        assert held.outcomes[0].ending == "gone" and held.outcomes[0].worked == 0


def test_a_stream_has_no_line_ends_in_its_data(url: str) -> None:
    said = "Blue\u2028is\u2029the\x85sky. 12 * 7 = 84."
    with http.stream(
        "POST", url + "/v1/detect", json=TEXT | {"response": said}, headers={"Accept": "text/event-stream"}
    ) as answer:
        data = [json.loads(line.removeprefix("data: ")) for line in answer.iter_lines() if line.startswith("data: ")]
    assert data[-1]["detection"]["response"] == said


def test_a_watcher_that_fails_harms_nobody(scripted: Any, held: Held, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Held):
        def started(self) -> None:
            raise ValueError

        event = ended = lambda self, told: self.started()

    class Blind:
        def watch(self, job: Any, headers: Any) -> Any:
            raise ValueError

    with serving(make_agent(scripted(scripted.calculate)), None, [Blind(), Broken(scripted), held]) as url:  # type: ignore[list-item]
        assert stream(url + "/v1/detect", TEXT)[-1]["detection"]["stop"] == "answer"
        until(lambda: held.outcomes)
    assert held.outcomes[0].ending == "done" and caplog.text.count("unexpected ValueError") > 2


def test_a_quiet_stream_is_kept_open(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    from haluagent.server import stream as streams

    monkeypatch.setattr(streams, "ALIVE", 0.01)
    with (
        serving(held.agent) as url,
        http.stream("POST", url + "/v1/detect", json=TEXT, headers={"Accept": "text/event-stream"}) as answer,
    ):
        read = ""
        for part in answer.iter_text():
            read += part
            if ": alive\n\n" in read:
                held.go.set()
        assert events(read)[-1]["kind"] == "answer"


def test_a_client_that_reads_nothing_counts_as_gone(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    from haluagent.server import stream as streams

    monkeypatch.setattr(streams, "STALLED", 0.1)
    monkeypatch.setattr(streams, "ALIVE", 0.0001)  # the comments fill the buffers
    monkeypatch.setattr(streams.StreamReply, "_next", lambda self: asyncio.sleep(0, b":" * 1_000_000))
    with Serving(held.agent, ServerSettings(grace=0), [held]) as server:
        with http.stream("POST", server.url + "/v1/detect", json=TEXT, headers={"Accept": "text/event-stream"}):
            until(lambda: held.outcomes)
        assert held.outcomes[0].ending == "gone"


def test_a_run_of_very_many_calls_is_refused(scripted: Any) -> None:
    calls = [{"id": f"c{number}", "tool": "t", "arguments": {}} for number in range(1001)]
    run = {"run_id": "r", "turns": [{"role": "assistant", "calls": calls}], "answer": "Done."}
    with serving(make_agent(scripted())) as url:
        answer = http.post(f"{url}/v1/runs", json=run)
    assert answer.status_code == 400 and "1001 calls" in answer.json()["error"]["message"]
