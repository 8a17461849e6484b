"""Who may ask: the token, the names the server is called by, the sites whose pages may ask, and what the log says."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from scripted import ScriptedModel
from serving import http, make_agent, serving, until

from haluagent.server.security import is_loopback, name_of
from haluagent.server.settings import ServerSettings

TOKEN = "correct-horse-battery-staple"
BODY = {"question": "What is the sum?", "response": "12 * 7 = 84"}


@pytest.fixture(scope="module")
def open_url() -> Iterator[str]:
    settings = ServerSettings(hosts=("halu.example",), origins=("https://chat.example",), grace=0)
    with serving(make_agent(ScriptedModel(ScriptedModel.calculate)), settings) as url:
        yield url


@pytest.fixture(scope="module")
def closed_url() -> Iterator[str]:
    settings = ServerSettings(token=TOKEN, origins=("https://chat.example",), grace=0)
    with serving(make_agent(ScriptedModel(ScriptedModel.calculate)), settings) as url:
        yield url


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer ö"])
def test_without_the_token_no_work_is_done(closed_url: str, given: str) -> None:
    headers = [(b"Authorization", given.encode("latin-1"))]
    for path in ("/v1/tools", "/metrics", "/metrics%0A", "/metrics/", "/v1/nothing", "/nothing", "//metrics"):
        answer = http.get(closed_url + path, headers=headers)
        assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer"
        assert answer.json()["error"]["type"] == "unauthorized"
    assert http.post(closed_url + "/v1/detect", json=BODY, headers=headers).status_code == 401


def test_with_the_token(closed_url: str) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}", "Host": "anything.example"}
    assert http.post(closed_url + "/v1/detect", json=BODY, headers=headers).status_code == 200
    assert http.get(closed_url + "/metrics", headers=headers).status_code == 200


def test_what_needs_no_token(closed_url: str) -> None:
    for path in ("/", "/page/page.css", "/healthz", "/readyz", "/openapi.json"):
        assert http.get(closed_url + path).status_code == 200


@pytest.mark.parametrize(("host", "status"), [
    ("evil.example", 403), ("evil.example:8642", 403), ("localhost.evil.example", 403), ("127.0.0.1.evil.example", 403),
    ("10.0.0.1", 403), ("[2001:db8::1]", 403), ("0.0.0.0", 403), ("", 403),
    ("localhost", 200), ("LOCALHOST:1", 200), ("127.0.0.1:8642", 200), ("[::1]:8642", 200), ("halu.example:80", 200),
])  # fmt: skip
def test_without_a_token_only_known_names_are_answered(open_url: str, host: str, status: int) -> None:
    assert http.get(open_url + "/healthz", headers={"Host": host}).status_code == status
    answer = http.post(open_url + "/v1/detect", json=BODY, headers={"Host": host})
    assert answer.status_code == status
    assert status == 200 or answer.json()["error"]["type"] == "forbidden"


def test_a_page_of_another_site_may_not_ask(open_url: str) -> None:
    own = open_url.removeprefix("http://")
    for origin, status in [
        ("https://evil.example", 403), ("null", 403), (f"http://{own}.evil.example", 403), ("http://localhost:1", 403),
        (open_url, 200), ("https://chat.example", 200),
    ]:  # fmt: skip
        answer = http.post(open_url + "/v1/detect", json=BODY, headers={"Origin": origin})
        assert answer.status_code == status
        allowed = origin if origin == "https://chat.example" else None
        assert answer.headers.get("access-control-allow-origin") == allowed


def test_a_listed_site_may_ask_before_it_asks(closed_url: str) -> None:
    ask = {"Origin": "https://chat.example", "Access-Control-Request-Method": "POST"}
    ask["Access-Control-Request-Headers"] = "authorization, content-type"
    answer = http.options(closed_url + "/v1/detect", headers=ask)
    assert answer.status_code == 200 and answer.headers["access-control-allow-origin"] == "https://chat.example"
    assert "access-control-allow-credentials" not in answer.headers
    assert http.options(closed_url + "/v1/detect", headers=ask | {"Origin": "https://evil.example"}).status_code == 403
    refused = http.post(closed_url + "/v1/detect", json=BODY, headers={"Origin": "https://chat.example"})
    assert refused.status_code == 401 and refused.headers["access-control-allow-origin"] == "https://chat.example"


def test_every_answer_has_the_headers(open_url: str) -> None:
    answers = [http.get(open_url + path) for path in ("/", "/healthz", "/nothing", "/metrics")]
    answers.append(http.post(open_url + "/v1/detect", json=BODY, headers={"Accept": "text/event-stream"}))
    answers.append(http.get(open_url + "/healthz", headers={"Host": "evil.example"}))
    for answer in answers:
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert len(answer.headers["x-request-id"]) == 16
        assert "server" not in answer.headers


def test_the_log_has_a_line_for_each_request_and_none_of_its_texts(
    open_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "haluagent.server")
    body = {"question": "A hidden question?", "response": "A hidden response: 12 * 7 = 84."}
    http.post(open_url + "/v1/detect?secret=hidden", json=body, headers={"X-Request-Id": "mine-1"})
    refused = http.post(open_url + "/v1/detect", json={"hidden": 1}, headers={"X-Request-Id": "two\tids"})
    ids = ("mine-1", refused.headers["x-request-id"])

    def logged() -> list[str]:
        messages = [record.getMessage() for record in caplog.records if record.name.startswith("haluagent.server")]
        return [line for one in ids for line in messages if line.endswith(f" {one}")]

    until(lambda: len(logged()) == 2)  # a line is written after the answer has gone out
    first, second = (line.split() for line in logged())
    assert "hidden" not in caplog.text
    assert first[:3] == ["POST", "/v1/detect", "200"]
    assert second[2] == "400" and len(second[-1]) == 16


def test_the_log_has_the_texts_where_that_is_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "haluagent.server")
    with serving(make_agent(ScriptedModel(ScriptedModel.calculate)), ServerSettings(log_texts=True, grace=0)) as url:
        http.post(
            url + "/v1/detect",
            json=BODY | {"response": "12 * 7 = 84\nPOST /forged"},
            headers={"X-Request-Id": "mine-2"},
        )
    line = next(record.getMessage() for record in caplog.records if "12 * 7" in record.getMessage())
    assert "\n" not in line and json.loads(line.removeprefix("mine-2 "))["response"] == "12 * 7 = 84\nPOST /forged"


def test_names() -> None:
    assert [name_of(host) for host in ("a:1", "a", "[::1]:1", "[::1]", "")] == ["a", "a", "::1", "::1", ""]
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.9.9.9", "::1")))
    own: list[Any] = ["0.0.0.0", "::", "", "localhost.", "192.168.1.1", "example.org"]
    assert not any(map(is_loopback, own))
