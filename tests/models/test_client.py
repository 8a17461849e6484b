"""The client against a real HTTP server on loopback that plays what a test tells it to."""

import asyncio
import json
import math
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from haluagent.errors import ConfigError, ModelError
from haluagent.models.adapters import all_shipped
from haluagent.models.client import OpenAIModel
from haluagent.models.discovery import discover
from haluagent.models.endpoint import normalize
from haluagent.models.engines.embedded import SLOTS
from haluagent.protocols import Message, Model


@pytest.fixture(autouse=True, params=["aiohttp", "httpx"])
def transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything holds with the extra `aiohttp` and without it."""
    if request.param == "httpx":
        monkeypatch.setitem(sys.modules, "httpx_aiohttp", None)
    else:
        pytest.importorskip("httpx_aiohttp")


ASK: list[Message] = [{"role": "user", "content": "Is it so?"}]


def chat(*texts: str, finish: str = "stop", **more: Any) -> dict[str, Any]:
    choices = [{"index": i, "finish_reason": finish, "message": {"content": text}} for i, text in enumerate(texts)]
    return {"choices": choices, "usage": {"prompt_tokens": 10, "completion_tokens": 3}} | more


def scored(**probabilities: float) -> dict[str, Any]:
    top = [{"token": token, "logprob": math.log(p)} for token, p in probabilities.items()]
    answer = chat(next(iter(probabilities)))
    answer["choices"][0]["logprobs"] = {"content": [{"top_logprobs": top}]}
    return answer


class Server:
    """Answers POSTs with what is queued (the last one again and again), GETs by path; keeps what it was asked."""

    def __init__(self) -> None:
        self.queue: list[Any] = []
        self.pages: dict[str, Any] = {}
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        played = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.answer(played.pages.get(self.path, (404, {}, "no such page")))

            def do_POST(self) -> None:
                played.asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                played.headers.append({name.lower(): value for name, value in self.headers.items()})
                self.answer(played.queue.pop(0) if len(played.queue) > 1 else played.queue[0])

            def answer(self, what: Any) -> None:
                if what == "die":
                    self.send_response(200)
                    self.send_header("content-length", "1000")
                    self.end_headers()
                    self.wfile.write(b'{"choices": [')
                    self.close_connection = True
                    return
                status, headers, body = what if isinstance(what, tuple) else (200, {}, what)
                data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
                self.send_response(status)
                for name, value in (headers | {"content-length": str(len(data))}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.http.shutdown()
    server.http.server_close()


class Clock:
    """What the client waits with in these tests: it only remembers how long it should have been."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


def model(server: Server, **options: Any) -> OpenAIModel:
    defaults: dict[str, Any] = {"sleep": Clock().sleep, "tokenizer": len, "attempts": 3}
    return OpenAIModel(server.url, "m", **(defaults | options))


def generate(client: OpenAIModel, **options: Any) -> Any:
    async def run() -> Any:
        try:
            return await client.generate(ASK, **options)
        finally:
            await client.aclose()

    return asyncio.run(run())


def choose(client: OpenAIModel, *choices: str) -> Any:
    async def run() -> Any:
        try:
            return await client.choose(ASK, choices)
        finally:
            await client.aclose()

    return asyncio.run(run())


def test_it_is_a_model(server: Server) -> None:
    assert isinstance(model(server), Model)


def test_the_request_and_the_usage(server: Server) -> None:
    details = {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 7}}
    server.queue = [chat("fine", finish="length", usage=details)]
    answer = generate(model(server, api_key="secret", seed=5), stop=["\n"], max_tokens=9, temperature=0.5)
    assert server.asked == [
        {"model": "m", "messages": ASK, "max_tokens": 9, "temperature": 0.5, "stop": ["\n"], "seed": 5}
    ]
    assert server.headers[0]["authorization"] == "Bearer secret"
    assert answer.text == "fine" and answer.truncated
    usage = answer.usage
    assert (usage.calls, usage.prompt_tokens, usage.cached_tokens, usage.generated_tokens) == (1, 10, 7, 3)
    assert usage.seconds > 0


def test_half_a_character_is_replaced(server: Server) -> None:
    server.queue = [chat("a\ud83d b\ude00 \ud83d\ude00")]
    answer = generate(model(server))
    assert answer.text == "a\ufffd b\ufffd 😀"
    assert answer.model_dump_json()


def test_half_a_character_among_the_scores_is_no_choice(server: Server) -> None:
    answer = scored(YES=0.5)
    answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"].append({"token": "\ud83d", "logprob": -1.0})
    server.queue = [answer]
    assert choose(model(server), "YES", "NO").probabilities == {"YES": 1.0, "NO": 0.0}


