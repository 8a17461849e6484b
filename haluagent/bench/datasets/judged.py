"""The test sets of HaluAgent (Cheng et al. 2024): a question, a model's answer, and `judge`, which is 1 for a
hallucination.

The other fields hold the gold answer or its origin. They are named here only to recognise the file of each set.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import AliasChoices, Field

from haluagent.bench.datasets.items import Item
from haluagent.bench.datasets.rows import Judge, Name, RowModel, Text, bad, language_of, rows
from haluagent.types import Language

Reader = Callable[[Path], Iterator[Item]]


class JudgedRow(RowModel):
    question: Text
    answer: Text
    judge: Judge
    name: Name | None = Field(default=None, validation_alias=AliasChoices("id", "question_id"))


class WebQA(JudgedRow):
    output: str


class Ape210K(JudgedRow):
    equation: str


class HumanEval(JudgedRow):
    run_id: Any


class WordCnt(JudgedRow):
    question_id: Any


class HalluQA(JudgedRow):
    original_question: Any


class WithKnowledge(JudgedRow):
    knowledge: Text


def judged(stem: str, model: type[JudgedRow], language: Language | None) -> Reader:
    """Return a reader for a set whose items are all in `language`; with None, the language of each item is detected."""

    def read(directory: Path) -> Iterator[Item]:
        return (_item(number, row, language) for number, row in rows(directory, stem, model))

    return read


def halueval_qa(directory: Path) -> Iterator[Item]:
    """Yield the items of the set, each with the passage it is about as its reference."""
    for number, row in rows(directory, "halueval_qa", WithKnowledge):
        yield _item(number, row, "en").model_copy(update={"reference": row.knowledge})


def tool_questions(kind: Literal["翻译", "共有多少天"]) -> Reader:
    """Return a reader for one half of the file on the two additional tools: translations, or days between two dates."""

    def read(directory: Path) -> Iterator[Item]:
        for number, row in rows(directory, "translation_date", JudgedRow):
            if "翻译" not in row.question and "共有多少天" not in row.question:
                why = "field 'question' asks for neither a translation (翻译) nor a number of days (共有多少天): is it of another set?"
                raise bad(directory, "translation_date", number, why)
            if kind in row.question:
                yield _item(number, row, None)

    return read


def _item(number: int, row: JudgedRow, language: Language | None) -> Item:
    return Item(
        id=f"{number}:{number if row.name is None else row.name}",
        question=row.question,
        response=row.answer,
        language=language or language_of(row.question, row.answer),
        wrong=row.judge == 1,
    )
