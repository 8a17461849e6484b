"""A request whose answer is checked."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import httpx
from starlette.responses import Response

from haluagent.server.bodies import read
from haluagent.server.problems import HttpProblem
from haluagent.server.proxy import upstream as upstreams
from haluagent.server.proxy.check import AnswerChecker
from haluagent.server.proxy.conversation import REPORT, Conversation, Desk, headers_of, settle
from haluagent.server.proxy.forms import AnswerForm, Data
from haluagent.server.proxy.records import CheckedAnswer, Finding
from haluagent.server.proxy.relay import Relay, alive, answered, passed_back
from haluagent.server.proxy.settings import ProxySettings
from haluagent.server.proxy.sse import events
from haluagent.server.proxy.streamed import Events, annotated, held, revised

Ask = Callable[[bytes], Awaitable[httpx.Response]]


class Complete(NamedTuple):
    """A complete answer as it came, and its JSON."""

    body: bytes
    data: Data


class Exchange:
    """A request and the answers to it. `ask` sends a body to the upstream and returns the answer."""

    def __init__(self, settings: ProxySettings, checker: AnswerChecker, desk: Desk, ask: Ask) -> None:
        self._settings, self._checker, self._desk, self._ask = settings, checker, desk, ask
        self._longest = settings.server.body

    async def respond(self, form: AnswerForm, body: bytes, headers: dict[str, str]) -> Response:
        """Return the response to the client. Raises ConfigError for a body that programs read differently, so that what is
        checked is what the upstream answers, and HttpProblem where there is no answer."""
        request = await asyncio.to_thread(read, body, len(body))
        if self._settings.rules.holds and request.get("background"):
            raise HttpProblem(
                "invalid", "the answer of a background response cannot be held back: leave `background` out"
            )
        conversation = Conversation(form, request, self._settings, self._checker, headers)
        response = await self._ask(body)
        if not response.is_success:
            return passed_back(response)
        if is_stream(response):
            return self._stream(conversation, response)
        return await self._complete(conversation, response)

    def _stream(self, conversation: Conversation, response: httpx.Response) -> Response:
        came = self._events(response)
        match conversation.rules.policy:
            case "annotate":
                chunks = annotated(came, conversation, self._desk)
            case "block":
                chunks = held(came, conversation, self._desk)
            case "revise":
                chunks = revised(came, conversation, self._desk, self._stream_again, self._longest)
        headers = upstreams.passed(response.headers.raw, "content-encoding")
        told = upstreams.told({REPORT: conversation.report_id})
        return Relay(alive(chunks, self._desk), response.status_code, headers + told)

    def _events(self, response: httpx.Response) -> Events:
        return events(upstreams.decoded(response), self._longest)

    async def _stream_again(self, request: Data) -> Events:
        response = await self._asked_again(request)
        if not is_stream(response):
            raise HttpProblem("upstream", "the upstream's second answer is no stream")
        return self._events(response)

    async def _asked_again(self, request: Data) -> httpx.Response:
        response = await self._ask(json.dumps(request, ensure_ascii=False).encode())
        if not response.is_success:
            raise HttpProblem("upstream", f"the upstream's second answer has the status {response.status_code}")
        return response

    async def _complete(self, conversation: Conversation, response: httpx.Response) -> Response:
        form = conversation.form

        async def again(request: Data) -> Complete:
            return self._read(await upstreams.whole(await self._asked_again(request), self._longest), form)

        body = await upstreams.whole(response, self._longest)
        try:
            first = self._read(body, form)
        except HttpProblem as problem:
            self._desk.failed("upstream", str(problem))
            finding = Finding(verdict="unchecked", reason=str(problem))
            if not conversation.rules.allows(finding.verdict):
                raise
            conversation.answers[""] = CheckedAnswer(choice="", text="", finding=finding)
        else:
            chosen = await settle(conversation, self._desk, first, lambda found: form.texts(found.data), again)
            body = chosen.body
            if sent := conversation.sent:
                body = json.dumps(form.replaced(chosen.data, sent), ensure_ascii=False).encode()
        headers = upstreams.passed(response.headers.raw, "content-encoding")
        told = upstreams.told(headers_of(await self._desk.file(conversation)))
        return answered(body, response.status_code, headers + told)

    @staticmethod
    def _read(body: bytes, form: AnswerForm) -> Complete:
        """Return a complete answer. Raises HttpProblem for one that cannot be read."""
        try:
            data = json.loads(body)
            form.texts(data if isinstance(data, dict) else {})
        except (ValueError, RecursionError):
            raise HttpProblem(
                "upstream", "the upstream's answer cannot be read: it is not of the form of its API"
            ) from None
        return Complete(body, data)


def is_stream(response: httpx.Response) -> bool:
    """Return whether an answer is a stream of events."""
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower() == "text/event-stream"
