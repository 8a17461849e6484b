"""`haluagent proxy`: what it refuses, what it says, and how it ends."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import http, until
from upstream import Upstream, chat

from haluagent.cli.main import run as haluagent

URL = "http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "--upstream"),
        (("--upstream", "nowhere"), "is no base URL"),
        (("--upstream", URL, "--policy", "block"), "--on-error"),
        (("--upstream", URL, "--on-unverified", "block"), "--policy annotate holds nothing back"),
        (("--upstream", URL, "--on-error", "closed"), "--policy annotate holds nothing back"),
        (("--upstream", URL, "--reference", "tool,memory"), "'memory' is not known: use tool, system, block"),
        (("--upstream", URL, "--block", "<context>"), "names no block"),
        (("--upstream", URL, "--block", "...</context>"), "names no block"),
        (("--upstream", URL, "--host", "0.0.0.0"), "lets anyone on the network use it"),
        (("--upstream", URL, "--upstream-key-file", "/none"), "cannot read"),
        (("--upstream", URL, "--reports", "/proc/reports"), "give another --reports"),
    ],
)
def test_what_is_refused_with_a_line(
    arguments: tuple[str, ...],
    line: str,
    endpoint: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("HALUAGENT_SERVER_TOKEN", raising=False)
    assert haluagent(["proxy", *arguments, "--port", "0", "--base-url", endpoint.base_url]) == 2
    said = capsys.readouterr().err.splitlines()
    assert line in said[-1] and "Traceback" not in said[-1]


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()


def test_a_process_that_is_told_to_end(upstream: Upstream, endpoint: Any, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("sk-1\n")
    command = [
        sys.executable, "-m", "haluagent", "proxy", "--upstream", upstream.url, "--policy", "block", "--on-error", "closed",
        "--port", "0", "--base-url", endpoint.base_url, "--sandbox", "none", "--upstream-key-file", str(key),
        "--reports", str(tmp_path / "reports"),
    ]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = next(line for line in process.stderr if "listens" in line)
        found = re.match(
            r"HaluAgent listens on (http://127\.0\.0\.1:\d+) \(model scripted\), before " + upstream.url, said
        )
        assert found, said
        until(lambda: http.get(found[1] + "/health").json()["checker"] == "ready")
        upstream.answer = chat("84 - 4 = 79.")
        asked = {"messages": [{"role": "user", "content": "还剩几支钢笔？"}]}
        answer = http.post(found[1] + "/v1/chat/completions", json=asked)
        assert "无法得到证实" in answer.json()["choices"][0]["message"]["content"]
        assert upstream.asked[0].headers["authorization"] == "Bearer sk-1"
        process.send_signal(signal.SIGTERM)
        log = process.stderr.read()
        assert process.wait(30) == 0
    assert "chat contradicted blocked" in log and "钢笔" not in log and "84 - 4" not in log and "Traceback" not in log
    assert len(list((tmp_path / "reports").iterdir())) == 1
