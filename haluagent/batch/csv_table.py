"""CSV files (RFC 4180) as they occur: with a byte order mark, quoted line ends, commas, semicolons, tabs or bars."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from haluagent.errors import ConfigError

DELIMITERS = ",;\t|"
LONGEST_FIELD = 16_000_000  # characters; an unclosed quotation mark would take the rest of the file
MARK = "\ufeff"


class CsvForm(NamedTuple):
    """How a CSV file is written: the names of its columns, what stands between fields, and whether it begins with a byte
    order mark."""

    names: list[str]
    delimiter: str = ","
    marked: bool = False


def form_of(path: Path) -> CsvForm:
    """Return the form of a CSV file. The delimiter is the one that makes most of the first line.

    Raise `ConfigError` for a file that is empty, not UTF-8, or has two columns of one name.
    """
    csv.field_size_limit(LONGEST_FIELD)
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        head = file.readline(LONGEST_FIELD)
    marked, head = head.startswith(MARK), head.removeprefix(MARK)
    if not head.strip():
        raise ConfigError(f"{path} is empty: a CSV file begins with a line of column names")
    if "\0" in head or any("\ud800" <= character <= "\udfff" for character in head):
        raise ConfigError(f"{path} is not UTF-8 text: convert it first, for example with iconv")
    tabs = path.suffix.lower() == ".tsv"
    delimiter = "\t" if tabs else max(DELIMITERS, key=lambda one: len(next(csv.reader([head], delimiter=one))))
    names = next(_records(path, delimiter))
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise ConfigError(f"{path} has more than one column named {twice[0]!r}: give each a name of its own")
    return CsvForm(names, delimiter, marked)


def records(path: Path, form: CsvForm) -> Iterator[list[str]]:
    """Yield the fields of each row that is not blank, without the head. Bytes that are not UTF-8 become surrogates. Raise
    `ConfigError` for a quotation mark that is never closed."""
    rows = _records(path, form.delimiter)
    next(rows)
    return rows


def _records(path: Path, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(LONGEST_FIELD)
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter)
        begins = 1
        try:
            for row in reader:
                begins = reader.line_num + 1
                if row:
                    yield row
        except csv.Error as error:
            raise ConfigError(f"{path}: the row that begins in line {begins} cannot be read: {error}") from error
