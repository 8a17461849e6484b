"""`haluagent bench calibrate`: the curves of `match` for a model."""

from pathlib import Path
from typing import Annotated

import typer


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
    from ..errors import ConfigError
    from ..journal import read_lines
    from ..models import resolve

    file = fit_only or out
    if file is None or (fit_only is None and data is None):
        raise ConfigError("give --data and --out, or --fit-only with the file of an earlier run")
    if fit_only is None and data is not None:
        chosen = resolve(model, base_url=base_url, api_key=api_key)
        judging.run(chosen, pairs.make(data, limit), file, progress=lambda line: typer.echo(line, err=True))
    if not file.is_file():
        raise ConfigError(f"{file} does not exist: give the file that `haluagent bench calibrate --out` wrote")
    typer.echo(curve_report.report(read_lines(file)))
