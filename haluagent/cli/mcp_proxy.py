"""`haluagent mcp-proxy`: checks the calls of tools on their way from an MCP client to a server."""

from pathlib import Path
from typing import Annotated, Literal

import typer


def mcp_proxy(
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND…", help="The MCP server and its arguments, after two hyphens.")
    ],
    audit: Annotated[Path | None, typer.Option(metavar="FILE", help="Append every decision to this log.")] = None,
    retries: Annotated[
        int, typer.Option(min=0, help="How often a stopped call may be tried again with each tool.")
    ] = 2,
    on_error: Annotated[
        Literal["closed", "open"], typer.Option(help="Stop a call that could not be checked, or let it run.")
    ] = "closed",
    allow: Annotated[
        list[str] | None, typer.Option(metavar="VALUE", help="A value that any argument may have; * at the end.")
    ] = None,
    context_tool: Annotated[
        bool, typer.Option("--context-tool", help="Offer the client's model a tool to hand over what the user said.")
    ] = False,
) -> None:
    """Stand between an MCP client and a server: a tool call that does not fit its tool, or has an invented value, is not
    executed. Takes no model.

    Exit code: 0 the client has gone, 2 invalid options, 3 the server ended before that.
    """
    from haluagent.checks.runs.audit import AuditLog
    from haluagent.checks.runs.guard import Guard
    from haluagent.server.mcp.relay import McpRelay
    from haluagent.server.mcp.session import McpSession
    from haluagent.server.stderr import log_to_stderr

    log_to_stderr()
    log = None if audit is None else AuditLog(audit)
    session = McpSession(Guard(None, on_error=on_error, retries=retries), allowed=allow or (), audit=log)
    raise typer.Exit(McpRelay(command, session, on_error=on_error, context_tool=context_tool).run())
