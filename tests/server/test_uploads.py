"""Files that are sent to be read: documents and runs."""

import io
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from made_files import docx, pdf
from run_examples import ANSWER, EXAMPLES
from scripted import ScriptedModel
from serving import http, make_agent, serving

from haluagent.checks.runs.forms import reading
from haluagent.sandbox.worker.limited import LimitedWorker
from haluagent.server import extract, uploads
from haluagent.server.settings import ServerSettings

PDF = pdf(b"BT /F1 12 Tf 72 720 Td (The tower is 34 m high.) Tj ET")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(make_agent(ScriptedModel()), ServerSettings(grace=0.2, text=5000)) as url:
        yield url


def sent(url: str, path: str, data: bytes, **query: str) -> Any:
    return http.post(url + path, content=data, params=query)


def test_documents_of_each_kind_are_read(url: str) -> None:
    files = {
        "a.txt": "Plain\r\ntext.".encode("utf-16"),
        "b.md": b"# Title\n\nMarked text.",
        "c.html": b"<html><title>T</title><body><p>A page.<script>no()</script></body>",
        "d.PDF": PDF,
        "../e.docx": docx("<w:p><w:r><w:t>A word.</w:t></w:r></w:p>"),
    }
    texts = {}
    for name, data in files.items():
        answer = sent(url, "/v1/read/document", data, name=name)
        assert answer.status_code == 200, answer.text
        texts[answer.json()["name"]] = answer.json()["text"].strip()
    assert texts["a.txt"] == "Plain\ntext." and "Marked text." in texts["b.md"]
    assert "A page." in texts["c.html"] and "no()" not in texts["c.html"]
    assert texts["d.PDF"] == "The tower is 34 m high." and texts["e.docx"] == "A word."


@pytest.mark.parametrize(("name", "data", "status", "said"), [
    ("a.pdf", b"no PDF", 400, "a.pdf cannot be read: it is no PDF"),
    ("a.docx", b"PK\x03\x04", 400, "a.docx cannot be read: "),
    ("a.txt", b"", 400, "a.txt cannot be read: it is empty"),
    ("a.bin", b"\x00\x01\xff\xfe\x80" * 9, 400, "a.bin cannot be read: it is no text"),
    ("a.zim", b"ZIM", 400, "a.zim cannot be read: it is no document"),
    ("", b"", 400, "the file cannot be read"),
    ("a.txt", b"a" * 5001, 413, "5000 are allowed"),
])  # fmt: skip
def test_what_cannot_be_read_is_said_in_one_line(url: str, name: str, data: bytes, status: int, said: str) -> None:
    answer = sent(url, "/v1/read/document", data, name=name)
    assert answer.status_code == status and said in answer.json()["error"]["message"]
    assert "\n" not in answer.json()["error"]["message"] and "/tmp" not in answer.text


def test_a_file_that_is_too_large_is_refused(url: str) -> None:
    assert sent(url, "/v1/read/document", b"a" * 16_000_001, name="a.txt").json()["error"]["type"] == "too_large"


def test_a_run_in_any_form_is_returned_in_ours(url: str) -> None:
    for source, given in EXAMPLES.items():
        answer = sent(url, "/v1/read/run", json.dumps(given).encode(), source=source)
        assert answer.status_code == 200, answer.text
        assert reading.parse(answer.json()) == reading.convert(given, source)
        if source != "detection":
            assert answer.json()["answer"] == ANSWER
    assert sent(url, "/v1/read/run", json.dumps(answer.json()).encode()).json() == answer.json()


@pytest.mark.parametrize("data", [b"{", b"[]", b"\xff", b"[" * 5000, b'{"run_id": 1}', b'"x"'])
def test_what_is_no_run_is_said_in_one_line(url: str, data: bytes) -> None:
    for source in ("haluagent", "openai", "otel", "detection", "langgraph", "undefined"):
        error = sent(url, "/v1/read/run", data, source=source).json()["error"]
        assert error["type"] == "invalid" and "\n" not in error["message"]


def test_a_table_is_read_as_texts(url: str) -> None:
    table = sent(url, "/v1/read/table", "a;b\n1;é\n2\n".encode(), name="t.csv").json()
    assert table["columns"] == ["a", "b"] and table["rows"][0]["values"] == {"a": "1", "b": "é"}
    assert "the row has 1 fields" in table["rows"][1]["problem"]
    lines = sent(url, "/v1/read/table", b'{"a": [1], "b": "\\ud800"}\n\n[\n{"c": "\xff"}', name="t.jsonl").json()
    assert [row["problem"] for row in lines["rows"]] == [None, "it is no JSON object", None]
    assert lines["rows"][0]["values"] == {"a": "[1]", "b": "?"} and lines["columns"] == ["a", "b", "c"]


def test_an_excel_workbook_is_read_as_texts(url: str) -> None:
    made = openpyxl.Workbook()
    for row in (["Answer", "n"], [], ["It is so.", 2.5], ["", None, "a note"]):
        made.active.append(row)
    made.save(file := io.BytesIO())
    table = sent(url, "/v1/read/table", file.getvalue(), name="t.XLSX").json()
    assert table["columns"] == ["Answer", "n"]
    assert table["rows"][0] == {"number": 1, "values": {"Answer": "It is so.", "n": "2.5"}, "problem": None}
    assert "the row has 3 fields" in table["rows"][1]["problem"]


def test_a_table_is_bounded_by_rows_and_by_characters_with_the_names_of_each_row(url: str) -> None:
    for data, said in (
        (b"a\n" + b"1\n" * 50_001, "it has more than 50000 rows"),
        (b"a" * 300_000 + b"\n" + b"1\n" * 100, "it has more than 20000000 characters"),
    ):
        error = sent(url, "/v1/read/table", data, name="t.csv").json()["error"]
        assert error["type"] == "invalid" and said in error["message"]


def test_a_parser_that_fails_is_not_called_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(path: Path) -> None:
        raise KeyError(f"{path}\nx")

    monkeypatch.setattr(extract, "read_parts", fails)
    (path := tmp_path / "a.txt").write_text("a")
    assert extract.read({"path": str(path), "kind": "document"}) == {"problem": r"KeyError: 'it\nx'"}


def test_a_file_whose_reading_runs_into_the_limit_does_not_stay(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    # A pipe without a writer is read for ever: what the worker is to open.
    monkeypatch.setattr(Path, "write_bytes", lambda path, data: os.mkfifo(path))
    worker = LimitedWorker("haluagent.server.extract:read", seconds=0.2)
    monkeypatch.setattr(uploads, "_worker", worker)
    answer = sent(url, "/v1/read/document", b"a", name="a.txt")
    assert "takes more than" in answer.json()["error"]["message"] and not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("t.csv", b""), ("t.csv", b"a,a\n1,2"), ("a.\0", b"a"), ("t.jsonl", b""), ("t.xls", b"a"), ("t.xlsx", b"a"),
        ("t.xlsx", bytes.fromhex("d0cf11e0a1b11ae1")),
    ],
)  # fmt: skip
def test_what_is_no_table_is_said_in_one_line(url: str, name: str, data: bytes) -> None:
    error = sent(url, "/v1/read/table", data, name=name).json()["error"]
    assert error["type"] == "invalid" and "\n" not in error["message"] and "/tmp" not in error["message"]
