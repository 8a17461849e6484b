"""`haluagent claims collect`: a model's answers to the questions of a file."""

from pathlib import Path
from typing import Annotated

import typer

from haluagent.cli import options
from haluagent.cli.claims_running import carry_out, check_output
from haluagent.cli.endpoints import WorkOptions, make_agents, works
from haluagent.cli.options import AgentOptions

HELP = """Have a model answer the questions of a file, as items for `claims extract-check`. An item with a `reference` is answered
from it."""


# The adapter of the embedded model is for checking, not for answering.
@options.takes("model", "base_url", "api_key", sandbox="none", search="none", no_adapter=True)
@works()
def collect(
    input_path: Annotated[
        Path, typer.Option("--input-path", "--input_path", metavar="IN", help="Items {question, reference?}.")
    ],
    output_path: Annotated[
        Path,
        typer.Option("--output-path", "--output_path", metavar="OUT", help="The items with `response` and `model`."),
    ],
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The `model` of the answers; by default the endpoint's name for it."),
    ] = None,
    closed_book: Annotated[bool, typer.Option("--closed-book", help="Show the model no references.")] = False,
    answer_tokens: Annotated[int, typer.Option(min=1, help="The longest answer.")] = 512,
    *,
    work: WorkOptions,
    wanted: AgentOptions,
) -> None:
    from haluagent.checks.claims import collect as answers

    check_output(output_path, input_path)
    items = answers.questions(input_path)
    agents, at_once = make_agents(wanted, work.endpoint, work.in_flight)
    task = answers.CollectTask(model=name or agents[0].model.name, tokens=answer_tokens, closed_book=closed_book)
    carry_out(
        items,
        output_path,
        task,
        lambda progress: answers.run(
            items,
            output_path,
            agents,
            task,
            in_flight=at_once,
            bounds=work.bounds,
            again=work.retry_errors,
            progress=progress,
        ),
        answers.summary,
        again=work.retry_errors,
    )
