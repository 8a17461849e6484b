"""Peers behind their worker processes: the real client with a worker made for the test, the real installer with a package
made for the test. Nothing is installed from outside."""

import ast
import asyncio
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from zipfile import ZipFile

import pytest

from haluagent.bench.peers import PEERS, Peer, PeerAnswer, install, python_of
from haluagent.bench.peers.install import make, requirements
from haluagent.bench.peers.meter_proxy import MeterProxy
from haluagent.errors import ConfigError
from haluagent.types import Usage

WORKERS = files("haluagent.bench.peers").joinpath("workers")

# Does what the question says: calls the endpoint, ends, hangs, writes nonsense, or tells what it was given.
WORKER = """
import json, os, sys, time, urllib.request
print("log line at the start", file=sys.stderr)
def call():
    asked = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps({"model": sys.argv[1]}).encode(),
        {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(asked))["choices"][0]["message"]["content"]
def answer(item):
    question = item["question"]
    if question == "end":
        print("Traceback: fell over", file=sys.stderr); sys.stderr.flush(); os._exit(3)
    if question == "late end":
        sys.stdout.write(json.dumps({"verdict": True, "score": 1, "error": None}) + "\\n"); sys.stdout.flush(); os._exit(0)
    if question == "hang":
        call(); print("still busy", file=sys.stderr); sys.stderr.flush(); time.sleep(600)
    if question.startswith("say "):
        return question[4:]
    if question == "tell":
        return json.dumps({"verdict": None, "score": 0.5, "error": json.dumps([item, sys.argv[1:], dict(os.environ), os.getcwd()])})
    return json.dumps({"verdict": call() == "yes", "score": 0.9, "error": None, "details": str(os.getpid())})
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    print(answer(json.loads(line)), flush=True)
"""


