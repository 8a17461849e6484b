"""`haluagent serve`: what it refuses, what it says, and how it ends."""

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
    import haluagent.server.run

    monkeypatch.delitem(sys.modules, "haluagent.server.run")
    monkeypatch.delattr(haluagent.server, "run")
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


@pytest.fixture
def process(endpoint: Any, tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    environment = os.environ | {"HALUAGENT_SERVER_TOKEN": "correct-horse-battery-staple", "HALUAGENT_CONFIG": ""}
    command = [
        sys.executable,
        "-m",
        "haluagent",
        "serve",
        "--port",
        "0",
        "--base-url",
        endpoint.base_url,
        "--search",
        "none",
    ]
    command += ["--sandbox", "none", "--grace", "20"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        yield process
        process.kill()


def test_a_process_that_is_told_to_end(process: "subprocess.Popen[str]", endpoint: Any) -> None:
    assert process.stderr is not None
    said = process.stderr.readline()
    found = re.match(r"HaluAgent listens on (http://127\.0\.0\.1:\d+) \(model scripted\)", said)
    assert found, said
    url = found[1]
    headers = {"Authorization": "Bearer correct-horse-battery-staple"}
    until(lambda: http.get(url + "/readyz").status_code == 200)
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
