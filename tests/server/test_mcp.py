"""The tools of `haluagent mcp`, as the SDK's own client sees them over HTTP; tests/cli/test_mcp.py has standard input and output."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from scripted import ScriptedModel, believes
from serving import QUESTION, RESPONSE, TEXT, Held, Serving, http, make_agent

from haluagent.agent import HaluAgent
from haluagent.checks.claims.check import check_claims
from haluagent.checks.faithfulness.check import check
from haluagent.errors import ConfigError, ModelError
from haluagent.search.index.local import LocalIndex
from haluagent.server.mcp.run import make_app
from haluagent.server.settings import ServerSettings

ERAS = ("legacy", "2026-07-28")  # of the protocol: with a handshake, and with a description in every request
TOKEN = "correct-horse-battery-staple"
REFUND = {
    "name": "create_refund",
    "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
}


def run_of(said: str) -> dict[str, Any]:
    return {"tools": [REFUND], "turns": [{"role": "user", "text": said}]}


def refund(order: str) -> dict[str, Any]:
    return {"tool": "create_refund", "arguments": {"order_id": order}}


@contextmanager
def serving(agent: HaluAgent, **settings: Any) -> Iterator[Serving]:
    chosen = ServerSettings(**{"grace": 0.2} | settings)
    with Serving(agent, chosen, app=make_app(agent, chosen)) as server:
        yield server


@asynccontextmanager
async def connected(url: str, era: str = ERAS[1]) -> AsyncIterator[Client]:
    async with Client(url + "/mcp", mode=era) as client:  # type: ignore[arg-type]
        yield client


def calls(agent: HaluAgent, *wanted: tuple[str, dict[str, Any]], **settings: Any) -> list[Any]:
    """The results of some calls of tools, one after the other."""

    async def make(url: str) -> list[Any]:
        async with connected(url) as client:
            return [await client.call_tool(name, arguments) for name, arguments in wanted]

    with serving(agent, **settings) as server:
        return asyncio.run(make(server.url))


def read(result: Any) -> str:
    """The text of a result, which is all that it shows."""
    (content,) = result.content
    return str(content.text)


def without_seconds(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_seconds(inner) for name, inner in value.items() if name != "seconds"}
    return [without_seconds(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("era", ERAS)
def test_a_detection_with_its_progress(era: str, scripted: Any) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        heard.append((done, total, message))

    async def ask(url: str) -> Any:
        async with connected(url, era) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names == ["detect", "check", "claims", "verify_call", "search_documents"]
            return await client.call_tool("detect", TEXT, progress_callback=note)

    with serving(make_agent(scripted(scripted.calculate))) as server:
        found = asyncio.run(ask(server.url))
    direct = make_agent(scripted(scripted.calculate)).detect(QUESTION, RESPONSE)
    expected = direct.model_copy(update={"steps": ()}).model_dump(mode="json")
    assert without_seconds(found.structured_content) == without_seconds(expected) and not found.is_error
    first, *wrong = read(found).splitlines()
    assert first == "HALLUCINATION FOUND (score 0.97): 1 of 2 claims contradicted"
    assert wrong == [
        "  ✗ [2] contradicted: After giving away 4 there are 84 - 4 = 79 pens left.",
        "      evidence (calculator, characters 49-60): 84 - 4 = 80, but the response says 79",
    ]
    assert heard[-2:] == [
        (1, 2, "[1] supported: It is 12 * 7 = 84."),
        (2, 2, "[2] contradicted: After giving away 4 there are 84 - 4 = 79 pens left."),
    ]
    assert [done for done, _, _ in heard] == sorted({done for done, _, _ in heard})


def test_a_detection_in_chinese(scripted: Any) -> None:
    agent = make_agent(scripted(scripted.calculate))
    wrong, right = calls(
        agent,
        ("detect", {"question": "一箱有多少支笔？", "response": "一箱有 12 * 7 = 85 支笔。"}),
        ("detect", {"response": "12 * 7 = 84。", "language": "zh"}),
    )
    assert read(wrong).startswith("发现幻觉（得分") and "12 * 7 = 84，但回答写的是 85" in read(wrong)
    assert read(right).startswith("未发现幻觉") and "\n" not in read(right)


def test_what_was_not_verified_is_never_shown_as_right(scripted: Any) -> None:
    agent = make_agent(scripted(scripted.calculate))
    (found,) = calls(agent, ("detect", {"response": "The sea is deep."}))
    assert read(found).startswith("NOT VERIFIED") and "? [1] not verified: The sea is deep." in read(found)
    assert found.structured_content["hallucination"] is None


def test_a_sentence_that_the_reference_does_not_have(scripted: Any) -> None:
    agent = make_agent(scripted(lambda messages: "THOUGHT: see\nACTION: match(sentence=S1)", believes("silent")))
    body = {"response": "The tower was built by Mary Ellis.", "reference": ["The tower is 40 metres high."]}
    (found,) = calls(agent, ("detect", body))
    first, second, *rest = read(found).splitlines()
    assert first.startswith("NOT VERIFIED") and "1 of 1 claim not in the reference" in first
    assert second == "  ? [1] not in the reference: The tower was built by Mary Ellis." and rest
    assert found.structured_content["sentences"][0]["reason_code"] == "not_in_reference"


@pytest.mark.parametrize(
    ("answer", "document", "belief", "verdict"),
    [
        ("Mary Ellis built it.", "Harlow Tower was built by John Carrick.", "otherwise", "FAIL"),
        ("三十天内可以退货。", "自收货之日起七天内可以无理由退货。", "otherwise", "FAIL"),
        ("七天之内可以退货，不需要理由。", "自收货之日起七天内可以无理由退货。", "said", "PASS"),
    ],
)
def test_check(answer: str, document: str, belief: Any, verdict: str, scripted: Any) -> None:
    agent = make_agent(scripted(choose=believes(belief)))
    (found,) = calls(agent, ("check", {"answer": answer, "documents": [document]}))
    expected = check(agent, "", answer, [document]).model_dump(mode="json")
    assert without_seconds(found.structured_content) == without_seconds(expected)
    first, *reasons = read(found).splitlines()
    assert first == f"{verdict} (score {expected['score']:.2f})" and document in "".join(reasons)


def test_a_check_without_a_verdict_is_undecided(scripted: Any) -> None:
    (found,) = calls(make_agent(scripted()), ("check", {"answer": "Hello!", "documents": "The sky is blue."}))
    assert read(found).startswith("UNDECIDED") and "error: " in read(found)


@pytest.mark.parametrize(
    ("response", "reference", "evidence"),
    [
        ("The sky is blue.", "The sky is green.", "reference 1, characters 0-17"),
        ("天空是蓝色的。", "天空是绿色的。", "reference 1, characters 0-7"),
    ],
)
def test_claims(response: str, reference: str, evidence: str, scripted: Any) -> None:
    agent = make_agent(scripted(choose=believes("otherwise")))
    (found,) = calls(agent, ("claims", {"response": response, "references": [reference]}))
    expected = check_claims(agent, response, [reference]).model_dump(mode="json")
    assert without_seconds(found.structured_content) == without_seconds(expected)
    first, second, third = read(found).splitlines()
    assert first == "Contradiction: 1 Contradiction" and second == f"  [1] Contradiction: {response}"
    assert third.strip() == f"evidence ({evidence}): {reference}"


def test_claims_that_could_not_be_checked_are_said_to_be(scripted: Any) -> None:
    agent = make_agent(scripted()).searching(Broken())
    (found,) = calls(agent, ("claims", {"response": "The sky is blue."}))
    assert read(found).splitlines()[:2] == ["UNDECIDED: 1 not checked", "  [1] not checked: The sky is blue."]


class Broken:
    """A search that fails."""

    name = "broken"

    async def search(self, query: str, count: int = 5, language: Any = "en") -> list[Any]:
        from haluagent.errors import SearchError

        raise SearchError("the search is being repaired: try again tomorrow")


@pytest.mark.parametrize("said", ["Please refund order DD-20933.", "请退掉订单 DD-20933。"])
def test_a_call_is_verified_without_a_model(said: str, scripted: Any) -> None:
    model = scripted()
    right, wrong, unfit = calls(
        make_agent(model),
        ("verify_call", {"run": run_of(said), "call": refund("DD-20933")}),
        ("verify_call", {"run": run_of(said) | {"answer": "It is done."}, "call": refund("DD-20993")}),
        ("verify_call", {"run": run_of(said), "call": {"tool": "create_refund", "arguments": {}}}),
    )
    assert read(right) == "valid: create_refund" and right.structured_content["status"] == "valid"
    assert read(wrong).splitlines() == [
        "fabricated: create_refund",
        "  order_id: id 'DD-20993' comes from nowhere in the run",
    ]
    assert read(unfit).startswith("invalid: create_refund\n") and "order_id" in read(unfit)
    assert not model.seen


def test_a_call_whose_objects_came_as_text(scripted: Any) -> None:
    """MCP Inspector 0.15 sends them so, and many models do."""
    arguments = {"run": json.dumps(run_of("Refund DD-20933.")), "call": json.dumps(refund("DD-20933"))}
    (found,) = calls(make_agent(scripted()), ("verify_call", arguments))
    assert read(found) == "valid: create_refund"


def test_a_search_in_the_users_documents(scripted: Any, tmp_path: Path) -> None:
    texts = {"en.txt": "Returns are free within 30 days.", "zh.txt": "自收货之日起七天内可以无理由退货。"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    index = LocalIndex(tmp_path / "index.db")
    index.add([tmp_path])
    english, chinese, none = calls(
        make_agent(scripted()).searching(index),
        ("search_documents", {"query": "How long are returns free?", "limit": 1}),
        ("search_documents", {"query": "无理由退货"}),
        ("search_documents", {"query": "xylophone"}),
    )
    for found, text in zip((english, chinese), texts.values(), strict=True):
        (hit,) = found.structured_content["results"]
        assert hit["text"] == text and text in read(found) and hit["url"] in read(found)
    assert read(none).startswith("nothing found") and none.structured_content["results"] == []


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "a blank text": ("detect", {"response": " "}, "`response` should be a text that is not blank"),
    "no answer": ("check", {"documents": "A text."}, "`answer` is missing"),
    "another field": ("claims", {"response": "A.", "refs": ["B."]}, "`refs` is no field here: there are response"),
    "a number for a text": ("check", {"answer": 5, "documents": "A text."}, "`answer` should be a text"),
    "no passages": ("search_documents", {"query": "x", "limit": 0}, "`limit` should be a whole number from 1 to 20"),
    "no index": ("search_documents", {"query": "x"}, "add some with `haluagent index add PATH`"),
    "no reference": ("claims", {"response": "The sky is blue."}, "there is no reference and no search"),
    "a run that is none": ("verify_call", {"run": {"turns": [{"role": "robot"}]}, "call": refund("1")}, "turns[0].role"),
    "a call that is none": ("verify_call", {"run": run_of("Hello."), "call": {"arguments": {}}}, "`call` should be an object"),
    "half a character in a text of JSON": (
        "verify_call", {"run": run_of("Hello."), "call": r'{"tool": "x", "arguments": {"a": "\ud800"}}'}, "half a character"
    ),
    "NaN in a text of JSON": (
        "verify_call", {"run": run_of("Hello."), "call": '{"tool": "x", "arguments": {"a": NaN}}'}, "`call` should be an object"
    ),
    "a deep text of JSON": ("verify_call", {"run": "[" * 200 + "]" * 200, "call": refund("1")}, "nested too deep"),
    "a run that is a text": ("verify_call", {"run": "Hello.", "call": refund("1")}, "`run` should be an object"),
    "another language": ("detect", {"response": "그것은 사실이 아닙니다. 바다는 깊습니다."}, "Korean"),
    "too long": ("detect", {"response": "A text.", "question": "x" * 2000}, "characters, and 1000 are allowed"),
    "deep": ("verify_call", {"run": json.loads("[" * 200 + "]" * 200), "call": refund("1")}, "nested too deep"),
}  # fmt: skip


def test_what_is_wrong_with_a_call_is_one_line(scripted: Any) -> None:
    found = calls(make_agent(scripted()), *((name, arguments) for name, arguments, _ in WRONG.values()), text=1000)
    for (what, (_, _, line)), result in zip(WRONG.items(), found, strict=True):
        assert result.is_error and result.structured_content is None, what
        assert line in read(result) and "\n" not in read(result), what


def test_a_tool_that_is_not_there(scripted: Any) -> None:
    with pytest.raises(BaseExceptionGroup) as caught:
        calls(make_agent(scripted()), ("delete", {}))
    assert caught.group_contains(MCPError, match="there is no tool 'delete': there are detect, check", depth=None)


class Unloaded(ScriptedModel):
    """A model whose weights come later."""

    problem: Exception | None = ConfigError("the weights are not here: run `haluagent model pull`")
    starts = 0

    def start(self) -> None:
        self.starts += 1
        if self.problem:
            raise self.problem


def test_the_model_is_loaded_by_the_first_call_that_needs_it(capsys: pytest.CaptureFixture[str]) -> None:
    model = Unloaded(ScriptedModel.calculate)

    async def ask(url: str) -> None:
        async with connected(url) as client:
            found = await client.call_tool("verify_call", {"run": run_of("Hello."), "call": refund("DD-1")})
            assert not found.is_error and model.starts == 0
            for problem in (model.problem, ModelError("the engine did not start")):
                model.problem = problem
                found = await client.call_tool("detect", TEXT)
                assert found.is_error and read(found) == f"the model cannot be loaded: {problem}"
            model.problem = None
            heard: list[str | None] = []
            for _ in range(2):
                found = await client.call_tool("detect", TEXT, progress_callback=_noting(heard))
                assert not found.is_error
            assert heard.count("loading the model") == 1
            assert (
                model.starts == 2 + 1 + 2
            )  # failures; the loading; and each detection, for which it is loaded already

    with serving(make_agent(model)) as server:
        asyncio.run(ask(server.url))
    assert "Traceback" not in capsys.readouterr().err


def _noting(heard: list[str | None]) -> Callable[[float, float | None, str | None], Awaitable[None]]:
    async def note(done: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    return note


def test_a_model_that_fails_is_an_error_with_what_was_found(scripted: Any) -> None:
    def fail(messages: Any) -> str:
        raise ModelError("the endpoint is gone: is the server running?")

    detected, checked = calls(
        make_agent(scripted(fail, choose=fail)),
        ("detect", TEXT),
        ("check", {"answer": "The sky is blue.", "documents": "Grass is green."}),
    )
    assert detected.is_error and detected.structured_content["stop"] == "error"
    assert read(detected).startswith("NOT VERIFIED") and "error: the endpoint is gone" in read(detected)
    assert checked.is_error and read(checked) == "the endpoint is gone: is the server running?"


def test_a_bug_is_told_in_one_line(scripted: Any) -> None:
    def fail(messages: Any) -> float:
        raise KeyError("a secret text")

    (found,) = calls(
        make_agent(scripted(choose=fail)), ("check", {"answer": "A text.", "documents": "Grass is green."})
    )
    assert found.is_error and read(found) == "something unexpected went wrong: the server's log says where"


@pytest.mark.parametrize("era", ERAS)
def test_a_call_that_is_cancelled_ends_at_the_model(era: str, scripted: Any) -> None:
    held = Held(scripted)

    async def ask(url: str, state: Callable[[], tuple[int, int]]) -> None:
        async with connected(url, era) as client:
            calling = asyncio.create_task(client.call_tool("detect", TEXT))
            waiting = asyncio.create_task(client.call_tool("detect", TEXT))
            while not (held.asked and state() == (1, 1)):
                await asyncio.sleep(0.005)
            for task in (waiting, calling):
                task.cancel()
            while state() != (0, 0):
                await asyncio.sleep(0.005)
            asked = held.asked
            assert held.cancelled == asked == 1
            held.go.set()
            assert not (await client.call_tool("detect", TEXT)).is_error

    with serving(held.agent, running=1) as server:
        asyncio.run(ask(server.url, server.app.state.scheduler.queue.state))


def test_calls_wait_for_their_turn_and_hear_of_it(scripted: Any) -> None:
    held = Held(scripted)

    async def ask(url: str, state: Callable[[], tuple[int, int]]) -> None:
        heard: list[str | None] = []
        async with connected(url) as client:
            first = asyncio.create_task(client.call_tool("detect", TEXT))
            while not held.asked:
                await asyncio.sleep(0.005)
            second = asyncio.create_task(client.call_tool("detect", TEXT, progress_callback=_noting(heard)))
            while not heard:
                await asyncio.sleep(0.005)
            assert state() == (1, 1) and heard == ["waiting, with 0 requests before this one"]
            held.go.set()
            assert not (await first).is_error and not (await second).is_error

    with serving(held.agent, running=1) as server:
        asyncio.run(ask(server.url, server.app.state.scheduler.queue.state))


def test_what_takes_too_long_says_what_it_has(scripted: Any) -> None:
    held = Held(scripted)
    (found,) = calls(held.agent, ("detect", TEXT), deadline=0.2)
    assert read(found).startswith("NOT VERIFIED") and found.structured_content["stop"] == "budget"


def test_the_server_stops_while_a_call_is_in_flight(scripted: Any) -> None:
    held = Held(scripted)

    async def ask(server: Serving) -> Any:
        async with connected(server.url, ERAS[0]) as client:
            calling = asyncio.create_task(client.call_tool("detect", TEXT))
            while not held.asked:
                await asyncio.sleep(0.005)
            server.stop()
            return await calling

    with serving(held.agent) as server:
        found = asyncio.run(ask(server))
    assert found.is_error and "the server is stopping" in read(found) and held.cancelled == held.asked


INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}  # fmt: skip
ACCEPT = {"Accept": "application/json, text/event-stream"}


def test_only_this_machine_may_ask(scripted: Any) -> None:
    with serving(make_agent(scripted())) as server:
        for header in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
            assert http.post(server.url + "/mcp", json=INITIALIZE, headers=ACCEPT | header).status_code == 403
        assert http.post(server.url + "/mcp", json=INITIALIZE, headers=ACCEPT).status_code == 200
        assert http.post(server.url + "/mcp", content=b" " * 3_000_000, headers=ACCEPT).status_code == 413


def test_the_sdk_guards_against_dns_rebinding_as_well(scripted: Any) -> None:
    """`SiteCheck` comes first; without it the SDK refuses the same."""
    settings = ServerSettings(grace=0.2)
    app = make_app(make_agent(scripted()), settings)
    app.user_middleware.clear()
    with Serving(make_agent(scripted()), settings, app=app) as server:
        evil = http.post(server.url + "/mcp", json=INITIALIZE, headers=ACCEPT | {"Host": "evil.example"})
        assert evil.status_code == 421


def test_with_a_token(scripted: Any) -> None:
    async def ask(url: str) -> Any:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with (
            httpx2.AsyncClient(headers=headers) as given,
            Client(streamable_http_client(url + "/mcp", http_client=given)) as client,
        ):
            return await client.call_tool("detect", TEXT)

    with serving(make_agent(scripted(scripted.calculate)), token=TOKEN) as server:
        assert http.post(server.url + "/mcp", json=INITIALIZE, headers=ACCEPT).status_code == 401
        wrong = ACCEPT | {"Authorization": "Bearer wrong"}
        assert http.post(server.url + "/mcp", json=INITIALIZE, headers=wrong).status_code == 401
        assert read(asyncio.run(ask(server.url))).startswith("HALLUCINATION FOUND")
