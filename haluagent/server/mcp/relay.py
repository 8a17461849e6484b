"""A proxy between an MCP client and the server that it starts, over standard input and output.

Messages of any version of the protocol are passed on, one JSON object a line, so that resources, prompts, progress and
cancellation work as without the proxy. Only `tools/call` waits for a decision. Each message of the client is written anew
from what was read: the server cannot understand a line in another way than the check did.
"""

import json
import logging
import os
import queue
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from haluagent.checks.runs.guard import CheckedCall, OnError
from haluagent.errors import ConfigError
from haluagent.report.lines import clean
from haluagent.server.mcp.session import McpSession, result_texts

CONTEXT = "haluagent/context"  # the key in `_meta` of a call: a text or a list of texts, what the user said
FINDINGS = "haluagent/validation"  # the key in `_meta` of the result of a stopped call
CONTEXT_TOOL = "set_context"
SECONDS = 30.0  # for the server's list of its tools
GRACE = 1.0  # seconds for the server's last answers; then a third of it to end by itself, and another after SIGTERM
CHUNK = 1 << 16
INVALID_REQUEST, INVALID_PARAMS, PARSE_ERROR = -32600, -32602, -32700
ENDED = 3  # the exit code if the server ended before the client did

Message = dict[str, Any]
logger = logging.getLogger(__name__)

DESCRIPTION = {
    "name": CONTEXT_TOOL,
    "description": "Hand over what the user said, word for word, before you call other tools, and again whenever the user has said "
    "something new. Ids, amounts, dates and addresses in calls are checked against it and against earlier results. Never "
    "write anything here that the user did not say.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "the user's own words"}},
        "required": ["text"],
        "additionalProperties": False,
    },
}