def test_cached_tokens_from_the_timings_of_llama_cpp(server: Server) -> None:
    server.queue = [chat("x", timings={"cache_n": 8})]
    assert generate(model(server)).usage.cached_tokens == 8


def test_grammar_in_each_dialect(server: Server) -> None:
    server.queue = [chat("a")]
    for dialect, expected in (
        ("llama.cpp", {"grammar": 'root ::= "a"'}),
        ("vllm", {"structured_outputs": {"grammar": 'root ::= "a"'}}),
        ("plain", {}),
    ):
        generate(model(server, dialect=dialect), grammar='root ::= "a"')
        plain = {"model": "m", "messages": ASK, "max_tokens": 256, "temperature": 0.0, "seed": 0}
        assert server.asked[-1] == plain | expected


def test_a_refused_grammar_is_left_out_from_then_on(server: Server) -> None:
    server.queue = [(400, {}, "unknown field"), chat("a"), chat("b")]
    client = model(server, dialect="llama.cpp")
    assert generate(client, grammar="root ::= [a]").text == "a"
    assert generate(client, grammar="root ::= [a]").text == "b"
    assert ["grammar" in body for body in server.asked] == [True, False, False]
    assert client.dialect == "plain"


def test_a_request_that_is_wrong_in_itself_does_not_cost_the_grammar(server: Server) -> None:
    server.queue = [(400, {}, "the prompt is too long")]
    client = model(server, dialect="llama.cpp")
    with pytest.raises(ModelError, match=r"answered 400: the prompt is too long"):
        generate(client, grammar="root ::= [a]")
    assert client.dialect == "llama.cpp"


def test_samples_go_in_as_few_requests_as_the_server_takes(server: Server) -> None:
    server.queue = [chat("aa", "bb"), chat("cc", "dddd"), chat("e")]
    client = model(server, dialect="llama.cpp", samples_per_request=2)
    answer = generate(client, samples=5, temperature=1.0)
    assert answer.texts == ("aa", "bb", "cc", "dddd", "e")
    assert [(body.get("n"), body["seed"]) for body in server.asked] == [(2, 0), (2, 2), (None, 4)]
    # llama.cpp counts one sample; the texts (here a token a character) are what was really written.
    assert answer.usage.generated_tokens == 4 + 6 + 3 and answer.usage.calls == 3


def test_a_server_that_ignores_n_is_asked_again(server: Server) -> None:
    server.queue = [chat("a"), chat("b"), chat("c")]
    assert generate(model(server), samples=3).texts == ("a", "b", "c")
    assert [body.get("n") for body in server.asked] == [3, 2, None]


def test_retries_wait_as_long_as_the_server_says(server: Server) -> None:
    server.queue = [(429, {"Retry-After": "0"}, "slow"), (503, {"Retry-After": "7"}, "busy"), chat("ok")]
    clock = Clock()
    assert generate(model(server, sleep=clock.sleep)).text == "ok"
    assert clock.waits == [0.0, 7.0]


def test_retry_after_as_a_date_and_never_too_long(server: Server) -> None:
    past, far = "Wed, 21 Oct 2015 07:28:00 GMT", "99999"
    server.queue = [(503, {"Retry-After": past}, ""), (503, {"Retry-After": far}, ""), chat("ok")]
    clock = Clock()
    generate(model(server, sleep=clock.sleep))
    assert clock.waits == [0.0, 60.0]


def test_waiting_grows_where_the_server_does_not_say(server: Server) -> None:
    server.queue = [(500, {}, "oops")]
    clock = Clock()
    with pytest.raises(ModelError, match=r"/chat/completions answered 500: oops"):
        generate(model(server, sleep=clock.sleep, attempts=5))
    assert len(server.asked) == 5
    assert len(clock.waits) == 4 and clock.waits[0] < clock.waits[-1]


def test_a_connection_that_dies_mid_way_is_tried_again(server: Server) -> None:
    server.queue = ["die", chat("whole")]
    assert generate(model(server)).text == "whole"


