"""`haluagent claims label`, `label-agreement` and `label-export`: spans that people mark as wrong."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from haluagent.cli import options

Labels = Annotated[Path, typer.Argument(metavar="LABELS", help="What a page of `claims label` saved.")]


def label(
    items: Annotated[
        Path,
        typer.Argument(metavar="ITEMS", help="{response, reference, question?, id?}: JSON, JSON Lines, CSV, Parquet."),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="The page; by default ITEMS with the ending .html."),
    ] = None,
    question: options.QuestionColumn = None,
    response: options.ResponseColumn = None,
    reference: options.ReferenceColumn = None,
) -> None:
    """Write one HTML page on which a person marks the wrong spans of responses beside their references.

    The page needs no network and keeps the labels in the browser until they are downloaded, as JSON Lines.
    """
    from haluagent.bench.labelling.page import label_page
    from haluagent.checks.claims import file
    from haluagent.cli.claims_running import check_output
    from haluagent.errors import ConfigError

    page = out or items.with_suffix(".html")
    check_output(page, items)
    found = file.read(items, None, options.chosen(question=question, response=response, reference=reference))
    html = label_page(found)
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(html, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{page} cannot be written: {error.strerror or error}") from error
    typer.echo(f"{page}: {len(found)} items")


def label_agreement(
    first: Labels,
    second: Labels,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare the spans that two people marked: by response, by character, and by kind."""
    from haluagent.bench.labelling import agreement
    from haluagent.bench.labelling.labels import read

    found = agreement.compare(read(first), read(second))
    typer.echo(found.model_dump_json() if as_json else agreement.table(found))


def label_export(
    labels: Labels,
    spans: Annotated[
        Literal["ragtruth", "lettucedetect"],
        typer.Option(help="RAGTruth's two files, in the directory --out; or LettuceDetect's one."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="OUT", help="The directory or the file to write.")],
) -> None:
    """Write labels in the format of a corpus. Spans marked as not sure are left out."""
    from haluagent.bench.labelling.labels import read, spanned
    from haluagent.bench.report.spans import write
    from haluagent.cli.claims_running import check_output

    check_output(out, labels)
    found = spanned(read(labels))
    written = write(found, spans, out)
    typer.echo(
        f"{' and '.join(map(str, written))}: {len(found)} responses, {sum(len(one.spans) for one in found)} spans"
    )
