"""Labelled claims, each beside the text that it is checked against, from files of one form: one file a source."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from pathlib import Path

from haluagent.bench.datasets.catalogue import DATASETS
from haluagent.bench.datasets.items import Item
from haluagent.bench.datasets.loading import load
from haluagent.bench.datasets.rows import NamedRow, Text, named
from haluagent.errors import ConfigError
from haluagent.types import Language

PER_TEXT = 2  # claims with one label that a sample takes of a text before it takes more of any


class ClaimBesideText(NamedRow):
    language: Language
    question: str
    claim: Text
    text: Text
    wrong: bool


def sources(data: Path, names: str | None = None, *, passages: bool = False) -> dict[str, list[Item]]:
    """Return the items of each source: of every `.jsonl` file in `data`, or of those in `names`, separated by commas. A
    name of the catalogue is read as that set, where it has references or, with `passages`, passages to search. Raises ConfigError
    if a source or one of its rows cannot be read, or if there is none."""
    if not data.is_dir():
        raise ConfigError(f"{data} is no directory: give with --data the directory that holds the files of the sources")
    if names is None:
        wanted = [path.stem for path in sorted(data.glob("*.jsonl"))]
    else:
        wanted = list(dict.fromkeys(filter(None, (name.strip() for name in names.split(",")))))
    if not wanted:
        raise ConfigError(f"{data} holds no .jsonl file: give a directory with one file a source")
    return {name: _of_set(name, data, passages) if name in DATASETS else _of_file(name, data) for name in wanted}


def sample(items: Sequence[Item], size: int) -> list[Item]:
    """Return at most `size` items, at most half of them with either label. The same items always give the same sample,
    and a larger one holds the smaller ones.

    The texts come in an order made from their contents. Each gives two claims with either label, then two more, so that
    a reading of a text serves several claims.
    """
    kept: list[Item] = []
    for wrong in (False, True):
        own = sorted(
            (item for item in items if item.wrong is wrong), key=lambda item: (item.group or "", digest(item.id))
        )
        ranked = [
            (place // PER_TEXT, group or "", place, item)
            for group, of_text in groupby(own, key=lambda item: item.group)
            for place, item in enumerate(of_text)
        ]
        kept += [item for *_, item in sorted(ranked, key=lambda one: one[:3])[: size // 2]]
    return kept


def in_turns(chosen: Mapping[str, Sequence[Item]]) -> list[tuple[str, Item]]:
    """Return the items of all sources with their source: the claims of one text one after another, and the sources in
    turns, so that an early stop leaves about as many claims of each."""
    turns: list[tuple[int, str, list[Item]]] = []
    for name, items in chosen.items():
        before = 0
        for _, group in groupby(sorted(items, key=lambda item: item.group or ""), key=lambda item: item.group):
            of_text = list(group)
            turns.append((before, name, of_text))
            before += len(of_text)
    return [(name, item) for _, name, of_text in sorted(turns, key=lambda one: one[0]) for item in of_text]


def digest(text: str) -> str:
    """Return a short name for a text, which also gives a reproducible order that has nothing to do with its contents."""
    return sha256(text.encode()).hexdigest()[:16]


def _of_file(name: str, data: Path) -> list[Item]:
    return [
        Item(
            id=own, question=row.question, response=row.claim, reference=row.text, language=row.language, wrong=row.wrong,
            group=digest(row.text),
        )
        for own, row in named(data, name, ClaimBesideText).items()
    ]  # fmt: skip


def _of_set(name: str, data: Path, passages: bool) -> list[Item]:
    items = load(name, data)
    if passages and DATASETS[name].passages is not None:
        return items
    items = [item.model_copy(update={"group": digest(item.reference)}) for item in items if item.reference]
    if not items:
        raise ConfigError(f"{name} has no references: claims are judged beside a text")
    return items
