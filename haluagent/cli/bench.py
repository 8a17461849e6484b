"""`haluagent bench`: measure the agent on labelled sets."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Measure the agent on labelled sets.", no_args_is_help=True)


@app.command()
def run(
    data: Annotated[Path, typer.Option(help="The directory with the files of the sets.")],
    out: Annotated[Path, typer.Option(help="The file of results, one JSON line an item; continued if it exists.")],
    datasets: Annotated[str, typer.Option(help="Names, separated by commas.")] = "date,wordcnt,ape210k,factool_math,halueval_qa",
    limit: Annotated[int | None, typer.Option(help="The first N items of each set only.")] = None,
    strategy: Annotated[str, typer.Option(help="branches or linear")] = "branches",
    model: Annotated[str | None, typer.Option(help="The model; the embedded one by default.")] = None,
    base_url: Annotated[str | None, typer.Option(help="An OpenAI-compatible endpoint.")] = None,
    api_key: Annotated[str | None, typer.Option(help="Its key.")] = None,
) -> None:
    """Run the agent over sets and print their figures."""
    from ..agent import HaluAgent
    from ..bench import report as reporting
    from ..bench import run as running

    agent = HaluAgent(model, base_url=base_url, api_key=api_key, strategy=strategy)  # type: ignore[arg-type]
    names = [name.strip() for name in datasets.split(",") if name.strip()]
    running.run(agent, names, data, out, limit, progress=lambda line: typer.echo(line, err=True))
    typer.echo(reporting.table(running.read(out)))


@app.command()
def report(out: Annotated[Path, typer.Argument(help="A file that `bench run` wrote.")]) -> None:
    """Print the figures of a run."""
    from ..bench import report as reporting
    from ..bench import run as running
    from ..errors import ConfigError

    if not out.is_file():
        raise ConfigError(f"{out} does not exist: give the file that `haluagent bench run --out` wrote")
    typer.echo(reporting.table(running.read(out)))
