"""Replies of an endpoint with something hostile in each of their places: a result or an error of that request, never more."""

import json
import math
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from mutations import HOSTILE, mutated

from haluagent import HaluAgent, Limits
from haluagent.batch.files import BatchRow, run
from haluagent.errors import ConfigError, ModelError
from haluagent.models.client import DEFAULT_CONTEXT, OpenAIModel
from haluagent.models.discovery import discover
from haluagent.models.endpoint import read_retry_after
from haluagent.models.scoring import choice_probabilities
from haluagent.protocols import Choice, Generation, Message
from haluagent.types import Detection

ASK: list[Message] = [{"role": "user", "content": "Is it so?"}]
TOP = [
    {"token": "A", "logprob": -0.1, "bytes": [65]},
    {"token": "B", "logprob": -2.4, "bytes": [66]},
    {"token": "Yes", "logprob": -0.1, "bytes": None},
]
REPLY = {
    "id": "chatcmpl-1",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "A"},
            "logprobs": {"content": [{"token": "A", "logprob": -0.1, "bytes": [65], "top_logprobs": TOP}]},
        }
    ],
    "usage": {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 7}},
    "timings": {"cache_n": 7, "prompt_ms": 1.0},
}
MODELS = {
    "vllm": {"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 4096}]},
    "llama.cpp": {"data": [{"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx": 4096, "n_ctx_train": 8192}}]},
}
PROPS = {"total_slots": 4, "default_generation_settings": {"n_ctx": 4096}}


class Endpoint(ThreadingHTTPServer):
    """A server that answers each path with what `answer(path, body)` gives."""

    daemon_threads = True

    def __init__(self, answer: Callable[[str, dict[str, Any]], Any]) -> None:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # it would wait 40 ms in every answer

            def do_GET(self) -> None:
                self.reply({})

            def do_POST(self) -> None:
                self.reply(json.loads(self.rfile.read(int(self.headers["content-length"]))))

            def reply(self, body: dict[str, Any]) -> None:
                data = json.dumps(answer(self.path, body)).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *arguments: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def serve() -> Iterator[Callable[..., Endpoint]]:
    servers: list[Endpoint] = []

    def serve(answer: Callable[[str, dict[str, Any]], Any]) -> Endpoint:
        servers.append(Endpoint(answer))
        return servers[-1]

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def number_of(body: dict[str, Any]) -> int:
    """The number in the sentence that a request is about."""
    return int(re.findall(r"Tower (\d+)", " ".join(message["content"] for message in body["messages"]))[0])


@pytest.mark.parametrize("dialect", ["plain", "llama.cpp"])
def test_a_malformed_reply_is_read_or_refused(serve: Callable[..., Endpoint], dialect: Any) -> None:
    current: dict[str, Any] = {}
    model = OpenAIModel(serve(lambda path, body: current).url, "m", dialect=dialect, attempts=1, tokenizer=len)
    with HaluAgent(model, sandbox="none", search="none") as agent:  # for its event loop
        for name, reply in mutated(REPLY):
            current = reply
            for ask in (lambda: model.generate(ASK, samples=2), lambda: model.choose(ASK, ["A", "B"])):
                try:
                    found: Generation | Choice = agent.wait_for(ask())
                except ModelError as error:
                    assert "choices" in name and str(error).encode(), name
                    continue
                usage = found.usage
                assert 0 <= usage.cached_tokens <= usage.prompt_tokens < 2**53 and usage.generated_tokens >= 0, name
                assert usage.prompt_tokens > 0, name
                assert found.model_dump_json(), name
                if isinstance(found, Choice):
                    assert math.isclose(sum(found.probabilities.values()), 1), name
                    assert all(0 <= value <= 1 for value in found.probabilities.values()), name


