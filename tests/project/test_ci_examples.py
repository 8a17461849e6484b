"""The action, the workflow and the tests of examples/ci: a change that makes an answer less faithful fails, another not."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from places import ROOT

from haluagent.checks.faithfulness.gate import read_rows

CI = ROOT / "examples" / "ci"
ACTION = yaml.safe_load((ROOT / ".github" / "actions" / "check" / "action.yml").read_text("utf-8"))
WORKFLOW = yaml.safe_load((CI / "faithfulness.yml").read_text("utf-8"))
CHANGE = "{sentence} Opened software can be returned too."


def script(steps: list[dict[str, Any]], name: str) -> str:
    (found,) = [step["run"] for step in steps if step.get("name") == name]
    return str(found)


class Denier(BaseHTTPRequestHandler):
    """A model that holds nothing for faithful. An answer that stands in the handbook word for word needs none."""

    def do_GET(self) -> None:
        self.answer({"data": [{"id": "denier"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        options = re.findall(r"^([ABC]): (yes|no)", body["messages"][-1]["content"], re.MULTILINE)
        no = options[0][0] if options[0][1] == "no" else options[-1][0]  # the first and the last one change places
        tokens = [{"token": letter, "logprob": -0.05 if letter == no else -4.0} for letter in "ABC"]
        choice = {"message": {"content": no}, "logprobs": {"content": [{"top_logprobs": tokens}]}}
        self.answer({"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 1}})

    def answer(self, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkout of the example, with its target branch beside it."""
    shutil.copytree(CI, tmp_path / "head")
    shutil.copytree(CI, tmp_path / "head" / "target")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Denier)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setenv("HALUAGENT_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    monkeypatch.setenv("HALUAGENT_CACHE", str(tmp_path))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    yield tmp_path / "head"
    server.shutdown()
    server.server_close()


def bash(text: str, folder: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    shell = 'set -eo pipefail\nhaluagent() { "$PYTHON" -m haluagent "$@"; }\npython() { "$PYTHON" "$@"; }\n' + text
    env = os.environ | {"PYTHON": sys.executable} | environment
    return subprocess.run(["bash", "-c", shell], cwd=folder, env=env, capture_output=True, text=True, timeout=240)


@pytest.mark.parametrize(("prompt", "code"), [("{sentence}", 0), (CHANGE, 1)])
def test_the_action_fails_what_became_worse(folder: Path, prompt: str, code: int) -> None:
    (folder / "prompt.txt").write_text(prompt)
    (job,) = WORKFLOW["jobs"].values()
    assert bash(script(job["steps"], "Answer the questions on both branches"), folder).returncode == 0
    given = job["steps"][-1]["with"]
    assert set(given) <= set(ACTION["inputs"])
    steps = ACTION["runs"]["steps"]
    check = script(steps, "Check the answers")
    ran = bash(check, folder, ANSWERS=given["answers"], BASELINE=given["baseline-answers"], OPTIONS="--margin 0.2")
    assert ran.returncode == code, ran.stdout + ran.stderr
    assert ran.stdout.count("FAILED") == 3 * code
    assert len(read_rows(folder / "haluagent-results" / "after.jsonl")) == 3
    assert bash(script(steps, "Make a page of the results"), folder).returncode == 0
    assert "Opened software" in (folder / "haluagent-results" / "after.html").read_text() or code == 0


def test_an_input_of_the_action_is_never_part_of_a_script() -> None:
    assert not [step for step in ACTION["runs"]["steps"] if "${{" in step.get("run", "")]


@pytest.mark.parametrize(("prompt", "code"), [("{sentence}", 0), (CHANGE, 1)])
def test_the_same_as_tests(folder: Path, prompt: str, code: int) -> None:
    pytest_ = '"$PYTHON" -m pytest -q -p no:cacheprovider --import-mode=prepend '
    ran = bash(pytest_ + "--haluagent-record scores.json", folder / "target")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (folder / "prompt.txt").write_text(prompt)
    ran = bash(pytest_ + "--haluagent-baseline target/scores.json --junitxml junit.xml test_handbook.py", folder)
    assert ran.returncode == code, ran.stdout + ran.stderr
    assert (folder / "junit.xml").read_text().count('name="haluagent_score"') == 3
