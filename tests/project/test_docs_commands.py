"""The guides' shell and Python blocks run as they are written, each guide in a folder of its own.

A word after the language of a block says what it needs: `langchain` and `llamaindex` their extra, `model` the real embedded model,
`elsewhere` something that is not here; of those the options are looked up. All others run on a scripted endpoint.
A Python block that begins with the name of a file is only written there.
What the READMEs show is compared with what their commands print.
"""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
from places import ROOT

DOCS = ROOT / "docs"
GUIDES = (
    "ci",
    "claims",
    "facts",
    "faithfulness",
    "integrations",
    "knowledge",
    "mcp",
    "proxy",
    "runs",
    "reliability",
    "server",
    "thresholds",
    "tutorial",
    "your-own-7b",
)
READMES = ("README.md", "README.zh.md")
MARKS = {"langchain": pytest.mark.integrations, "llamaindex": pytest.mark.integrations, "model": pytest.mark.engine}
ELSEWHERE = "elsewhere"

# In a shell block 1 is the verdict of some commands; whatever else is not 0 ends it. Nothing is installed.
SHELL = """
set -eo pipefail
haluagent() {
    local code=0
    "$PYTHON" -m haluagent "$@" || code=$?
    case "$1$code" in detect1 | check1 | runs1) code=0 ;; esac
    return $code
}
python() { "$PYTHON" "$@"; }
pytest() { "$PYTHON" -m pytest -p no:cacheprovider "$@"; }
pip() { :; }
"""


class Block(NamedTuple):
    line: int
    language: str
    need: str
    text: str


