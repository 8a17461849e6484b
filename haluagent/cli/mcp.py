"""`haluagent mcp`: the checks as tools for assistants and editors that speak the Model Context Protocol."""

import sys
from contextlib import closing, redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from haluagent.cli import options
from haluagent.cli.options import AgentOptions, chosen_adapter
from haluagent.cli.serve import TOKEN, make_shared_agent, read_token

HOST, PORT = "127.0.0.1", 8643


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
    closed_book: options.ClosedBook = False,
    strategy: options.StrategyOption = AgentOptions.strategy,
    autonomy: options.AutonomyOption = AgentOptions.autonomy,
    model: options.ModelName = None,
    base_url: options.BaseUrl = None,
    api_key: options.ApiKey = None,
    adapter: options.AdapterFile = None,
    no_adapter: options.NoAdapter = False,
    base_rate: options.BaseRate = None,
    max_steps: options.MaxSteps = None,
    queries: options.Queries = None,
    opinion_samples: options.OpinionSamples = AgentOptions.opinion_samples,
    max_tokens: options.MaxTokens = None,
    max_seconds: options.MaxSeconds = None,
    concurrency: options.Concurrency = None,
    no_reflect: options.NoReflect = False,
    ablate: options.Ablate = None,
    sandbox: options.SandboxOption = AgentOptions.sandbox,
    search: options.SearchOption = AgentOptions.search,
    index: options.IndexOption = None,
    fetch_pages: options.FetchPages = False,
    max_queries: options.MaxQueries = None,
    tools: options.ToolFiles = None,
) -> None:
    """Offer detect, check, claims, verify_call and search_documents as tools to an MCP client, which starts this command.

    Exit code: 0 the client has gone, or stopped by a signal; 2 invalid options; 3 the model's endpoint does not answer.
    """
    wanted = AgentOptions(
        model=model, base_url=base_url, api_key=api_key, adapter=chosen_adapter(adapter, no_adapter),
        closed_book=closed_book, strategy=strategy, autonomy=autonomy, max_steps=max_steps, queries=queries,
        opinion_samples=opinion_samples, base_rate=base_rate, max_tokens=max_tokens, max_seconds=max_seconds,
        concurrency=concurrency, reflect=not no_reflect, ablate=ablate, sandbox=sandbox, search=search, index=index,
        fetch_pages=fetch_pages, max_queries=max_queries, tools=tools,
    )  # fmt: skip

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
