"""Measure the local index: how often it finds the passage that holds the evidence, and how long a query takes.

The texts are those of reading sets and of sets of claims beside texts. Each right claim, or the question that it answers,
is looked up among the passages of all texts together.
"""

import json
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import groupby, islice
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

from pydantic import AliasChoices, Field

from haluagent.bench.datasets.rows import RowModel, Text, rows
from haluagent.errors import ConfigError, ToolError
from haluagent.protocols import Model
from haluagent.search.documents.passages import sentences
from haluagent.search.index.local import LocalIndex
from haluagent.text.language import WRITTEN_HAN, han_ratio
from haluagent.tools.translate.comparison import ModelTranslator
from haluagent.types import Language

COUNT = 5  # results of a query
MADE = 5  # sentences in a made passage
SEED = 2009


class EvidenceRow(RowModel):
    """A text, and a question that it answers or a claim that it bears out. One that it does not bear out is no query.

    With a question, what is looked up is the question, together with the claim where that is no answer word for word.
    """

    text: Text = Field(validation_alias=AliasChoices("text", "context", "knowledge", "output"))
    question: str = ""
    claim: str = ""
    answers: list[str] = []
    right_answer: str = ""
    wrong: bool = False

    @property
    def query(self) -> str:
        answer = bool(self.question) and self.claim in self.text
        return (self.question if answer else f"{self.claim} {self.question}").strip()


class Query(NamedTuple):
    """A question or a claim, the texts that hold its evidence, and its answers; `languages` are its own and the texts'."""

    source: str
    languages: str
    text: str
    evidence: frozenset[str]
    answers: tuple[str, ...]


class Lookup(NamedTuple):
    """A query, the place of the passage with the evidence, counted from 1 (None: not found), and the seconds it took."""

    query: Query
    place: int | None
    seconds: float


def read(paths: Sequence[Path]) -> tuple[list[str], list[Query]]:
    """Return the texts of the files, and of the `.jsonl` files in the folders, each once, and their queries. Raises ConfigError
    where a file or a row cannot be read, or where there is no query."""
    texts: dict[str, None] = {}
    asked: dict[tuple[str, str], list[EvidenceRow]] = {}
    for path in _files(paths):
        for _, row in rows(path.parent, path.stem, EvidenceRow):
            texts[row.text] = None
            if row.query and not row.wrong:
                asked.setdefault((path.stem, row.query), []).append(row)
    if not asked:
        raise ConfigError(
            "there is no question and no right claim in the data: give files as docs/search-index.md says"
        )
    return list(texts), [_query(source, text, found) for (source, text), found in asked.items()]


def in_half(queries: Iterable[Query], half: int) -> list[Query]:
    """Return half of the queries, 0 or 1: those about one text are all in one half."""
    return [query for query in queries if sha256(f"half {min(query.evidence)}".encode()).digest()[0] % 2 == half]


def sample(queries: Iterable[Query], size: int) -> list[Query]:
    """Return at most `size` queries of each source and pair of languages, always the same."""
    ordered = sorted(queries, key=lambda one: (one.source, one.languages, sha256(one.text.encode()).digest()))
    groups = groupby(ordered, key=lambda one: (one.source, one.languages))
    return [query for _, group in groups for query in islice(group, size)]


def build(folder: Path, texts: Sequence[str], beside: Sequence[Path] = (), passages: int = 0) -> LocalIndex:
    """Return an index in `folder` of the texts and of the documents `beside` them, with made passages where it would have
    fewer than `passages`: random sentences of the texts, of one language each. Raises ConfigError where there is nothing to make
    them of, and for documents that do not exist."""
    index = LocalIndex(folder / "index.db")
    if gone := [str(path) for path in beside if not path.exists()]:
        raise ConfigError(f"{', '.join(gone)} does not exist: give with --beside files or folders of documents")
    index.add([_write(folder / "texts.jsonl", texts), *beside])
    if (missing := passages - index.stats().passages) > 0:
        if not texts:
            raise ConfigError("--passages makes passages of the texts of the claims, and these have none: leave it out")
        index.add([_write(folder / "made.jsonl", _made(texts, missing))])
    return index


