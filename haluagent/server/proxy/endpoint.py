"""What happens to a request to the proxy."""

from contextlib import AsyncExitStack
from functools import partial

import httpx
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from haluagent.errors import HaluAgentError
from haluagent.server.endpoint import receive_body
from haluagent.server.problems import HttpProblem, problem_of
from haluagent.server.proxy.chat import ChatForm
from haluagent.server.proxy.check import AnswerChecker, ProxyScheduler
from haluagent.server.proxy.conversation import Desk
from haluagent.server.proxy.exchange import Exchange
from haluagent.server.proxy.forms import AnswerForm
from haluagent.server.proxy.relay import passed_back, unless_gone
from haluagent.server.proxy.responses import ResponsesForm
from haluagent.server.proxy.settings import ProxySettings
from haluagent.server.proxy.upstream import Upstream

FORMS: dict[str, AnswerForm] = {"/chat/completions": ChatForm(), "/responses": ResponsesForm()}


class ProxyEndpoint:
    """Passes requests on (an ASGI application). The answers of two APIs are checked, all others are left alone."""

    def __init__(
        self, settings: ProxySettings, scheduler: ProxyScheduler, upstream: Upstream, checker: AnswerChecker, desk: Desk
    ) -> None:
        self._settings, self._scheduler, self._upstream = settings, scheduler, upstream
        self._checker, self._desk = checker, desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        async with AsyncExitStack() as stack:
            try:
                place = self._scheduler.enter()
                stack.callback(place.leave)
                body = await receive_body(request, self._settings.server.body)
                response = await unless_gone(receive, self._respond(request, body, stack))
            except (HttpProblem, HaluAgentError) as error:
                problem = problem_of(error)
                if problem.type == "upstream":
                    self._desk.failed("upstream", str(problem))
                response = problem.response()
            await response(scope, receive, send)

    async def _respond(self, request: Request, body: bytes, stack: AsyncExitStack) -> Response:
        path = _below_v1(request)
        form = FORMS.get(path) if request.method == "POST" else None
        if form is not None:
            ask = partial(self._ask, request, stack, path, plain=True)
            exchange = Exchange(self._settings, self._checker, self._desk, ask)
            return await exchange.respond(form, body, dict(request.headers))
        exact = request.scope["raw_path"].decode("ascii").removeprefix("/v1")
        return passed_back(await self._ask(request, stack, exact, body))

    async def _ask(
        self, request: Request, stack: AsyncExitStack, path: str, body: bytes, plain: bool = False
    ) -> httpx.Response:
        """Return the upstream's answer, which is closed at the end of the request."""
        query: bytes = request.scope["query_string"]
        response = await self._upstream.send(request.method, path, query, request.headers.raw, body, plain)
        stack.push_async_callback(response.aclose)
        return response


def _below_v1(request: Request) -> str:
    """Return a path below /v1 in one form, however its slashes are written. Raises HttpProblem for any other."""
    parts = [part for part in request.scope["path"].split("/") if part]
    if not request.scope["raw_path"].startswith(b"/v1/") or {".", ".."} & set(parts):
        raise HttpProblem(
            "not_found", "the upstream's API is below /v1/; the proxy's own paths are /health, /metrics and /reports/ID"
        )
    return "/" + "/".join(parts[1:])
