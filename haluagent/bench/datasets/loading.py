"""Load the items of the labelled sets. A method never sees their gold answers."""

import json
from difflib import SequenceMatcher
from pathlib import Path

from haluagent.bench.datasets.catalogue import DATASETS, Dataset
from haluagent.bench.datasets.fetch import PUBLIC, Hosts, fetch
from haluagent.bench.datasets.items import Item
from haluagent.bench.datasets.rows import file_of, texts
from haluagent.errors import ConfigError
from haluagent.models.weights.store import install

__all__ = ["DATASETS", "Dataset", "files", "find", "load", "passages", "table"]


def find(name: str) -> Dataset:
    """Return the set with this name. Raises ConfigError listing the known names, the most similar first."""
    if name in DATASETS:
        return DATASETS[name]
    written = name.lower().replace("-", "_").replace(" ", "_")
    known = sorted(DATASETS, key=lambda one: -SequenceMatcher(None, written, one).ratio())
    raise ConfigError(f"there is no dataset {name!r}; known are {', '.join(known)}")


def load(name: str, data: Path | None = None, hosts: Hosts = PUBLIC) -> list[Item]:
    """Return the items of a set, read from the directory `data` or, without one, from the files of its source, fetched
    into the cache. Raises ConfigError naming the set, the file, or the row and field that is not as expected."""
    directory = _directory(find(name), data, hosts)
    items = list(find(name).read(directory))
    if not items:
        raise ConfigError(f"{directory} holds no item of {name}: give the published file of the set")
    return items


def files(name: str, data: Path | None = None, hosts: Hosts = PUBLIC) -> list[Path]:
    """Return the files that `load` reads. Raises ConfigError as `load` does."""
    directory = _directory(find(name), data, hosts)
    return [file_of(directory, Path(source.file).stem) for source in find(name).sources]


def passages(name: str, folder: Path, data: Path | None = None, hosts: Hosts = PUBLIC) -> Path | None:
    """Write the passages of a set to a JSON Lines file in `folder`, each under `text` without the rest of its row,
    ready to be indexed. Return the path, or None if the set has no passages. Raises ConfigError as `load` does."""
    field = find(name).passages
    if field is None:
        return None
    target = folder / f"{name}.passages.jsonl"
    found = (text for path in files(name, data, hosts) for text in texts(path, field))
    unfinished = target.with_name(f".{target.name}.part")
    unfinished.write_text("".join(json.dumps({"text": text}) + "\n" for text in found), encoding="utf-8")
    install(unfinished, target)
    return target


def _directory(dataset: Dataset, data: Path | None, hosts: Hosts) -> Path:
    if data is None:
        return fetch(dataset.name, dataset.sources, hosts)
    if not data.is_dir():
        raise ConfigError(f"{data} is no directory: give with --data the directory that holds the files of the sets")
    return data


def table() -> str:
    """Return the sets as a Markdown table."""
    lines = [
        "| name | set | labels | language | published items | reference | licence | note |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in DATASETS.values():
        n, reference = "" if one.n is None else f"{one.n:,}", "yes" if one.reference else "no"
        cells = (one.name, one.title, one.level, ", ".join(one.languages), n, reference, one.licence, one.note)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
