"""Files of items as Excel workbooks: what their cells become, and what is wrong in them."""

import sys
import zipfile
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from typer.testing import CliRunner

from haluagent import HaluAgent
from haluagent.batch import excel_table
from haluagent.batch.files import BatchItem, item_file, run
from haluagent.batch.tables import ItemFile
from haluagent.checks.claims import file as claims
from haluagent.cli.main import app
from haluagent.errors import ConfigError

RIGHT, WRONG = "It is 2 + 2 = 4.", "It is 2 + 2 = 5."
COMPOUND = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(504)


def workbook(path: Path, *rows: list[Any], formats: dict[str, str] | None = None) -> Path:
    made = openpyxl.Workbook()
    sheet: Any = made.active
    for row in rows:
        sheet.append(row)
    for cell, form in (formats or {}).items():
        sheet[cell].number_format = form
    made.create_sheet("another").append(["not", "read"])
    made.save(path)
    return path


def rewritten(path: Path, old: str, new: str) -> Path:
    """The same workbook with another text in the XML of its first sheet."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    assert old.encode() in parts[sheet]
    parts[sheet] = parts[sheet].replace(old.encode(), new.encode())
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def read(path: Path) -> list[tuple[int, dict[str, Any], str | None]]:
    return list(ItemFile(path, {}, "xlsx").records())


def test_a_workbook_is_checked_and_its_table_written(scripted: Callable[..., Any], tmp_path: Path) -> None:
    source = workbook(tmp_path / "in.xlsx", [], ["ask", "answer", "score"], ["What?", RIGHT, 7], [], ["", WRONG, None])
    agent = HaluAgent(scripted(scripted.calculate), sandbox="none", search="none")
    columns = {"question": "ask", "response": "answer"}
    for _ in range(2):  # the second time nothing is left to do
        assert run(source, tmp_path / "out.csv", [agent], columns=columns) is None
        lines = (tmp_path / "out.csv").read_text("utf-8").splitlines()
        assert lines[0] == "ask,answer,input_score,hallucination,score,contradicted,unverified,error"
        assert lines[1].startswith(f"What?,{RIGHT},7,false,") and lines[2].startswith(f",{WRONG},,true,")
    for out in ("out.xlsx", "in.xlsx"):
        with pytest.raises(ConfigError, match="Excel is only read|is the input"):
            run(source, tmp_path / out, [agent], columns=columns)


def test_cells_become_texts_as_they_are_shown(tmp_path: Path) -> None:
    times = [date(2026, 3, 1), datetime(2026, 3, 1, 13, 30), time(9, 5), timedelta(hours=30)]
    row = ["a\nb ", 2.0, 0.1 + 0.2, 0.125, 0.5, 1234.5, -3, 42, True, *times]
    names = [f"n{number}" for number in range(len(row))]
    formats = {"D2": "0.00", "E2": "0%", "F2": '"€"#,##0.00', "G2": '0.0" kg";[Red]\\-0.0', "H2": "00000"}
    source = workbook(tmp_path / "in.xlsx", names, row, formats=formats)
    ((_, values, _),) = read(source)
    assert list(values.values()) == [
        "a\nb ", "2", "0.3", "0.13", "50%", "€1,234.50", "-3.0 kg", "00042", "TRUE", "2026-03-01", "2026-03-01 13:30:00",
        "09:05:00", "30:00:00",
    ]  # fmt: skip


@pytest.mark.parametrize(("value", "form"), [
    (5551234, "000-0000"), (0.5, "# ?/?"), (15000000, "0.0,,"), (12345, "0.00E+00"), (7, "@"), (12, 'General" items"'),
])  # fmt: skip
def test_a_number_whose_format_is_not_simple_is_written_as_it_is(tmp_path: Path, value: float, form: str) -> None:
    ((_, values, _),) = read(workbook(tmp_path / "in.xlsx", ["n"], [value], formats={"A2": form}))
    assert values == {"n": str(value)}


def test_a_formula_has_the_value_that_was_stored(tmp_path: Path) -> None:
    source = workbook(tmp_path / "in.xlsx", ["a", "b"], ["x", "=1+1"])
    with pytest.raises(ConfigError, match=r"in.xlsx: the formula in B2 has no stored value: open the file in a spread"):
        read(source)
    rewritten(source, "</f><v />", "</f><v>2</v>")
    assert read(source) == [(1, {"a": "x", "b": "2"}, None)]
    rewritten(source, 'r="B2"', 'r="B2" t="str"')
    rewritten(source, "<v>2</v>", "<v></v>")  # the formula gives an empty text
    assert read(source) == [(1, {"a": "x", "b": ""}, None)]


def test_cells_beyond_the_size_that_a_file_gives_are_read(tmp_path: Path) -> None:
    source = workbook(tmp_path / "in.xlsx", ["a", "b"], ["1", "2"], ["3", "4"])
    assert len(read(rewritten(source, 'ref="A1:B3"', 'ref="A1"'))) == 2


def test_columns_and_rows_that_do_not_fit(tmp_path: Path) -> None:
    source = workbook(tmp_path / "in.xlsx", ["a", None, "c"], ["1"], ["1", "2", "3", "a note"], [" ", ""])
    assert read(source) == [
        (1, {"a": "1", "column 2": "", "c": ""}, None),
        (2, {"a": "1", "column 2": "2", "c": "3"}, "the row has 4 fields, and the first row 3"),
    ]


def bomb() -> str:
    """An entity that is made of entities: 10**9 characters."""
    made = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    return f'<!DOCTYPE x [<!ENTITY a0 "x">{made}]><worksheet xmlns'


@pytest.mark.parametrize(("make", "message"), [
    (lambda at: at.write_bytes(b"no workbook"), "in.xlsx cannot be read as an Excel workbook ("),
    (lambda at: at.write_bytes(b""), "in.xlsx cannot be read as an Excel workbook ("),
    (lambda at: at.write_bytes(b"PK\3\4" * 9), "in.xlsx cannot be read as an Excel workbook ("),
    (lambda at: at.write_bytes(workbook(at, ["a"], ["b"]).read_bytes()[:-40]), "in.xlsx cannot be read as an Excel workbook ("),
    (lambda at: zipfile.ZipFile(at, "w").close(), "in.xlsx cannot be read as an Excel workbook ("),
    (lambda at: rewritten(workbook(at, ["a"]), "<row", "<row <"), "in.xlsx cannot be read as an Excel workbook ("),
    (lambda at: rewritten(rewritten(workbook(at, ["a"]), "<worksheet xmlns", bomb()), "<sheetData>", "<sheetData>&a9;"),
     "in.xlsx cannot be read as an Excel workbook ("),
    (lambda at: at.write_bytes(COMPOUND), "in.xlsx is in the old format .xls: save it as .xlsx"),
    (lambda at: at.write_bytes(COMPOUND + "EncryptedPackage".encode("utf-16-le")), "in.xlsx is protected by a password"),
    (lambda at: workbook(at), "in.xlsx is empty"),
    (lambda at: workbook(at, ["a", "a"]), "in.xlsx has more than one column named 'a'"),
    (lambda at: workbook(at, ["question"], ["x"]), "in.xlsx has no column response: it has question"),
])  # fmt: skip
def test_what_is_no_table_is_said_in_one_line(tmp_path: Path, make: Callable[[Path], Any], message: str) -> None:
    make(tmp_path / "in.xlsx")
    with pytest.raises(ConfigError) as raised:
        item_file(BatchItem, tmp_path / "in.xlsx")
    assert message in str(raised.value) and "\n" not in str(raised.value)


def test_an_old_workbook_is_not_read_as_lines(tmp_path: Path) -> None:
    (tmp_path / "in.xls").write_bytes(COMPOUND)
    with pytest.raises(ConfigError, match=r"in.xls is in the old format .xls: save it as .xlsx"):
        item_file(BatchItem, tmp_path / "in.xls")


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = workbook(tmp_path / "in.xlsx", ["response"], [RIGHT])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ConfigError, match=r'Excel files need one more package: pip install "haluagent\[excel\]"'):
        excel_table.names_of(source)


def test_check_and_claims_read_them_too(endpoint: Any, tmp_path: Path) -> None:
    names = ["ask", "response", "reference"]
    source = workbook(tmp_path / "in.xlsx", names, ["Sum?", RIGHT, '["One.", "Two."]'], ["Sum?", WRONG, None])
    (first, second) = claims.read(source, columns={"question": "ask"})
    assert (first.question, first.reference, second.reference) == ("Sum?", ("One.", "Two."), None)
    options = ["--base-url", endpoint.base_url, "--input-path", str(source), "--output-path"]
    refused = CliRunner().invoke(app, ["claims", "extract-check", *options, str(tmp_path / "out.xlsx")])
    assert isinstance(refused.exception, ConfigError) and "Excel is only read" in str(refused.exception)
    out = tmp_path / "out.jsonl"
    columns = ["--answer", "response", "--document", "reference"]
    call = CliRunner().invoke(app, ["check", *options, str(out), *columns])
    assert out.read_text("utf-8").count("\n") == 2, call.output
