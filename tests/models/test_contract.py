"""What the client relies on, held against real engines with one small model.

Another engine is one more name here, and what starts it in `tests/helpers/engines.py`.
"""

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import engines
import httpx
import pytest
from engines import BASE, CONTEXT, Engine

from haluagent import HaluAgent
from haluagent.batch import files
from haluagent.checks.claims import joint, triplets
from haluagent.checks.faithfulness import judge
from haluagent.checks.reliability import turns
from haluagent.checks.runs.records import ToolSpec
from haluagent.errors import ConfigError, ModelError
from haluagent.models import OpenAIModel
from haluagent.models.discovery import discover
from haluagent.protocols import Message
from haluagent.tooling import turn_format
from haluagent.tools import default_registry
from haluagent.tools.calculator.answer_check import FORMULA
from haluagent.tools.calculator.figures import NAMED
from haluagent.types import Language

T = TypeVar("T")
SERVERS = [pytest.param("llama.cpp", marks=pytest.mark.engine), pytest.param("vllm", marks=pytest.mark.vllm)]
ENGINES = [pytest.param("embedded", marks=pytest.mark.engine), *SERVERS]
on_servers = pytest.mark.parametrize("engine", SERVERS, indirect=True)

CITY: list[Message] = [
    {"role": "system", "content": "Answer with one letter."},
    {"role": "user", "content": "Which is the capital of France?\nA: Paris\nB: Rome\nC: Berlin"},
]
# What transformers computes from the same weights in float32, without and with the adapter.
SHARES = {"plain": {"A": 0.209, "B": 0.494, "C": 0.297}, "tuned": {"A": 0.389, "B": 0.480, "C": 0.131}}
STORY: list[Message] = [{"role": "user", "content": "Tell me a story."}]
TURN: dict[Language, list[Message]] = {
    "en": [{"role": "system", "content": "Write THOUGHT and ACTION."}, {"role": "user", "content": "Check S1: 2 + 2 = 5."}],
    "zh": [{"role": "system", "content": "请写思考和行为。"}, {"role": "user", "content": "核查 S1：2 + 2 = 5。"}],
}  # fmt: skip
SCHEMA = {
    "type": "object", "required": ["city"],
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "unit": {"enum": ["°C", "°F"]}},
}  # fmt: skip
GRAMMARS = {
    "formula": FORMULA, "named": NAMED, "joint": joint.grammar(3), "triplets": triplets.grammar({"S1": 2, "S2": 1}),
    "judge-en": judge.grammar("en"), "judge-zh": judge.grammar("zh"),
    "tools": turns.grammar([ToolSpec(name="get_weather", parameters=SCHEMA)], "zh", indecisive=True),
}  # fmt: skip


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with engines.started(request.param, tmp_path_factory.mktemp("engine")) as engine:
        yield engine


def ask(model: Any, question: Callable[[Any], Awaitable[T]]) -> T:
    """What a model answers; its connections are closed with the loop."""

    async def run() -> T:
        try:
            return await question(model)
        finally:
            await model.aclose()

    return asyncio.run(run())


def over_http(engine: Engine, name: str = BASE, key: str | None = None) -> OpenAIModel:
    """A client of the engine, wherever that runs."""
    return OpenAIModel.connect(engine.plain.base_url, name, api_key=key or engine.plain.api_key)


def test_it_says_what_it_is(engine: Engine) -> None:
    served = discover(engine.plain.base_url, engine.plain.api_key)
    assert served.dialect == ("vllm" if engine.name == "vllm" else "llama.cpp")
    assert served.models[0] == BASE
    assert served.context == CONTEXT or engine.name == "embedded"  # its slots share several contexts


@pytest.mark.parametrize("language", ["en", "zh"])
def test_turns_are_held_to_the_grammar(engine: Engine, language: Language, caplog: pytest.LogCaptureFixture) -> None:
    """Greedy and sampled; what is whole is a call of the registry, in the language's own marks."""
    tools = {tool.name: tool for tool in default_registry()}
    grammar = turn_format.grammar(tools.values(), ["S1", "S2"], language)
    form = re.compile(rf"{turn_format.THOUGHT[language]}[^\n]{{1,120}}\n{turn_format.ACTION[language]}(\w+)\(.*\)")

    async def write(model: Any) -> list[Any]:
        written = []
        for options in ({}, {"samples": 3, "temperature": 1.0}):
            written.append(await model.generate(TURN[language], grammar=grammar, max_tokens=400, **options))
        return written

    for generation in ask(engine.plain, write):
        assert len(generation.texts) in (1, 3)
        if not generation.truncated:
            matches = [form.fullmatch(text) for text in generation.texts]
            assert all(match and match[1] in tools for match in matches), generation.texts
    assert "constraint" not in caplog.text


@pytest.mark.parametrize("name", GRAMMARS)
def test_every_grammar_is_taken(engine: Engine, name: str) -> None:
    """A client that was refused one goes on without, and says so in its dialect."""
    client = over_http(engine)
    began = {"formula": r"[-0-9.+*/() %]", "named": r"[\[0-9.:+*/() -]", "joint": r"1", "triplets": "S", "tools": "思"}
    text = ask(client, lambda model: model.generate(STORY, grammar=GRAMMARS[name], max_tokens=8)).text
    assert client.dialect != "plain"
    assert re.match(began.get(name, r'\{"REASON'), text), text