def test_a_server_that_is_gone() -> None:
    client = OpenAIModel("http://127.0.0.1:9", "m", sleep=Clock().sleep, attempts=2)
    with pytest.raises(ModelError, match=r"http://127.0.0.1:9/v1/chat/completions gave no answer"):
        generate(client)


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_what_is_not_retried(server: Server, status: int) -> None:
    server.queue = [(status, {}, "no")]
    with pytest.raises(ModelError, match=f"answered {status}"):
        generate(model(server))
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "nonsense",
    [
        "<html><body>Login</body></html>",
        "[1, 2]",
        "",
        {"choices": []},
        {"choices": "none"},
        {"choices": [{"message": {"content": None}}]},
        {"choices": [{"text": "the old API"}]},
        {"error": {"message": "out of memory"}},
    ],
)
def test_nonsense_is_an_error_that_shows_it(server: Server, nonsense: Any) -> None:
    server.queue = [nonsense]
    with pytest.raises(ModelError) as raised:
        generate(model(server))
    message = str(raised.value)
    assert server.url in message and "200" in message and "\n" not in message and len(message) < 400
    if isinstance(nonsense, str):
        assert nonsense[:20] in message


def test_choose_asks_for_one_token_and_is_calibrated(server: Server) -> None:
    server.queue = [scored(YES=0.6, NO=0.3)]
    answer = choose(model(server, dialect="llama.cpp"), "YES", "NO")
    assert answer.probabilities["YES"] == pytest.approx(2 / 3) and answer.calibrated and answer.best == "YES"
    assert server.asked == [
        {"model": "m", "messages": ASK, "max_tokens": 1, "temperature": 0.0, "seed": 0,
         "logprobs": True, "top_logprobs": 20}
    ]  # fmt: skip


def test_choose_is_constrained_where_that_leaves_the_probabilities_right(server: Server) -> None:
    server.queue = [scored(YES=0.6, NO=0.4)]
    choose(model(server, dialect="vllm"), "YES", "NO")
    assert server.asked[0]["structured_outputs"] == {"choice": ["YES", "NO"]}


def test_what_cannot_be_read_is_not_given_to_the_other_choice(server: Server) -> None:
    """vLLM shows a token that is part of a character as nothing, and 否 is two tokens here."""
    lost = chat("")
    top = [{"token": "", "bytes": [], "logprob": math.log(0.9)}, {"token": "是", "logprob": math.log(0.1)}]
    lost["choices"][0]["logprobs"] = {"content": [{"top_logprobs": top}]}
    server.queue = [lost, chat("否")]
    answer = choose(model(server, dialect="vllm"), "是", "否")
    assert answer.probabilities == {"是": 0.0, "否": 1.0} and not answer.calibrated


def test_without_logprobs_the_written_answer_counts(server: Server) -> None:
    server.queue = [chat("Y"), chat("Yes, it is.")]
    answer = choose(model(server, dialect="llama.cpp"), "YES", "NO")
    assert answer.probabilities == {"YES": 1.0, "NO": 0.0} and not answer.calibrated
    assert server.asked[1]["grammar"] == 'root ::= "YES" | "NO"' and "logprobs" not in server.asked[1]
    assert answer.usage.calls == 2


def test_an_answer_that_is_none_of_the_choices_is_no_answer(server: Server) -> None:
    server.queue = [scored(Maybe=0.9), chat("Maybe")]
    answer = choose(model(server), "YES", "NO")
    assert answer.probabilities == {"YES": 0.5, "NO": 0.5} and not answer.calibrated


def test_a_server_that_refuses_logprobs_is_not_asked_for_them_again(server: Server) -> None:
    server.queue = [(400, {}, "logprobs is not supported"), chat("NO"), chat("NO")]
    client = model(server)
    assert choose(client, "YES", "NO").best == "NO" and choose(client, "YES", "NO").best == "NO"
    assert ["logprobs" in body for body in server.asked] == [True, False, False]


def test_one_client_serves_several_event_loops(server: Server) -> None:
    server.queue = [chat("a")]
    client = model(server)

    async def twice() -> None:
        await asyncio.gather(client.generate(ASK), client.generate(ASK))

    for _ in range(2):
        asyncio.run(twice())
    thread = threading.Thread(target=asyncio.run, args=(twice(),))
    thread.start()
    thread.join()
    assert len(server.asked) == 6


def test_llama_cpp_is_recognized(server: Server) -> None:
    meta = {"n_ctx": 4096, "n_ctx_train": 32768}
    server.pages["/v1/models"] = {"data": [{"id": "a.gguf", "owned_by": "llamacpp", "meta": meta}]}
    assert discover(server.url).context == 4096
    server.pages["/props"] = {"default_generation_settings": {"n_ctx": 2048}, "total_slots": 2}
    served = discover(server.url.removesuffix("/v1"))
    assert (served.dialect, served.models, served.context, served.slots) == ("llama.cpp", ("a.gguf",), 2048, 2)