async def translated(model: Model, queries: Iterable[Query]) -> list[Query]:
    """Return the queries, those about texts in the other language in that language, as `web_search` puts them. One that the model
    does not translate stays as it is. Raises ModelError where the model failed."""
    found = []
    for query in queries:
        own, _, theirs = query.languages.partition("→")
        text = query.text
        if theirs:
            with suppress(ToolError):
                text = await ModelTranslator(model, _language(text)).translate(text, theirs, own)
        found.append(query._replace(text=text))
    return found


async def look_up(index: LocalIndex, queries: Iterable[Query]) -> list[Lookup]:
    """Look up each query. A passage has the evidence if it is from one of its texts and holds an answer, where the text
    has one word for word."""
    found = []
    for query in queries:
        began = time.perf_counter()
        results = await index.search(query.text, COUNT)
        seconds = time.perf_counter() - began
        places = (
            place
            for place, result in enumerate(results, start=1)
            if any((result.text or "") in text for text in query.evidence)
            and (not query.answers or any(answer in (result.text or "") for answer in query.answers))
        )
        found.append(Lookup(query, next(places, None), seconds))
    return found


def table(found: Sequence[Lookup]) -> str:
    """Return the figures of each source and pair of languages as a Markdown table: shares found, and times."""
    lines = [
        "| source | language | queries | first | among five | median ms | p95 ms |",
        "|---|---|---|---|---|---|---|",
    ]
    ordered = sorted(found, key=lambda one: (one.query.languages, one.query.source))
    for (languages, source), group in groupby(ordered, key=lambda one: (one.query.languages, one.query.source)):
        lines.append(_line(source, languages, list(group)))
    for languages, group in groupby(ordered, key=lambda one: one.query.languages):
        lines.append(_line("all", languages, list(group)))
    return "\n".join(lines)


def _line(source: str, languages: str, found: list[Lookup]) -> str:
    first = sum(one.place == 1 for one in found) / len(found)
    five = sum(one.place is not None for one in found) / len(found)
    times = [1000 * one.seconds for one in found]
    late = quantiles(times, n=20)[-1] if len(times) > 1 else times[0]
    return f"| {source} | {languages} | {len(found):,} | {first:.1%} | {five:.1%} | {median(times):.0f} | {late:.0f} |"


def _files(paths: Sequence[Path]) -> list[Path]:
    found = []
    for path in paths:
        if not path.exists():
            raise ConfigError(f"{path} does not exist: give with --data files of the sets, or folders that hold them")
        found += sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    return found


def _query(source: str, text: str, found: list[EvidenceRow]) -> Query:
    evidence = frozenset(row.text for row in found)
    given = [answer for row in found for answer in (*row.answers, row.right_answer, row.claim if row.question else "")]
    answers = tuple(dict.fromkeys(one for one in given if one and any(one in text for text in evidence)))
    own, theirs = _language(text), _language(min(evidence))
    return Query(source, own if own == theirs else f"{own}→{theirs}", text, evidence, answers)


def _language(text: str) -> Language:
    return "zh" if han_ratio(text) >= WRITTEN_HAN else "en"


def _made(texts: Sequence[str], number: int) -> Iterator[str]:
    dice = random.Random(SEED)
    pools: dict[Language, list[str]] = {"en": [], "zh": []}
    for text in texts:
        pools[_language(text)] += [text[start:end] for start, end in sentences(text)]
    full = [pool for pool in pools.values() if pool]
    for place in range(number):
        yield " ".join(dice.choices(full[place % len(full)], k=MADE))


def _write(path: Path, texts: Iterable[str]) -> Path:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    return path
