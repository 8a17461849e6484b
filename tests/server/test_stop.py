"""The server stops: what is under way is finished or told of it, and nothing new begins."""

import json
import threading
import time
from typing import Any

import pytest
from heavy import SINES
from serving import TEXT, Held, Serving, http, make_agent, stream, until

from haluagent.arithmetic import expressions
from haluagent.server.settings import ServerSettings


@pytest.fixture
def held(scripted: Any) -> Held:
    return Held(scripted)


def test_what_is_under_way_is_finished_and_nothing_new_begins(held: Held) -> None:
    with Serving(held.agent, ServerSettings(running=1, grace=20), [held]) as server:
        found: list[list[dict[str, Any]]] = []
        url = server.url + "/v1/detect"
        threads = [threading.Thread(target=lambda: found.append(stream(url, TEXT))) for _ in range(2)]
        for number, thread in enumerate(threads):
            thread.start()
            until(lambda n=number: server.app.state.scheduler.queue.state() == (1, n))
        server.stop()
        until(lambda: server.app.state.scheduler.stopping)
        for path, method in (("/v1/detect", "POST"), ("/readyz", "GET")):
            refused = http.request(method, server.url + path, json=TEXT)
            assert refused.status_code == 503 and refused.json()["error"]["type"] == "stopping"
        assert http.get(server.url + "/healthz").status_code == 200
        held.go.set()
        for thread in threads:
            thread.join(10)
        server.thread.join(10)
        assert not server.thread.is_alive()
    assert [events[-1]["kind"] for events in found] == ["answer", "answer"]
    assert sorted(outcome.ending for outcome in held.outcomes) == ["done", "done", "stopping"]


def test_what_takes_too_long_is_told_so(held: Held) -> None:
    with Serving(held.agent, ServerSettings(running=2, waiting=1, grace=0.1), [held]) as server:
        url = server.url + "/v1/detect"
        found: dict[str, Any] = {}

        def plain() -> None:
            found["plain"] = http.post(url, json=TEXT)

        threads = [
            threading.Thread(target=plain),
            threading.Thread(target=lambda: found.update(stream=stream(url, TEXT))),
            threading.Thread(target=lambda: found.update(waiting=stream(url, TEXT))),
        ]
        for state, thread in zip(((1, 0), (2, 0), (2, 1)), threads, strict=True):
            thread.start()
            until(lambda s=state: server.app.state.scheduler.queue.state() == s)
        until(lambda: held.asked == 2)
        server.stop()
        for thread in threads:
            thread.join()
    assert found["plain"].status_code == 503 and found["plain"].json()["error"]["type"] == "stopping"
    assert [event["kind"] for event in found["waiting"]] == ["waiting", "error"]
    for events in (found["stream"], found["waiting"]):
        assert events[-1]["error"]["type"] == "stopping"
    assert held.cancelled == 2 and [outcome.ending for outcome in held.outcomes] == ["stopping"] * 3


def test_a_second_signal_ends_the_wait(held: Held) -> None:
    with Serving(held.agent, ServerSettings(grace=60), [held]) as server:
        found: list[list[dict[str, Any]]] = []
        thread = threading.Thread(target=lambda: found.append(stream(server.url + "/v1/detect", TEXT)))
        thread.start()
        until(lambda: held.asked)
        server.server.handle_exit(2, None)
        until(lambda: server.app.state.scheduler.stopping)
        assert thread.is_alive()
        server.server.handle_exit(2, None)
        thread.join(10)
        assert found[0][-1]["error"]["type"] == "stopping"


def test_a_client_that_is_still_sending_does_not_hold_it_up(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    from haluagent.server import run

    monkeypatch.setattr(run, "LEAVING", 0.3)
    with Serving(held.agent, ServerSettings(grace=0.1)) as server:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as client:
            length = len(json.dumps(TEXT))
            head = f"POST /v1/detect HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
            client.sendall(head.encode() + b"{")
            time.sleep(0.05)
            server.stop()
            server.thread.join(10)
            assert not server.thread.is_alive()


def test_the_deadline_ends_a_calculation(scripted: Any) -> None:
    """The algebra of this response would take two minutes. Others find the worker free."""
    agent = make_agent(scripted(scripted.calculate))
    with Serving(agent, ServerSettings(deadline=1.5, grace=0.1)) as server:
        url = server.url + "/v1/detect"
        late = http.post(url, json={"question": "Is it right?", "response": SINES}).json()
        assert late["stop"] == "budget" and late["hallucination"] is None
        until(lambda: not expressions._worker._busy)
    with Serving(agent, ServerSettings(grace=0.1)) as server:
        found = http.post(server.url + "/v1/detect", json=TEXT | {"response": "sqrt(2) * 2 = 5"}).json()
        assert found["hallucination"]