def test_vllm_is_recognized_and_a_setting_overrides_it(server: Server) -> None:
    server.pages["/v1/models"] = {"data": [{"id": "big", "owned_by": "vllm", "max_model_len": 16384}]}
    found = OpenAIModel.connect(server.url)
    assert (found.name, found.dialect, found.context) == ("big", "vllm", 16384)
    told = OpenAIModel.connect(server.url, "big", dialect="plain", context=100)
    assert (told.dialect, told.context) == ("plain", 100)


def test_the_adapter_of_the_package_is_found_beside_its_base(server: Server) -> None:
    (shipped,) = all_shipped()
    listed = [{"id": "Qwen/Qwen2.5-Coder-1.5B-Instruct", "owned_by": "vllm", "max_model_len": 8192}]
    listed.append({"id": shipped.name, "owned_by": "vllm", "parent": listed[0]["id"], "max_model_len": None})
    server.pages["/v1/models"] = {"data": listed}
    found = OpenAIModel.connect(server.url)
    assert (found.name, found.context, found.dialect) == (shipped.name, 8192, "vllm")
    assert OpenAIModel.connect(server.url, shipped.name).context == 8192, "that of its base"
    assert found.calibration == shipped.calibration and found.fine_tuned_tools == shipped.fine_tuned_tools
    assert OpenAIModel.connect(server.url, listed[0]["id"]).fine_tuned_tools == frozenset()


def test_which_of_several_models_must_be_said(server: Server) -> None:
    server.pages["/v1/models"] = {"data": [{"id": "one"}, {"id": "two"}]}
    with pytest.raises(ConfigError, match="one, two: say which one with --model"):
        OpenAIModel.connect(server.url)
    assert OpenAIModel.connect(server.url, "two").dialect == "plain"


def test_a_server_without_a_list_of_models_is_spoken_to_plainly(server: Server) -> None:
    assert OpenAIModel.connect(server.url, "m").dialect == "plain"
    with pytest.raises(ConfigError, match="lists no model"):
        OpenAIModel.connect(server.url)


def test_a_refused_key_is_the_users_to_fix(server: Server) -> None:
    server.pages["/v1/models"] = (401, {}, "who are you?")
    with pytest.raises(ConfigError, match="HALUAGENT_API_KEY"):
        OpenAIModel.connect(server.url)


def test_base_urls() -> None:
    assert normalize("http://host:8000") == normalize("http://host:8000/") == "http://host:8000/v1"
    assert normalize("https://host/openai/v1/") == "https://host/openai/v1"
    for wrong in ("host:8000", "ftp://host", "", "http://"):
        with pytest.raises(ConfigError, match="is no base URL"):
            normalize(wrong)


@pytest.mark.engine
def test_the_engine_stops_where_told_and_keeps_to_a_grammar(engine_model: Model) -> None:
    count: list[Message] = [{"role": "user", "content": "Count from 1 to 9, separated by spaces."}]

    async def run() -> None:
        assert "5" not in (await engine_model.generate(count, stop=["5"], max_tokens=24)).text
        held = await engine_model.generate(count, grammar='root ::= "x" [0-9] [0-9]', max_tokens=16)
        assert held.text[0] == "x" and held.text[1:].isdigit() and len(held.text) == 3 and not held.truncated
        cut = await engine_model.generate(count, max_tokens=2)
        assert cut.truncated and cut.usage.generated_tokens == 2

    asyncio.run(run())


@pytest.mark.engine
def test_the_engine_scores_choices_and_reports_its_cache(engine_model: Model) -> None:
    async def run() -> None:
        ask: list[Message] = [{"role": "user", "content": "Is 2 + 2 = 4? Answer YES or NO."}]
        first = await engine_model.choose(ask, ["YES", "NO"])
        assert first.calibrated and sum(first.probabilities.values()) == pytest.approx(1.0)
        assert first.best == "YES" and first.probabilities["YES"] < 1.0
        again = await engine_model.choose(ask, ["YES", "NO"])
        assert again.usage.cached_tokens >= again.usage.prompt_tokens - 2 > 0
        assert again.probabilities["YES"] == pytest.approx(first.probabilities["YES"], abs=0.05)

    asyncio.run(run())


@pytest.mark.engine
def test_the_engine_gives_more_samples_than_it_has_slots(engine_model: Model) -> None:
    ask: list[Message] = [{"role": "user", "content": "Name a colour."}]
    wanted = SLOTS + 1
    answer = asyncio.run(engine_model.generate(ask, samples=wanted, temperature=1.0, max_tokens=4))
    assert len(answer.texts) == wanted and answer.usage.calls == 2 and answer.usage.generated_tokens >= wanted
