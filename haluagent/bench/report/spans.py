"""Spans of responses that are wrong in the formats of two corpora, to train or score other detectors with: the sentences that a file of
results finds wrong, or what people marked (`haluagent.bench.labelling`).

RAGTruth (Niu et al. 2024, https://github.com/ParticleMedia/RAGTruth): `response.jsonl` and `source_info.jsonl`, of which the
benchmark reads the set `ragtruth` too. LettuceDetect (https://github.com/KRLabsOrg/LettuceDetect): a JSON list of samples with
a prompt, an answer and labels.

Spans are half-open character offsets in the response. Of results they are the sentences that are contradicted or not in the
reference.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from haluagent.batch.files import BatchItem, BatchRow, digest_of, item_file, parse
from haluagent.bench.report.run_page import ResultRow
from haluagent.errors import ConfigError
from haluagent.types import Detection, Language

SpanFormat = Literal["ragtruth", "lettucedetect"]
# RAGTruth's kinds of hallucination for a sentence that says otherwise, and for one that adds something.
KINDS = {"contradicted": "Evident Conflict", "not_in_reference": "Evident Baseless Info"}
LANGUAGES = {"en": "en", "zh": "cn"}  # as LettuceDetect calls them


class WrongSpan(NamedTuple):
    """A span of a response, RAGTruth's kind of its hallucination, and the reason, empty if none is given."""

    start: int
    end: int
    kind: str
    reason: str


class SpannedResponse(NamedTuple):
    """A response with its wrong spans."""

    name: str
    question: str
    reference: str
    response: str
    language: Language
    spans: tuple[WrongSpan, ...]


def judged(rows: Sequence[ResultRow], source: Path) -> tuple[list[SpannedResponse], int]:
    """Return the results of `haluagent batch` with the items of its input, and how many rows failed.

    Raise `ConfigError` if the results are of `check`, which has no sentences, or `source` is not their input.
    """
    items = {row.number: row.text for row in item_file(BatchItem, source).rows()}
    found = []
    for row in rows:
        if not isinstance(row, BatchRow):
            raise ConfigError("results of `haluagent check` have no sentences: run `haluagent batch` on the same items")
        if row.detection is None:
            continue
        line = items.get(row.line)
        if line is None or (row.digest and digest_of(line) != row.digest):
            raise ConfigError(f"line {row.line} of {source} is not what was checked: give the input of the results")
        found.append(_spanned(str(row.line if row.id is None else row.id), parse(line), row.detection))
    return found, len(rows) - len(found)


def write(found: Sequence[SpannedResponse], format: SpanFormat, out: Path) -> list[Path]:
    """Write the spans: for RAGTruth two files in the directory `out`, else the file `out`. Return what was written. Raise
    `ConfigError` if it cannot be."""
    if format == "lettucedetect":
        texts = {out: json.dumps([lettucedetect(one) for one in found], ensure_ascii=False, indent=1) + "\n"}
    else:
        pairs = [ragtruth(one, number) for number, one in enumerate(found, start=1)]
        texts = {
            out / name: "".join(json.dumps(pair[at], ensure_ascii=False) + "\n" for pair in pairs)
            for at, name in enumerate(("response.jsonl", "source_info.jsonl"))
        }
    for path, text in texts.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_name(f".{path.name}.part")
            unfinished.write_text(text, encoding="utf-8")
            unfinished.replace(path)
        except OSError as error:
            raise ConfigError(f"{path} cannot be written: {error.strerror or error}") from error
    return list(texts)


def _spanned(name: str, item: BatchItem, detection: Detection) -> SpannedResponse:
    """Return a result with a span for each sentence that is contradicted or not in the reference. What could not be checked
    has none."""
    wrong = [entry for entry in detection.sentences if entry.outcome in KINDS and entry.sentence.index > 0]
    spans = tuple(WrongSpan(*entry.sentence.span, KINDS[entry.outcome], entry.reason) for entry in wrong)
    return SpannedResponse(name, item.question or "", item.reference or "", item.response, detection.language, spans)


def lettucedetect(one: SpannedResponse) -> dict[str, Any]:
    """Return a sample of LettuceDetect."""
    asked = f"User request: {one.question}\n\n" if one.question else ""
    return {
        "prompt": asked + one.reference, "answer": one.response,
        "labels": [{"start": span.start, "end": span.end, "label": span.kind} for span in one.spans], "split": "test",
        "task_type": "qa" if one.question else "summarization", "dataset": "haluagent",
        "language": LANGUAGES[one.language], "context": one.reference, "question": one.question or None,
        "metadata": {"id": one.name},
    }  # fmt: skip


def ragtruth(one: SpannedResponse, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a response of RAGTruth and its source."""
    question, reference, response = one.question, one.reference, one.response
    labels = [
        {"start": span.start, "end": span.end, "text": response[span.start : span.end], "meta": span.reason,
         "label_type": span.kind, "implicit_true": False, "due_to_null": False}
        for span in one.spans
    ]  # fmt: skip
    said = {
        "id": one.name, "source_id": str(number), "model": "", "temperature": None, "labels": labels, "split": "test",
        "quality": "good", "response": response,
    }  # fmt: skip
    info = {"question": question, "passages": reference} if question else reference
    source = {
        "source_id": str(number), "task_type": "QA" if question else "Summary", "source": "haluagent", "source_info": info,
        "prompt": f"{question}\n\n{reference}".strip(),
    }  # fmt: skip
    return said, source
