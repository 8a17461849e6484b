"""`haluagent mcp-proxy` between the SDK's own client and a real server, one of whose tools has a side effect."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from waiting import until

from haluagent.checks.runs.audit import read_audit
from haluagent.cli.main import run as haluagent

SERVER = """
import sys
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("shop")

@server.tool()
def find_order(customer: str) -> dict[str, str]:
    "Find a customer's order."
    return {"order_id": "ORD-20933", "customer": customer}

@server.tool()
def refund(order_id: str, amount: float) -> str:
    "Refund an order."
    with open(sys.argv[1], "a") as file:
        file.write(f"{order_id} {amount}\\n")
    return f"refunded {order_id}"

@server.tool()
async def slow(context: Context) -> str:
    "Report progress."
    await context.report_progress(1, 2, "half")
    return "done"

@server.resource("shop://policy")
def policy() -> str:
    return "The flat refund of a lost parcel is 17.25."

server.run()
"""
ERAS = ("legacy", "2026-07-28")
CONTEXT = "haluagent/context"


@asynccontextmanager
async def shop(folder: Path, *options: str, era: Any = "auto") -> AsyncIterator[Client]:
    """A client of a shop behind the proxy. Its refunds are in `refunds`."""
    (program := folder / "server.py").write_text(SERVER)
    arguments = ["-m", "haluagent", "mcp-proxy", *options, "--", sys.executable, str(program), str(folder / "refunds")]
    parameters = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
    with (folder / "log").open("w") as errors:
        async with Client(stdio_client(parameters, errlog=errors), mode=era) as client:
            yield client


def in_shop(folder: Path, work: Callable[[Client], Awaitable[None]], *options: str, era: Any = "auto") -> list[str]:
    """Return the refunds that were made."""

    async def run() -> None:
        async with shop(folder, *options, era=era) as client:
            await work(client)

    asyncio.run(run())
    assert "Traceback" not in (folder / "log").read_text()
    made = folder / "refunds"
    return made.read_text().splitlines() if made.exists() else []


@pytest.mark.parametrize("era", ERAS)
def test_a_call_with_an_invented_id_does_not_run_and_a_corrected_one_does(tmp_path: Path, era: str) -> None:
    async def work(client: Client) -> None:
        meta = {CONTEXT: "Please refund 20 euros to Ms Ito."}
        found = await client.call_tool("find_order", {"customer": "Ms Ito"}, meta=meta)
        assert not found.is_error
        wrong = await client.call_tool("refund", {"order_id": "ORD-20993", "amount": 20})
        assert wrong.is_error and "id 'ORD-20993' comes from nowhere in the run" in wrong.content[0].text
        assert wrong.meta["haluagent/validation"]["status"] == "fabricated"
        right = await client.call_tool("refund", {"order_id": "ORD-20933", "amount": 20})
        assert not right.is_error and right.structured_content == {"result": "refunded ORD-20933"}

    assert in_shop(tmp_path, work, "--audit", str(tmp_path / "audit.jsonl"), era=era) == ["ORD-20933 20.0"]
    lines = list(read_audit(tmp_path / "audit.jsonl"))
    assert [line.action for line in lines[:3]] == ["emit", "revise", "emit"] and len(
        {line.run_id for line in lines}
    ) == 1
    assert lines[1].report and lines[1].report.tool_call_validations[0].stopped


def test_the_words_of_a_user_that_are_not_seen_stop_no_call(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        assert not (await client.call_tool("refund", {"order_id": "ORD-777", "amount": 31.5})).is_error
        wrong = await client.call_tool("refund", {"order_id": "ORD-777", "total": 31.5})
        assert wrong.is_error and "amount" in wrong.content[0].text and "ORD-777" not in wrong.content[0].text

    assert in_shop(tmp_path, work, "--audit", str(tmp_path / "audit.jsonl")) == ["ORD-777 31.5"]
    first = next(read_audit(tmp_path / "audit.jsonl")).report
    assert first and first.tool_call_validations[0].status == "unverified"


def test_the_user_and_resources_and_the_command_line_give_values(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        assert [tool.name for tool in (await client.list_tools()).tools] == [
            "find_order",
            "refund",
            "slow",
            "set_context",
        ]
        assert (await client.call_tool("set_context", {"text": "Refund order ORD-5551, the parcel is lost."})).content[
            0
        ].text == "noted"
        assert (await client.call_tool("set_context", {"words": "…"})).is_error
        call = {"order_id": "ORD-5551", "amount": 17.25}
        assert (await client.call_tool("refund", call)).is_error
        assert "17.25" in (await client.read_resource("shop://policy")).contents[0].text
        assert not (await client.call_tool("refund", call)).is_error
        assert not (await client.call_tool("refund", {"order_id": "TEST-88", "amount": 17.25})).is_error

    refunds = in_shop(tmp_path, work, "--context-tool", "--allow", "TEST-*")
    assert refunds == ["ORD-5551 17.25", "TEST-88 17.25"]


def test_after_its_retries_a_call_is_told_to_stop(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        meta = {CONTEXT: ["Hello.", "Refund my order."]}
        told = [
            await client.call_tool("refund", {"order_id": f"ORD-1000{n}", "amount": 1}, meta=meta) for n in range(2)
        ]
        assert all(one.is_error for one in told)
        assert ["Do not try it again" in one.content[0].text for one in told] == [False, True]
        nothing = await client.call_tool("delete_all", {})
        assert nothing.is_error and "there is no tool 'delete_all'" in nothing.content[0].text

    assert in_shop(tmp_path, work, "--retries", "1") == []


def test_progress_passes_through(tmp_path: Path) -> None:
    heard: list[Any] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        heard.append((done, total, message))

    async def work(client: Client) -> None:
        assert (await client.call_tool("slow", {}, progress_callback=note)).content[0].text == "done"

    in_shop(tmp_path, work)
    assert heard == [(1, 2, "half")]


ECHO = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "tools/list":
        result = {"tools": [{"name": "a", "inputSchema": {"type": "object", "properties": {"x": {"type": "string"}}}}]}
    else:
        result = {"content": [], "_meta": {"got": line}}
    print("no JSON")
    print(json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result}), flush=True)
"""


