"""Files of items in four formats: JSON Lines, CSV, Excel and Parquet. Each row is read as a line of JSON."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from haluagent.batch import csv_table, excel_table, parquet_table
from haluagent.batch.columns import Fields, as_item, check_columns
from haluagent.batch.csv_table import CsvForm
from haluagent.errors import ConfigError

FileFormat = Literal["jsonl", "csv", "xlsx", "parquet"]
ENDINGS: dict[str, FileFormat] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "csv", ".xlsx": "xlsx", ".xlsm": "xlsx",
    ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
SAMPLE = 100  # lines of JSON that tell which fields there are


def format_of(path: Path, otherwise: FileFormat | None = None) -> FileFormat:
    """Return the format that a file's ending names, or else the one given, or JSON Lines."""
    return ENDINGS.get(path.suffix.lower(), otherwise or "jsonl")


class InputRow(NamedTuple):
    """A row of an input: its number from 1 (of JSON Lines, that of its line), its text as JSON, and, if it cannot be read as a
    row, why."""

    number: int
    text: str
    problem: str | None = None


@dataclass(frozen=True)
class ItemFile:
    """A file of items with these `fields`. `columns` are the ones chosen for fields; others are found by name."""

    path: Path
    fields: Fields
    format: FileFormat = "jsonl"
    columns: Mapping[str, str] = field(default_factory=dict)

    def check(self) -> None:
        """Check that the file is there and has the columns. Raise `ConfigError` that says what it has."""
        if not self.path.is_file():
            form = ", ".join(name if known.needed else f"{name}?" for name, known in self.fields.items())
            raise ConfigError(
                f"{self.path} is no file: give one of JSON lines, CSV, Excel or Parquet, each item with {form}"
            )
        try:
            self.path.open("rb").close()
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be read: {error.strerror}") from error
        if self.path.suffix.lower() == ".xls":
            raise ConfigError(f"{self.path} is in the old format .xls: save it as .xlsx")
        table = self.format != "jsonl"
        if table or (self.columns and self.names):
            check_columns(str(self.path), self.names, self.fields, self.columns, whole=table)
        if self.format == "parquet":
            self._check_types()

    def _check_types(self) -> None:
        wrong = parquet_table.not_texts(self.path)
        for name, known in self.fields.items():
            column = self.columns.get(name) or next((one for one in known.names if one in self.names), "")
            if column in wrong and name != "id":
                raise ConfigError(f"{self.path}: column {column!r} holds {wrong[column]}, not text")

    @cached_property
    def form(self) -> CsvForm:
        """Return the form of a CSV file."""
        return csv_table.form_of(self.path)

    @cached_property
    def names(self) -> list[str]:
        """Return the names of the columns; of JSON Lines, the fields of its first lines."""
        if self.format == "csv":
            return self.form.names
        if self.format == "xlsx":
            return excel_table.names_of(self.path)
        if self.format == "parquet":
            with parquet_table.open_parquet(self.path) as file:
                return list(file.schema_arrow.names)
        return list(dict.fromkeys(name for _, values, _ in islice(self.records(), SAMPLE) for name in values))

    def rows(self) -> Iterator[InputRow]:
        """Yield the rows as they are to be checked: with the chosen columns under the names of their fields."""
        if self.format == "jsonl":
            for number, text in lines(self.path):
                values = _object(text) if self.columns else {}
                yield InputRow(number, self._item(values) if values else text)
        else:
            for number, values, problem in self.records():
                yield InputRow(number, self._item(values), problem)

    def _item(self, values: dict[str, Any]) -> str:
        return json.dumps(as_item(values, self.fields, self.columns), ensure_ascii=False)

    def records(self) -> Iterator[tuple[int, dict[str, Any], str | None]]:
        """Yield the rows under the file's own names: their numbers, their values (of a line that is no JSON object, none), and
        why a row cannot be checked."""
        if self.format == "csv":
            names = self.form.names
            for number, cells in enumerate(csv_table.records(self.path, self.form), start=1):
                problem = f"the row has {len(cells)} fields, and the first line {len(names)}"
                yield number, dict(zip(names, cells, strict=False)), None if len(cells) == len(names) else problem
        elif self.format == "xlsx":
            for number, (texts, why) in enumerate(excel_table.records(self.path), start=1):
                yield number, texts, why
        elif self.format == "parquet":
            for number, values in enumerate(parquet_table.records(self.path), start=1):
                yield number, values, None
        else:
            for number, text in lines(self.path):
                yield number, _object(text), None


def lines(source: Path) -> Iterator[tuple[int, str]]:
    """Return an iterator over the non-blank lines of a file with their numbers. Lines are split at line feeds only,
    since U+2028 and the like may occur inside JSON strings. A line that is not UTF-8 fails on its own. Raises
    ConfigError at once if there is no such file."""
    if not source.is_file():
        raise ConfigError(f"{source} is no file: give one of JSON lines")
    return _lines(source)


def _lines(source: Path) -> Iterator[tuple[int, str]]:
    with source.open(encoding="utf-8-sig", errors="surrogateescape", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield number, line


def _object(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
