"""`haluagent proxy`: checks the answers of a chatbot's endpoint on their way to the client."""

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from haluagent.cli import options
from haluagent.cli.options import AgentOptions
from haluagent.cli.serve import TOKEN, make_shared_agent, read_token

if TYPE_CHECKING:
    from haluagent.server.proxy.settings import ReferenceRule

KEY = "HALUAGENT_UPSTREAM_KEY"


@options.takes(without=["closed_book", "queries", "opinion_samples", "ablate"], search="none")
def proxy(
    upstream: Annotated[
        str, typer.Option(metavar="URL", help="The endpoint behind the proxy, such as http://127.0.0.1:8000/v1.")
    ],
    policy: Annotated[
        Literal["annotate", "block", "revise"],
        typer.Option(help="Report beside the answer; refuse a contradicted answer; or ask for it once more."),
    ] = "annotate",
    on_unverified: Annotated[
        Literal["pass", "block"], typer.Option(help="What becomes of an answer that the check leaves open.")
    ] = "pass",
    on_error: Annotated[
        Literal["open", "closed"] | None,
        typer.Option(help="Let an answer out whose check failed, or block it; block and revise need a choice."),
    ] = None,
    after_revision: Annotated[
        Literal["block", "annotate"], typer.Option(help="What becomes of a second answer that is contradicted, too.")
    ] = "block",
    reference: Annotated[
        str, typer.Option(metavar="LIST", help="What answers are checked against: tool, system, block, with commas.")
    ] = "tool,block",
    block: Annotated[
        str, typer.Option(metavar="START...END", help="What surrounds a block of reference in a message.")
    ] = "<context>...</context>",
    reports: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A folder for the reports; without it the last are in memory.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on; any other than this machine's own needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 picks a free one.")] = 8643,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=f"A file with the API key that clients must send; or set {TOKEN}."),
    ] = None,
    upstream_key_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help=f"A file with the key for the upstream, in place of the client's; or set {KEY}."
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A host name of the proxy. May be given several times."),
    ] = None,
    max_requests: Annotated[int, typer.Option(min=1, help="Requests in progress; more are turned away.")] = 256,
    max_running: Annotated[int | None, typer.Option(min=1, help="Checks in progress at a time.")] = None,
    max_body: Annotated[
        int, typer.Option(min=1, help="The maximum bytes of a request, and of an answer.")
    ] = 20_000_000,
    max_text: Annotated[
        int, typer.Option(min=1, help="The maximum characters of question, reference and answer that are checked.")
    ] = 400_000,
    deadline: Annotated[float, typer.Option(min=0.001, help="The maximum seconds of one check.")] = 60.0,
    grace: Annotated[float, typer.Option(min=0, help="Seconds to finish requests in progress on shutdown.")] = 20.0,
    *,
    wanted: AgentOptions,
) -> None:
    """Check the answers of an OpenAI-compatible endpoint on their way to the client.

    The model options are those of the checker. Exit code: 0 stopped by a signal, after finishing the requests in
    progress; 2 invalid options or input; 3 the checker's endpoint does not answer.
    """
    from haluagent.errors import ConfigError

    try:
        from haluagent.server import run
        from haluagent.server.proxy.app import make_proxy
        from haluagent.server.proxy.settings import ProxySettings, Rules
        from haluagent.server.settings import ServerSettings
    except ModuleNotFoundError as error:
        raise ConfigError(f'the proxy needs {error.name}: pip install "haluagent[server]"') from error
    rules = Rules(policy=policy, on_unverified=on_unverified, on_error=on_error, after_revision=after_revision)
    given: dict[str, Any] = {
        "host": host, "port": port, "token": read_token(token_file), "hosts": tuple(allow_host or []), "body": max_body,
        "text": max_text, "deadline": deadline, "grace": grace,
    }  # fmt: skip
    settings = ProxySettings(
        server=ServerSettings(**given), upstream=upstream, upstream_key=_read_key(upstream_key_file), rules=rules,
        reference=_reference(reference, block), conversations=max_requests, reports=reports,
    )  # fmt: skip
    with closing(run.open_socket(settings.server)) as listening:
        agent, running = make_shared_agent(wanted, max_running)
        settings = settings.model_copy(update={"server": ServerSettings(**given, running=running)})
        about = f" (model {agent.model.name}), before {settings.upstream}"
        run.serve(make_proxy(agent, settings), settings.server, listening, about)


def _reference(sources: str, block: str) -> "ReferenceRule":
    """Return what counts as reference. Raises ConfigError for what names nothing."""
    from haluagent.errors import ConfigError
    from haluagent.server.proxy.settings import SOURCES, ReferenceRule

    names = {name.strip() for name in sources.split(",")}
    if wrong := names - {*SOURCES}:
        raise ConfigError(f"--reference {min(wrong)!r} is not known: use {', '.join(SOURCES)}, with commas between")
    start, dots, end = block.partition("...")
    if not start.strip() or not dots:
        raise ConfigError(
            f"--block {block!r} names no block: write it like '<context>...</context>' or 'Context:...Question:'"
        )
    return ReferenceRule(sources=frozenset(source for source in SOURCES if source in names), start=start, end=end)


def _read_key(file: Path | None) -> str | None:
    """Return the key for the upstream. Raises ConfigError for one that no header can hold."""
    from haluagent.cli.texts import read_text
    from haluagent.errors import ConfigError

    key = os.environ.get(KEY, "").strip() if file is None else read_text(str(file)).strip()
    if not key and file is None:
        return None
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError(f"the key in {file or KEY} is no key: it has to be visible ASCII in one word")
    return key
