"""`haluagent mcp`: what it refuses, and the tools over standard input and output, as the SDK's own client starts them."""

import asyncio
import json
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from serving import TEXT, http

from haluagent.cli.main import run as haluagent

MANY = " ".join(f"It is {number} * 7 = {number * 7}." for number in range(10, 40))


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert haluagent(["mcp", *arguments]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    return line


def test_what_is_refused_with_a_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HALUAGENT_SERVER_TOKEN", raising=False)
    for given in (["--host", "127.0.0.1"], ["--port", "0"], ["--token-file", "token.txt"]):
        assert "give --http as well" in refused(capsys, *given)
    line = refused(capsys, "--http", "--host", "0.0.0.0")
    assert "binding to 0.0.0.0 lets anyone on the network use it" in line
    assert "there is no embedded model 'none.gguf'" in refused(capsys, "--model", "none.gguf")


def test_the_package_and_its_command_load_no_sdk() -> None:
    code = (
        "import sys, haluagent, haluagent.cli.main; sys.exit(bool({'mcp', 'starlette', 'uvicorn'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def command(endpoint: Any, *options: str) -> list[str]:
    given = ["mcp", "--base-url", endpoint.base_url, "--search", "none", "--sandbox", "none", *options]
    return [sys.executable, "-m", "haluagent", *given]


@asynccontextmanager
async def started(endpoint: Any, log: Path, era: Any = "auto") -> AsyncIterator[Client]:
    """A client that starts the server; what that writes to standard error is in `log`."""
    program, *arguments = command(endpoint)
    environment = {"HALUAGENT_CONFIG": "", "HALUAGENT_CACHE": str(log.parent)}
    parameters = StdioServerParameters(command=program, args=arguments, env=environment)
    with log.open("w") as errors:
        async with Client(stdio_client(parameters, errlog=errors), mode=era) as client:
            yield client


def test_a_client_starts_it_and_calls_its_tools(endpoint: Any, tmp_path: Path) -> None:
    heard: list[str | None] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async def ask() -> None:
        async with started(endpoint, tmp_path / "log") as client:
            assert "do not call it checked" in " ".join((client.instructions or "").split())
            for tool in (await client.list_tools()).tools:
                assert tool.description and tool.input_schema["type"] == "object"
                assert tool.output_schema is not None and tool.output_schema["type"] == "object"
                assert not {"oneOf", "anyOf", "allOf"} & tool.input_schema.keys()  # some clients take none at the top
            wrong = await client.call_tool("detect", TEXT, progress_callback=note)
            assert wrong.content[0].text.startswith("HALLUCINATION FOUND")
            assert wrong.structured_content["hallucination"] is True
            chinese = await client.call_tool("detect", {"response": "一箱有 12 * 7 = 85 支笔。"})
            assert chinese.content[0].text.startswith("发现幻觉")
            none = await client.call_tool("search_documents", {"query": "pens"})
            assert none.is_error and none.content[0].text.startswith("there are no documents to search")

    asyncio.run(ask())
    assert heard[0] == "loading the model" and [message[:4] for message in heard[1:] if message] == ["[1] ", "[2] "]
    log = (tmp_path / "log").read_text("utf-8")
    assert "waits for an MCP client" in log and "Traceback" not in log and "boxes" not in log
    assert re.search(r"detect done \d+\.\d{3} s\n", log) and re.search(r"search_documents invalid \d", log)


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
def test_a_call_that_is_cancelled_asks_the_endpoint_no_more(era: str, endpoint: Any, tmp_path: Path) -> None:
    log, say = tmp_path / "log", endpoint.say
    one = {"response": "It is 12 * 7 = 84."}

    async def ask() -> None:
        async with started(endpoint, log, era) as client:
            await client.call_tool("detect", one)
            for_one = endpoint.chats
            loop, go = asyncio.get_running_loop(), asyncio.Event()

            def held(messages: Any) -> str:
                asyncio.run_coroutine_threadsafe(go.wait(), loop).result(60)
                return str(say(messages))

            endpoint.say = held
            calling = asyncio.create_task(client.call_tool("detect", {"response": MANY}))
            while endpoint.chats == for_one:
                await asyncio.sleep(0.005)
            calling.cancel()
            while "detect gone" not in log.read_text("utf-8"):
                await asyncio.sleep(0.005)
            asked = endpoint.chats
            assert asked - for_one < 10  # of 30 sentences
            go.set()
            endpoint.say = say
            await client.call_tool("detect", one)
            assert endpoint.chats == asked + for_one

    asyncio.run(ask())


def message(number: int, method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"


LOUD = """
import os
from haluagent import Demo, Sentence, ToolContext, ToolResult, tool

print("a tool's file is read")

@tool(
    description={"en": "speaks", "zh": "会说话"},
    demos=[Demo(language=language, question="Q?", response="A.", thought="T", call="loud(sentence=S1)", observation="O")
           for language in ("en", "zh")],
    obvious=lambda context, sentence: {"sentence": sentence.name},
)
async def loud(context: ToolContext, sentence: Sentence) -> ToolResult:
    print("the tool speaks", flush=True)
    os.write(1, b"and speaks\\n")
    return ToolResult(observation="loud", label="supported")
"""


def test_standard_output_has_the_protocol_alone(endpoint: Any, tmp_path: Path) -> None:
    """Whatever a tool writes there. When standard input ends, so does the process."""
    tools = tmp_path / "tools.py"
    tools.write_text(LOUD)
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    arguments = {"response": "The sea is deep."}
    with subprocess.Popen(
        command(endpoint, "--tools", str(tools)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:  # fmt: skip
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(message(1, "initialize", **client))
        process.stdin.write(message(2, "tools/call", name="detect", arguments=arguments))
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        rest, errors = process.stdout.read(), process.stderr.read()
        assert process.wait(60) == 0
    assert [answer["id"] for answer in answers] == [1, 2] and rest == ""
    assert answers[1]["result"]["content"][0]["text"].startswith("NO HALLUCINATION FOUND")
    assert all(line in errors for line in ("a tool's file is read", "the tool speaks", "and speaks"))


def test_over_http_it_says_where_and_stops_at_a_signal(endpoint: Any) -> None:
    with subprocess.Popen(command(endpoint, "--http", "--port", "0"), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "scripted is not calibrated" in process.stderr.readline()
        found = re.match(
            r"HaluAgent listens on (http://127\.0\.0\.1:\d+/mcp) \(model scripted\)", process.stderr.readline()
        )
        assert found

        async def ask() -> Any:
            async with Client(found[1]) as client:
                return await client.call_tool("detect", TEXT)

        assert asyncio.run(ask()).structured_content["hallucination"] is True
        assert http.post(found[1], headers={"Host": "evil.example"}).status_code == 403
        process.send_signal(signal.SIGTERM)
        assert "Traceback" not in process.stderr.read()
        assert process.wait(60) == 0