def relayed(tmp_path: Path, *lines: str, server: str = ECHO, options: tuple[str, ...] = ()) -> tuple[int, list[Any]]:
    """Return the exit code, and what comes back for some lines."""
    (program := tmp_path / "echo.py").write_text(server)
    done = subprocess.run(
        [sys.executable, "-m", "haluagent", "mcp-proxy", *options, "--", sys.executable, str(program)],
        input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def called(number: Any, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})


def test_what_is_malformed_reaches_no_tool(tmp_path: Path) -> None:
    lines = [
        "{",
        "[" + called(1, name="a") + "]",
        called(2, name=["a"]),
        called(3, name="a", arguments=[1]),
        called(None, name="a"),
    ]
    lines += [
        '{"id": 4, "method": "tools/call", "params": 1}',
        called(5, name="a", _meta={CONTEXT: 1}),
        '{"id": 9, "x": NaN}',
    ]
    twice = '{"id": 6, "method": "ping", "method": "tools/call", "params": {"name": "b", "name": "a", "arguments": {}}}'
    code, answers = relayed(tmp_path, *lines, twice)
    assert code == 0
    assert [answer["error"]["code"] for answer in answers if "error" in answer] == [
        -32700,
        -32600,
        -32602,
        -32602,
        -32700,
    ]
    assert [answer["id"] for answer in answers if answer.get("result", {}).get("isError")] == [3, 5]
    passed = [
        json.loads(answer["result"]["_meta"]["got"])
        for answer in answers
        if "got" in answer.get("result", {}).get("_meta", {})
    ]
    assert passed == [{"id": 6, "method": "tools/call", "params": {"name": "a", "arguments": {}}}]


def test_the_users_words_do_not_reach_the_server_and_the_log_ends_with_a_report(tmp_path: Path) -> None:
    context = {CONTEXT: "secret, K-12345", "other": 1}
    calls = [
        called(1, name="a", arguments={"x": "K-12345"}, _meta=context),
        called(2, name="a", arguments={"x": "K-54321"}),
    ]
    log = tmp_path / "audit.jsonl"
    _, answers = relayed(tmp_path, *calls, options=("--audit", str(log)))
    answers.sort(key=lambda answer: int(answer["id"]))
    assert json.loads(answers[0]["result"]["_meta"]["got"])["params"]["_meta"] == {"other": 1}
    *_, last = read_audit(log)  # the report on the session
    assert last.report and last.action == "revise"
    assert [(one.status, one.stopped) for one in last.report.tool_call_validations] == [
        ("valid", False),
        ("fabricated", True),
    ]


@pytest.mark.parametrize(("on_error", "runs"), [("closed", False), ("open", True)])
def test_a_server_that_lists_no_tools(tmp_path: Path, on_error: str, runs: bool) -> None:
    server = ECHO.replace('"tools": [', '"none": [')
    _, answers = relayed(tmp_path, called(1, name="a"), server=server, options=("--on-error", on_error))
    assert answers[0]["result"].get("isError", False) is not runs


@pytest.mark.parametrize("cursor", ["", "x"])
def test_a_list_of_tools_without_end_ends(tmp_path: Path, cursor: str) -> None:
    server = ECHO.replace('"tools": [', f'"nextCursor": "{cursor}", "tools": [')
    _, answers = relayed(tmp_path, called(1, name="a"), server=server)
    assert "got" in answers[0]["result"]["_meta"]


def test_a_malformed_list_of_tools_is_passed_on(tmp_path: Path) -> None:
    server = ECHO.replace('{"name": "a",', '{"name": [],')
    lines = ['{"id": 1, "method": "tools/list"}', '{"id": 2, "method": "ping"}']
    code, answers = relayed(tmp_path, *lines, server=server, options=("--context-tool",))
    assert code == 0 and [answer["id"] for answer in answers] == [1, 2]
    assert [tool["name"] for tool in answers[0]["result"]["tools"]] == [[]]


STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(sys.argv[1], "w") as file:
    file.write(f"{os.getpid()}\\n")
time.sleep(600)
"""


@pytest.mark.parametrize("leaves", [lambda process: process.terminate(), lambda process: process.stdin.close()])
def test_no_server_outlives_the_proxy(tmp_path: Path, leaves: Callable[[Any], None]) -> None:
    note = tmp_path / "pid"
    command = [sys.executable, "-m", "haluagent", "mcp-proxy", "--", sys.executable, "-c", STUBBORN, str(note)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        until(lambda: note.exists() and note.read_text().endswith("\n"))
        leaves(process)
        process.wait(240)
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


def test_a_server_that_ends_and_one_that_is_not_there(tmp_path: Path, capsys: Any) -> None:
    (program := tmp_path / "ends.py").write_text("import sys; sys.exit(5)")
    command = [sys.executable, "-m", "haluagent", "mcp-proxy", "--", sys.executable, str(program)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.wait(240) == 3
        assert process.stderr and "the server ended with exit code 5" in process.stderr.read()
    assert haluagent(["mcp-proxy", "--", "/no/such/server"]) == 2
    assert "/no/such/server cannot be started" in capsys.readouterr().err
