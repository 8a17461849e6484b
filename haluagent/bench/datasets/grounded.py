"""Public sets of answers to be checked against a text: HaluBench, RAGTruth, HaluEval and FaithBench."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import AliasChoices, Field, field_validator

from haluagent.bench.datasets.items import Item
from haluagent.bench.datasets.rows import Name, RowModel, Text, TextOrObject, bad, language_of, rows

SUMMARIZE = "Summarize the text."
DESCRIBE = "Describe the business from the data given."


class HaluBench(RowModel):
    passage: str
    question: Text
    answer: Text
    label: Literal["PASS", "FAIL"]
    name: Name | None = Field(default=None, validation_alias="id")


class FaithBench(RowModel):
    source: Text
    summary: Text
    worst: Literal["Consistent", "Benign", "Questionable", "Unwanted"] = Field(alias="worst-label")


class RagResponse(RowModel):
    name: Name = Field(alias="id")
    source_id: Name
    response: Text
    labels: list[dict[str, Any]]
    split: Literal["train", "test"]
    quality: str


class RagSource(RowModel):
    source_id: Name
    task_type: Literal["QA", "Summary", "Data2txt"]
    source_info: TextOrObject


class HaluEvalQA(RowModel):
    knowledge: str
    question: Text
    right: Text = Field(alias="right_answer")
    hallucinated: Text = Field(alias="hallucinated_answer")


class HaluEvalDialogue(RowModel):
    knowledge: str
    question: Text = Field(alias="dialogue_history")
    right: Text = Field(alias="right_response")
    hallucinated: Text = Field(alias="hallucinated_response")


class HaluEvalSummary(RowModel):
    knowledge: str = Field(alias="document")
    right: Text = Field(alias="right_summary")
    hallucinated: Text = Field(alias="hallucinated_summary")
    question: ClassVar[str] = SUMMARIZE


class HaluEvalGeneral(RowModel):
    question: Text = Field(alias="user_query")
    response: Text = Field(alias="chatgpt_response")
    hallucination: Literal["yes", "no"] = Field(validation_alias=AliasChoices("hallucination", "hallucination_label"))

    @field_validator("hallucination", mode="before")
    @classmethod
    def _lower(cls, value: Any) -> Any:
        return value.lower() if isinstance(value, str) else value


def halubench(directory: Path) -> Iterator[Item]:
    """Yield answers to questions about a passage. The label FAIL means a hallucination."""
    for number, row in rows(directory, "halubench", HaluBench):
        yield Item(
            id=f"{number}:{number if row.name is None else row.name}",
            question=row.question,
            response=row.answer,
            reference=row.passage if row.passage.strip() else None,
            language="en",
            wrong=row.label == "FAIL",
        )


def faithbench(directory: Path) -> Iterator[Item]:
    """Yield summaries. A summary is wrong if its worst annotation is Unwanted or Questionable, as in FaithBench's own
    script for binary labels. Benign additions, which are true but not in the source, count as right."""
    for number, row in rows(directory, "faithbench", FaithBench):
        yield Item(
            id=str(number),
            question=SUMMARIZE,
            response=row.summary,
            reference=row.source,
            language="en",
            wrong=row.worst in ("Unwanted", "Questionable"),
        )


def ragtruth(directory: Path) -> Iterator[Item]:
    """Yield the test split. A response with annotated spans is wrong. Truncated responses and incorrect refusals are
    left out, as the authors of the set do."""
    sources = {
        str(row.source_id): _asked(directory, number, row) for number, row in rows(directory, "source_info", RagSource)
    }
    for number, row in rows(directory, "response", RagResponse):
        if row.split != "test" or row.quality != "good":
            continue
        if str(row.source_id) not in sources:
            raise bad(
                directory, "response", number, f"field 'source_id' is {row.source_id!r}: source_info has no such row"
            )
        question, reference = sources[str(row.source_id)]
        yield Item(
            id=f"{number}:{row.name}",
            question=question,
            response=row.response,
            reference=reference,
            language="en",
            wrong=bool(row.labels),
        )


def halueval(directory: Path) -> Iterator[Item]:
    """Yield the items of all four parts, in the order of the code. In the first three, each row gives two items: its
    right and its hallucinated answer."""
    parts: dict[str, type[HaluEvalQA] | type[HaluEvalDialogue] | type[HaluEvalSummary]] = {
        "qa": HaluEvalQA,
        "dialogue": HaluEvalDialogue,
        "summarization": HaluEvalSummary,
    }
    for part, model in parts.items():
        for number, row in rows(directory, f"{part}_data", model):
            for wrong, response in ((False, row.right), (True, row.hallucinated)):
                yield Item(
                    id=f"{part}:{number}:{'hallucinated' if wrong else 'right'}",
                    question=row.question,
                    response=response,
                    reference=row.knowledge if row.knowledge.strip() else None,
                    language="en",
                    wrong=wrong,
                )
    for number, general in rows(directory, "general_data", HaluEvalGeneral):
        yield Item(
            id=f"general:{number}",
            question=general.question,
            response=general.response,
            language=language_of(general.question, general.response),
            wrong=general.hallucination == "yes",
        )


def _asked(directory: Path, number: int, source: RagSource) -> tuple[str, str]:
    """Return the question and the reference of a RAGTruth source."""
    info = source.source_info
    if source.task_type == "QA":
        asked, passages = (info.get(key) if isinstance(info, dict) else None for key in ("question", "passages"))
        if not isinstance(asked, str) or not isinstance(passages, str):
            raise bad(
                directory,
                "source_info",
                number,
                "field 'source_info': the texts 'question' and 'passages' are expected",
            )
        return asked, passages
    text = info if isinstance(info, str) else json.dumps(info, ensure_ascii=False, indent=1)
    return SUMMARIZE if source.task_type == "Summary" else DESCRIBE, text
