"""A set made from published questions and answers: right answers, and the same answers with a small change."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from haluagent.bench.datasets.items import Item
from haluagent.bench.datasets.rows import RowModel, Text, rows
from haluagent.corpora import claims
from haluagent.corpora.pairs import digest
from haluagent.corpora.passages import LONGEST, Asked, Passage

PASSAGES = 200
SEED = "cmrc2018:pairs"


class CmrcQuestion(RowModel):
    question: Text = Field(alias="query_text")
    answers: list[Text]


class CmrcPassage(RowModel):
    text: Text = Field(alias="context_text")
    asked: list[CmrcQuestion] = Field(alias="qas")

    @model_validator(mode="before")
    @classmethod
    def _of_one_question(cls, row: Any) -> Any:
        """Convert a row of the other published format, with a `context` and a single question."""
        if not isinstance(row, dict) or "context" not in row:
            return row
        asked = {"query_text": row.get("question"), "answers": row.get("answers")}
        return {"context_text": row["context"], "qas": [asked]}


def cmrc(directory: Path) -> Iterator[Item]:
    """Yield two answers to one question on each of 200 passages: a right one, and a wrong one of the same form (another
    answer from the passage, or the right one with its number changed). The passages are longer than those used for
    fine-tuning and calibration."""
    asked: dict[str, list[Asked]] = {}
    numbers: dict[str, int] = {}
    for number, row in rows(directory, "cmrc2018_dev", CmrcPassage):
        numbers.setdefault(row.text, number)
        known = asked.setdefault(row.text, [])
        known += [Asked(question=one.question.strip(), right=one.answers[0]) for one in row.asked if one.answers]
    longer = [text for text in asked if len(text) > LONGEST["zh"] and asked[text]]
    made = 0
    for text in sorted(longer, key=lambda text: digest(f"{SEED}:{numbers[text]}")):
        name = f"cmrc2018:{numbers[text]}"
        answers = claims.answer(
            Passage(name=name, language="zh", text=text, asked=tuple(asked[text])), random.Random(f"{SEED}:{name}")
        )
        if answers and made < PASSAGES:
            made += 1
            for wrong, response in ((False, answers.right), (True, answers.wrong)):
                yield Item(
                    id=f"{name}:{'wrong' if wrong else 'right'}", question=answers.question, response=response, reference=text,
                    language="zh", wrong=wrong,
                )  # fmt: skip
