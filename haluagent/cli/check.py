"""`haluagent check`: is an answer faithful to its documents?"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from haluagent.cli import options
from haluagent.cli.endpoints import WorkOptions, works
from haluagent.cli.options import AgentOptions

if TYPE_CHECKING:
    from haluagent.checks.faithfulness.records import Faithfulness
    from haluagent.report.lines import Line

FAILED = 3
ModeChoice = Literal["fast", "judge", "agent"]


@options.takes(
    *options.MODEL,
    "base_rate",
    "max_steps",
    "max_tokens",
    "max_seconds",
    "concurrency",
    "sandbox",
    "tools",
    search="none",
)
@works(without=["limit", "token_budget", "second_budget"])
def check(
    question: Annotated[
        str | None, typer.Option(help="The question, which is no evidence. With a file of answers: its column.")
    ] = None,
    answer: Annotated[
        str | None,
        typer.Option(
            "--answer", "--response", help="The answer to check (-: standard input). With a file: its column."
        ),
    ] = None,
    document: Annotated[
        list[str] | None,
        typer.Option(
            "--document",
            "--reference",
            metavar="FILE|URL",
            help="A text, PDF, Word or HTML that the answer is based on; several times. With a file of answers: its column.",
        ),
    ] = None,
    private_addresses: options.PrivateAddresses = False,
    mode: Annotated[
        ModeChoice, typer.Option(help="A scored choice; reasoning, then the score; or claim by claim with tools.")
    ] = "fast",
    prompt_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The prompt that the model's publisher prescribes, with --mode judge."),
    ] = None,
    threshold: Annotated[float, typer.Option(min=0, max=1, help="FAIL above this probability.")] = 0.5,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the report.")] = False,
    input_path: Annotated[
        Path | None,
        typer.Option(
            metavar="IN", help="JSON Lines, CSV, Excel or Parquet, each row {question?, answer, document, id?}."
        ),
    ] = None,
    output_path: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Results as JSON Lines, CSV or Parquet; continued if it exists.")
    ] = None,
    file_format: options.FileFormat = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write JUnit XML; an answer that fails is exit code 1.")
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Earlier results (JSON Lines): only what is worse than there fails."),
    ] = None,
    margin: Annotated[
        float | None, typer.Option(min=0, max=1, help="With --junit or --baseline: how far a score may move. [0.1]")
    ] = None,
    lang: options.Lang = "auto",
    *,
    work: WorkOptions,
    wanted: AgentOptions,
) -> None:
    """Check whether an answer is faithful to its documents: nothing beyond them, and nothing against them.

    A document named - is standard input. Exit code: 0 PASS, 1 FAIL, 3 undecided or failed, 2 invalid options or input,
    130 stopped with Ctrl-C. With a file of answers: 0 all lines were checked, 3 some failed; with --junit or --baseline
    also 1: an answer fails.
    """
    from haluagent.errors import ConfigError

    how: dict[str, Any] = {"mode": mode, "threshold": threshold, "prompt_file": prompt_file, "language": lang}
    gate = junit is not None or baseline is not None
    if input_path is None and output_path is None:
        if work != WorkOptions() or file_format or gate or margin is not None:
            raise ConfigError(
                "--endpoint, --in-flight, --retry-errors, --format, --junit, --baseline and --margin are for a file: "
                "give --input-path and --output-path"
            )
        raise typer.Exit(_one(question or "", answer, document or [], how, wanted, as_json, private_addresses))
    if input_path is None or output_path is None:
        raise ConfigError("give both --input-path IN and --output-path OUT, or neither")
    if as_json or private_addresses or len(document or []) > 1:
        raise ConfigError(
            "--input-path holds what to check: leave --json, --private-addresses and further --document out"
        )
    if margin is not None and not gate:
        raise ConfigError("--margin is for --junit or --baseline")

    from haluagent.checks.faithfulness.steady import MARGIN
    from haluagent.cli.check_file import CheckFile

    columns = options.chosen(question=question, answer=answer, documents=document[0] if document else None)
    file = CheckFile(input_path, output_path, file_format, columns)
    if not gate:
        raise typer.Exit(file.run(how, wanted, work))
    raise typer.Exit(file.gate(how | {"margin": MARGIN if margin is None else margin}, wanted, work, junit, baseline))


def _one(
    question: str,
    answer: str | None,
    files: list[str],
    how: dict[str, Any],
    wanted: AgentOptions,
    as_json: bool,
    private: bool,
) -> int:
    import json
    import sys

    from haluagent.checks.faithfulness.check import check as check_answer
    from haluagent.cli.references import read_reference
    from haluagent.cli.terminal import Screen, closed_pipe_ignored
    from haluagent.cli.texts import STANDARD_INPUT, read_text
    from haluagent.errors import ConfigError

    if answer is None:
        raise ConfigError("no answer: give --answer TEXT, or --input-path IN with --output-path OUT")
    if not files:
        raise ConfigError("no document: give --document FILE, once or several times (-: standard input)")
    if [answer, *files].count(STANDARD_INPUT) > 1:
        raise ConfigError("standard input (-) can be read only once: give the other text as a file or an argument")
    answer = read_text(answer) if answer == STANDARD_INPUT else answer
    for name, text in (("question", question), ("answer", answer)):
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise ConfigError(f"the {name} is not UTF-8 text")
    documents = [read_reference(file, private) for file in files]
    with closing(options.make_agent(wanted)) as agent, closed_pipe_ignored():
        found = check_answer(agent, question, answer, documents, **how)
        if as_json:
            record = found.published() | found.model_dump(mode="json")
            # JSON is UTF-8, whatever the terminal's encoding.
            sys.stdout.buffer.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
        else:
            Screen(sys.stdout).show(report(found, documents, files))
    return exit_code(found)


def exit_code(found: "Faithfulness") -> int:
    """Return 0 for PASS, 1 for FAIL, 3 without a verdict."""
    return {"PASS": 0, "FAIL": 1, None: FAILED}[found.verdict]


def report(found: "Faithfulness", documents: list[str], files: list[str]) -> "Iterator[Line]":
    """Yield the report for a person: the verdict, its reasons, and the passages in the documents with their files."""
    from haluagent.checks.faithfulness.check import place_of
    from haluagent.report.lines import Line, usage_text

    style = {"PASS": "bold green", "FAIL": "bold red", None: "bold yellow"}[found.verdict]
    yield Line((style, found.verdict or "UNDECIDED"), ("", f" (score {found.score:.2f})"))
    for bullet in found.reasoning:
        yield Line(("", f"- {bullet}"), indent=2)
    for item in dict.fromkeys(found.evidence):
        if item.span is not None:
            number, (start, end) = place_of(documents, item.span)
            yield Line(("dim", f"{files[number]}, characters {start}-{end}: "), ("", item.text), indent=2)
    if found.error:
        yield Line(("red", found.error), indent=2)
    yield Line(("dim", usage_text(found.usage, found.language)))
