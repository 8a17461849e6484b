"""Ray Data on a local Ray with two workers, against endpoints of this process."""

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from haluagent import ConfigError, Demo, Detection, Evidence, Sentence, Tool, ToolContext, ToolResult, tool
from haluagent.batch.ray_data import detect

pytestmark = pytest.mark.ray


class Served:
    """An endpoint whose model always calls the tool `parity`.

    It answers the first completion when it has met as many workers as it `awaits`, and dies after as many as it
    `lives`.
    """

    def __init__(self, awaits: int = 1, lives: int | None = None) -> None:
        self.completions = 0
        self.keys: set[str | None] = set()
        self.dead = threading.Event()
        met, all_there, counting, served = 0, threading.Event(), threading.Lock(), self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                nonlocal met
                with counting:
                    met += 1
                    if met >= awaits:
                        all_there.set()
                served.keys.add(self.headers["authorization"])
                self.answer({"data": [{"id": "tiny"}]})

            def do_POST(self) -> None:
                asked = self.rfile.read(int(self.headers["content-length"])).decode()
                with counting:
                    alive = not served.dead.is_set() and (lives is None or served.completions < lives)
                    served.completions += alive
                if not alive or not all_there.wait(30):
                    served.die()
                    self.close_connection = True
                    return
                checked = re.findall(r"Check (S\d+)", asked)[-1]
                text = f"THOUGHT: a number\nACTION: parity(sentence={checked})"
                usage = {"prompt_tokens": 10, "completion_tokens": 3}
                self.answer({"choices": [{"message": {"content": text}}], "usage": usage})

            def answer(self, what: dict[str, Any]) -> None:
                data = json.dumps(what).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def die(self) -> None:
        """Connections that are open get no more answers, new ones are refused."""
        if not self.dead.is_set():
            self.dead.set()
            self.http.shutdown()
            self.http.server_close()


def parity() -> Tool:
    """Made in a function, so that it travels to the workers by value. Its evidence says in which process it ran."""
    demos = [
        Demo(
            language=language,
            question="Give an even number.",
            response="8 is even.",
            thought="a number",
            call="parity(sentence=S1)",
            observation="8 is even",
        )
        for language in ("en", "zh")
    ]

    @tool(description={"en": "whether a number is even or odd", "zh": "数字是偶数还是奇数"}, demos=demos)
    async def parity(context: ToolContext, sentence: Sentence) -> ToolResult:
        even = int(sentence.text.split()[0]) % 2 == 0
        right = even == ("even" in sentence.text)
        evidence = Evidence(source="process", text=str(os.getpid()))
        label = "supported" if right else "contradicted"
        return ToolResult(observation="even" if even else "odd", label=label, evidence=(evidence,))

    return parity


OPTIONS: dict[str, Any] = {"model": "tiny", "tools": [parity()], "sandbox": "none", "search": "none"}


def rows(count: int) -> list[dict[str, Any]]:
    return [{"question": "Give an even number.", "response": f"{n} is even.", "id": n} for n in range(count)]


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))  # else Ray writes one into the user's home
    import ray

    folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")  # a socket's path is at most 107 bytes long
    ray.init(
        address="local",
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=100_000_000,
        _temp_dir=folder,
    )
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True
    yield ray
    ray.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def serve() -> Iterator[Any]:
    made: list[Served] = []

    def start(**options: Any) -> Served:
        made.append(Served(**options))
        return made[-1]

    yield start
    for served in made:
        served.die()


