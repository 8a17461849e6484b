"""`haluagent claims`: extract the claims of responses and check them against references, with RefChecker's file
format."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from haluagent.cli import claims_collect, claims_labels, claims_results, options
from haluagent.cli.claims_running import carry_out, check_output
from haluagent.cli.endpoints import WorkOptions, make_agents, works
from haluagent.cli.options import AgentOptions
from haluagent.cli.refchecker import RefCheckerCommand

if TYPE_CHECKING:
    from haluagent.checks.claims.run import Command

app = typer.Typer(help="Extract the claims of responses and check them against references.", no_args_is_help=True)

# Underscores are RefChecker's spelling.
_In = Annotated[
    Path,
    typer.Option(
        "--input-path",
        "--input_path",
        metavar="IN",
        help="A JSON list of {response, question?, reference?, claims?}, or JSON Lines, CSV, Excel, Parquet.",
    ),
]
_Out = Annotated[
    Path, typer.Option("--output-path", "--output_path", metavar="OUT", help="The same items with the results.")
]
_Format = Annotated[
    Literal["sentence", "subsentence", "triplet"],
    typer.Option("--claim-format", "--claim_format", help="The form of extracted claims."),
]
_Aggregator = Annotated[
    Literal["strict", "soft", "major"],
    typer.Option(
        "--aggregator",
        "--aggregator_name",
        help="Y is the worst label (strict), the share of each label (soft), or the most common one (major).",
    ),
]
_Checker = Annotated[
    Literal["choice", "joint", "nli"],
    typer.Option("--checker", help="One scored choice per claim, several claims per call, or an NLI model."),
]
_NliModel = Annotated[
    str | None,
    typer.Option("--nli-model", metavar="MODEL", help="For --checker nli: a directory, OWNER/NAME, or an address."),
]
_NoTools = Annotated[
    bool, typer.Option("--no-tools", help="Leave arithmetic, dates and counts to the checker as well.")
]
_Localize = Annotated[
    Literal["overlap", "model"],
    typer.Option(
        "--localize",
        help="Cite the sentence that shares most words with a claim; or, where these do not tell, let the model point at one.",
    ),
]
_Language = Annotated[options.LanguageChoice, typer.Option("--lang", "--language", help="Language of the responses.")]


def _command(command: "Command") -> Callable[..., None]:
    """Make one of the three commands, which share their options, as in RefChecker."""

    @options.takes(
        *options.MODEL,
        "base_rate",
        "max_tokens",
        "max_seconds",
        "search",
        "index",
        "fetch_pages",
        "max_queries",
        sandbox="none",
    )
    @works()
    def run(
        input_path: _In,
        output_path: _Out,
        question: options.QuestionColumn = None,
        response: options.ResponseColumn = None,
        reference: options.ReferenceColumn = None,
        file_format: options.FileFormat = None,
        claim_format: _Format = "sentence",
        aggregator: _Aggregator = "strict",
        checker: _Checker = "choice",
        nli_model: _NliModel = None,
        no_tools: _NoTools = False,
        localize: _Localize = "overlap",
        language: _Language = "auto",
        *,
        work: WorkOptions,
        wanted: AgentOptions,
    ) -> None:
        from haluagent.checks.claims import file
        from haluagent.checks.claims import run as runs

        check_output(output_path, input_path)
        columns = options.chosen(question=question, response=response, reference=reference)
        items = file.read(input_path, file_format, columns)
        task = runs.ClaimsTask(
            command=command, format=claim_format, aggregator=aggregator, checker=checker, nli_model=nli_model,
            tools=not no_tools, language=language, localize=localize,
        )  # fmt: skip
        agents, at_once = make_agents(wanted, work.endpoint, work.in_flight)
        carry_out(
            items,
            output_path,
            task,
            lambda progress: runs.run(
                items,
                output_path,
                agents,
                task,
                in_flight=at_once,
                bounds=work.bounds,
                again=work.retry_errors,
                progress=progress,
                format=file_format,
            ),
            file.summary,
            again=work.retry_errors,
        )

    return run


_CODES = """\n\nThe same command resumes where it stopped. Exit code: 0 all items are in OUT, 3 some of them failed or a budget
ended the run, 2 invalid options or input, 130 stopped with Ctrl-C."""

app.command("extract", cls=RefCheckerCommand, help="Extract the claims of each response." + _CODES)(_command("extract"))
app.command("check", cls=RefCheckerCommand, help="Check the claims of each item against its reference." + _CODES)(
    _command("check")
)
app.command("extract-check", cls=RefCheckerCommand, help="Extract the claims and check them." + _CODES)(
    _command("extract-check")
)
app.command("collect", help=claims_collect.HELP + _CODES)(claims_collect.collect)
app.command("rank")(claims_results.rank)
app.command("agreement")(claims_results.agreement)
app.command("benchmark")(claims_results.benchmark)
app.command("label")(claims_labels.label)
app.command("label-agreement")(claims_labels.label_agreement)
app.command("label-export")(claims_labels.label_export)
