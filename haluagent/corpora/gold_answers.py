"""Right answers to questions about a text, from the published files of four of HaluBench's sources (Ravi et al. 2024,
section 3.2), or from rows of your own. The other two, RAGTruth and HaluEval, have wrong answers of their own and are
labelled sets of `haluagent.bench.datasets`."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from haluagent.errors import ConfigError
from haluagent.text.language import written_in
from haluagent.types import Language, Record


class GoldAnswer(Record):
    """A question about a passage, and its right answer. Those of one `group` share their passage."""

    id: str
    group: str
    source: str
    language: Language
    passage: str
    question: str
    answer: str


def read(path: Path, source: str) -> list[GoldAnswer]:
    """Return the answers in a published file of a source in SOURCES. Answers without a text are left out.

    Raise a `ConfigError` for an unknown source, or that names the file and the place where it is not as published.
    """
    if source not in SOURCES:
        raise ConfigError(f"there is no source {source!r}: use {', '.join(SOURCES)}")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as UTF-8 text: {error}") from error
    place = "the file"
    found: dict[str, GoldAnswer] = {}
    try:
        for where, group, name, passage, question, answer in SOURCES[source](text):
            place = where
            if not all(isinstance(one, str) for one in (passage, question, answer)):
                raise TypeError("the passage, the question and the answer are texts")
            if not (passage.strip() and question.strip() and answer.strip()):
                continue
            one = GoldAnswer(
                id=f"{source}:{name}", group=f"{source}:{group}", source=source, language=written_in(question),
                passage=passage.strip(), question=question.strip(), answer=answer.strip(),
            )  # fmt: skip
            if one.id in found:
                raise ValueError(f"the id {name} stands twice")
            found[one.id] = one
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        why = f"the field {error} is missing" if isinstance(error, KeyError) else str(error)
        raise ConfigError(f"{path} is no file of {source} as published: after {place}: {why}") from None
    if not found:
        raise ConfigError(f"{path} has no answer: give the published file of {source}")
    return list(found.values())


_Fields = tuple[str, Any, Any, Any, Any, Any]  # the place, the names of group and answer, passage, question, answer


def _drop(text: str) -> Iterator[_Fields]:
    """DROP: `drop_dataset_dev.json`, passages by name. A number, a date or several spans are written as a text."""
    for group, section in json.loads(text).items():
        for pair in section["qa_pairs"]:
            given = pair["answer"]
            date = given["date"]
            day = " ".join(str(date[part]) for part in ("day", "month", "year") if date.get(part))
            answer = str(given["number"]) or day or ", ".join(given["spans"])
            yield f"{group}, {pair['query_id']}", group, pair["query_id"], section["passage"], pair["question"], answer


def _covidqa(text: str) -> Iterator[_Fields]:
    """COVID-QA: `COVID-QA.json`, in the form of SQuAD."""
    for article in json.loads(text)["data"]:
        for paragraph in article["paragraphs"]:
            for asked in paragraph["qas"]:
                if asked.get("is_impossible") or not asked["answers"]:
                    continue
                group, answer = paragraph.get("document_id", asked["id"]), asked["answers"][0]["text"]
                yield f"question {asked['id']}", group, asked["id"], paragraph["context"], asked["question"], answer


def _pubmedqa(text: str) -> Iterator[_Fields]:
    """PubMedQA: `ori_pqal.json`, by PubMed id. The answer is its decision, then the long answer."""
    for name, row in json.loads(text).items():
        decision = row["final_decision"]
        answer = f"{decision.capitalize()}. {row['LONG_ANSWER']}"
        yield f"article {name}", name, name, "\n".join(row["CONTEXTS"]), row["QUESTION"], answer


def _financebench(text: str) -> Iterator[_Fields]:
    """FinanceBench: `financebench_open_source.jsonl`. The passage is the evidence."""
    for number, row in _lines(text):
        passage = "\n\n".join(evidence["evidence_text"] for evidence in row["evidence"])
        name = row["financebench_id"]
        yield f"line {number}", row.get("doc_name", name), name, passage, row["question"], row["answer"]


def _own(text: str) -> Iterator[_Fields]:
    """Rows with `passage`, `question` and `answer`; of HaluBench's rows those with the label PASS."""
    for number, row in _lines(text):
        if row.get("label", "PASS") == "PASS":
            name = row.get("id", number)
            yield f"line {number}", row.get("group", name), name, row["passage"], row["question"], row["answer"]


def _lines(text: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, json.loads(line)


SOURCES: dict[str, Callable[[str], Iterator[_Fields]]] = {
    "drop": _drop,
    "covidqa": _covidqa,
    "pubmedqa": _pubmedqa,
    "financebench": _financebench,
    "own": _own,
}
