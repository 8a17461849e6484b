"""`haluagent mcp`: the checks as tools for assistants and editors that speak the Model Context Protocol."""

import sys
from contextlib import closing, redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from haluagent.cli import options
from haluagent.cli.options import AgentOptions
from haluagent.cli.serve import TOKEN, make_shared_agent, read_token

HOST, PORT = "127.0.0.1", 8643


@options.takes()
def mcp(
    http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP, at /mcp, instead of standard input and output.")
    ] = False,
    host: Annotated[
        str | None,
        typer.Option(
            help=f"The address to listen on (default {HOST}); any other than this machine's own needs a token."
        ),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help=f"The port (default {PORT}); 0 picks a free one.")
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=f"A file with the token that requests must carry; or set {TOKEN}."),
    ] = None,
    max_running: Annotated[int | None, typer.Option(min=1, help="Calls in progress at a time; others wait.")] = None,
    deadline: Annotated[float, typer.Option(min=0.001, help="The maximum seconds of work on one call.")] = 300.0,
    *,
    wanted: AgentOptions,
) -> None:
    """Offer detect, check, claims, verify_call and search_documents as tools to an MCP client, which starts this command.

    Exit code: 0 the client has gone, or stopped by a signal; 2 invalid options; 3 the model's endpoint does not answer.
    """
    from haluagent.errors import ConfigError

    if not http and (host, port, token_file) != (None, None, None):
        raise ConfigError("--host, --port and --token-file are for HTTP: give --http as well, or leave them out")
    try:
        from haluagent.server.mcp.run import serve_http, serve_stdio
        from haluagent.server.run import open_socket
        from haluagent.server.settings import ServerSettings
    except ModuleNotFoundError as error:
        raise ConfigError(f'the MCP server needs {error.name}: pip install "haluagent[mcp]"') from error
    given: dict[str, Any] = {"deadline": deadline}
    if not http:
        with redirect_stdout(sys.stderr):  # files of tools are run; later the SDK does the same
            agent, running = make_shared_agent(wanted, max_running)
        serve_stdio(agent, ServerSettings(**given, running=running))
        return
    given |= {"host": host or HOST, "port": PORT if port is None else port, "token": read_token(token_file)}
    with closing(open_socket(ServerSettings(**given))) as listening:
        agent, running = make_shared_agent(wanted, max_running)
        serve_http(agent, ServerSettings(**given, running=running), listening)
