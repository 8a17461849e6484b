"""The application: its endpoints, and who may use them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.middleware import Middleware
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import PlainTextResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from haluagent.agent import HaluAgent
from haluagent.server import jobs, openapi, page, tracing, uploads
from haluagent.server.log import RequestLog
from haluagent.server.metrics import Metrics
from haluagent.server.openapi import ServerStatus, ToolEntry, ToolList, errors
from haluagent.server.problems import HttpProblem, Type
from haluagent.server.scheduler import Scheduler
from haluagent.server.security import SiteCheck, TokenCheck
from haluagent.server.settings import ServerSettings
from haluagent.server.watch import Watcher
from haluagent.text import language as languages

THREADS = 64

_TYPES: dict[int, Type] = {404: "not_found", 405: "method"}


def make_app(agent: HaluAgent, settings: ServerSettings, watchers: Sequence[Watcher] | None = None) -> FastAPI:
    """Return the server of an agent, as an ASGI application; `app.state.scheduler` is where its work is done.

    Without `watchers` there are metrics, and traces where they are set up. The model is loaded as soon as it runs.
    """
    scheduler = Scheduler(agent, settings)
    if watchers is None:
        traces = tracing.from_environment(agent.model.name)
        watchers = [Metrics(tool.name for tool in agent.registry), *([] if traces is None else [traces])]

    allowed = Middleware(
        CORSMiddleware, allow_origins=settings.origins, allow_methods=["GET", "POST"], allow_headers=["Authorization", "Content-Type"],
        expose_headers=["X-Request-Id", "Retry-After"],
    )  # fmt: skip
    app = FastAPI(
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=[
            Middleware(RequestLog),
            Middleware(SiteCheck, settings=settings),
            *([allowed] if settings.origins else []),
            Middleware(TokenCheck, settings=settings),
        ],
        exception_handlers=PROBLEMS,
        lifespan=lambda app: working(scheduler),
        generate_unique_id_function=lambda route: route.path_format.strip("/").replace("/", "_").removesuffix(".json"),
        responses=errors("forbidden", "internal"),
        # FastAPI's own telemetry would hold texts of requests.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.scheduler, app.state.watchers, app.state.reading = scheduler, watchers, uploads.make_queue()
    app.include_router(jobs.router)
    app.include_router(uploads.router)

    _add_reports(app, scheduler, next((watcher for watcher in watchers if isinstance(watcher, Metrics)), None))
    page.add_to(app)
    for route in app.routes:
        if isinstance(route, APIRoute) and route.methods == {"GET"}:
            route.methods = {"GET", "HEAD"}
    return app


@asynccontextmanager
async def working(scheduler: Scheduler) -> AsyncIterator[None]:
    """Load the model as soon as this is entered, and free the agent's connections at the end."""
    # A thread that waits for algebra or a sandbox costs nothing: there are enough for what others do.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, "haluagent"))
    loading = scheduler.loader.load()
    # Loading takes seconds, so it starts in the background.
    asyncio.get_running_loop().run_in_executor(None, languages.identifier)
    yield
    loading.cancel()
    await scheduler.agent.aclose()


def _add_reports(app: FastAPI, scheduler: Scheduler, metrics: Metrics | None) -> None:
    """Add what the server says of itself."""
    known = ToolList(
        tools=[
            ToolEntry(name=tool.name, system=tool.system, description=dict(tool.description), parameters=tool.schema())
            for tool in scheduler.agent.registry
        ]
    )

    @app.get("/v1/tools", summary="The tools that a detection may call", responses=errors("unauthorized"))
    async def tools() -> ToolList:
        return known

    @app.get("/healthz", summary="Whether the server runs")
    async def healthz() -> ServerStatus:
        return ServerStatus(status="ok")

    @app.get("/readyz", summary="Whether it can check something now", responses=errors("not_ready", "stopping"))
    async def readyz() -> ServerStatus:
        lacks = await scheduler.loader.lacks()
        if scheduler.stopping:
            raise HttpProblem("stopping", "the server is stopping")
        if lacks is not None:
            # Anybody may ask, so where a token keeps strangers out they are not told of the endpoint.
            raise HttpProblem("not_ready", lacks if scheduler.settings.token is None else "the model does not answer")
        return ServerStatus(status="ready")

    if metrics is not None:
        metrics.follow_queue(scheduler.queue.state)

        @app.get(
            "/metrics",
            summary="Numbers for Prometheus",
            responses=errors("unauthorized"),
            response_class=PlainTextResponse,
        )
        async def numbers() -> Response:
            return Response(metrics.text(), headers={"Content-Type": metrics.content_type})

    @app.get("/openapi.json", summary="This document")
    async def openapi_json() -> dict[str, Any]:
        return document

    document = openapi.document(app, scheduler.settings)
    app.openapi = lambda: document  # type: ignore[method-assign]


async def _http_error(request: Request, error: Any) -> Response:
    problem = HttpProblem(_TYPES.get(error.status_code, "invalid"), error.detail, error.headers)
    return problem.response()


async def _problem(request: Request, problem: Any) -> Response:
    answer: Response = problem.response()
    return answer


# How an application answers what its endpoints raise.
PROBLEMS: dict[Any, Any] = {HTTPException: _http_error, HttpProblem: _problem}
