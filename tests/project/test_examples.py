"""The examples that the README and the documentation name work."""

import asyncio
import json
import re
import shlex
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from places import ROOT

import haluagent.agent
from haluagent import HaluAgent, SearchError, Tool, ToolContext, ToolError, ToolResult
from haluagent.checks.runs.calls.check import validate_calls
from haluagent.checks.runs.forms.reading import read
from haluagent.cli import main as cli
from haluagent.tooling.plugins import load_file
from haluagent.tooling.registry import Registry
from haluagent.types import ToolCall

EXAMPLES = ROOT / "examples"
RATES = {"1999-01-04": {"USD": 1.1789, "JPY": 133.73}, "2024-01-05": {"GBP": 0.8621}}


@pytest.fixture(scope="module")
def symbol() -> Tool:
    return load_file(EXAMPLES / "chemical_symbol.py")[0]


def test_an_added_tool_is_offered_described_and_called(scripted: Any, symbol: Tool) -> None:
    model = scripted(lambda messages: f"ACTION: chemical_symbol(sentence={scripted.checked(messages)})")
    with HaluAgent(model, tools=[symbol]) as agent:
        report = agent.detect("Which symbols?", "The symbol of gold is Au. The symbol of iron is Ir.")
    assert [entry.label for entry in report.sentences] == ["supported", "contradicted"]
    assert "the symbol of iron is Fe, not Ir" in report.sentences[1].evidence[0].text
    assert "tool-chemical-symbol" in model.grammars[0]
    assert "checks the chemical symbol" in model.seen[0][0]["content"]


def test_an_added_tool_is_not_offered_where_it_cannot_decide(scripted: Any, symbol: Tool) -> None:
    model = scripted(lambda messages: "ACTION: get_answer()")
    with HaluAgent(model, tools=[symbol]) as agent:
        agent.detect("Who?", "It was 3 o'clock.")
    assert all("chemical-symbol" not in grammar for grammar in model.grammars)


def test_the_tool_of_the_documentation_does_what_it_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], make_context: Callable[..., ToolContext]
) -> None:
    text = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (shown,) = re.findall(r"^\$ haluagent tools test --tools leap_year.py\n(.*?)^\$", text, re.DOTALL | re.MULTILINE)
    path = tmp_path / "leap_year.py"
    path.write_text(code, encoding="utf-8")
    assert cli.run(["tools", "test", "--tools", str(path)]) == 0
    assert capsys.readouterr().out == shown
    result = call(load_file(path)[0], make_context("Is 1900 special?", "It is. 1900 was a leap year."), "S2")
    assert result.label == "contradicted" and result.evidence[0].span == (7, 27)


