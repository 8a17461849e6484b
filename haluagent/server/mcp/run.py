"""The server over standard input and output, or over streamable HTTP."""

import asyncio
import signal
import socket
import sys

from mcp.server.stdio import stdio_server
from starlette.applications import Starlette

from haluagent.agent import HaluAgent
from haluagent.server import run
from haluagent.server.mcp.calls import make_server
from haluagent.server.scheduler import Scheduler
from haluagent.server.security import SiteCheck, TokenCheck
from haluagent.server.settings import ServerSettings
from haluagent.server.stderr import log_to_stderr

PATH = "/mcp"


def serve_stdio(agent: HaluAgent, settings: ServerSettings) -> None:
    """Serve the client that started this process, until it closes standard input.

    Standard output has the protocol alone: whatever else is written there goes to standard error, as the log does.
    """
    log_to_stderr()
    print(
        f"HaluAgent waits for an MCP client on standard input (model {agent.model.name})", file=sys.stderr, flush=True
    )
    # Ctrl-C ends the process at once: asyncio would wait for the thread that reads standard input.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(_serve_stdio(Scheduler(agent, settings)))


async def _serve_stdio(scheduler: Scheduler) -> None:
    server = make_server(scheduler)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def make_app(agent: HaluAgent, settings: ServerSettings) -> Starlette:
    """Return the server as an ASGI application; `app.state.scheduler` is where its work is done."""
    scheduler = Scheduler(agent, settings)
    # On this machine's own addresses the SDK checks Host and Origin, too.
    app = make_server(scheduler).streamable_http_app(
        streamable_http_path=PATH, host=settings.host, max_request_body_size=settings.body
    )
    app.add_middleware(TokenCheck, settings=settings)
    app.add_middleware(SiteCheck, settings=settings)
    app.state.scheduler = scheduler
    return app


def serve_http(agent: HaluAgent, settings: ServerSettings, listening: socket.socket) -> None:
    """Serve all clients that come, until a signal ends this process."""
    run.serve(make_app(agent, settings), settings, listening, f"{PATH} (model {agent.model.name})")
