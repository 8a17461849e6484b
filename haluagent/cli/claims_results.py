"""`haluagent claims benchmark`, `agreement` and `rank`: RefChecker's benchmark as a file, results beside human labels, and models
by their results. None of them asks a model anything."""

from pathlib import Path
from typing import Annotated

import typer

Results = Annotated[list[Path], typer.Argument(metavar="FILE…", help="What `claims check` or `extract-check` wrote.")]


def benchmark(
    annotations: Annotated[
        list[Path],
        typer.Option(
            metavar="PATH", help="RefChecker's human_annotations_v1, or files of it; may be given several times."
        ),
    ],
    references: Annotated[
        list[Path],
        typer.Option(
            metavar="PATH",
            help="nq.json, msmarco.json, dolly.json as RefChecker's script makes them, or the data sets' own files; a directory, "
            "or several times.",
        ),
    ],
    output_path: Annotated[Path, typer.Option("--output-path", "--output_path", metavar="OUT", help="The items.")],
) -> None:
    """Write RefChecker's benchmark as items of `claims check`: the annotated claims of seven models with human labels, the
    questions and the references."""
    from haluagent.checks.claims import benchmark as published
    from haluagent.checks.claims import file

    found = published.load(annotations, references)
    file.write(output_path, found.items)
    for remark in found.remarks:
        typer.echo(remark, err=True)
    claims = sum(len(item["claims"]) for item in found.items)
    typer.echo(f"{output_path}: {len(found.items)} responses, {claims} claims")


def agreement(
    results: Results,
    gold: Annotated[
        str, typer.Option(metavar="FIELD", help="The field with a human label for each claim.")
    ] = "human_labels",
    by: Annotated[
        str | None, typer.Option(metavar="FIELD", help="A row for each value of this field; `setting` if there is one.")
    ] = None,
) -> None:
    """Compare the labels of results with human ones: accuracy, F1, and the correlation of hallucination rates, in percent."""
    from haluagent.checks.claims import agreement as tables
    from haluagent.checks.claims import file

    items = [item for path in results for item in file.rows(path)]
    if by is None and any(isinstance(item, dict) and "setting" in item for item in items):
        by = "setting"
    typer.echo(tables.report(tables.judged(items, gold, by)))


def rank(
    results: Results,
    by: Annotated[str, typer.Option(metavar="FIELD", help="Names the model; by default the file does.")] = "model",
    labels: Annotated[str, typer.Option(metavar="FIELD", help="The labels, such as human_labels.")] = "ys",
) -> None:
    """Rank models by the hallucination rate of their checked answers, in percent with a 95 % interval."""
    from haluagent.checks.claims import file, rank
    from haluagent.errors import ConfigError

    rows = [row for path in results for row in rank.answered(file.rows(path), path, by, labels)]
    if not rows:
        raise ConfigError("the files hold no results: give what `haluagent claims extract-check` wrote")
    typer.echo(rank.table(rank.ranks(rows)))
