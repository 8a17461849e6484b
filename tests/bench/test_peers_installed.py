"""The real peers in their environments (`python -m haluagent.bench.peers.install`), before an endpoint that plays a model."""

import asyncio
import json
import math
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from haluagent.bench.peers import PEERS, Peer, PeerAnswer, python_of
from haluagent.bench.peers.meter_proxy import MeterProxy

pytestmark = pytest.mark.peers

ITEM = (
    "How high is the tower of Osk?",
    "It is 52 metres high. It stands in Brod.",
    "The tower of Osk is 34 metres high.",
)

SURE = 0.75  # the probability of every token, where log-probabilities are asked for

# What the model says to a prompt that has these words, for a response that is half wrong.
SAYS = {
    "refchecker": {"KG": '("Osk", "height", "52 m")\n("Osk", "is in", "Brod")', "": "1. Entailment\n2. Neutral"},
    "deepeval": {
        "'verdict' key": '{"verdicts": [{"verdict": "no", "reason": "-"}, {"verdict": "yes"}, '
        '{"verdict": "yes"}, {"verdict": "borderline", "reason": "-"}]}',
        "AI output": '{"claims": ["a", "b", "c", "d"]}',
        "": '{"truths": ["Osk is 34 m high"]}',
    },
    "ragas": {
        "judge the faithfulness": json.dumps(
            {"statements": [{"statement": word, "reason": "-", "verdict": int(word == "a")} for word in "abcd"]}
        ),
        "": '{"statements": ["a", "b", "c", "d"]}',
    },
    "selfcheckgpt": {"Sentence: It is 52": "No", "Sentence: It stands": "Yes, it is.", "": "It is 34 metres high."},
    "uqlm": {"": "False"},
}
EXPECTED = {
    "refchecker": (True, 0.5, 2),
    "deepeval": (False, 0.25, 3),
    "ragas": (True, 0.75, 2),
    "selfcheckgpt": (False, 0.5, 3 + 2 * 3),
    "uqlm": (True, SURE, 1),
}


class Endpoint:
    """Says what `say` gives for a prompt; a number is an HTTP status. Without `scores` it gives no log-probabilities."""

    def __init__(self) -> None:
        self.say: Any = None
        self.scores = True
        self.prompts: list[str] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                endpoint.prompts.append(json.dumps(body["messages"], ensure_ascii=False))
                said = endpoint.say(endpoint.prompts[-1])
                choice: dict[str, Any] = {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": said},
                }
                if body.get("logprobs") and endpoint.scores:
                    token = {"token": said, "logprob": math.log(SURE), "top_logprobs": []}
                    choice["logprobs"] = {"content": [token]}
                usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
                answer: dict[str, Any] = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
                answer |= {"choices": [choice], "usage": usage}
                content = json.dumps(answer if isinstance(said, str) else {"error": {"message": "too long"}}).encode()
                self.send_response(200 if isinstance(said, str) else said)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    playing = Endpoint()
    yield playing
    playing.server.shutdown()
    playing.server.server_close()


def script(name: str, prompt: str) -> str:
    return next(said for words, said in SAYS[name].items() if words in prompt)


def detect(name: str, endpoint: Endpoint, item: tuple[str, str, str | None] = ITEM) -> PeerAnswer:
    async def run() -> PeerAnswer:
        with MeterProxy(endpoint.url) as proxy:
            async with Peer(name, proxy, "m", timeout=120) as peer:
                return await peer.detect(*item)

    return asyncio.run(run())


@pytest.mark.parametrize("name", PEERS)
def test_a_verdict_as_the_peer_makes_it(name: str, endpoint: Endpoint) -> None:
    endpoint.say = lambda prompt: script(name, prompt)
    found = detect(name, endpoint)
    verdict, score, calls = EXPECTED[name]
    assert (found.verdict, found.score, found.usage.calls) == (verdict, pytest.approx(score), calls), found.error
    assert found.usage.generated_tokens == 2 * found.usage.calls
    shown = any(ITEM[2] in prompt for prompt in endpoint.prompts)
    assert shown is PEERS[name].needs_reference


