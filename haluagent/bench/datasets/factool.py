"""FacTool's sets (Chern et al. 2023): claims extracted from a response, each with its own label.

As in the HaluAgent paper, each claim counts as a sentence and the claims of a row form the text to check. The text is
wrong if any of its claims is. A row without claims, or without a single labelled claim, is skipped.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, Field

from haluagent.bench.datasets.items import Item, LabelledClaim
from haluagent.bench.datasets.rows import Name, Number, RowModel, Text, bad, rows
from haluagent.types import Language


class KnowledgeClaim(RowModel):
    claim: Text
    label: Any


class KnowledgeRow(RowModel):
    prompt: Text
    claims: list[KnowledgeClaim]


class Calculation(RowModel):
    math_calculation: Number
    calculated_answer: Number


class MathClaim(RowModel):
    claim: Calculation
    label: Any


class MathRow(RowModel):
    prompt: Text
    claims: list[MathClaim]


class Paper(RowModel):
    title: Text = Field(alias="paper_title")
    authors: str = Field(alias="paper_author(s)")
    year: Name = Field(alias="paper_pub_year")
    label: Any


class ScienceRow(RowModel):
    prompt: Text
    claims: list[Paper]


class ChineseClaim(RowModel):
    text: Text = Field(validation_alias=AliasChoices("claim", "claim_logic"))


class Factuality(RowModel):
    factuality: Any = None


class ChineseRow(RowModel):
    prompt: Text
    claims: list[ChineseClaim]
    claim_level_factuality: list[Factuality | None]
    name: Name | None = Field(default=None, validation_alias="id")


def knowledge_qa(directory: Path) -> Iterator[Item]:
    """Yield the items of the knowledge set: statements about the world."""
    for number, row in rows(directory, "factool_knowledge_qa", KnowledgeRow):
        claims = [_claim(claim.claim, claim.label) for claim in row.claims]
        yield from _items(str(number), row.prompt, claims, "en")


def math(directory: Path) -> Iterator[Item]:
    """Yield the items of the math set: calculations with their results. The label says whether the result is
    correct."""
    for number, row in rows(directory, "factool_math", MathRow):
        claims = [
            _claim(f"{one.claim.math_calculation} = {one.claim.calculated_answer}", one.label) for one in row.claims
        ]
        yield from _items(str(number), row.prompt, claims, "en")


def science(directory: Path) -> Iterator[Item]:
    """Yield the items of the science set: cited papers, phrased as sentences. The label says whether a paper with this
    title, these authors and this year exists."""
    for number, row in rows(directory, "factool_scientific", ScienceRow):
        claims = [_claim(_cited(paper), paper.label) for paper in row.claims]
        yield from _items(str(number), row.prompt, claims, "en")


def chinese(directory: Path) -> Iterator[Item]:
    """Yield the items of the Chinese set. FacTool itself assigned the labels, not people; the evidence it found is not
    read."""
    for number, row in rows(directory, "factool_chinese", ChineseRow):
        if len(row.claims) != len(row.claim_level_factuality):
            why = "field 'claim_level_factuality' is of another length than 'claims': one label for each is expected"
            raise bad(directory, "factool_chinese", number, why)
        judged = zip(row.claims, row.claim_level_factuality, strict=True)
        claims = [_claim(claim.text, label.factuality if label else None) for claim, label in judged]
        yield from _items(f"{number}:{number if row.name is None else row.name}", row.prompt, claims, "zh")


def _cited(paper: Paper) -> str:
    authors = f" by {paper.authors.strip().removesuffix('.')}" if paper.authors.strip() else ""
    year = f" was published in {paper.year}" if str(paper.year).strip() else " was published"
    return f'The paper "{paper.title.strip()}"{authors}{year}.'


def _claim(text: str, label: Any) -> LabelledClaim:
    """Return a claim on one line. FacTool's label is True for a correct claim; anything but a boolean counts as no
    label."""
    return LabelledClaim(text=" ".join(text.split("\n")), wrong=not label if isinstance(label, bool) else None)


def _items(identifier: str, question: str, claims: Sequence[LabelledClaim], language: Language) -> Iterable[Item]:
    if any(claim.wrong is not None for claim in claims):
        yield Item(
            id=identifier,
            question=question,
            response="\n".join(claim.text for claim in claims),
            language=language,
            wrong=any(claim.wrong for claim in claims),
            claims=tuple(claims),
        )
