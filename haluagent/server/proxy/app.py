"""The proxy as an application."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from haluagent.agent import HaluAgent
from haluagent.server import tracing
from haluagent.server.app import PROBLEMS, working
from haluagent.server.log import RequestLog
from haluagent.server.problems import HttpProblem
from haluagent.server.proxy.check import AnswerChecker, ProxyScheduler
from haluagent.server.proxy.conversation import Desk
from haluagent.server.proxy.endpoint import ProxyEndpoint
from haluagent.server.proxy.metrics import ProxyMetrics
from haluagent.server.proxy.reports import Reports
from haluagent.server.proxy.settings import ProxySettings
from haluagent.server.proxy.upstream import Upstream
from haluagent.server.security import SiteCheck, TokenCheck
from haluagent.server.watch import Watcher


def make_proxy(agent: HaluAgent, settings: ProxySettings) -> Starlette:
    """Return the proxy as an ASGI application that checks answers with an agent; `app.state.scheduler` is where its work is
    done. Raises ConfigError for a folder of reports that cannot be written."""
    scheduler = ProxyScheduler(agent, settings.server, settings.conversations)
    metrics = ProxyMetrics(tool.name for tool in agent.registry)
    metrics.follow_queue(scheduler.queue.state)
    metrics.follow_conversations(lambda: scheduler.conversations.state()[0])
    traces = tracing.from_environment(agent.model.name)
    watchers: Sequence[Watcher] = [metrics, *([] if traces is None else [traces])]
    desk, upstream = Desk(Reports(settings.reports), metrics), Upstream(settings)
    endpoint = ProxyEndpoint(settings, scheduler, upstream, AnswerChecker(scheduler, watchers, metrics), desk)

    async def health(request: Request) -> Response:
        lacks = await scheduler.loader.lacks()
        return JSONResponse({"status": "ok", "checker": "ready" if lacks is None else "not ready"})

    async def numbers(request: Request) -> Response:
        return Response(metrics.text(), headers={"Content-Type": metrics.content_type})

    async def report(request: Request) -> Response:
        found = await desk.reports.get(request.path_params["id"])
        if found is None:
            raise HttpProblem("not_found", "there is no report with this id, or not yet, or no longer")
        return Response(found, media_type="application/json")

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with working(scheduler):
            yield
        await upstream.aclose()

    app = Starlette(
        routes=[
            Route("/health", health),
            Route("/metrics", numbers),
            Route("/reports/{id}", report),
            Route("/{path:path}", endpoint),
        ],
        middleware=[
            Middleware(RequestLog),
            Middleware(SiteCheck, settings=settings.server),
            Middleware(TokenCheck, settings=settings.server),
        ],
        exception_handlers=PROBLEMS,
        lifespan=lifespan,
    )
    app.state.scheduler = scheduler
    return app
