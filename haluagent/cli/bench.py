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


@app.command()
def calibrate(
    data: Annotated[Path | None, typer.Option(help="The directory with the published files of the sets.")] = None,
    out: Annotated[Path | None, typer.Option(help="The file of judgements, one JSON line a pair; continued if it exists.")] = None,
    limit: Annotated[int, typer.Option(help="At most N pairs for each use and language.")] = 48,
    fit_only: Annotated[Path | None, typer.Option(help="Ask nothing: fit the judgements of this file again.")] = None,
    model: Annotated[str | None, typer.Option(help="The model; the embedded one by default.")] = None,
    base_url: Annotated[str | None, typer.Option(help="An OpenAI-compatible endpoint.")] = None,
    api_key: Annotated[str | None, typer.Option(help="Its key.")] = None,
) -> None:
    """Judge labelled pairs with a model, and print the curves of `match` that fit it."""
    from ..bench import calibrate as judging
    from ..bench import curve_report, pairs
    from ..bench import run as running
    from ..errors import ConfigError
    from ..models import resolve

    file = fit_only or out
    if file is None or (fit_only is None and data is None):
        raise ConfigError("give --data and --out, or --fit-only with the file of an earlier run")
    if fit_only is None and data is not None:
        chosen = resolve(model, base_url=base_url, api_key=api_key)
        judging.run(chosen, pairs.make(data, limit), file, progress=lambda line: typer.echo(line, err=True))
    if not file.is_file():
        raise ConfigError(f"{file} does not exist: give the file that `haluagent bench calibrate --out` wrote")
    typer.echo(curve_report.report(running.read(file)))
