"""`haluagent report`: a page of the results of a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from haluagent.bench.report.run_page import ResultRow


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The JSON lines that `batch` or `check` wrote.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="The page; by default RUN with the ending .html.")
    ] = None,
    spans: Annotated[
        Literal["ragtruth", "lettucedetect"] | None,
        typer.Option(
            help="Instead, write the wrong sentences as spans: RAGTruth's two files into --out, or LettuceDetect's one."
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option("--input", metavar="IN", help="With --spans: the input of `batch`, which has the references."),
    ] = None,
) -> None:
    """Write one HTML page of the results of `batch` or `check`: verdicts, evidence and steps, with filters.

    The page is one file that needs no network. It holds the texts that were checked.
    """
    from haluagent.bench.report.run_page import read_results, run_page
    from haluagent.errors import ConfigError

    if (spans is None) != (source is None):
        raise ConfigError("give --spans and --input together: the format, and the file that `batch` checked")
    rows = read_results(run)
    if spans is not None and source is not None:
        return _spans(
            rows, spans, source, out or run.with_suffix(".json" if spans == "lettucedetect" else ".ragtruth"), run
        )
    page = out or run.with_suffix(".html")
    if page.exists() and page.samefile(run):
        raise ConfigError(f"{page} is the run itself: name the page otherwise with --out")
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(run_page(rows, run.name), encoding="utf-8", errors="replace")
    except OSError as error:
        raise ConfigError(f"{page} cannot be written: {error.strerror or error}") from error
    typer.echo(f"{page}: {len(rows)} items, {page.stat().st_size / 1e6:.1f} MB")


def _spans(
    rows: "list[ResultRow]", format: Literal["ragtruth", "lettucedetect"], source: Path, out: Path, run: Path
) -> None:
    from haluagent.bench.report import spans
    from haluagent.errors import ConfigError

    if any(out.exists() and out.samefile(path) for path in (run, source) if path.exists()):
        raise ConfigError(f"{out} is the run or its input: name the output otherwise with --out")
    found, failed = spans.judged(rows, source)
    counted = sum(len(one.spans) for one in found)
    written = spans.write(found, format, out)
    left = f"; {failed} failed rows are left out" if failed else ""
    typer.echo(f"{' and '.join(map(str, written))}: {len(found)} responses, {counted} spans{left}")
