"""Wrong sentences as spans in the formats of other corpora, read again by the benchmark's own reader."""

import json
from pathlib import Path
from typing import Any

import pytest

from haluagent.batch.files import BatchRow, digest_of
from haluagent.bench.datasets.loading import load
from haluagent.checks.faithfulness.batch import CheckRow
from haluagent.cli import main as cli
from haluagent.types import Detection, MemoryEntry, Sentence

RESPONSE = "Ösk has 34 m. 😀 Ulm is old. It is new. Who knows."
SAID = {
    "Ösk has 34 m.": "supported",
    "Ulm is old.": "contradicted",
    "It is new.": "not_in_reference",
    "Who knows.": "unverified",
}
ITEMS: list[dict[str, Any]] = [
    {"id": "a", "question": "How high?", "response": RESPONSE, "reference": "Ösk has 34 m."},
    {"response": "Ösk has 34 m.", "reference": "Ösk: 34 m."},
    {"response": "broken", "reference": "x"},
]


def detection(item: dict[str, Any]) -> Detection:
    entries = []
    for index, (text, outcome) in enumerate(((text, SAID[text]) for text in SAID if text in item["response"]), start=1):
        start = item["response"].index(text)
        label: Any = "unverified" if outcome == "not_in_reference" else outcome
        code: Any = outcome if outcome == "not_in_reference" else None
        sentence = Sentence(index=index, text=text, span=(start, start + len(text)))
        entries.append(MemoryEntry(sentence=sentence, label=label, reason_code=code, reason="why"))
    return Detection(
        question=item.get("question", ""), response=item["response"], language="en", hallucination=None, score=0.5,
        sentences=tuple(entries),
    )  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Path:
    lines = [json.dumps(item) for item in ITEMS]
    (tmp_path / "in.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    rows = [
        BatchRow(
            line=n, digest=digest_of(lines[n - 1] + "\n"), id=ITEMS[n - 1].get("id"), detection=detection(ITEMS[n - 1])
        )
        for n in (1, 2)
    ]
    rows.append(BatchRow(line=3, error="the endpoint failed"))
    path = tmp_path / "run.jsonl"
    path.write_text("".join(f"{row.model_dump_json()}\n" for row in rows), encoding="utf-8")
    return path


def export(run: Path, format: str, out: Path) -> int:
    return cli.run(["report", str(run), "--spans", format, "--input", str(run.with_name("in.jsonl")), "-o", str(out)])


def test_ragtruth_is_read_again(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = run.with_name("spans")
    assert export(run, "ragtruth", out) == 0
    assert capsys.readouterr().out.endswith("2 responses, 2 spans; 1 failed rows are left out\n")
    items = load("ragtruth", out)
    assert [(item.response, item.reference, item.wrong) for item in items] == [
        (RESPONSE, "Ösk has 34 m.", True),
        ("Ösk has 34 m.", "Ösk: 34 m.", False),
    ]
    assert items[0].question == "How high?"
    first = json.loads((out / "response.jsonl").read_text("utf-8").splitlines()[0])
    assert [(one["text"], one["label_type"]) for one in first["labels"]] == [
        ("Ulm is old.", "Evident Conflict"),
        ("It is new.", "Evident Baseless Info"),
    ]
    assert all(RESPONSE[one["start"] : one["end"]] == one["text"] for one in first["labels"])


def test_lettucedetect_has_the_same_spans(run: Path) -> None:
    out = run.with_name("spans.json")
    assert export(run, "lettucedetect", out) == 0
    first, second = json.loads(out.read_text("utf-8"))
    said = [(first["answer"][one["start"] : one["end"]], one["label"]) for one in first["labels"]]
    assert said == [("Ulm is old.", "Evident Conflict"), ("It is new.", "Evident Baseless Info")]
    assert first["prompt"] == "User request: How high?\n\nÖsk has 34 m." and first["task_type"] == "qa"
    assert second["labels"] == [] and second["task_type"] == "summarization" and second["prompt"] == "Ösk: 34 m."


def test_what_cannot_be_exported(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def complaint(*arguments: object) -> str:
        assert cli.run(["report", *map(str, arguments)]) == 2
        return capsys.readouterr().err

    source = run.with_name("in.jsonl")
    assert "give --spans and --input together" in complaint(run, "--spans", "ragtruth")
    assert "is the run or its input" in complaint(run, "--spans", "lettucedetect", "--input", source, "-o", source)
    source.write_text(json.dumps(ITEMS[1]) + "\n")
    assert "line 1 of" in complaint(run, "--spans", "ragtruth", "--input", source)
    checks = tmp_path / "checks.jsonl"
    checks.write_text(CheckRow(line=1, SCORE="FAIL", score=0.8).model_dump_json() + "\n")
    assert "have no sentences" in complaint(checks, "--spans", "ragtruth", "--input", source)
