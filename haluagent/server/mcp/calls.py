"""The calls of tools: each in its turn, with progress, and ended where the client cancels it."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from haluagent import __version__
from haluagent.events import Event, Found, Verdict
from haluagent.report.lines import clean
from haluagent.server.bodies import examine
from haluagent.server.mcp.tools import INSTRUCTIONS, TOOLS, McpTool, unquoted
from haluagent.server.problems import problem_of
from haluagent.server.scheduler import Run, Scheduler
from haluagent.server.watch import Ending, Result
from haluagent.types import Detection

SHOWN = 80  # characters of a sentence in a message about progress

logger = logging.getLogger(__name__)


def make_server(scheduler: Scheduler) -> Server[None]:
    """Return the server of the scheduler's agent, for any transport. The model is loaded by the first call that needs it."""

    @asynccontextmanager
    async def lifespan(server: Server[None]) -> AsyncIterator[None]:
        yield
        await scheduler.agent.aclose()

    async def list_tools(context: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=known)

    async def call_tool(context: ServerRequestContext[None], params: CallToolRequestParams) -> CallToolResult:
        if params.name not in TOOLS:
            raise MCPError(INVALID_PARAMS, f"there is no tool {params.name[:80]!r}: there are {', '.join(TOOLS)}")
        return await _call(scheduler, params.name, params.arguments or {}, CallProgress(context))

    known = [_described(name, tool) for name, tool in TOOLS.items()]
    return Server(
        "haluagent", version=__version__, title="HaluAgent", instructions=INSTRUCTIONS, lifespan=lifespan,
        on_list_tools=list_tools, on_call_tool=call_tool,
    )  # fmt: skip


class CallProgress:
    """Tell a client of a call, where it asked for that: what the call waits for, then each sentence that has its label."""

    def __init__(self, context: ServerRequestContext[None]) -> None:
        self._tell = context.session.report_progress
        self._sentences = self._done = 0

    async def waits(self, why: str) -> None:
        """Say what the call waits for."""
        await self._tell(0, None, why)

    async def event(self, event: Event) -> None:
        """Count a sentence that was found, and report one that has its label."""
        if isinstance(event, Found):
            self._sentences += 1
        elif isinstance(event, Verdict):
            self._done += 1
            entry = event.entry
            text = clean(entry.sentence.text)[:SHOWN]
            total = max(self._sentences, self._done)  # the response as a whole may have a label, too
            await self._tell(self._done, total, f"[{entry.sentence.index}] {entry.outcome}: {text}")


def _described(name: str, tool: McpTool) -> Tool:
    return Tool(
        name=name,
        description=tool.description,
        input_schema=tool.input.model_json_schema(),
        output_schema=tool.output.model_json_schema(mode="serialization"),
        annotations=ToolAnnotations(read_only_hint=True),
    )


async def _call(scheduler: Scheduler, name: str, arguments: dict[str, Any], progress: CallProgress) -> CallToolResult:
    """Return the result of a call. What went wrong is in the result, as one line: the model that called reads it."""
    tool, began = TOOLS[name], time.monotonic()
    ending: Ending = "gone"
    try:
        arguments = {name: unquoted(one) if name in tool.objects else one for name, one in arguments.items()}
        examine(arguments, scheduler.settings.text)
        body = tool.input.model_validate(arguments)
        if tool.queued:
            found = await _in_turn(scheduler, lambda agent, _: tool.run(agent, body, progress.event), progress)
        else:
            found = await tool.run(scheduler.agent, body, progress.event)
        failed = isinstance(found, Detection) and found.stop == "error"
        ending = "model" if failed else "done"
        return CallToolResult(
            content=[TextContent(text="\n".join(map(str, tool.text(found))))],
            structured_content=found.model_dump(mode="json"),
            is_error=failed,
        )
    except Exception as error:
        problem = problem_of(error)
        ending = problem.ending
        return CallToolResult(content=[TextContent(text=clean(str(problem)))], is_error=True)
    finally:
        logger.info("%s %s %.3f s", name, ending, time.monotonic() - began)


async def _in_turn(scheduler: Scheduler, work: Run, progress: CallProgress) -> Result:
    """Return what the work gives. It is cancelled together with this, in the queue and at the model."""
    admitted = scheduler.admit()
    try:
        if admitted.place.waits:
            await progress.waits(f"waiting, with {admitted.place.before} requests before this one")
        elif not scheduler.loader.load().done():
            await progress.waits("loading the model")
        forever = asyncio.Event().wait()  # this is cancelled when the client has gone
        return await admitted.run(work, lambda: None, lambda event: None, forever)
    finally:
        admitted.end()
