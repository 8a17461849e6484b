"""`haluagent detect`: one response in, one report out."""

import sys
from collections.abc import Generator
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from haluagent.cli import options
from haluagent.cli.options import AgentOptions

if TYPE_CHECKING:
    from haluagent.cli.partial import PartialDetection
    from haluagent.events import Event
    from haluagent.types import Detection

INTERRUPTED = 130


@options.takes()
def detect(
    question: Annotated[str | None, typer.Option(help="The question, if there is one.")] = None,
    response: Annotated[
        str | None, typer.Option(help="The language model's answer: the text to check. -: standard input.")
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE|URL", help="A text, PDF, Word or HTML to check against. May be given several times."
        ),
    ] = None,
    question_file: Annotated[str | None, typer.Option(metavar="FILE", help="Read the question from a file.")] = None,
    response_file: Annotated[str | None, typer.Option(metavar="FILE", help="Read the response from a file.")] = None,
    input_file: Annotated[
        str | None,
        typer.Option("--input", metavar="FILE", help="Read a JSON object with response, question and reference."),
    ] = None,
    private_addresses: options.PrivateAddresses = False,
    lang: options.Lang = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the report.")] = False,
    trace: Annotated[bool, typer.Option("--trace", help="Print every step as it happens.")] = False,
    *,
    wanted: AgentOptions,
) -> None:
    """Find what is wrong in a response.

    A file named - is standard input. Exit code: 0 no hallucination, 1 hallucination found, 3 could not be verified, 2
    invalid options or input, 130 stopped with Ctrl-C.
    """
    from haluagent.cli.inputs import collect
    from haluagent.cli.partial import PartialDetection
    from haluagent.cli.terminal import closed_pipe_ignored
    from haluagent.text.language import detect as detect_language

    text = collect(question, response, question_file, response_file, reference or [], input_file, private_addresses)
    agent = options.make_agent(wanted)
    question = text.question or ""
    language = detect_language(question, text.response) if lang == "auto" else lang
    partial = PartialDetection(question, text.response, language)
    events = agent.stream(question, text.response, reference=text.reference, language=lang)
    interrupted = False
    with closing(agent), closed_pipe_ignored():
        try:
            # However this ends, even by Ctrl-C, closing the iterator stops the agent's work.
            with closing(partial.follow(events)) as followed:
                _follow(followed, partial, trace, as_json)
        except KeyboardInterrupt:
            interrupted = True
        _print(partial.detection(), as_json)
    raise typer.Exit(INTERRUPTED if interrupted else exit_code(partial.detection()))


def exit_code(detection: "Detection") -> int:
    """Return 0 for no hallucination, 1 for a hallucination, 3 if it could not be verified."""
    return {False: 0, True: 1, None: 3}[detection.hallucination]


def _follow(events: "Generator[Event, None, None]", partial: "PartialDetection", trace: bool, as_json: bool) -> None:
    """Read all events, showing them as steps or as one progress line."""
    from haluagent.cli.terminal import Screen
    from haluagent.report.trace import event_lines, starting_line

    steps = Screen(sys.stderr if as_json else sys.stdout)
    progress = Screen(sys.stderr)
    if progress.console is not None:
        progress.show(starting_line(partial.language))
    with progress.live():
        for event in events:
            if trace:
                steps.show(event_lines(event, partial.language))
            else:
                progress.status(partial.line())


def _print(detection: "Detection", as_json: bool) -> None:
    from haluagent.cli.terminal import Screen
    from haluagent.report.lines import report_lines

    if as_json:
        # JSON is UTF-8, whatever the terminal's encoding.
        sys.stdout.buffer.write(detection.model_dump_json().encode() + b"\n")
    else:
        Screen(sys.stdout).show(report_lines(detection))