@pytest.mark.parametrize("which", SHARES)
def test_a_choice_has_the_probabilities_of_the_weights(engine: Engine, which: str) -> None:
    choice = ask(getattr(engine, which), lambda model: model.choose(CITY, ["A", "B", "C"]))
    assert choice.calibrated and choice.usage.generated_tokens == 1
    assert choice.probabilities == pytest.approx(SHARES[which], abs=0.06)


@pytest.mark.parametrize("choices", [("是", "否"), ("支持", "矛盾")], ids=["yes-no", "supports-contradicts"])
def test_a_choice_of_parts_of_characters_is_no_certainty(engine: Engine, choices: tuple[str, str]) -> None:
    """This vocabulary has neither 否 nor 矛 in one token. An engine that cannot show half of one must not say that the other
    answer is certain."""
    asked: list[Message] = [{"role": "user", "content": f"太阳是冷的吗？请回答：{'，或者：'.join(choices)}。"}]
    choice = ask(engine.plain, lambda model: model.choose(asked, choices))
    assert sum(choice.probabilities.values()) == pytest.approx(1)
    assert not choice.calibrated or max(choice.probabilities.values()) < 0.999


def test_it_ends_before_a_stop_string(engine: Engine) -> None:
    async def write(model: Any) -> tuple[Any, Any]:
        whole = await model.generate(STORY, max_tokens=24)
        stop = " ".join(whole.text.split()[4:6])  # more than a token
        return whole, await model.generate(STORY, max_tokens=24, stop=["\nOBSERVATION:", stop])

    whole, cut = ask(engine.plain, write)
    assert whole.truncated and not cut.truncated
    assert cut.text and whole.text.startswith(cut.text) and len(cut.text.split()) == 4


def test_samples_differ_and_all_are_paid_for(engine: Engine) -> None:
    generation = ask(engine.plain, lambda model: model.generate(STORY, samples=5, temperature=1.0, max_tokens=12))
    assert len(generation.texts) == 5 and len(set(generation.texts)) > 2
    assert generation.usage.generated_tokens > 5 * 5


def test_the_same_seed_writes_the_same(engine: Engine) -> None:
    async def write(model: Any) -> list[str]:
        return [(await model.generate(STORY, temperature=1.0, max_tokens=12)).text for _ in range(2)]

    first, again = ask(engine.plain, write)
    assert first == again
    assert ask(engine.plain.reseeded(7), write)[0] != first


def test_a_common_prefix_is_read_once_and_reported(engine: Engine) -> None:
    opening = " ".join(f"Row {number} holds {number * 7} cups." for number in range(60))

    async def write(model: Any) -> list[Any]:
        asked = [[{"role": "system", "content": opening}, {"role": "user", "content": one}] for one in ("Why?", "How?")]
        return [(await model.generate(messages, max_tokens=2)).usage for messages in asked]

    first, second = ask(engine.plain, write)
    assert first.cached_tokens < 100 < 600 < first.prompt_tokens
    assert second.cached_tokens > 0.9 * second.prompt_tokens - 16  # vLLM keeps whole blocks


def test_an_adapter_leaves_no_trace(engine: Engine) -> None:
    async def both() -> list[str]:
        models = [engine.plain, engine.tuned, engine.plain, engine.tuned]
        try:
            return [(await model.generate(STORY, max_tokens=10)).text for model in models]
        finally:
            for model in models:
                await model.aclose()

    plain, tuned, plain_again, tuned_again = asyncio.run(both())
    assert plain == plain_again != tuned == tuned_again


def test_a_prompt_that_is_too_long_is_one_clear_error(engine: Engine) -> None:
    """It costs neither the grammar nor the next request."""
    long: list[Message] = [{"role": "user", "content": "one two three " * CONTEXT}]
    client = over_http(engine)

    async def write(model: Any) -> str:
        for call in (model.generate(long, grammar=FORMULA), model.choose(long, ["A", "B"])):
            with pytest.raises(ModelError, match=r"answered 400.*(context|token)") as raised:
                await call
            assert "\n" not in str(raised.value) and len(str(raised.value)) < 400
        return str((await model.generate(STORY, grammar=FORMULA, max_tokens=4)).text)

    assert re.fullmatch(r"[-0-9.+*/() %]+", ask(client, write))
    assert client.dialect != "plain"


