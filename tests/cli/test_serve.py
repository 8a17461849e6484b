"""`haluagent serve`: what it refuses, what it says, and how it ends."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from heavy import POWERS, SINES
from serving import TEXT, http, stream, until

from haluagent.cli.main import run as haluagent
from haluagent.cli.serve import _origin
from haluagent.errors import ConfigError


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert haluagent(["serve", *arguments]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    return line


def test_what_is_refused_with_a_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("HALUAGENT_SERVER_TOKEN", raising=False)
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        assert f"binding to {host} lets anyone on the network use it" in refused(capsys, "--host", host)
    short = tmp_path / "token"
    short.write_text("secret\n")
    line = refused(capsys, "--host", "0.0.0.0", "--token-file", str(short))
    assert "16 or more" in line and "secret" not in line
    assert "cannot read" in refused(capsys, "--token-file", str(tmp_path / "none"))
    monkeypatch.setenv("HALUAGENT_SERVER_TOKEN", "with a blank in the middle")
    assert "the token in HALUAGENT_SERVER_TOKEN" in refused(capsys)
    monkeypatch.delenv("HALUAGENT_SERVER_TOKEN")
    assert "is no origin" in refused(capsys, "--allow-origin", "*")
    long = tmp_path / "long"
    long.write_text("correct-horse-battery-staple\n")
    assert "cannot listen on 192.0.2.1" in refused(capsys, "--host", "192.0.2.1", "--token-file", str(long))
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        assert f"cannot listen on 127.0.0.1 port {port}" in refused(capsys, "--port", port)


@pytest.mark.parametrize("missing", ["uvicorn", "fastapi"])
def test_without_the_extra(missing: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import haluagent.server.app
    import haluagent.server.run

    for name in ("app", "run"):
        monkeypatch.delitem(sys.modules, f"haluagent.server.{name}")
        monkeypatch.delattr(haluagent.server, name)
    monkeypatch.setitem(sys.modules, missing, None)
    assert f'{missing}: pip install "haluagent[server]"' in refused(capsys, "--host", "0.0.0.0")


def test_the_package_and_its_command_load_no_server() -> None:
    code = "import sys, haluagent, haluagent.cli.main; sys.exit(bool({'fastapi', 'starlette', 'uvicorn'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "url",
    ["https://*.example", "ftp://a.example", "a.example", "https://a.example/x", "https://u@a.example", "https://a.example#x",
     "https://a.example:x", "https://:443", "http://["],
)  # fmt: skip
def test_no_origins(url: str) -> None:
    with pytest.raises(ConfigError, match="is no origin"):
        _origin(url)


def test_origins_are_written_as_browsers_do() -> None:
    assert _origin("https://Chat.Example:8443/") == "https://chat.example:8443"
    assert (
        _origin("https://chat.example:443") == "https://chat.example" and _origin("http://[::1]:80") == "http://[::1]"
    )
    assert _origin("http://chat.example:443") == "http://chat.example:443"


def serve_process(endpoint: Any, grace: str, *options: str) -> "subprocess.Popen[str]":
    environment = os.environ | {"HALUAGENT_SERVER_TOKEN": "correct-horse-battery-staple", "HALUAGENT_CONFIG": ""}
    command = [sys.executable, "-m", "haluagent", "serve", "--port", "0", "--base-url", endpoint.base_url]
    command += ["--search", "none", "--sandbox", "none", "--grace", grace, *options]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)


@pytest.fixture
def process(request: Any, endpoint: Any) -> Iterator["subprocess.Popen[str]"]:
    """A server process; its parameter is `--grace`."""
    with serve_process(endpoint, getattr(request, "param", "20")) as process:
        yield process
        process.kill()


HEADERS = {"Authorization": "Bearer correct-horse-battery-staple"}


def address(process: "subprocess.Popen[str]") -> str:
    """The base URL of a server process that is ready."""
    assert process.stderr is not None
    assert "scripted is not calibrated" in process.stderr.readline()
    said = process.stderr.readline()
    found = re.match(r"HaluAgent listens on (http://127\.0\.0\.1:\d+) \(model scripted\)", said)
    assert found, said
    until(lambda: http.get(found[1] + "/readyz").status_code == 200)
    return found[1]


def test_a_process_that_is_told_to_end(process: "subprocess.Popen[str]", endpoint: Any) -> None:
    assert process.stderr is not None
    url, headers = address(process), HEADERS
    go = threading.Event()
    say = endpoint.say
    endpoint.say = lambda messages: (go.wait(20), say(messages))[1]
    events: list[Any] = []
    thread = threading.Thread(target=lambda: events.extend(stream(url + "/v1/detect", TEXT, headers=headers)))
    thread.start()
    until(lambda: endpoint.chats)
    process.send_signal(signal.SIGTERM)
    until(lambda: http.get(url + "/readyz").status_code == 503)
    go.set()
    thread.join(20)
    assert events[-1]["kind"] == "answer" and events[-1]["detection"]["hallucination"]
    log = process.stderr.read()
    assert process.wait(20) == 0
    assert (
        re.search(r"POST /v1/detect 200 \d+\.\d{3} s \w{16}\n", log) and "boxes" not in log and "Traceback" not in log
    )


def ask_and_stay(url: str, response: str) -> socket.socket:
    """Send a request for a detection, and return the connection that its answer will come by."""
    host, port = url.removeprefix("http://").split(":")
    body = json.dumps({"question": "Is it right?", "response": response})
    head = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
    client = socket.create_connection((host, int(port)))
    client.sendall(
        f"POST /v1/detect HTTP/1.1\r\nHost: {host}:{port}\r\n{head}Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
    )
    return client


def busy(url: str) -> int:
    """The number of requests that a server works on."""
    found = re.search(
        r"^haluagent_requests_running (\d+)", http.get(url + "/metrics", headers=HEADERS).text, re.MULTILINE
    )
    assert found
    return int(found[1])


@pytest.mark.parametrize("process", ["1"], indirect=True)
@pytest.mark.parametrize("response", [POWERS, SINES], ids=["powers", "sines"])
def test_requests_that_were_left_hold_up_nobody_and_end_with_the_process(
    process: "subprocess.Popen[str]", response: str
) -> None:
    """All of their algebra would take ten minutes and more."""
    url = address(process)
    clients = [ask_and_stay(url, response) for _ in range(8)]
    if response is SINES:
        until(lambda: busy(url) == 8)
    for client in clients:
        client.close()
    other = http.post(url + "/v1/detect", json=TEXT, headers=HEADERS, timeout=200).json()
    assert other["hallucination"] and other["stop"] == "answer"
    until(lambda: busy(url) == 0)
    clients = [ask_and_stay(url, response) for _ in range(8)]
    process.send_signal(signal.SIGTERM)
    assert process.wait(200) == 0


STUCK = """
import asyncio, pathlib, time
from haluagent import Demo, Sentence, ToolContext, ToolResult, tool

@tool(
    description={"en": "never ends", "zh": "不会结束"},
    demos=[Demo(language=language, question="Q?", response="A.", thought="T", call="stuck(sentence=S1)", observation="O")
           for language in ("en", "zh")],
    obvious=lambda context, sentence: {"sentence": sentence.name},
)
async def stuck(context: ToolContext, sentence: Sentence) -> ToolResult:
    def wait():
        pathlib.Path(PLACE).touch()
        time.sleep(1000)
    await asyncio.to_thread(wait)
"""


def test_a_thread_that_never_ends_does_not_hold_up_the_end(endpoint: Any, tmp_path: Path) -> None:
    tools, place = tmp_path / "tools.py", tmp_path / "began"
    tools.write_text(STUCK.replace("PLACE", repr(str(place))))
    with serve_process(endpoint, "0", "--tools", str(tools)) as process:
        client = ask_and_stay(address(process), "The sea is deep.")
        until(place.exists)
        process.send_signal(signal.SIGTERM)
        assert process.wait(200) == 0
        client.close()
