"""Results as a table: the columns of the input, and those of the verdict."""

import array
import csv
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haluagent.batch import csv_table, parquet_table
from haluagent.batch.columns import plain, renamed
from haluagent.batch.csv_table import CsvForm
from haluagent.batch.journal import whole_lines
from haluagent.batch.tables import FileFormat, ItemFile
from haluagent.errors import ConfigError

Added = Mapping[str, type]
_HALF = re.compile("[\ud800-\udc7f\udd00-\udfff]")


@dataclass(frozen=True)
class OutputFile:
    """A file of results. Rows are kept in its `journal` as they are done; a table is written from it at the end."""

    path: Path
    format: FileFormat = "jsonl"

    @property
    def journal(self) -> Path:
        """Return the file of JSON Lines that the rows are appended to: of a table `OUT.jsonl`, else the file itself."""
        return self.path if self.format == "jsonl" else self.path.with_name(f"{self.path.name}.jsonl")

    def check(self, source: Path) -> None:
        """Raise `ConfigError` if writing would destroy the input, or a file that is not of an earlier run."""
        for path in (self.path, self.journal):
            if path.exists() and source.exists() and path.samefile(source):
                raise ConfigError(f"{path} is the input: name another file for the results")
        if self.format != "jsonl" and self.path.exists() and not self.journal.exists():
            raise ConfigError(f"{self.path} exists, and no run ({self.journal.name}) beside it: name another file")
        refuse_excel(self.path, self.format)
        if self.path.is_dir():
            raise ConfigError(f"{self.path} is no file: name one for the results")
        if self.format == "parquet":
            parquet_table.library()


def refuse_excel(out: Path, format: FileFormat | None) -> None:
    """Raise `ConfigError` if results are to be written as Excel, which is only read."""
    if format == "xlsx":
        raise ConfigError(f"{out}: Excel is only read: name a .csv, .parquet or .jsonl file for the results")


class Journalled:
    """The rows of a journal, each found by its line: the last of each counts. Takes eight bytes a line."""

    def __init__(self, path: Path) -> None:
        self._places = array.array("q")
        self._file = path.open("rb")
        end = whole_lines(self._file)
        self._file.seek(0)
        while (place := self._file.tell()) < end:
            number = json.loads(self._file.readline())["line"]
            self._places.extend([-1] * (number + 1 - len(self._places)))
            self._places[number] = place

    def row(self, number: int) -> dict[str, Any]:
        """Return the row of a line; empty if it has none."""
        if number >= len(self._places) or self._places[number] < 0:
            return {}
        self._file.seek(self._places[number])
        found: dict[str, Any] = json.loads(self._file.readline())
        return found

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def write_table(
    out: OutputFile, source: ItemFile, added: Added, verdict: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    """Write the rows of the input with the columns `added`, which `verdict` makes from the row of a journal. The file is
    written whole or not at all. Raise `ConfigError` if it cannot be written."""
    journal = Journalled(out.journal)
    try:
        if source.format == out.format == "parquet":

            def found(number: int) -> dict[str, Any]:
                return verdict(journal.row(number))

            replace(out.path, lambda path: parquet_table.write_added(source.path, path, added, found))
        else:
            new = renamed(_all_names(source), added)

            def rows() -> Iterator[dict[str, Any]]:
                for number, values, _ in source.records():
                    yield {new[name]: value for name, value in values.items()} | verdict(journal.row(number))

            write_rows(out, rows, [*new.values(), *added], _form(out.path, source), added)
    finally:
        journal.close()


def _form(out: Path, source: ItemFile | None = None) -> CsvForm:
    """Return the form of a CSV file: as its input, if that has the same ending, otherwise with tabs or commas."""
    delimiter = "\t" if out.suffix.lower() == ".tsv" else ","
    if source is None or source.format != "csv":
        return CsvForm([], delimiter)
    same = out.suffix.lower() == source.path.suffix.lower()
    return CsvForm([], source.form.delimiter if same else delimiter, source.form.marked)


def write_rows(
    out: OutputFile,
    rows: Callable[[], Iterable[dict[str, Any]]],
    names: list[str],
    form: CsvForm | None = None,
    known: Mapping[str, type] | None = None,
) -> None:
    """Write rows with these columns as CSV (in this `form`, or with commas) or as Parquet (in the kinds that are `known`, or
    else those of the values); lists and objects as JSON. `rows` is called once or twice. Raise `ConfigError` if the file
    cannot be written."""
    if out.format == "parquet":
        kinds = _kinds(names, rows()) | dict(known or {})
        own = {name: str(_value(name, str)) for name in names}
        made = ({own[name]: _value(row.get(name), kinds[name]) for name in names} for row in rows())
        columns = {own[name]: kinds[name] for name in names}
        replace(out.path, lambda path: parquet_table.write_records(path, columns, made))
    else:
        replace(out.path, lambda path: _write_csv(path, rows(), names, form or _form(out.path)))


def _write_csv(path: Path, rows: Iterable[dict[str, Any]], names: list[str], form: CsvForm) -> None:
    with path.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(csv_table.MARK if form.marked else "")
        writer = csv.writer(file, delimiter=form.delimiter, lineterminator="\n")
        writer.writerow(map(_text, names))
        writer.writerows([_text(row.get(name)) for name in names] for row in rows)


def replace(out: Path, write: Callable[[Path], None]) -> None:
    """Have a file written beside `out`, and put it in its place. Raise `ConfigError` if that fails."""
    unfinished = out.with_name(f"{out.name}.unfinished")
    try:
        write(unfinished)
        os.replace(unfinished, out)
    except OSError as error:
        raise ConfigError(f"{out} cannot be written: {error}; the same command writes it again") from error


def _all_names(source: ItemFile) -> list[str]:
    if source.format != "jsonl":
        return source.names
    return list(dict.fromkeys(name for _, values, _ in source.records() for name in values))


def _kinds(names: list[str], rows: Iterable[dict[str, Any]]) -> dict[str, type]:
    """Return the kind of each column: that of its values, if they have one, otherwise text."""
    found: dict[str, set[type]] = {name: set() for name in names}
    for row in rows:
        for name, value in row.items():
            if value is not None:
                small = not isinstance(value, int) or abs(value) < 2**63
                found[name].add(type(value) if small else str)
    return {name: _kind(kinds) for name, kinds in found.items()}


def _kind(kinds: set[type]) -> type:
    if kinds == {int, float}:
        return float
    return next(iter(kinds)) if len(kinds) == 1 and kinds <= {bool, int, float} else str


def _value(value: Any, kind: type) -> Any:
    if value is None or kind is not str:
        return float(value) if kind is float and value is not None else value
    return _text(value).encode("utf-8", "replace").decode()  # Parquet has no bytes that are not UTF-8


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return _whole(value or "")
    return _whole(json.dumps(plain(value), ensure_ascii=False))


def _whole(text: str) -> str:
    """Return a text without half characters, which no file can hold. Those that stand for bytes that are not UTF-8 stay."""
    return _HALF.sub("\ufffd", text)