@pytest.mark.parametrize("name", PEERS)
def test_a_refused_request_is_an_error_at_once(name: str, endpoint: Endpoint) -> None:
    endpoint.say = lambda prompt: 400
    found = detect(name, endpoint)
    assert found.verdict is None and found.error and "gave no answer" not in found.error and found.usage.calls > 0


@pytest.mark.parametrize("name", [name for name, peer in PEERS.items() if peer.needs_reference])
def test_nothing_is_said_of_an_item_without_a_reference_or_of_nonsense(name: str, endpoint: Endpoint) -> None:
    endpoint.say = lambda prompt: "I would rather talk of the weather."
    assert "needs a reference" in str(detect(name, endpoint, (ITEM[0], ITEM[1], None)).error)
    assert endpoint.prompts == []
    assert detect(name, endpoint).error


def test_ragas_needs_a_question_and_asks_four_times_for_json(endpoint: Endpoint) -> None:
    endpoint.say = lambda prompt: "I would rather talk of the weather."
    assert "needs a question" in str(detect("ragas", endpoint, ("", *ITEM[1:])).error)
    assert detect("ragas", endpoint).usage.calls == 4
    endpoint.say = lambda prompt: '{"statements": []}'
    assert "no statement was found" in str(detect("ragas", endpoint).error)


def test_uqlm_reads_how_sure_the_model_is_that_the_response_is_true(endpoint: Endpoint) -> None:
    endpoint.say = lambda prompt: "True"
    found = detect("uqlm", endpoint)
    assert (found.verdict, found.score) == (False, pytest.approx(1 - SURE))
    assert all(text in endpoint.prompts[0] for text in ITEM[:2])
    endpoint.say = lambda prompt: "I"
    assert "neither true nor false" in str(detect("uqlm", endpoint).error)
    endpoint.scores = False
    assert "gives no log-probabilities" in str(detect("uqlm", endpoint).error)
    asked = len(endpoint.prompts)
    assert "needs a question" in str(detect("uqlm", endpoint, ("", *ITEM[1:])).error)
    assert len(endpoint.prompts) == asked == 3


def test_what_the_model_writes_is_not_run(endpoint: Endpoint, tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    code = f'__import__("pathlib").Path("{touched}").touch()'
    attack = f'("a", "b", "c") if {code} else ("d", "e", "f")'
    endpoint.say = lambda prompt: attack if "KG" in prompt else "Entailment"
    detect("refchecker", endpoint)
    assert endpoint.prompts and not touched.exists()


@pytest.mark.parametrize("name", PEERS)
def test_nothing_but_the_endpoint_is_connected_to(name: str, endpoint: Endpoint, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "def hook(event, found):\n"
        "    if event == 'socket.connect': print('CONNECT', found[1], file=sys.stderr)\n"
        "sys.addaudithook(hook)\n",
        encoding="utf-8",
    )
    endpoint.say = lambda prompt: script(name, prompt)
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1",
        "OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": "k",
    }  # fmt: skip
    worker = files("haluagent.bench.peers").joinpath("workers", f"{name}_worker.py")
    item = json.dumps(dict(zip(("question", "response", "reference"), ITEM, strict=True))) + "\n"
    done = subprocess.run(
        [str(python_of(name)), str(worker), "m"], input=item, env=environment, cwd=tmp_path,
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout.splitlines()[1])["error"] is None
    connected = {line.partition("CONNECT ")[2] for line in done.stderr.splitlines() if "CONNECT" in line}
    assert connected == {f"('127.0.0.1', {endpoint.server.server_address[1]})"}
    assert [path.name for path in tmp_path.iterdir()] == ["sitecustomize.py"]