def blocks(guide: str) -> list[Block]:
    text = (DOCS / f"{guide}.md").read_text(encoding="utf-8")
    found = re.finditer(r"^```(sh|bash|python)(?: (\w+))?\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [Block(text[: match.start()].count("\n") + 1, match[1], match[2] or "", match[3]) for match in found]


def cases() -> Iterator[Any]:
    for guide in GUIDES:
        for need in dict.fromkeys(["", *(block.need for block in blocks(guide))]):
            if need != ELSEWHERE:
                yield pytest.param(guide, need, marks=[MARKS[need]] if need else [], id=f"{guide}-{need or 'plain'}")


class Endpoint(BaseHTTPRequestHandler):
    """A model that has the calculator check every sentence, and thinks that a text says what it is asked about."""

    def do_GET(self) -> None:
        self.answer({"data": [{"id": "scripted"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = body["messages"][-1]["content"]
        if body.get("logprobs"):
            told = re.search(r"^([ABC])[:：] ?(?:yes|是)", asked, re.IGNORECASE | re.MULTILINE)
            yes = told[1] if told else "A"
            chances = {"A": 0.1, "B": 0.1, "C": 0.1, "Yes": 0.9, "No": 0.1, yes: 0.9}
            tokens = [
                {"token": token, "logprob": -0.105 if chance > 0.5 else -2.303} for token, chance in chances.items()
            ]
            choice = {"message": {"content": yes}, "logprobs": {"content": [{"top_logprobs": tokens}]}}
        else:
            checked = re.findall(r"Check (S\d+)", asked)
            choice = {"message": {"content": f"THOUGHT: a sum\nACTION: calculator(sentence={(checked or ['S1'])[-1]})"}}
        usage = {"prompt_tokens": len(asked) // 4, "completion_tokens": 5}
        self.answer({"choices": [choice | {"finish_reason": "stop"}], "usage": usage})

    def answer(self, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def base_url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def run(command: list[str], folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, encoding="utf-8", timeout=240, check=False
    )


def environment(tmp_path: Path) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "HALUAGENT_"))}
    return own | {
        "PYTHON": sys.executable,
        "PYTHONIOENCODING": "utf-8",
        "HALUAGENT_INDEX": str(tmp_path / "no-index.db"),
    }


@pytest.mark.parametrize(("guide", "need"), list(cases()))
def test_what_a_guide_shows_runs(guide: str, need: str, base_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    own = environment(tmp_path)
    scripted = own | {"HALUAGENT_BASE_URL": base_url, "HALUAGENT_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    for block in blocks(guide):
        if block.need not in ("", need):
            continue
        if block.language == "python" and (name := re.match(r"# (\w+\.py)\n", block.text)):
            (folder / name[1]).write_text(block.text, encoding="utf-8")
            continue
        command = (
            [sys.executable, "-c", block.text] if block.language == "python" else ["bash", "-c", SHELL + block.text]
        )
        ran = run(command, folder, own if block.need == "model" else scripted)
        assert ran.returncode == 0, f"docs/{guide}.md, line {block.line}: {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
        assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("guide", GUIDES)
def test_commands_that_do_not_run_here_have_options_that_there_are(guide: str) -> None:
    from haluagent.cli.main import app

    for block in blocks(guide):
        if block.need != ELSEWHERE:
            continue
        lines = block.text.replace("\\\n", " ").splitlines()
        for words in (line.split() for line in lines if line.startswith("haluagent ")):
            command: Any = typer.main.get_command(app)
            rest = words[1:]
            while hasattr(command, "commands"):
                assert rest and rest[0] in command.commands, f"docs/{guide}.md, line {block.line}: {' '.join(words)}"
                command = command.commands[rest.pop(0)]
            known = {option for parameter in command.params for option in parameter.opts}
            unknown = {word for word in rest if word.startswith("--")} - known
            assert not unknown, f"docs/{guide}.md, line {block.line}: {unknown}"


def shown() -> Iterator[Any]:
    """Yield each block of a README that shows what a command of HaluAgent prints: the commands, and the lines."""
    for readme in READMES:
        text = (ROOT / readme).read_text(encoding="utf-8")
        for block in re.findall(r"^```console\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            commands = "".join(re.findall(r"^\$ (.*(?:(?<=\\)\n.*)*\n)", block, re.MULTILINE))
            printed = re.sub(r"^\$ .*(?:(?<=\\)\n.*)*\n", "", block, flags=re.MULTILINE).splitlines()
            if printed and "haluagent " in commands:
                marks = [] if "--calls-only" in commands else [pytest.mark.engine]
                yield pytest.param(
                    commands, printed, marks=marks, id=f"{readme}-{commands.split('haluagent ')[1][:12]}"
                )


def roughly(line: str) -> str:
    """Return a line without what another processor may round or sample otherwise: probabilities, and formulas."""
    return re.sub(r"\d+%|\d\.\d\d\b|\d of 4 formulas.*", "…", line.strip())


@pytest.mark.parametrize(("commands", "printed"), list(shown()))
def test_a_readme_shows_what_its_commands_print(commands: str, printed: list[str], tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    ran = run(["bash", "-c", SHELL + commands], tmp_path, environment(tmp_path))
    assert ran.returncode == 0, ran.stderr
    lines = [roughly(line) for line in ran.stdout.splitlines()]
    assert [roughly(line) for line in printed] == lines[: len(printed)], ran.stdout


@pytest.mark.parametrize("readme", READMES)
def test_a_readme_is_short_and_its_python_runs(readme: str, base_url: str, tmp_path: Path) -> None:
    text = (ROOT / readme).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 180
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    env = environment(tmp_path) | {"HALUAGENT_BASE_URL": base_url, "HALUAGENT_CACHE": str(tmp_path)}
    ran = run([sys.executable, "-c", code], tmp_path, env)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("readme", READMES)
def test_a_readme_links_to_what_is_there(readme: str) -> None:
    links = re.findall(r"\]\(([^)#]+)", (ROOT / readme).read_text(encoding="utf-8"))
    assert len(links) > 20
    assert [link for link in links if not link.startswith("http") and not (ROOT / link).exists()] == []
