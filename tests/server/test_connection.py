"""Connections that are left idle, or are not read from, are not kept."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from serving import TEXT, Held, Serving, http, serving, until

from haluagent.server import connection
from haluagent.server.run import DEAF, listen
from haluagent.server.settings import ServerSettings

ASKED = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture
def held(scripted: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    monkeypatch.setattr(connection, "IDLE", 1.0)
    held = Held(scripted)
    yield held
    held.go.set()


def connect(url: str) -> socket.socket:
    host, port = url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=30)


def ask(client: socket.socket) -> None:
    """A request, and its whole answer."""
    client.sendall(ASKED + b"\r\n")
    answer = b""
    while not answer.endswith(b'"ok"}'):
        part = client.recv(10_000)
        assert part, "it was cut"
        answer += part


def is_cut(client: socket.socket) -> bool:
    try:
        return client.recv(10_000) == b""
    except ConnectionResetError:
        return True


def test_idle_connections_are_cut(held: Held) -> None:
    with Serving(held.agent, ServerSettings(grace=0)) as server:
        silent, slow, again = connect(server.url), connect(server.url), connect(server.url)
        with silent, slow, again:
            ask(again)
            for client in (slow, again):  # headers that never end, also after a request
                client.sendall(ASKED)
            assert is_cut(silent) and is_cut(slow) and is_cut(again)
        until(lambda: not server.server.server_state.connections)


def test_one_that_waits_for_its_answer_is_left_alone(held: Held) -> None:
    with serving(held.agent) as url, connect(url) as between:
        came: list[int] = []
        thread = threading.Thread(target=lambda: came.append(http.post(url + "/v1/detect", json=TEXT).status_code))
        thread.start()
        for _ in range(4):  # a request now and then keeps a connection open
            ask(between)
            time.sleep(0.4)
        held.go.set()
        thread.join(30)
        assert came == [200]


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the system has no such timeout")
def test_a_client_that_takes_nothing_is_cut_by_the_system() -> None:
    with closing(listen("127.0.0.1", 0)) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == DEAF


def test_answers_are_not_held_back_to_be_sent_together() -> None:
    with closing(listen("127.0.0.1", 0)) as listening:
        assert listening.proto == socket.IPPROTO_TCP, "asyncio sets TCP_NODELAY only then: 40 ms an answer"
