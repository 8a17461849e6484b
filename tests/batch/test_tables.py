"""Files of items as CSV and Parquet: their columns, what is wrong in them, and tables of results."""

import csv
import json
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from typer.testing import CliRunner
from waiting import until

from haluagent import HaluAgent
from haluagent.batch.columns import fields_of
from haluagent.batch.files import BatchItem, item_file, run
from haluagent.batch.tables import ItemFile
from haluagent.cli.main import app
from haluagent.errors import ConfigError

RIGHT, WRONG = "It is 2 + 2 = 4.", "It is 2 + 2 = 5."
ADDED = ["hallucination", "score", "contradicted", "unverified", "error"]


@pytest.fixture
def agent(scripted: Callable[..., Any]) -> HaluAgent:
    return HaluAgent(scripted(scripted.calculate), sandbox="none", search="none")


def write_csv(path: Path, rows: list[list[str]], delimiter: str = ",", encoding: str = "utf-8") -> Path:
    with path.open("w", newline="", encoding=encoding) as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path


def read_csv(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def as_file(path: Path, **columns: str) -> ItemFile:
    return item_file(BatchItem, path, columns=columns)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_table_keeps_its_columns_and_gets_those_of_the_verdict(
    agent: HaluAgent, tmp_path: Path, delimiter: str
) -> None:
    """Line ends, quotation marks and delimiters in fields, a byte order mark, columns that are named as a verdict's."""
    note = f'she said "4"{delimiter}\nand left'
    rows = [["id", "ask", "answer", "note", "score"], ["a", "What?", RIGHT, note, "7"], ["b", "", WRONG, "说明", ""]]
    source = write_csv(tmp_path / "in.csv", rows, delimiter, "utf-8-sig")
    out = tmp_path / "out.csv"
    assert run(source, out, [agent], columns={"question": "ask", "response": "answer"}) is None
    assert out.read_bytes().startswith(b"\xef\xbb\xbf")
    found = read_csv(out, delimiter)
    assert list(found[0]) == ["id", "ask", "answer", "note", "input_score", *ADDED]
    assert [list(row.values())[:5] for row in found] == rows[1:]
    assert [row["hallucination"] for row in found] == ["false", "true"]
    assert found[1]["contradicted"].startswith(f"[1] {WRONG} (") and not found[0]["contradicted"]
    kept = [json.loads(line) for line in (tmp_path / "out.csv.jsonl").read_text("utf-8").splitlines()]
    assert {row["line"]: row["id"] for row in kept} == {1: "a", 2: "b"} and kept[0]["detection"]["response"]
    assert {row["detection"]["question"] for row in kept} == {"What?", ""} and kept[0]["note"] in (note, "说明")


def test_parquet_keeps_its_types(agent: HaluAgent, tmp_path: Path) -> None:
    when = datetime(2024, 5, 1, 12, tzinfo=UTC)
    table = pyarrow.table(
        {
            "response": [RIGHT, WRONG, None],
            "id": pyarrow.array([1, 2, 3], pyarrow.int32()),
            "when": pyarrow.array([when] * 3, pyarrow.timestamp("ns", "UTC")),
            "share": [0.5, float("nan"), None],
            "tags": [["x"], [], None],
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "in.parquet")
    out = tmp_path / "out.parquet"
    assert run(tmp_path / "in.parquet", out, [agent]) is None
    found = pyarrow.parquet.read_table(out)
    assert found.select(table.column_names).schema == table.schema and found.column_names[5:] == ADDED
    assert found["hallucination"].to_pylist() == [False, True, None] and found["when"].to_pylist() == [when] * 3
    assert found["error"].to_pylist()[2].startswith("response: Input should be a valid string")
    assert str(found["score"].type) == "double" and str(found["hallucination"].type) == "bool"


def test_one_format_becomes_another(agent: HaluAgent, tmp_path: Path) -> None:
    items: list[Any] = [
        {"response": RIGHT, "n": 1, "own": {"a": [1]}, "mixed": 1},
        {"response": WRONG, "n": 2.5, "late": True, "mixed": "x\ud800", "big": 2**70, "half\udfff": 1},
    ]
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(one) + "\n" for one in items) + "{\n")
    run(source, tmp_path / "out.csv", [agent])
    found = read_csv(tmp_path / "out.csv")
    assert list(found[0]) == ["response", "n", "own", "mixed", "late", "big", "half\ufffd", *ADDED]
    assert found[0]["own"] == '{"a": [1]}' and found[1]["late"] == "true" and found[2]["error"].startswith("not JSON")
    run(source, tmp_path / "out.parquet", [agent])
    table = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    types = {name: str(table.schema.field(name).type) for name in ("n", "own", "mixed", "late", "unverified")}
    assert types == {"n": "double", "own": "string", "mixed": "string", "late": "bool", "unverified": "string"}
    assert table["mixed"].to_pylist() == ["1", "x\ufffd", None]
    run(tmp_path / "out.parquet", tmp_path / "again.tsv", [agent])
    assert read_csv(tmp_path / "again.tsv", "\t")[1]["input_hallucination"] == "true"


