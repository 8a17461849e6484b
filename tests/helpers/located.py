"""How often the sentence is found that a claim says in other words: by the words that they share, and by the model.

`python tests/helpers/located.py [MODEL_OPTIONS]` measures both on `tests/data/localization`, made by hand: passages of six similar
sentences, and a claim about each one. Half of them share few words with it; four in each language say the opposite. With
`--out FILE` the model's probabilities are kept.
"""

import argparse
import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from places import ROOT

from haluagent.checks.claims.localize import cite
from haluagent.checks.claims.pointing import in_doubt, point
from haluagent.models import resolve
from haluagent.protocols import Choice, Message, Model, ToolContext
from haluagent.text.segment import split
from haluagent.text.words import words
from haluagent.types import Language, Sentence

DATA = ROOT / "tests" / "data" / "localization"
FEW = 1 / 3  # the largest share of its words that a claim has in common with its sentence, where that is few
LANGUAGES: tuple[Language, ...] = ("en", "zh")


class Located(NamedTuple):
    """A claim, and the sentence of the passage that it is about."""

    passage: str
    sentences: list[Sentence]
    claim: str
    about: Sentence

    @property
    def few(self) -> bool:
        said = words(self.claim)
        return len(said & words(self.about.text)) <= FEW * len(said)

    @property
    def by_overlap(self) -> Sentence:
        place = cite((self.passage,), 0, (0, len(self.passage)), self.claim).span
        return next(one for one in self.sentences if one.span == place)


def load(language: Language, folder: Path = DATA) -> Iterator[Located]:
    for line in (folder / f"{language}.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        passage = ("" if language == "zh" else " ").join(row["sentences"])
        sentences = split(passage)
        assert [one.text for one in sentences] == row["sentences"]
        for claim, about in zip(row["claims"], sentences, strict=True):
            yield Located(passage, sentences, claim, about)


class Kept:
    """A model that keeps what it chose."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.last: dict[str, float] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    async def choose(self, messages: list[Message], choices: list[str]) -> Choice:
        choice = await self.model.choose(messages, choices)
        self.last = choice.probabilities
        return choice


async def measure(model: Model, out: Path | None) -> None:
    kept = Kept(model)
    rows: list[dict[str, Any]] = []
    for language in LANGUAGES:
        known = list(load(language))
        found: list[tuple[bool, ...]] = []
        for one in known:
            context = ToolContext("", one.passage, language, one.sentences, kept)  # type: ignore[arg-type]
            by_model = await point(context, one.claim, one.sentences) or one.by_overlap
            chosen = by_model if in_doubt(one.claim, one.sentences) else one.by_overlap
            found.append((one.few, *(place == one.about for place in (one.by_overlap, chosen, by_model))))
            rows.append({"language": language, "claim": one.claim, "about": one.about.index, "choice": kept.last})
        for name, few in (("few", True), ("most", False)):
            own = [row for row in found if row[0] is few]
            overlap, both, alone = (sum(row[at] for row in own) for at in (1, 2, 3))
            counts = f"overlap finds {overlap}, with the model where in doubt {both}, the model alone {alone}"
            print(f"{language}, {name} words shared: of {len(own)} {counts}", flush=True)
    if out:
        out.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base-url")
    parser.add_argument("--model")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    asyncio.run(measure(resolve(given.model, base_url=given.base_url), given.out))