class RateServer(ThreadingHTTPServer):
    """Answers like api.frankfurter.dev/v1, or with what `misbehave` says."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), RateHandler)
        self.misbehave: Callable[[RateHandler], None] | None = None
        self.released = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}/v1"


class RateHandler(BaseHTTPRequestHandler):
    server: RateServer

    def do_GET(self) -> None:
        if self.server.misbehave is not None:
            return self.server.misbehave(self)
        address = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        asked = address.path.rpartition("/")[2]
        day = max((day for day in RATES if day <= asked), default=None)
        rate = RATES[day].get(query["symbols"]) if day else None
        if rate is None or query["base"] != "EUR":
            return self.reply(404, {"message": "not found"})
        self.reply(200, {"amount": 1.0, "base": "EUR", "date": day, "rates": {query["symbols"]: rate}})

    def reply(self, status: int, body: Any, **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(data))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def rates(monkeypatch: pytest.MonkeyPatch) -> Iterator[RateServer]:
    server = RateServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    monkeypatch.setenv("EXCHANGE_RATE_URL", server.url)
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def exchange() -> Tool:
    return load_file(EXAMPLES / "exchange_rate.py")[0]


def call(item: Tool, context: ToolContext, sentence: str = "S1") -> ToolResult:
    asked = ToolCall(name=item.name, arguments={"sentence": sentence})
    return asyncio.run(Registry([item]).call(asked, context))


def test_the_demos_hold_against_the_service(rates: RateServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["tools", "test", "--tools", str(EXAMPLES / "exchange_rate.py")]) == 0
    assert capsys.readouterr().out.count("✓") == 2


@pytest.mark.parametrize(
    ("response", "label", "observation"),
    [
        ("On 1999-01-04 a euro was worth 1.18 dollars.", "supported", "1 EUR = 1.1789 USD on 1999-01-04"),
        ("On 1999-01-04, 100 euros were 117.89 US dollars.", "supported", "100 EUR = 117.89 USD on 1999-01-04"),
        (
            "On 1999-01-04, 1 EUR was 1.19 USD.",
            None,
            "1 EUR = 1.1789 USD on 1999-01-04, which is near 1.19: this does not decide it",
        ),
        (
            "On 1999-01-04, 1 EUR was 1 USD.",
            None,
            "1 EUR = 1.1789 USD on 1999-01-04, which is near 1: this does not decide it",
        ),
        ("On 1999-01-04, 1 EUR was 140 yen.", "contradicted", "1 EUR = 133.73 JPY on 1999-01-04, not 140"),
        ("On 2024-01-07, 1 euro was 0.8621 pounds.", "supported", "1 EUR = 0.8621 GBP on 2024-01-05"),
    ],
)
def test_a_rate_is_judged_as_precisely_as_it_is_stated(
    rates: RateServer,
    exchange: Tool,
    make_context: Callable[..., ToolContext],
    response: str,
    label: str,
    observation: str,
) -> None:
    result = call(exchange, make_context("What was the rate?", response))
    assert (result.label, result.observation) == (label, observation)
    assert result.evidence[0].url is not None and result.evidence[0].url.startswith(rates.url)


@pytest.mark.parametrize(
    "response",
    [
        "On 1998-01-04, 1 euro was 1.18 dollars.",  # before the first rate
        "On 1999-01-04, 1 euro was 0.70 pounds.",  # no such rate
        "On 2031-01-04, 1 euro was 0.8621 pounds.",  # the last rate there is says nothing about that day
    ],
)
def test_a_day_without_a_rate_decides_nothing(
    rates: RateServer, exchange: Tool, make_context: Callable[..., ToolContext], response: str
) -> None:
    with pytest.raises(ToolError, match="there is no reference rate for") as raised:
        call(exchange, make_context("What was the rate?", response))
    assert not isinstance(raised.value, SearchError)


@pytest.mark.parametrize(
    "response",
    ["A euro was worth a lot.", "On 1999-02-31, 1 euro was 2 dollars.", "1 euro is 2 euros on 1999-01-04."],
)
def test_it_is_offered_only_where_it_can_decide(
    exchange: Tool, make_context: Callable[..., ToolContext], response: str
) -> None:
    context = make_context("How much?", response)
    assert not Registry([exchange]).fits(exchange, context, context.sentence(1))


@pytest.mark.parametrize(
    ("misbehave", "message"),
    [
        (lambda handler: handler.reply(500, {}), "HTTPStatusError .*500"),
        (lambda handler: handler.reply(429, {}), "HTTPStatusError .*429"),
        (lambda handler: handler.reply(302, {}, Location="/v1/elsewhere"), "HTTPStatusError .*302"),
        (lambda handler: handler.reply(200, b"<html>"), "the answer is no exchange rate"),
        (lambda handler: handler.reply(200, {"rates": {"USD": "much"}}), "the answer is no exchange rate"),
        (lambda handler: handler.reply(200, [1.18]), "the answer is no exchange rate"),
        (lambda handler: handler.reply(200, b" " * 70_000), "the answer is too long"),
        (lambda handler: handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"), "RemoteProtocolError"),
        (lambda handler: handler.server.released.wait(30), "no answer within 0.2 s"),
    ],
)
def test_a_service_that_fails_decides_nothing(
    rates: RateServer,
    exchange: Tool,
    make_context: Callable[..., ToolContext],
    monkeypatch: pytest.MonkeyPatch,
    misbehave: Callable[[RateHandler], None],
    message: str,
) -> None:
    rates.misbehave = misbehave
    monkeypatch.setitem(exchange.run.__globals__, "SECONDS", 0.2 if "within" in message else 10.0)  # type: ignore[attr-defined]
    context = make_context("问", "1999-01-04，1欧元兑1.18美元。", language="zh")
    with pytest.raises(SearchError, match=f"无法查询汇率：{message}"):
        call(exchange, context)


def test_without_the_service_its_demos_are_not_verified(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EXCHANGE_RATE_URL", "http://127.0.0.1:1")
    assert cli.run(["tools", "test", "--tools", str(EXAMPLES / "exchange_rate.py"), "--lang", "en"]) == 3
    assert (
        "? en exchange_rate(sentence=S1) (the exchange rates could not be asked for: ConnectError"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize("name", ["chemical_symbol", "exchange_rate"])
def test_the_command_in_an_example_works(
    rates: RateServer, scripted: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    model = scripted([f"ACTION: {name}(sentence=S1)"])
    monkeypatch.setattr(haluagent.agent, "resolve", lambda *arguments, **options: model)
    monkeypatch.chdir(ROOT)
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8").replace("\\\\\n", " ")
    (command,) = re.findall(r"^ +haluagent (detect .*)$", text, re.MULTILINE)
    assert cli.run([*shlex.split(command), "--sandbox", "none", "--search", "none"]) == 1
    assert name in capsys.readouterr().out


ITEMS = sorted(path for path in EXAMPLES.glob("*.json") if not path.name.startswith("run."))


@pytest.mark.parametrize("path", ITEMS, ids=lambda path: path.name)
def test_the_inputs_of_the_demo_are_whole(path: Path) -> None:
    item = json.loads(path.read_text(encoding="utf-8"))
    assert {"question", "response"} <= item.keys() <= {"question", "response", "reference"}


@pytest.mark.parametrize(("name", "fabricated"), [("run.json", 0), ("run.zh.json", 1)])
def test_one_run_is_clean_and_one_has_an_invented_number(name: str, fabricated: int) -> None:
    statuses = [one.status for one in validate_calls(read(EXAMPLES / name))]
    assert len(statuses) == 2 and statuses.count("fabricated") == fabricated