def test_a_row_that_is_no_row_fails_alone(agent: HaluAgent, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_bytes(f"response,id\n{RIGHT},1\n\n{RIGHT}\n{RIGHT},3,more\n\xff,4\n{WRONG},5\n".encode("latin-1"))
    run(source, tmp_path / "out.csv", [agent])
    with (tmp_path / "out.csv").open(encoding="utf-8", errors="replace", newline="") as file:
        found = list(csv.DictReader(file))
    assert [row["error"] for row in found] == [
        "",
        "the row has 1 fields, and the first line 2",
        "the row has 3 fields, and the first line 2",
        "the line is not UTF-8",
        "",
    ]
    assert [row["hallucination"] for row in found] == ["false", "", "", "", "true"]


def test_what_stands_under_another_field_s_name_is_not_read(tmp_path: Path) -> None:
    source = write_csv(tmp_path / "in.csv", [["response", "answer", "input_response"], ["no", RIGHT, "x"]])
    [row] = as_file(source, response="answer").rows()
    assert json.loads(row.text) == {"response": RIGHT, "input_input_response": "no", "input_response": "x"}
    (tmp_path / "in.jsonl").write_text(json.dumps({"response": "no", "answer": RIGHT}) + "\n")
    [row] = as_file(tmp_path / "in.jsonl", response="answer").rows()
    assert json.loads(row.text) == {"response": RIGHT, "input_response": "no"}


def make_parquet(path: Path, **columns: Any) -> Path:
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


WRONG_INPUTS: list[tuple[Callable[[Path], Path], dict[str, str], str]] = [
    (lambda at: write_csv(at / "a.csv", [["q", "a"], ["x", "y"]]), {}, "has no column response: it has q, a; name it with --response"),
    (lambda at: write_csv(at / "a.csv", [["q", "a"]]), {"response": "b"}, "a.csv has no column 'b': it has q, a"),
    (lambda at: make_parquet(at / "a.parquet", q=["x"]), {"response": "b"}, "a.parquet has no column 'b': it has q"),
    (lambda at: make_parquet(at / "a.parquet", response=[1]), {}, "column 'response' holds int64, not text"),
    (lambda at: write_csv(at / "a.csv", []), {}, "a.csv is empty: a CSV file begins with a line of column names"),
    (lambda at: write_csv(at / "a.csv", [["a", "b", "a"]]), {}, "a.csv has more than one column named 'a'"),
    (lambda at: write_csv(at / "a.csv", [["response", "é"]], encoding="utf-16"), {}, "a.csv is not UTF-8 text"),
    (lambda at: write_csv(at / "a.csv", [["response", "中"]], encoding="gb18030"), {}, "a.csv is not UTF-8 text"),
    (lambda at: write_csv(at / "a.parquet", [["response"]]), {}, "a.parquet cannot be read as Parquet"),
    (lambda at: write_csv(at / "a.jsonl", [['{"q": 1}']], "|").rename(at / "b.jsonl"), {"response": "r"}, "has no column 'r': it has"),
    (lambda at: at, {}, "is no file"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "columns", "message"), WRONG_INPUTS)
def test_a_wrong_input_is_one_line(
    agent: HaluAgent, tmp_path: Path, make: Callable[[Path], Path], columns: dict[str, str], message: str
) -> None:
    source = make(tmp_path)
    if source.name == "b.jsonl":
        source.write_text('{"q": 1}\n')
    with pytest.raises(ConfigError) as raised:
        run(source, tmp_path / "out.csv", [agent], columns=columns)
    assert message in str(raised.value) and "\n" not in str(raised.value)
    assert not (tmp_path / "out.csv").exists() and not (tmp_path / "out.csv.jsonl").exists()


def test_a_quotation_mark_that_is_never_closed_is_told_with_its_place(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text('response\nfine\n"open\n' + "x" * 16_100_000)
    with pytest.raises(ConfigError, match=r"in.csv: the row that begins in line 3 cannot be read: field larger"):
        list(as_file(source).rows())


def test_no_file_is_overwritten_that_is_not_of_an_earlier_run(agent: HaluAgent, tmp_path: Path) -> None:
    source = write_csv(tmp_path / "in.csv", [["response"], [RIGHT]])
    other = write_csv(tmp_path / "other.csv", [["mine"]])
    (tmp_path / "dir.csv").mkdir()
    (tmp_path / "table.csv.jsonl").write_text(json.dumps({"response": RIGHT}) + "\n")
    for given, out, message in (
        (source, source, "in.csv is the input"),
        (tmp_path / "table.csv.jsonl", tmp_path / "table.csv", "table.csv.jsonl is the input"),
        (source, other, r"other.csv exists, and no run \(other.csv.jsonl\) beside it"),
        (source, tmp_path / "dir.csv", "dir.csv exists|no file"),
        (source, tmp_path / "in.csv" / "out.csv", "cannot be written"),
    ):
        with pytest.raises(ConfigError, match=message):
            run(given, out, [agent])
    assert read_csv(source) == [{"response": RIGHT}] and other.read_text().strip() == "mine"


def test_a_file_without_a_known_ending_has_the_format_that_is_named(endpoint: Any, tmp_path: Path) -> None:
    source = write_csv(tmp_path / "in.txt", [["a"], [RIGHT]])
    command = ["batch", str(source), "-o", str(tmp_path / "out"), "--format", "csv", "--response", "a", "--endpoint"]
    call = CliRunner().invoke(app, [*command, endpoint.base_url, "--search", "none", "--sandbox", "none"])
    assert call.exit_code == 0, call.output
    assert read_csv(tmp_path / "out")[0]["hallucination"] == "false"


def test_rows_are_read_one_by_one(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    with source.open("w") as file:
        file.write("response,more\n")
        file.writelines(f"{number} {'x' * 1000},y\n" for number in range(8000))
    make_parquet(tmp_path / "in.parquet", response=[f"{number} {'x' * 1000}" for number in range(8000)])
    for name, most in (("in.csv", 500_000), ("in.parquet", 9_000_000)):  # Parquet: 2000 rows at a time
        rows = ItemFile(tmp_path / name, fields_of(BatchItem), "csv" if name == "in.csv" else "parquet").rows()
        tracemalloc.start()
        assert sum(1 for _ in rows) == 8000
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < most


def lines_of(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_run_that_is_killed_goes_on_and_writes_its_table(endpoint: Any, tmp_path: Path, ending: str) -> None:
    responses = [RIGHT if number % 2 else WRONG for number in range(30)]
    source = tmp_path / f"in.{ending}"
    if ending == "csv":
        write_csv(source, [["response"], *([one] for one in responses)])
    else:
        make_parquet(source, response=responses)
    answer = endpoint.say

    def slowly(messages: Any) -> str:
        time.sleep(0.02)  # so that it can be killed midway
        return str(answer(messages))

    endpoint.say = slowly
    out = tmp_path / f"out.{ending}"
    journal = tmp_path / f"out.{ending}.jsonl"
    command = [sys.executable, "-m", "haluagent", "batch", str(source), "-o", str(out), "--endpoint", endpoint.base_url]
    command += ["--in-flight", "2", "--sandbox", "none", "--search", "none"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    until(lambda: process.poll() is not None or lines_of(journal) >= 5)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL and not out.exists()
    for _ in range(2):  # the second time nothing is left to do
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert lines_of(journal) == 30
        rows: Any = read_csv(out) if ending == "csv" else pyarrow.parquet.read_table(out).to_pylist()
        assert [str(row["hallucination"]).lower() for row in rows] == [str(one == WRONG).lower() for one in responses]
