"""Claims whose evidence has to be found: what the agent makes of them when it can search, and no text is put beside them.

The texts of all claims are in one index, with others. This is how a fact is checked that a user has no document for.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from haluagent.bench.datasets.items import Item
from haluagent.bench.datasets.loading import DATASETS, passages
from haluagent.bench.report.text import short
from haluagent.bench.retrieval import build
from haluagent.bench.rows import VERDICTS, Row
from haluagent.bench.scoring.sources import ALL, share
from haluagent.search.index.local import LocalIndex

HEAD = (
    "source", "claims", "decided, %", "of these right, %", "right claims contradicted, %", "wrong claims supported, %",
    "deciding passage shown, %", "searches", "seconds",
)  # fmt: skip

Key = tuple[str, str]  # the source of a claim, and its name there


class OpenClaims(NamedTuple):
    """Claims by source, without their texts; the texts that decide each of them; and all texts."""

    items: dict[str, list[Item]]
    evidence: dict[Key, frozenset[str]]
    texts: list[str]


def without_texts(sources: Mapping[str, Sequence[Item]]) -> OpenClaims:
    """Return the claims of the sources, each once. A claim with several texts is decided by any of them; one that is right beside
    one text and wrong beside another is left out."""
    found = OpenClaims(
        {}, {}, list(dict.fromkeys(item.reference for own in sources.values() for item in own if item.reference))
    )
    for name, own in sources.items():
        found.items[name] = []
        ordered = sorted(own, key=lambda item: (item.question, item.response))
        for _, group in groupby(ordered, key=lambda item: (item.question, item.response)):
            same = list(group)
            if len({item.wrong for item in same}) == 1:
                found.items[name].append(same[0].model_copy(update={"reference": None}))
                found.evidence[name, same[0].id] = frozenset(item.reference for item in same if item.reference)
    return found


def index(
    folder: Path, texts: Sequence[str], sources: Iterable[str], data: Path, beside: Sequence[Path], size: int
) -> LocalIndex:
    """Return an index in `folder` of the texts, of the passages that those of the sources come with that are sets of the catalogue,
    and of the documents `beside` them, with made passages where it would have fewer than `size`."""
    own = [file for name in sources if name in DATASETS and (file := passages(name, folder, data)) is not None]
    return build(folder, texts, [*own, *beside], size)


def table(rows: Sequence[Row], evidence: Mapping[Key, frozenset[str]]) -> str:
    """Return the figures of each source, and of all, as a Markdown table. Shares have their 95 % interval; claims about one text are
    resampled together. A claim is decided where it has a verdict. The deciding passage is shown where the evidence of a right
    claim called right stands in one of its texts. A source of answers with several sentences has a second line, for which the
    first sentence that claims something decides alone."""
    lines = [f"| {' | '.join(HEAD)} |", "|---|" + "---:|" * (len(HEAD) - 1)]
    names = sorted({row.dataset for row in rows})
    parts: dict[str, Sequence[Row]] = {}
    for name in names:
        parts[name] = [row for row in rows if row.dataset == name]
        if any(row.detection and len(row.detection.sentences) > 1 for row in parts[name]):
            parts[f"{name}, first sentences"] = list(map(_by_first_sentence, parts[name]))
    if len(names) > 1:
        parts[ALL] = rows
    for name, own in parts.items():
        decided = [row for row in own if row.verdict is not None]
        supported = [row for row in own if row.verdict is False and not row.wrong and evidence.get(row.key[:2])]
        shares = (
            share(own, lambda row: row.verdict is not None),
            share(decided, lambda row: row.verdict == row.wrong),
            share([row for row in own if not row.wrong], lambda row: row.verdict is True),
            share([row for row in own if row.wrong], lambda row: row.verdict is False),
            share(supported, lambda row: _shows(row, evidence[row.key[:2]])),
        )
        cells = [
            *map(short, shares),
            f"{fmean(_searches(row) for row in own):.1f}",
            f"{fmean(row.seconds for row in own):.1f}",
        ]
        lines.append(f"| {name} | {len(own)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _by_first_sentence(row: Row) -> Row:
    """Return the row with nothing but the first sentence that is not called "no claim", and its verdict."""
    if row.detection is None:
        return row
    first = [entry for entry in row.detection.sentences if entry.label != "no_claim"][:1]
    verdict = VERDICTS.get(first[0].label) if first else None
    return row.model_copy(
        update={"verdict": verdict, "detection": row.detection.model_copy(update={"sentences": tuple(first)})}
    )


def _shows(row: Row, texts: frozenset[str]) -> bool:
    """Return whether what is shown for a sentence of the response stands in one of the texts."""
    flat = [_flat(text) for text in texts]
    shown = [one.text for entry in row.detection.sentences for one in entry.evidence] if row.detection else []
    return any(_flat(text) in whole for text in shown for whole in flat)


def _searches(row: Row) -> int:
    steps = row.detection.steps if row.detection else ()
    return sum(step.call is not None and step.call.name == "web_search" for step in steps)


def _flat(text: str) -> str:
    return " ".join(text.split())