class McpRelay:
    """The proxy of one session. `command` is the server; with `context_tool` the client is offered `set_context`, too."""

    def __init__(
        self, command: Sequence[str], session: McpSession, *, on_error: OnError, context_tool: bool = False
    ) -> None:
        self._session = session
        self._on_error = on_error
        self._context_tool = context_tool
        self._own = f"haluagent-{secrets.token_hex(4)}-"  # the ids of the proxy's own requests begin so
        self._listings: dict[str, Future[Message]] = {}
        self._asked: dict[str, Message] = {}  # the requests of the client that wait for a response, by their ids
        self._asking: dict[str, str] = {}  # those of the server, by their ids: the method
        self._names: set[str] = set()
        self._listed = False
        self._ended: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._to_client, self._to_server = threading.Lock(), threading.Lock()
        try:
            self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except (OSError, ValueError) as error:
            raise ConfigError(f"{command[0]} cannot be started: {getattr(error, 'strerror', None) or error}") from error

    def run(self) -> int:
        """Relay until the client closes standard input (exit code 0), or the server ends before that (3)."""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        for serve in (self._serve_client, self._serve_server):
            threading.Thread(target=serve, daemon=True).start()
        ended = None
        try:
            ended = self._ended.get()
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it ends already
            if ended is None:
                self._server.terminate()
            self._close_session()  # at once: a client may not wait for long
            code = self._end_server(asked=ended == self._serve_client)
        if ended == self._serve_client:
            return 0
        logger.error("the server ended with exit code %s", code)
        return ENDED

    def _close_session(self) -> None:
        try:
            self._session.close()
        except Exception as error:  # whatever the error, the server is not left behind
            logger.error("the report on the session could not be logged: %s", error)

    def _end_server(self, *, asked: bool) -> int:
        """Let the server end by itself, or else end it: within 2 s, after which clients kill. Return its exit code."""
        if asked:
            assert self._server.stdin is not None
            with suppress(OSError):
                self._server.stdin.close()
            with suppress(queue.Empty):
                self._ended.get(timeout=GRACE)  # its last answers
        for end in (self._server.terminate, self._server.kill):
            try:
                return self._server.wait(GRACE / 3)
            except subprocess.TimeoutExpired:
                end()
        return self._server.wait()

    def _serve_client(self) -> None:
        try:
            for line in lines(sys.stdin.fileno()):
                self._from_client(line)
        finally:
            self._ended.put(self._serve_client)

    def _serve_server(self) -> None:
        assert self._server.stdout is not None
        try:
            for line in lines(self._server.stdout.fileno()):
                self._from_server(line)
        finally:
            self._ended.put(self._serve_server)

    def _from_client(self, line: bytes) -> None:
        try:
            message = json.loads(line)
            json.dumps(message, allow_nan=False)
        except (ValueError, RecursionError):
            return self._refuse(None, PARSE_ERROR, "this line is no JSON")
        if not isinstance(message, dict):
            return self._refuse(None, INVALID_REQUEST, "a message is one JSON object; batches are not supported")
        method, number = message.get("method"), message.get("id")
        if method is None:
            self._answered(message)
        elif method == "tools/call":
            if number is None or not isinstance(message.get("params"), dict):
                logger.warning("a tools/call without id or params was not passed on")
                return None if number is None else self._refuse(number, INVALID_PARAMS, "params is no object")
            if not self._call(message):
                return None
        if method is not None and number is not None:
            self._asked[_key(number)] = message
        self._send_to_server(message)

    def _call(self, message: Message) -> bool:
        """Check a call, and return whether it goes to the server. If not, it is answered here."""
        number, params = message["id"], message["params"]
        name, arguments, meta = params.get("name"), params.get("arguments"), params.get("_meta")
        if not isinstance(name, str):
            self._refuse(number, INVALID_PARAMS, "the name of a tool is a text")
            return False
        arguments = {} if arguments is None else arguments
        given = arguments if isinstance(arguments, dict) else json.dumps(arguments)
        try:
            for text in self._context(meta):
                self._session.hear(text, complete=True)
            for answer in (params.get("inputResponses") or {}).values():
                self._session.hear(json.dumps(answer, ensure_ascii=False))
            self._list_tools(meta)
            if self._context_tool and name == CONTEXT_TOOL and name not in self._names:
                self._take_context(number, given)
                return False
            if name not in self._names:  # it may be new: not every client lets the server say so
                self._listed = False
                self._list_tools(meta)
            checked = self._session.check(name, given)
        except Exception as error:  # whatever the error, the call is unchecked
            logger.error("%s could not be checked: %s: %s", clean(name)[:80], type(error).__name__, error)
            if self._on_error == "open":
                return True
            self._answer(
                number, f"This call was not executed, because it could not be checked: {clean(str(error))}", True
            )
            return False
        status = checked.validation.status if checked.validation else "unchecked"
        logger.info("%s %s%s", clean(name)[:80], status, "" if checked.allowed else ", not executed")
        if not checked.allowed:
            self._stopped(number, checked)
        return checked.allowed

    def _context(self, meta: Any) -> list[str]:
        """Take the user's words out of a call's `_meta`: they are not for the server."""
        given = meta.pop(CONTEXT, []) if isinstance(meta, dict) else []
        given = [given] if isinstance(given, str) else given
        if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
            raise ConfigError(f"{CONTEXT} in _meta is neither a text nor a list of texts")
        return given

    def _take_context(self, number: Any, arguments: Any) -> None:
        text = arguments.get("text") if isinstance(arguments, dict) else None
        if not isinstance(text, str):
            return self._answer(number, "set_context takes `text`: what the user said, word for word", True)
        self._session.hear(text, complete=True)
        self._answer(number, "noted", False)

    def _list_tools(self, meta: Any) -> None:
        """Ask the server for its tools, before the first call and once it says that they changed."""
        if self._listed:
            return
        tools: list[Any] = []
        seen: list[Any] = []
        self._listed, cursor = True, None
        try:
            while True:
                number = f"{self._own}{len(tools)}-{secrets.token_hex(4)}"
                params: Message = {"cursor": cursor} if cursor is not None else {}
                if isinstance(meta, dict):  # newer versions of the protocol say there who is asking
                    params["_meta"] = {key: value for key, value in meta.items() if key != "progressToken"}
                waiting = self._listings[number] = Future()
                self._send_to_server({"jsonrpc": "2.0", "id": number, "method": "tools/list", "params": params})
                answer = waiting.result(SECONDS)
                found = answer.get("result")
                if not isinstance(found, dict) or not isinstance(found.get("tools"), list):
                    raise ConfigError("the server does not list its tools")
                tools += found["tools"]
                cursor = found.get("nextCursor")
                if not cursor or cursor in seen:  # a list without end is of no use
                    break
                seen.append(cursor)
            self._session.offer(tools)
        except Exception:
            self._listed = False
            raise
        self._names = {str(tool.get("name")) for tool in tools if isinstance(tool, dict)}

    def _stopped(self, number: Any, checked: CheckedCall) -> None:
        found = checked.validation.model_dump(mode="json", exclude={"args"}) if checked.validation else None
        self._answer(
            number, checked.feedback or "This call was not executed.", True, {FINDINGS: found} if found else None
        )

    def _answered(self, message: Message) -> None:
        """Take in what the client answers to a request of the server, except for the texts of its model."""
        method, result = self._asking.pop(_key(message.get("id")), ""), message.get("result")
        if not isinstance(result, dict) or method in ("", "sampling/createMessage"):
            return
        text = json.dumps(result, ensure_ascii=False)
        if method == "elicitation/create":
            self._session.hear(text)
        else:
            self._session.read(method, text)

    def _from_server(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            logger.warning("a line of the server is no JSON, and was left out")
            return
        if isinstance(message, dict):
            number, method = message.get("id"), message.get("method")
            if method is not None and number is not None:
                self._asking[_key(number)] = str(method)
            elif method == "notifications/tools/list_changed":
                self._listed = False
            elif isinstance(number, str) and number in self._listings:
                self._listings.pop(number).set_result(message)
                return
            elif method is None and self._answer_of_server(self._asked.pop(_key(number), {}), message):
                line = json.dumps(message).encode()
        self._send_to_client(line)

    def _answer_of_server(self, request: Message, message: Message) -> bool:
        """Take in the answer to a request of the client. Return whether it was changed."""
        method, result = request.get("method"), message.get("result")
        if not isinstance(result, dict) or result.get("resultType") == "input_required":
            return False
        try:
            if method == "tools/list":
                names = {tool.get("name") for tool in result.get("tools") or () if isinstance(tool, dict)}
                if self._context_tool and result.get("nextCursor") is None and CONTEXT_TOOL not in names:
                    result["tools"] = [*(result.get("tools") or ()), DESCRIPTION]
                    return True
                return False
            params = request.get("params") or {}
            if method == "tools/call":
                for text in result_texts(result):
                    arguments = params.get("arguments") if isinstance(params.get("arguments"), dict) else None
                    self._session.read(params["name"], text, arguments, failed=bool(result.get("isError")))
            elif method is not None:
                self._session.read(method, json.dumps(result, ensure_ascii=False))
        except Exception as error:  # the result is the client's all the same
            logger.error("a result could not be read: %s: %s", type(error).__name__, error)
        return False

    def _answer(self, number: Any, text: str, failed: bool, meta: Message | None = None) -> None:
        result: Message = {"content": [{"type": "text", "text": text}], "isError": failed, "resultType": "complete"}
        if meta:
            result["_meta"] = meta
        self._send_to_client(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode())

    def _refuse(self, number: Any, code: int, why: str) -> None:
        error = {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": why}}
        self._send_to_client(json.dumps(error).encode())

    def _send_to_client(self, line: bytes) -> None:
        with self._to_client:
            write(sys.stdout.fileno(), line + b"\n")

    def _send_to_server(self, message: Message) -> None:
        assert self._server.stdin is not None
        with self._to_server:
            write(self._server.stdin.fileno(), json.dumps(message).encode() + b"\n")


def lines(source: int) -> Iterator[bytes]:
    """Yield the lines of a file descriptor that are not empty, until its end."""
    parts: list[bytes] = []
    while chunk := os.read(source, CHUNK):
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            if line := b"".join([*parts, part]).strip():
                yield line
            parts.clear()
        parts.append(rest)


def write(target: int, data: bytes) -> None:
    """Write it all, unless the other side has gone: that is noticed where it is read."""
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(target, rest) :]
    except (BrokenPipeError, ValueError):
        pass


def _key(number: Any) -> str:
    """Return an id as a text that tells 1 from "1"."""
    return json.dumps(number)