@pytest.fixture
def proxy() -> Iterator[MeterProxy]:
    """A metered endpoint that says yes."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            usage = {"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 4}}
            content = json.dumps({"choices": [{"message": {"content": "yes"}}], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    with MeterProxy(f"http://127.0.0.1:{server.server_address[1]}") as meter:
        yield meter
    server.shutdown()
    server.server_close()


@pytest.fixture
def worker(tmp_path: Path) -> Path:
    path = tmp_path / "worker.py"
    path.write_text(WORKER, encoding="utf-8")
    return path


def detect(proxy: MeterProxy, worker: Path, *questions: str, timeout: float = 30.0) -> list[PeerAnswer]:
    async def run() -> list[PeerAnswer]:
        async with Peer("made-up", proxy, "m", timeout=timeout, python=Path(sys.executable), worker=worker) as peer:
            return [await peer.detect(question, "响应\nline two", "a reference") for question in questions]

    return asyncio.run(run())


def test_an_answer_and_what_it_cost(proxy: MeterProxy, worker: Path) -> None:
    first, second = detect(proxy, worker, "check", "check")
    for found in (first, second):
        assert (found.verdict, found.score, found.error) == (True, 0.9, None)
        cost = found.usage.model_copy(update={"seconds": 0.0})
        assert cost == Usage(calls=1, prompt_tokens=10, cached_tokens=4, generated_tokens=1)
        assert 0 < found.usage.seconds <= found.seconds


def test_a_worker_is_told_the_item_and_the_proxy_and_nothing_else(
    proxy: MeterProxy, worker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORGANIZATION", "the user's")
    monkeypatch.setenv("CONFIDENT_API_KEY", "the user's")
    item, arguments, environment, folder = json.loads(detect(proxy, worker, "tell")[0].error or "")
    assert item == {"question": "tell", "response": "响应\nline two", "reference": "a reference"}
    assert arguments == ["m"]
    assert (environment["OPENAI_BASE_URL"], environment["OPENAI_API_KEY"]) == (proxy.url, proxy.api_key)
    assert "the user's" not in environment.values()
    assert environment["HOME"] == folder and not Path(folder).exists()


def test_a_worker_that_ends_is_an_error_of_one_item(proxy: MeterProxy, worker: Path) -> None:
    before, ended, after = detect(proxy, worker, "check", "end", "check")
    assert (ended.verdict, ended.score) == (None, 0.5)
    assert ended.error == "the worker of made-up ended: Traceback: fell over"
    assert before.error is None and after.error is None and after.verdict is True


def test_a_worker_that_hangs_is_ended_and_its_calls_are_its_items(proxy: MeterProxy, worker: Path) -> None:
    hung, after = detect(proxy, worker, "hang", "check", timeout=6.0)
    assert hung.error == "made-up gave no answer in 6 s: still busy"
    assert (hung.usage.calls, after.usage.calls) == (1, 1) and after.verdict is True


def test_a_worker_that_ends_after_its_answer_is_no_error_of_the_next_item(proxy: MeterProxy, worker: Path) -> None:
    async def run() -> PeerAnswer:
        async with Peer("made-up", proxy, "m", python=Path(sys.executable), worker=worker) as peer:
            await peer.detect("late end", "r")
            assert peer._process is not None
            await peer._process.wait()
            return await peer.detect("check", "r")

    assert asyncio.run(run()).error is None


@pytest.mark.parametrize(
    "said",
    [
        "Loading checkpoint 1/2",
        "[]",
        '{"verdict": true, "score": 7, "error": null}',
        '{"verdict": true, "score": NaN, "error": null}',
        '{"verdict": "yes", "score": 1, "error": null}',
        '{"verdict": null, "score": 0.5, "error": null}',
        '{"score": 0.5}',
    ],
)
def test_what_is_no_answer_is_an_error_that_quotes_it(proxy: MeterProxy, worker: Path, said: str) -> None:
    wrong, after = detect(proxy, worker, f"say {said}", "check")
    assert wrong.verdict is None and f"answered {said}" in (wrong.error or "")
    assert after.error is None


def test_a_worker_that_does_not_start(proxy: MeterProxy, tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("import nothing_of_this_name", encoding="utf-8")
    (found,) = detect(proxy, broken, "check")
    assert found.error == "the worker of made-up ended: ModuleNotFoundError: No module named 'nothing_of_this_name'"


def test_a_worker_that_does_not_say_that_it_is_ready(proxy: MeterProxy, tmp_path: Path) -> None:
    chatty = tmp_path / "chatty.py"
    chatty.write_text("print('a notice', flush=True); input()", encoding="utf-8")
    (found,) = detect(proxy, chatty, "check")
    assert found.error == "the worker of made-up answered a notice"


def test_items_asked_at_once_do_not_mix(proxy: MeterProxy, worker: Path) -> None:
    async def run() -> list[PeerAnswer]:
        async with Peer("made-up", proxy, "m", python=Path(sys.executable), worker=worker) as peer:
            return await asyncio.gather(*(peer.detect(question, "r") for question in ["check", "say no", "check"]))

    answers = asyncio.run(run())
    assert [found.verdict for found in answers] == [True, None, True]
    assert [found.usage.calls for found in answers] == [1, 0, 1]


def test_an_item_that_is_cancelled_leaves_no_answer_behind(proxy: MeterProxy, worker: Path) -> None:
    async def run() -> PeerAnswer:
        async with Peer("made-up", proxy, "m", python=Path(sys.executable), worker=worker) as peer:
            await peer.detect("check", "r")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await peer.detect("hang", "r")
            return await peer.detect("tell", "r")

    assert '"question": "tell"' in (asyncio.run(run()).error or "")


def test_the_protocol_keeps_what_libraries_print_off_the_answers(tmp_path: Path) -> None:
    (tmp_path / "_protocol.py").write_text(WORKERS.joinpath("_protocol.py").read_text("utf-8"), encoding="utf-8")
    script = tmp_path / "worker.py"
    script.write_text(
        "import _protocol\n"
        "import os\n"
        "print('noise of an import')\n"
        "def detect(item):\n"
        "    print('noise'); os.system('echo deeper noise')\n"
        "    return {'verdict': 1 / len(item['response']) > 0.5, 'score': 0.0, 'details': ''}\n"
        "_protocol.serve(detect)\n",
        encoding="utf-8",
    )
    given = '{"question": "q", "response": "r", "reference": ""}\n{"question": "q", "response": "", "reference": ""}\n'
    done = subprocess.run([sys.executable, script], input=given, capture_output=True, text=True, timeout=60, check=True)
    ready, good, bad = map(json.loads, done.stdout.splitlines())
    assert ready == {"ready": True}
    assert good == {"verdict": True, "score": 0.0, "details": "", "error": None}
    assert bad["verdict"] is None and bad["error"] == "ZeroDivisionError: division by zero"
    assert "noise of an import" in done.stderr and "deeper noise" in done.stderr


@pytest.mark.parametrize("name", PEERS)
def test_every_peer_has_a_worker_and_pinned_requirements(name: str) -> None:
    lines = [line for line in requirements(name).splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.+!]+", line) for line in lines)
    assert f"{name}=={PEERS[name].version}" in lines
    tree = ast.parse(WORKERS.joinpath(f"{name}_worker.py").read_text("utf-8"))
    imported = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not any(module and module.startswith("haluagent") for module in imported)


def wheel(folder: Path) -> Path:
    """A package of one module, `made_up`."""
    path = folder / "made_up-1.0-py3-none-any.whl"
    with ZipFile(path, "w") as archive:
        archive.writestr("made_up.py", "WORD = 'here'\n")
        about = "made_up-1.0.dist-info"
        archive.writestr(
            f"{about}/METADATA", "Metadata-Version: 2.1\nName: made-up\nVersion: 1.0\nRequires-Dist: absent\n"
        )
        archive.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{about}/RECORD", "")
    return path


@pytest.mark.slow
def test_an_environment_is_made_once_and_again_when_its_requirements_change(tmp_path: Path) -> None:
    wanted, said = f"# made up\n{wheel(tmp_path)}\n", list[str]()
    directory = tmp_path / "peers" / "made-up"
    python = make(directory, wanted, "made-up", said.append)
    imports = [str(python), "-c", "import made_up; print(made_up.WORD)"]
    assert subprocess.run(imports, capture_output=True, text=True, check=True).stdout == "here\n"
    assert "1 packages" in said[1] and len(said) == 3
    said.clear()
    (directory / "kept").touch()
    assert make(directory, wanted, "made-up", said.append) == python
    assert said == [f"made-up is installed in {directory}"] and (directory / "kept").exists()
    make(directory, f"{wanted}# more\n", "made-up", said.append)
    assert not (directory / "kept").exists()


@pytest.mark.slow
def test_what_pip_could_not_do_is_said_in_one_line_and_is_not_taken_for_done(tmp_path: Path) -> None:
    directory, missing = tmp_path / "made-up", str(tmp_path / "absent-1.0-py3-none-any.whl")
    with pytest.raises(ConfigError) as caught:
        make(directory, missing, "made-up", list[str]().append)
    assert "pip could not install made-up: " in str(caught.value) and "absent" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (directory / "bin" / "python").exists() and not (directory / "installed.txt").exists()


def test_a_peer_that_is_not_installed_or_not_known_is_the_users_to_fix(tmp_path: Path, proxy: MeterProxy) -> None:
    with pytest.raises(ConfigError, match=r"python -m haluagent.bench.peers.install deepeval"):
        python_of("deepeval", tmp_path)
    with pytest.raises(ConfigError, match="the peers are deepeval, ragas, refchecker, selfcheckgpt, uqlm"):
        install("lynx", tmp_path)
    with pytest.raises(ConfigError, match="there is no peer"):
        Peer("lynx", proxy, "m")
