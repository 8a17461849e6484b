"""`haluagent report`: a page of the results of a file."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The JSON lines that `batch` or `check` wrote.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="The page; by default RUN with the ending .html.")
    ] = None,
) -> None:
    """Write one HTML page of the results of `batch` or `check`: verdicts, evidence and steps, with filters.

    The page is one file that needs no network. It holds the texts that were checked.
    """
    from haluagent.bench.report.run_page import read_results, run_page
    from haluagent.errors import ConfigError

    page = out or run.with_suffix(".html")
    rows = read_results(run)
    if page.exists() and page.samefile(run):
        raise ConfigError(f"{page} is the run itself: name the page otherwise with --out")
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(run_page(rows, run.name), encoding="utf-8", errors="replace")
    except OSError as error:
        raise ConfigError(f"{page} cannot be written: {error.strerror or error}") from error
    typer.echo(f"{page}: {len(rows)} items, {page.stat().st_size / 1e6:.1f} MB")
