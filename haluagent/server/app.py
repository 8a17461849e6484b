"""The application: its endpoints, and who may use them."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from haluagent.agent import HaluAgent
from haluagent.server import openapi, page, tracing
from haluagent.server.endpoint import Endpoint
from haluagent.server.jobs import JOBS
from haluagent.server.log import Log
from haluagent.server.metrics import Metrics
from haluagent.server.problems import STATUS, Problem, Type
from haluagent.server.security import Site, Token
from haluagent.server.settings import ServerSettings
from haluagent.server.watch import Watcher
from haluagent.server.work import Workshop
from haluagent.text import language as languages
from haluagent.tooling.tool import Tool

_TYPES: dict[int, Type] = {404: "not_found", 405: "method"}


def make_app(agent: HaluAgent, settings: ServerSettings, watchers: Sequence[Watcher] | None = None) -> Starlette:
    """The server of an agent, as an ASGI application; `app.state.workshop` is where its work is done.

    Without `watchers` there are metrics, and traces where they are set up. The model is loaded as soon as it runs.
    """
    workshop = Workshop(agent, settings)
    if watchers is None:
        traces = tracing.from_environment(agent.model.name)
        watchers = [Metrics(tool.name for tool in agent.registry), *([] if traces is None else [traces])]
    metrics = next((watcher for watcher in watchers if isinstance(watcher, Metrics)), None)
    if metrics is not None:
        metrics.follow_queue(workshop.queue.state)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        loading = workshop.engine.load()
        asyncio.get_running_loop().run_in_executor(
            None, languages.identifier
        )  # it takes seconds: nobody shall wait for it
        yield
        loading.cancel()
        await agent.aclose()

    routes: list[BaseRoute] = [Route(f"/v1/{job}", Endpoint(job, workshop, watchers), methods=["POST"]) for job in JOBS]
    routes += [
        Route("/v1/tools", _answering({"tools": [_shown(tool) for tool in agent.registry]})),
        Route("/healthz", _answering({"status": "ok"})),
        Route("/readyz", _ready(workshop)),
        Route("/openapi.json", _answering(openapi.document())),
        *([] if metrics is None else [Route("/metrics", _measured(metrics))]),
        *page.routes(),
    ]
    allowed = Middleware(
        CORSMiddleware, allow_origins=settings.origins, allow_methods=["GET", "POST"], allow_headers=["Authorization", "Content-Type"],
        expose_headers=["X-Request-Id", "Retry-After"],
    )  # fmt: skip
    app = Starlette(
        routes=routes,
        middleware=[
            Middleware(Log),
            Middleware(Site, settings=settings),
            *([allowed] if settings.origins else []),
            Middleware(Token, settings=settings),
        ],
        exception_handlers={HTTPException: _http_problem},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.workshop = workshop
    return app


def _shown(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.schema()}


def _answering(what: dict[str, Any]) -> Any:
    text = json.dumps(what, ensure_ascii=False)

    async def answer(request: Request) -> Response:
        return _json(text)

    return answer


def _ready(workshop: Workshop) -> Any:
    async def answer(request: Request) -> Response:
        lacks = await workshop.engine.lacks()
        if workshop.stopping:
            return _problem(Problem("stopping", "the server is stopping"))
        if lacks is not None:
            # Anybody may ask, so where a token keeps strangers out they are not told of the endpoint.
            return _problem(
                Problem("not_ready", lacks if workshop.settings.token is None else "the model does not answer")
            )
        return _json('{"status": "ready"}')

    return answer


def _measured(metrics: Metrics) -> Any:
    async def answer(request: Request) -> Response:
        return Response(metrics.text(), headers={"Content-Type": metrics.content_type, "Cache-Control": "no-store"})

    return answer


async def _http_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    type = _TYPES.get(error.status_code, "invalid")
    return _problem(Problem(type, HTTPStatus(STATUS[type]).phrase, error.headers))


def _problem(problem: Problem) -> Response:
    return _json(json.dumps(problem.json()), STATUS[problem.type], problem.headers)


def _json(text: str, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    given = {"Cache-Control": "no-store"} | (headers or {})
    return Response(text, status, headers=given, media_type="application/json")
