"""Other detectors beside the agent on the same items: one run, one table."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from haluagent import HaluAgent
from haluagent.bench.peers.compare import Peers
from haluagent.bench.rows import read
from haluagent.cli.main import app
from haluagent.errors import ConfigError
from haluagent.models import OpenAIModel

WORKER = """
import json, sys, urllib.request, os
print('{"ready": true}', flush=True)
for line in sys.stdin:
    item = json.loads(line)
    body = {"model": sys.argv[1], "messages": [{"role": "user", "content": item["response"]}]}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
        {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"},
    )
    said = json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
    wrong = item["response"] not in item["reference"]
    print(json.dumps({"verdict": wrong, "score": float(wrong), "error": None, "said": said}), flush=True)
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [
        {
            "question": "Where?",
            "answer": "In Rome." if n % 2 else "In Oslo.",
            "knowledge": "It was. In Rome.",
            "judge": 1 - n % 2,
        }
        for n in range(4)
    ]
    (tmp_path / "halueval_qa.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_one_run_holds_all_methods_and_what_each_costs(
    endpoint: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker of a peer is a small program of its own here; the proxy, the process and the rest are real."""
    import sys

    from haluagent.bench.peers import client

    endpoint.say = lambda messages: '{"REASONING": [], "SCORE": "FAIL"}'
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER)
    monkeypatch.setattr(client, "python_of", lambda name: Path(sys.executable))
    monkeypatch.setattr(client, "files", lambda package: _Folder(worker))
    out = tmp_path / "peers.jsonl"
    command = ["bench", "compare", "--datasets", "halueval_qa", "--data", str(data), "--out", str(out)]
    command += ["--peers", "lynx,refchecker", "--base-url", endpoint.base_url, "--sandbox", "none"]
    call = CliRunner().invoke(app, command)
    assert call.exit_code == 0, call.output
    rows = read(out)[1]
    assert {row.method for row in rows} == {"haluagent", "prompt", "lynx", "refchecker"}
    assert len(rows) == 16
    peers = [row for row in rows if row.method == "refchecker"]
    assert all(row.verdict == row.wrong and row.usage.calls == 1 and row.usage.generated_tokens == 5 for row in peers)
    assert all(row.verdict is True and row.usage.calls == 1 for row in rows if row.method == "lynx")
    before = out.read_bytes()
    assert CliRunner().invoke(app, command).exit_code == 0
    assert out.read_bytes() == before
    report = CliRunner().invoke(app, ["bench", "report", str(out)])
    assert report.exit_code == 0 and "refchecker" in (tmp_path / "peers.md").read_text("utf-8")


class _Folder:
    def __init__(self, worker: Path) -> None:
        self._worker = worker

    def joinpath(self, *parts: str) -> Path:
        return self._worker


def test_a_peer_that_is_not_known_or_not_installed(
    scripted: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HALUAGENT_CACHE", str(tmp_path))
    agent = HaluAgent(OpenAIModel("http://127.0.0.1:9/v1", "scripted"), sandbox="none", search="none")
    known = "haluagent, untaught, prompt, lynx, factscore, fast, judge, match, claims, refchecker"
    with pytest.raises(ConfigError, match=f"there is no peer oracle; there are {known}"):
        Peers(["oracle"], agent)
    with pytest.raises(ConfigError, match="refchecker is not installed: run"):
        Peers(["refchecker"], agent)
    with pytest.raises(ConfigError, match="the peers need a model that is served"):
        Peers(["refchecker"], HaluAgent(scripted(), sandbox="none", search="none"))
