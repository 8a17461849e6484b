"""`haluagent serve`: detections over HTTP, and a page that shows them."""

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haluagent.cli import options
from haluagent.cli.options import AgentOptions

if TYPE_CHECKING:
    from haluagent.agent import HaluAgent

AT_ENDPOINT, EMBEDDED = 32, 2  # parallel requests: one engine on a few cores gains little from more
SENTENCES = 8  # of one request, checked in parallel at an endpoint
USUAL_PORTS = {"http": 80, "https": 443}  # browsers leave them out
TOKEN = "HALUAGENT_SERVER_TOKEN"


@options.takes()
def serve(
    host: Annotated[
        str, typer.Option(help="The address to listen on; any other than this machine's own needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 picks a free one.")] = 8642,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=f"A file with the token that requests must carry; or set {TOKEN}."),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="A site whose pages may send requests. May be given several times."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A host name of the server. May be given several times."),
    ] = None,
    max_running: Annotated[int | None, typer.Option(min=1, help="Requests in progress at a time.")] = None,
    max_waiting: Annotated[
        int, typer.Option(min=0, help="Requests that may wait for their turn; more are turned away.")
    ] = 256,
    max_body: Annotated[int, typer.Option(min=1, help="The maximum bytes of a request.")] = 2_000_000,
    max_text: Annotated[int, typer.Option(min=1, help="The maximum characters of all texts of a request.")] = 400_000,
    deadline: Annotated[float, typer.Option(min=0.001, help="The maximum seconds of work on one request.")] = 300.0,
    grace: Annotated[float, typer.Option(min=0, help="Seconds to finish requests in progress on shutdown.")] = 20.0,
    log_texts: Annotated[bool, typer.Option("--log-texts", help="Write the texts of requests to the log.")] = False,
    *,
    wanted: AgentOptions,
) -> None:
    """Serve detect, check, claims and runs over HTTP, with a page that shows the results.

    Exit code: 0 stopped by a signal, after finishing the requests in progress; 2 invalid options or input; 3 the
    model's endpoint does not answer.
    """
    from haluagent.errors import ConfigError

    try:
        from haluagent.server import run
        from haluagent.server.app import make_app
        from haluagent.server.settings import ServerSettings
    except ModuleNotFoundError as error:
        raise ConfigError(f'the server needs {error.name}: pip install "haluagent[server]"') from error
    given: dict[str, Any] = {
        "host": host, "port": port, "token": read_token(token_file), "origins": tuple(map(_origin, allow_origin or [])),
        "hosts": tuple(allow_host or []), "waiting": max_waiting, "body": max_body, "text": max_text, "deadline": deadline,
        "grace": grace, "log_texts": log_texts,
    }  # fmt: skip
    with closing(run.open_socket(ServerSettings(**given))) as listening:
        agent, running = make_shared_agent(wanted, max_running)
        settings = ServerSettings(**given, running=running)
        run.serve(make_app(agent, settings), settings, listening, f" (model {agent.model.name}), and loads the model")


def make_shared_agent(wanted: AgentOptions, running: int | None) -> "tuple[HaluAgent, int]":
    """Return an agent for parallel requests, and how many of them run at a time; the client of an endpoint must allow that.

    Raises what `options.make_agent` does, and ModelError if the endpoint does not answer.
    """
    from haluagent.models import EmbeddedModel

    model = options.make_model(wanted)
    running = running or (EMBEDDED if isinstance(model, EmbeddedModel) else AT_ENDPOINT)
    if not isinstance(model, EmbeddedModel):
        model = options.make_model(wanted, running)
    agent = options.make_agent(wanted, model)
    if wanted.concurrency is None:
        agent.concurrency = min(agent.concurrency, SENTENCES)
    return agent, running


def read_token(file: Path | None) -> str | None:
    """Return the token that requests must carry. Raises ConfigError for one that is too easy to guess or that no header
    can hold."""
    from haluagent.cli.texts import read_text
    from haluagent.errors import ConfigError

    place, token = (
        (str(file), read_text(str(file)).strip()) if file is not None else (TOKEN, os.environ.get(TOKEN, "").strip())
    )
    if not token and file is None:
        return None
    if len(token) < 16 or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(
            f"the token in {place} is not 16 or more letters and digits: make one with `openssl rand -hex 32`"
        )
    return token


def _origin(url: str) -> str:
    """Normalise a site's origin as browsers write it. Raises ConfigError if it is not an origin, and for `*`."""
    from urllib.parse import urlsplit

    from haluagent.errors import ConfigError

    problem = ConfigError(f"{url!r} is no origin: write it like https://chat.example.org")
    try:
        parts = urlsplit(url.rstrip("/").lower())
        port = parts.port
    except ValueError:
        raise problem from None
    if parts.scheme not in USUAL_PORTS or not parts.hostname or parts.path or any(sign in url for sign in "*@?#"):
        raise problem
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + ("" if port in (None, USUAL_PORTS[parts.scheme]) else f":{port}")
