"""Excel workbooks (extra `excel`): the rows of the first sheet, their cells as texts."""

import re
import warnings
from collections.abc import Generator, Iterator
from contextlib import closing
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haluagent.errors import ConfigError

if TYPE_CHECKING:
    from openpyxl.cell.read_only import ReadOnlyCell

COMPOUND = bytes.fromhex("d0cf11e0a1b11ae1")  # how an .xls file begins, and any workbook under a password
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")  # what only the second one holds
# In a number format: the digits; what is not shown as it stands (a currency, a colour, spaces, quoting); what is not simple.
_NUMBER = re.compile(r"([#0,]*[#0])(\.0{1,9})?(%?)")
_UNSHOWN = re.compile(r"\[\$([^-\]]*)[^\]]*\]|\[[^\]]*\]|[_*].|[\"\\]")
_NOT_SIMPLE = re.compile(r"[#0?,.@/]|[Ee][+-]|General")


def names_of(path: Path) -> list[str]:
    """Return the names of the columns: the first row that is not empty. A column without a name is called by its number.

    Raise `ConfigError` for a file that is no workbook or is empty, two columns of one name, or a missing extra.
    """
    with closing(_rows(path)) as rows:
        return _names(path, next(rows, []))


def records(path: Path) -> Iterator[tuple[dict[str, str], str | None]]:
    """Yield the rows that are not empty, without the head, and why one cannot be checked. Raise what `names_of` does."""
    with closing(_rows(path)) as rows:
        names = _names(path, next(rows, []))
        for cells in rows:
            problem = f"the row has {len(cells)} fields, and the first row {len(names)}"
            cells += [""] * (len(names) - len(cells))
            yield dict(zip(names, cells, strict=False)), None if len(cells) == len(names) else problem


def _names(path: Path, head: list[str]) -> list[str]:
    if not head:
        raise ConfigError(f"{path} is empty: its first sheet begins with a row of column names")
    names = [name or f"column {place}" for place, name in enumerate(head, start=1)]
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise ConfigError(f"{path} has more than one column named {twice[0]!r}: give each a name of its own")
    return names


def _rows(path: Path) -> Generator[list[str], None, None]:
    """Yield the texts of each row that is not empty, up to its last cell with one. Raise `ConfigError`."""
    openpyxl = library()
    with path.open("rb") as file, path.open("rb") as again:
        _check_kind(path, file.read(len(COMPOUND)))
        try:
            values = openpyxl.load_workbook(file, read_only=True, data_only=True)
            formulas = openpyxl.load_workbook(again, read_only=True)
            for row, written in zip(_cells(values), _cells(formulas), strict=True):
                _check_computed(path, row, written)
                cells = [_text(cell) for cell in row]
                while cells and not cells[-1].strip():
                    cells.pop()
                if cells:
                    yield cells
        except (ConfigError, MemoryError):
            raise
        except Exception as error:  # a parser may fail in any way at a damaged file
            why = " ".join(str(error).split()) or type(error).__name__
            raise ConfigError(f"{path} cannot be read as an Excel workbook ({why[:200]})") from error


def _check_kind(path: Path, start: bytes) -> None:
    if start == COMPOUND:
        if ENCRYPTED in path.read_bytes():
            raise ConfigError(f"{path} is protected by a password: save it without one")
        raise ConfigError(f"{path} is in the old format .xls: save it as .xlsx")


def _cells(workbook: Any) -> "Iterator[tuple[ReadOnlyCell, ...]]":
    if not workbook.worksheets:
        raise ValueError("it has no sheet with cells")
    sheet = workbook.worksheets[0]
    sheet.reset_dimensions()  # some programs write wrong ones, and cells beyond them would be left out
    yield from sheet.iter_rows()


def _check_computed(path: Path, row: "tuple[ReadOnlyCell, ...]", written: "tuple[ReadOnlyCell, ...]") -> None:
    """Raise `ConfigError` for a formula without a value: the program that wrote the file cannot compute. One that gives an
    empty text has the type of a text."""
    for cell, formula in zip(row, written, strict=True):
        if cell.value is None and cell.data_type == "n" and formula.data_type == "f":
            raise ConfigError(
                f"{path}: the formula in {formula.coordinate} has no stored value: open the file in a spreadsheet "
                "program and save it"
            )


def _text(cell: "ReadOnlyCell") -> str:
    """Return a cell as it is shown, but dates and times as 2026-03-01 13:30:00."""
    value: Any = cell.value
    match value:
        case None:
            return ""
        case bool():
            return str(value).upper()
        case int() | float():
            return _number(value, cell.number_format)
        case datetime() if value.time() == time():
            return value.date().isoformat()
        case datetime():
            return value.isoformat(" ", "seconds")
        case date() | time():
            return value.isoformat()
        case timedelta():
            minutes, seconds = divmod(round(value.total_seconds()), 60)
            return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    return str(value).replace("_x000D_", "")  # how a carriage return is written in a workbook


def _number(value: float, form: str) -> str:
    """Return a number as it is shown: with the decimals, zeros, thousands, per cent and unit of a simple format; of any other,
    with up to 15 digits."""
    if not abs(value) < 1e15:
        return str(value)
    plain = _UNSHOWN.sub(r"\1", form.split(";")[0])
    found = _NUMBER.search(plain)
    if found is None or _NOT_SIMPLE.search(plain[: found.start()] + plain[found.end() :]):
        return f"{value:.15g}"
    whole, decimals, percent = found[1], len(found[2] or "."), found[3]
    size = abs(Decimal(str(value))) * (100 if percent else 1)
    size = size.quantize(Decimal(1).scaleb(1 - decimals), ROUND_HALF_UP)  # not to even: 0.125 is shown as 0.13
    digits = f"{size:,f}" if "," in whole else f"{size:f}".zfill(whole.count("0") + (decimals if decimals > 1 else 0))
    sign = "-" if value < 0 and size else ""
    return f"{sign}{plain[: found.start()]}{digits}{percent}{plain[found.end() :]}".strip()


def library() -> Any:
    """Return openpyxl. Raise `ConfigError` that names the extra if it is not installed."""
    try:
        import openpyxl
    except ImportError:
        raise ConfigError('Excel files need one more package: pip install "haluagent[excel]"') from None
    # It warns of each part that it does not keep, such as a drop-down list; only cells are read here.
    warnings.filterwarnings("ignore", category=UserWarning, module="openpyxl")
    return openpyxl
