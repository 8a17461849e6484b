"""`haluagent knowledge`: facts from an encyclopaedia on this machine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from haluagent.cli.index import AsJson, IndexFile, print_json, show_change, show_results, show_summary
from haluagent.errors import ConfigError

if TYPE_CHECKING:
    from haluagent.search.index.local import Copied
    from haluagent.search.knowledge.packs import Pack

app = typer.Typer(help="Encyclopaedias on this machine, for facts without a reference.", no_args_is_help=True)


@app.command()
def add(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="ZIM files of Kiwix, or dumps of a wiki.")],
    index: IndexFile = None,
) -> None:
    """Attach large ZIM files, and copy small ones and dumps (.json.gz, .json.bz2, .xml.bz2) into the index."""
    for file in files:
        _add(file, _place(index))


@app.command("list")
def list_packs(index: IndexFile = None, as_json: AsJson = False) -> None:
    """Show the encyclopaedias that are searched, and what is wrong with those that cannot be."""
    from haluagent.search.index.local import LocalIndex
    from haluagent.search.index.place import exists
    from haluagent.search.knowledge.packs import read_packs

    place = _place(index)
    rows = [_attached(pack) for pack in read_packs(place)]
    rows += [_copied(file) for file in (LocalIndex(place).encyclopaedias() if exists(place) else [])]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        typer.echo(f"{row['name']}: {row['state']}, {row['about']}, {row['path']}")
    if not rows:
        typer.echo(
            "none: add a file with `haluagent knowledge add FILE`, or download one with `haluagent knowledge pull`"
        )


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="A question or some words.")],
    count: Annotated[int, typer.Option(min=1, max=100, help="The maximum number of passages.")] = 5,
    index: IndexFile = None,
    as_json: AsJson = False,
) -> None:
    """Show the passages of the encyclopaedias and the index that match a query best: what `web_search` finds."""
    import asyncio

    from haluagent.search import resolve

    provider = resolve("local", index=_place(index))
    assert provider is not None  # for "local" there is an error instead
    show_results(asyncio.run(provider.search(query, count)), as_json)


@app.command()
def remove(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names or paths, as `list` shows them.")],
    index: IndexFile = None,
) -> None:
    """Detach encyclopaedias, or remove them from the index. The files themselves stay."""
    from haluagent.search.knowledge.packs import detach

    place = _place(index)
    for name in names:
        if pack := detach(place, name):
            typer.echo(f"detached {pack.path}")
        else:
            _remove_copied(name, place)


@app.command()
def pull(
    name: Annotated[
        str, typer.Argument(metavar="NAME|URL", help="A name such as wikipedia_zh_all_nopic, or an address.")
    ],
    sha256: Annotated[str | None, typer.Option(help="The expected SHA-256, if the server states none.")] = None,
    index: IndexFile = None,
) -> None:
    """Download an encyclopaedia, check its SHA-256, and add it. An interrupted download is resumed."""
    from haluagent.models.weights.progress import download_progress
    from haluagent.search.knowledge.kiwix import pull as pull_file

    with download_progress(name.rpartition("/")[2]) as progress:
        file = pull_file(name, progress, sha256=sha256)
    _add(file, _place(index))


def _place(index: Path | None) -> Path:
    from haluagent.search.index.place import default_path

    return index or default_path()


def _add(file: Path, place: Path) -> None:
    from haluagent.search.documents.reading import ENCYCLOPAEDIAS, kind_of
    from haluagent.search.index.local import LocalIndex
    from haluagent.search.knowledge.packs import LARGEST_COPIED, attach

    if not file.is_file():
        raise ConfigError(f"{file} is no file")
    kind = kind_of(file)
    if kind not in ENCYCLOPAEDIAS:
        raise ConfigError(f"{file} is no ZIM file or dump of a wiki: add your own documents with `haluagent index add`")
    if kind == "zim" and file.stat().st_size > LARGEST_COPIED:
        pack = attach(place, file)
        typer.echo(f"attached {pack.path}: {pack.title}, {pack.articles:,} articles")
        return
    summary = LocalIndex(place).add([file], report=show_change)
    show_summary(summary, place)
    if summary.failed:
        raise ConfigError(f"{file} could not be added as a whole")


def _attached(pack: "Pack") -> dict[str, object]:
    from haluagent.errors import SearchError
    from haluagent.search.knowledge.zim import ZimPack

    try:
        ZimPack(pack.path).summary()
        state = "attached"
    except (SearchError, ConfigError) as error:
        state = f"NOT SEARCHED ({error})"
    about = ", ".join(filter(None, [pack.title, f"{pack.articles:,} articles", pack.language, pack.licence]))
    return {"name": pack.name, "state": state, "about": about, "path": str(pack.path), "bytes": pack.size}


def _copied(file: "Copied") -> dict[str, object]:
    state = "copied into the index" if file.complete else "copied in part: add it again"
    about = f"{file.passages:,} passages"
    return {"name": file.path.stem, "state": state, "about": about, "path": str(file.path), "bytes": file.size}


def _remove_copied(name: str, place: Path) -> None:
    from haluagent.search.index.local import LocalIndex
    from haluagent.search.index.place import exists

    index = LocalIndex(place)
    copied = [file.path for file in index.encyclopaedias()] if exists(place) else []
    found = [path for path in copied if name in (str(path), path.stem) or Path(name).absolute() == path]
    if len(found) != 1:
        raise ConfigError(f"there is {'no' if not found else 'more than one'} {name}: see `haluagent knowledge list`")
    index.remove(found, report=show_change)