def test_two_workers_share_the_rows_and_keep_their_order(ray: Any, serve: Any, tmp_path: Path) -> None:
    served, gone = serve(awaits=2), serve()  # both workers ask which models it has before one of them gets an answer
    gone.die()
    given = rows(40)
    given[7]["response"] = ""
    given[8]["response"] = None
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in given))
    read = ray.data.read_json(str(file))  # needs a core that no worker holds
    checked = detect(read, [gone.url, served.url], batch_size=5, api_key="secret", **OPTIONS).take_all()

    assert [row["id"] for row in checked] == list(range(40))
    assert [row["response"] for row in checked] == [row["response"] for row in given]
    good = [row for row in checked if row["id"] not in (7, 8)]
    assert [row["hallucination"] for row in good] == [row["id"] % 2 == 1 for row in good]
    assert all(row["error"] is None and (row["score"] > 0.5) == row["hallucination"] for row in good)
    assert checked[7]["error"] == "the response is empty: there is nothing to check without it"
    assert checked[8]["error"] == "response: not a text"
    assert {checked[n][name] for n in (7, 8) for name in ("hallucination", "score", "detection")} == {None}

    reports = [Detection.model_validate_json(row["detection"]) for row in good]
    assert [report.response for report in reports] == [row["response"] for row in good]
    workers = {report.sentences[0].evidence[0].text for report in reports}
    assert len(workers) == 2 and str(os.getpid()) not in workers
    assert served.completions == 38 and served.keys == {"Bearer secret"}


def test_an_endpoint_that_dies_leaves_its_rows_to_the_other(ray: Any, serve: Any) -> None:
    stays, dies = serve(), serve(lives=3)
    given = ray.data.from_items(rows(40))
    checked = detect(given, [dies.url, stays.url], workers=1, in_flight=2, batch_size=10, **OPTIONS).take_all()
    assert [(row["id"], row["hallucination"], row["error"]) for row in checked] == [
        (n, n % 2 == 1, None) for n in range(40)
    ]
    assert dies.dead.is_set() and (dies.completions, stays.completions) == (3, 37)


def test_without_any_endpoint_the_job_fails(ray: Any, serve: Any) -> None:
    gone = serve()
    gone.die()
    with pytest.raises(Exception, match=f"ModelError: none of the endpoints answers: {gone.url}"):
        detect(ray.data.from_items(rows(4)), [gone.url], **OPTIONS).take_all()


def test_columns_of_other_names_and_the_types_of_the_new_ones(ray: Any, serve: Any) -> None:
    given = [{"prompt": "Give an even number.", "answer": "", "source": None, "label": 1}]
    columns = {"question": "prompt", "response": "answer", "reference": "source"}
    checked = detect(ray.data.from_items(given), [serve().url], columns=columns, workers=1, **OPTIONS).materialize()
    types = {name: str(kind) for name, kind in zip(checked.schema().names, checked.schema().types, strict=True)}
    assert set(types) == {"prompt", "answer", "source", "label", "hallucination", "score", "error", "detection"}
    added = [types[name] for name in ("hallucination", "score", "error", "detection")]
    assert added == ["bool", "double", "string", "string"]


def test_columns_that_do_not_fit_are_refused_at_once_where_they_are_known(ray: Any) -> None:
    for given, complaint in (
        ({"question": "q", "answer": "a"}, "there is no column response, only question, answer: say with columns="),
        ({"question": "q", "response": "a", "score": 1.0}, "there are columns named score already"),
    ):
        with pytest.raises(ConfigError, match=complaint):
            detect(ray.data.from_items([given]), ["http://127.0.0.1:9"])


def test_columns_that_are_known_late_fail_the_job(ray: Any) -> None:
    given = ray.data.from_items([{"q": "Give an even number."}]).map(lambda row: {"question": row["q"]})
    with pytest.raises(Exception, match="ConfigError: there is no column response, only question"):
        detect(given, ["http://127.0.0.1:9"], workers=1).take_all()


def test_options_that_cannot_be_are_refused_at_once(ray: Any) -> None:
    given = ray.data.from_items(rows(1))
    with pytest.raises(ConfigError, match="no endpoint is given"):
        detect(given, [])
    with pytest.raises(ConfigError, match="at least 1"):
        detect(given, ["http://127.0.0.1:9"], workers=0)
    with pytest.raises(ConfigError, match="columns: text is none of question, response, reference"):
        detect(given, ["http://127.0.0.1:9"], columns={"text": "response"})


def test_without_ray_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['ray'] = sys.modules['ray.data'] = None\n"
        "from haluagent.batch.ray_data import detect\n"
        "detect(None, ['http://127.0.0.1:9'])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert 'haluagent.errors.ConfigError: Ray Data is not installed: pip install "haluagent[ray]"' in ran.stderr
