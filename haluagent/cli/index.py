"""`haluagent index`: make the user's own documents searchable."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from haluagent.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from haluagent.protocols import SearchResult
    from haluagent.search.index.local import LocalIndex
    from haluagent.search.index.update import FileChange, Summary

app = typer.Typer(help="Your own documents: the search that needs no network and no key.", no_args_is_help=True)

Paths = Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files, and folders with everything in them.")]
IndexFile = Annotated[
    Path | None,
    typer.Option("--index", metavar="FILE", help="The index; by default HALUAGENT_INDEX or the user's own."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_SUMMARY = {
    "added": "added",
    "replaced": "replaced",
    "unchanged": "unchanged",
    "removed": "removed",
    "skipped": "skipped (hidden or of another type)",
    "failed": "could not be read",
    "left_out": "rows or pages left out",
    "passages": "new passages",
}


@app.command()
def add(
    paths: Paths,
    index: IndexFile = None,
    field: Annotated[
        str | None, typer.Option(metavar="NAME", help="The field of JSON Lines that holds the text.")
    ] = None,
) -> None:
    """Add text, Markdown, HTML, PDF, Word and JSONL files. Unchanged files are skipped, and deleted ones are removed."""
    target = _index(index)
    summary = target.add(paths, field=field, report=show_change)
    show_summary(summary, target.path)
    if not (summary.added or summary.replaced or summary.unchanged or summary.removed):
        from haluagent.search.documents.reading import KINDS

        raise ConfigError(f"nothing was added: a folder is searched for readable {', '.join(KINDS)} files")


@app.command()
def remove(paths: Paths, index: IndexFile = None) -> None:
    """Remove files and folders from the index. The files themselves stay."""
    _index(index).remove(paths, report=show_change)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="A question or some words.")],
    count: Annotated[int, typer.Option(min=1, max=100, help="The maximum number of passages.")] = 5,
    index: IndexFile = None,
    as_json: AsJson = False,
) -> None:
    """Show the passages that match a query best."""
    import asyncio

    show_results(asyncio.run(_index(index).search(query, count)), as_json)


@app.command()
def stats(index: IndexFile = None, as_json: AsJson = False) -> None:
    """Show how much is in the index, and where it is."""
    found = _index(index).stats()
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    for name, value in found.model_dump().items():
        typer.echo(f"{name.replace('_', ' ') + ':':10} {value if name == 'path' else f'{value:,}'}")


def _index(path: Path | None) -> "LocalIndex":
    from haluagent.search.index.local import LocalIndex

    return LocalIndex(path)


def show_results(results: "Sequence[SearchResult]", as_json: bool) -> None:
    """Print what a search found."""
    from haluagent.cli.terminal import Screen, closed_pipe_ignored
    from haluagent.report.lines import Line

    with closed_pipe_ignored():
        if as_json:
            print_json([result.model_dump() for result in results])
            return
        screen = Screen()
        for number, result in enumerate(results, start=1):
            screen.show(Line(("bold", f"{number}. {result.title}")))
            screen.show(Line(("dim", result.url), indent=3))
            screen.show(Line(("", result.snippet), indent=3))
        if not results:
            screen.show(Line(("", "nothing found")))


def show_change(change: "FileChange") -> None:
    """Print what became of a file."""
    from haluagent.cli.terminal import Screen
    from haluagent.report.lines import Line

    if change.problem:
        Screen(sys.stderr).show(Line(("yellow", "left out: "), ("", f"{change.path}: {change.problem}")))
    else:
        passages = f", passages: {change.number}" if change.kind != "removed" else ""
        Screen().show(Line(("", f"{change.kind} {change.path}{passages}")))


def show_summary(summary: "Summary", path: Path) -> None:
    """Print the numbers of an index that was added to."""
    from haluagent.cli.terminal import Screen
    from haluagent.report.lines import Line

    numbers = asdict(summary)
    parts = [f"{numbers[name]} {word}" for name, word in _SUMMARY.items() if numbers[name]]
    Screen().show(Line(("bold", f"{path}: "), ("", ", ".join(parts) or "nothing to add")))


def print_json(value: object) -> None:
    """Print a value as JSON, whatever the terminal's encoding."""
    sys.stdout.buffer.write(json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n")