@on_servers  # the slots of the embedded engine share several contexts, which take long to fill
def test_an_answer_that_does_not_fit_is_cut_off(engine: Engine) -> None:
    """What may be written counts as a limit, not as tokens that have to be there."""
    nearly: list[Message] = [{"role": "user", "content": "1 " * (CONTEXT // 2 - 40)}]
    generation = ask(engine.plain, lambda model: model.generate(nearly, grammar="root ::= [ab]+", max_tokens=500))
    assert generation.truncated and generation.text
    assert generation.usage.prompt_tokens + generation.usage.generated_tokens <= CONTEXT + 1


def counter(model: Any, *names: str) -> float:
    """The sum of counters of the engine's own."""
    url = model.base_url.removesuffix("/v1") + "/metrics"
    text = httpx.get(url, headers={"Authorization": f"Bearer {model.api_key}"}, timeout=60, trust_env=False).text
    return sum(float(value) for value in re.findall(rf"^(?:{'|'.join(names)})(?:{{.*}})? (\S+)$", text, re.MULTILINE))


def test_a_request_that_is_given_up_frees_its_place(engine: Engine) -> None:
    """llama.cpp looks for its client only where nothing else has happened for a second."""
    running = ("llamacpp:requests_processing", "vllm:num_requests_running")
    written = ("llamacpp:tokens_predicted_total", "vllm:generation_tokens_total")
    most, before = CONTEXT - 100, counter(engine.plain, *written)

    def wait_until(count: int) -> None:
        while counter(engine.plain, *running) != count:
            time.sleep(2)

    async def give_up(model: Any) -> None:
        task = asyncio.create_task(model.generate(STORY, grammar='root ::= "a" root', max_tokens=most))
        await asyncio.to_thread(wait_until, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    ask(engine.plain, give_up)
    wait_until(0)
    assert counter(engine.plain, *written) - before < most / 2


def test_a_key_is_asked_for(engine: Engine) -> None:
    url, key = engine.plain.base_url, engine.plain.api_key
    assert key and OpenAIModel.connect(url, BASE, api_key=key).name == BASE
    for wrong in (None, "wrong", f"{key}x"):
        with pytest.raises(ConfigError, match="refuses the API key"):
            OpenAIModel.connect(url, BASE, api_key=wrong)
        client = OpenAIModel(url, BASE, api_key=wrong)
        with pytest.raises(ModelError, match="answered 401.*HALUAGENT_API_KEY"):
            ask(client, lambda model: model.generate(STORY, max_tokens=1))


def test_an_unknown_model_is_an_error_or_the_only_one(engine: Engine) -> None:
    """llama.cpp takes any name for its one model."""
    client = OpenAIModel(engine.plain.base_url, "nobody", api_key=engine.plain.api_key)
    if engine.name == "vllm":
        with pytest.raises(ModelError, match="404.*nobody"):
            ask(client, lambda model: model.generate(STORY, max_tokens=1))
    else:
        assert ask(client, lambda model: model.generate(STORY, max_tokens=1)).usage.calls == 1


@pytest.mark.parametrize(
    ("question", "response", "reference"),
    [
        ("How high is the tower?", "It is 330 metres high. It was built in 1889.", "The tower is 330 metres high."),
        ("塔有多高？", "塔高330米。它建于1889年。", "塔高330米。"),
    ],
    ids=["en", "zh"],
)
def test_a_detection_comes_to_its_end(
    engine: Engine, question: str, response: str, reference: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The model knows nothing; but every call is served, in the grammar, and reported."""
    with HaluAgent(engine.tuned, sandbox="none", search="none") as agent:
        found = agent.detect(question, response, reference)
    assert found.stop == "answer" and len(found.sentences) == 2
    assert all(step.call is not None for step in found.steps)
    assert found.usage.calls > 3 and 0 < found.usage.cached_tokens < found.usage.prompt_tokens
    assert found.usage.generated_tokens > 20 and found.usage.seconds > 0
    assert "constraint" not in caplog.text and "log-probabilities" not in caplog.text


@on_servers
def test_a_replica_that_dies_leaves_its_work_to_the_other(engine: Engine, tmp_path: Path) -> None:
    """Both take items while both are there; nothing is lost, and a dead one alone ends in an error, never in a label."""
    assert engine.another is not None
    other = engine.another()
    models = [over_http(engine), engines.client(other)]
    reads = ("llamacpp:prompt_tokens_total", "vllm:prompt_tokens_total")
    before = counter(models[0], *reads)
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    items = [{"response": f"Tower {number} is 330 metres high.", "reference": "It is high."} for number in range(8)]
    source.write_text("".join(json.dumps(item) + "\n" for item in items))
    died: list[bool] = []

    def kill(row: files.BatchRow) -> None:
        if not died and counter(models[0], *reads) > before and counter(models[1], *reads) > 0:
            other.kill()
            died.append(True)

    agents = [HaluAgent(model, sandbox="none", search="none") for model in models]
    assert files.run(source, out, agents, in_flight=2, progress=kill) is None
    rows = [files.BatchRow.model_validate_json(line) for line in out.read_text().splitlines()]
    assert died and sorted(row.line for row in rows) == list(range(1, 9))
    assert all(row.error is None and row.detection and row.detection.stop == "answer" for row in rows)
    with HaluAgent(models[1], sandbox="none", search="none") as alone:
        found = alone.detect(None, items[0]["response"], items[0]["reference"])
    assert (found.stop, found.hallucination) == ("error", None)
    assert {entry.label for entry in found.sentences} == {"unverified"}
