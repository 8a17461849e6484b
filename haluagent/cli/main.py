"""The command `haluagent`. Slow imports are left to the commands that need them."""

import io
import os
import sys
from typing import Annotated

import typer

from haluagent import __version__
from haluagent.cli.batch import batch
from haluagent.cli.bench import app as bench_app
from haluagent.cli.calibrate import calibrate
from haluagent.cli.chat import chat
from haluagent.cli.check import check
from haluagent.cli.claims import app as claims_app
from haluagent.cli.detect import detect
from haluagent.cli.doctor import doctor
from haluagent.cli.index import app as index_app
from haluagent.cli.knowledge import app as knowledge_app
from haluagent.cli.mcp import mcp
from haluagent.cli.mcp_proxy import mcp_proxy
from haluagent.cli.model import app as model_app
from haluagent.cli.proxy import proxy
from haluagent.cli.reliability import app as reliability_app
from haluagent.cli.report import report
from haluagent.cli.runs import app as runs_app
from haluagent.cli.sandbox import app as sandbox_app
from haluagent.cli.search import app as search_app
from haluagent.cli.serve import serve
from haluagent.cli.tools import app as tools_app
from haluagent.cli.train import app as train_app
from haluagent.cli.trajectories import app as trajectories_app
from haluagent.errors import ConfigError, HaluAgentError

USER_MISTAKE = 2
# Whatever failed, nothing has been shown to be right or wrong.
NOT_VERIFIED = 3
INTERRUPTED = 130

app = typer.Typer(
    name="haluagent",
    help="Find hallucinations in what a language model wrote.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(detect)
app.command()(chat)
app.command()(batch)
app.command()(check)
app.command()(report)
app.command()(serve)
app.command()(proxy)
app.command()(mcp)
app.command("mcp-proxy")(mcp_proxy)
app.command()(calibrate)
app.command()(doctor)
app.add_typer(claims_app, name="claims")
app.add_typer(runs_app, name="runs")
app.add_typer(reliability_app, name="reliability")
app.add_typer(tools_app, name="tools")
app.add_typer(model_app, name="model")
app.add_typer(index_app, name="index")
app.add_typer(knowledge_app, name="knowledge")
app.add_typer(search_app, name="search")
app.add_typer(sandbox_app, name="sandbox")
app.add_typer(bench_app, name="bench")
app.add_typer(trajectories_app, name="trajectories")
app.add_typer(train_app, name="train")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"haluagent {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character gets an escape sequence instead of a traceback.
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code. Errors are printed as one line on standard error."""
    try:
        code = app(arguments or ["--help"], prog_name="haluagent", standalone_mode=False)
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as error:
        if not _completes(arguments):
            return _explain(error)
        return error.code if isinstance(error.code, int) else 0
    except BaseException as error:  # also SystemExit: no code of a tool's own may be taken for a verdict
        return _explain(error)
    return code if isinstance(code, int) else 0


def _completes(arguments: list[str]) -> bool:
    """Return whether this is typer's work of completing a line in a shell, which it ends with an exit of its own."""
    return "_HALUAGENT_COMPLETE" in os.environ or arguments[:1] in (["--show-completion"], ["--install-completion"])


def _explain(error: BaseException) -> int:
    if hasattr(error, "format_message"):  # raised by typer for a wrong option or argument
        message = error.format_message()
        if "\n" in message:  # a group without a command: the message is its help
            print(message, file=sys.stderr)
            return USER_MISTAKE
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "haluagent"
        return _complain(f"{message.rstrip('.')} (see '{command} --help')", USER_MISTAKE)
    if isinstance(error, SystemExit) and isinstance(
        error.__context__, BrokenPipeError
    ):  # the reader has gone, as `head` does
        return NOT_VERIFIED
    if os.environ.get("HALUAGENT_DEBUG"):
        raise error
    if isinstance(error, ConfigError):
        return _complain(str(error), USER_MISTAKE)
    if isinstance(error, HaluAgentError):
        return _complain(str(error), NOT_VERIFIED)
    return _complain(
        f"unexpected {type(error).__name__}: {error} (run again with HALUAGENT_DEBUG=1 to see where)", NOT_VERIFIED
    )


def _complain(message: str, code: int) -> int:
    # Imported here because nothing else in this module needs it.
    from haluagent.report.lines import clean

    print(f"haluagent: {clean(message)}", file=sys.stderr)
    return code