def test_every_line_of_a_batch_is_there_whatever_the_endpoint_answers(
    serve: Callable[..., Endpoint], tmp_path: Path
) -> None:
    """The reply about tower 2 is the first mutation, and so on; those about towers with an odd number are in order."""
    some = list(mutated(REPLY))[::9]  # each place and each value several times
    replies = dict(enumerate((reply for _, reply in some), start=1))
    names = dict(enumerate((name for name, _ in some), start=1))

    def answer(path: str, body: dict[str, Any]) -> Any:
        if path == "/v1/models":
            return MODELS["vllm"]
        number = number_of(body)
        if number % 2 == 0:
            return replies[number // 2]
        written = "A" if "logprobs" in body else "THOUGHT: t\nACTION: get_answer(sentence=S1)"
        return REPLY | {"choices": [REPLY["choices"][0] | {"message": {"content": written}}]}  # type: ignore[index]

    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    lines = [
        {"response": f"Tower {number} is old. Tower {number} is tall."} for number in range(1, 2 * len(replies) + 2)
    ]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    model = OpenAIModel(serve(answer).url, "m", attempts=1)
    assert run(source, out, [HaluAgent(model, sandbox="none", search="none")], in_flight=1) is None
    rows = [BatchRow.model_validate_json(line) for line in out.read_text("utf-8").splitlines()]
    assert sorted(row.line for row in rows) == list(range(1, len(lines) + 1))
    for row in rows:
        assert (row.error is None) == (row.detection is not None)
        if row.error is not None:
            assert row.line % 2 == 0 and "answered 200 without a text" in row.error, names[row.line // 2]


def test_a_malformed_reply_ends_a_detection_in_a_report(serve: Callable[..., Endpoint]) -> None:
    current: dict[str, Any] = {}
    model = OpenAIModel(serve(lambda path, body: current).url, "m", attempts=1)
    with HaluAgent(model, sandbox="none", search="none") as agent:
        for name, reply in list(mutated(REPLY))[::3]:
            current = reply
            detection = agent.detect("What is it?", "Tower 1 is old.", reference="Tower 1 is new.")
            assert Detection.model_validate_json(detection.model_dump_json()) == detection, name
            assert detection.stop == "error" or detection.error is None


@pytest.mark.parametrize("tokens", [-1, -(10**9), 0, None, "x", True, float("nan"), float("inf"), 10**400, [1]])
def test_a_limit_on_tokens_holds_whatever_the_endpoint_reports(serve: Callable[..., Endpoint], tokens: Any) -> None:
    usage = {"prompt_tokens": tokens, "completion_tokens": tokens, "prompt_tokens_details": {"cached_tokens": tokens}}
    asked = 0

    def answer(path: str, body: dict[str, Any]) -> Any:
        nonlocal asked
        asked += 1
        message = {"content": f"THOUGHT: t\nACTION: calculator(sentence=S{asked})"}
        return {"choices": [{"message": message}], "usage": usage}

    model = OpenAIModel(serve(answer).url, "m", attempts=1)
    with HaluAgent(model, sandbox="none", search="none", limits=Limits(tokens=50)) as agent:
        detection = agent.detect("What is it?", "Tower 1 is old. Tower 2 is new.", reference="Tower 3 is neither.")
    assert detection.stop == "budget" and asked == 1


@pytest.mark.parametrize("dialect", MODELS)
def test_a_malformed_list_of_models_is_read_or_refused(serve: Callable[..., Endpoint], dialect: str) -> None:
    pages: dict[str, Any] = {}
    url = serve(lambda path, body: pages[path]).url
    changed = [(name, page, PROPS) for name, page in mutated(MODELS[dialect])]
    changed += [(name, MODELS[dialect], page) for name, page in mutated(PROPS)]
    for name, models, props in changed:
        pages |= {"/v1/models": models, "/props": props}
        served = discover(url)
        assert all(isinstance(one, str) and one.encode() for one in served.models), name
        for number in (served.context, served.slots):
            assert number is None or (isinstance(number, int) and 0 < number < 2**53), name


@pytest.mark.parametrize("length", [None, 0, -5, "4096", [1], {}, True, float("inf"), 10**400])
def test_a_context_that_is_none_is_the_usual_one(serve: Callable[..., Endpoint], length: Any) -> None:
    models = {"data": [{"id": "m", "owned_by": "vllm", "max_model_len": length}]}
    assert OpenAIModel.connect(serve(lambda path, body: models).url).context == DEFAULT_CONTEXT


@pytest.mark.parametrize("id", [None, "", 5, True, [], {}])
def test_a_model_without_a_name_has_to_be_named(serve: Callable[..., Endpoint], id: Any) -> None:
    with pytest.raises(ConfigError, match="lists no model: say which one"):
        OpenAIModel.connect(serve(lambda path, body: {"data": [{"id": id}]}).url)


@pytest.mark.parametrize("page", HOSTILE[:-1], ids=repr)
def test_what_is_no_list_of_models_is_refused_in_one_line(serve: Callable[..., Endpoint], page: Any) -> None:
    url = serve(lambda path, body: page).url
    try:
        assert discover(url).models == ()
    except ModelError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize("logprob", [value for value in HOSTILE[:-1] if value not in (0, -1, -(10**9))], ids=repr)
def test_what_is_no_log_probability_weighs_nothing(logprob: Any) -> None:
    top = [{"token": "A", "logprob": logprob}, {"token": "B", "logprob": -3.0}]
    assert choice_probabilities(top, ["A", "B"]) == {"A": 0.0, "B": 1.0}


@pytest.mark.parametrize(
    "value", ["-1", "nan", "inf", "x", "", "Mon, 99 Nov 2026 00:00:00 GMT", "1, 2", "\x00", "9" * 400]
)
def test_a_malformed_retry_after_is_none(value: str) -> None:
    assert read_retry_after(value) is None


def test_the_replies_that_are_mutated_are_in_order() -> None:
    assert choice_probabilities(TOP, ["A", "B"]) == pytest.approx({"A": 0.909, "B": 0.091}, abs=0.001)
    assert len(list(mutated(REPLY))) > 20 * len(HOSTILE)
