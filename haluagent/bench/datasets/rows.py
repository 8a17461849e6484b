"""Read the rows of a published file (JSON Lines, a JSON array, CSV or Parquet) and validate each of them."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError

from haluagent.errors import ConfigError
from haluagent.text.language import detect
from haluagent.types import Language

SUFFIXES = (".jsonl", ".json", ".csv", ".parquet")


def _expected(what: str, fits: Callable[[Any], bool]) -> PlainValidator:
    def check(value: Any) -> Any:
        if not fits(value):
            raise ValueError(what)
        return value

    return PlainValidator(check)


def _one_of(*types: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, types) and not isinstance(value, bool)


# The types of a field. Each has a single validator, so that an error is one line that names the field.
Text = Annotated[str, _expected("text", lambda value: isinstance(value, str) and bool(value.strip()))]
Name = Annotated[str | int, _expected("text or a whole number", _one_of(str, int))]
Number = Annotated[str | int | float, _expected("text or a number", _one_of(str, int, float))]
TextOrObject = Annotated[str | dict[str, Any], _expected("text or an object", _one_of(str, dict))]
Judge = Annotated[int, _expected("0 or 1", lambda value: _one_of(int)(value) and value in (0, 1))]


class RowModel(BaseModel):
    """The fields that a row of a set must have. Types are not converted, and other fields are ignored."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class NamedRow(RowModel):
    """A row with a name of its own."""

    name: Name = Field(alias="id")


AnyRow = TypeVar("AnyRow", bound=RowModel)
AnyNamed = TypeVar("AnyNamed", bound=NamedRow)


def rows(directory: Path, stem: str, model: type[AnyRow]) -> Iterator[tuple[int, AnyRow]]:
    """Yield the rows of the file `stem` (with one of SUFFIXES) in `directory`, each with its line number, counted from
    1.

    In a JSON array, CSV or Parquet file, rows are counted instead of lines. Raises ConfigError if the file is missing
    or empty, or at the first bad row, naming its field and what is expected there.
    """
    path = file_of(directory, stem)
    number = 0
    for number, raw in _raw(path):
        try:
            row = model.model_validate(raw)
        except ValidationError as error:
            raise bad(directory, stem, number, _first(error, model)) from None
        yield number, row
    if not number:
        raise ConfigError(f"{path} is empty: give the published file of the set")


def named(directory: Path, stem: str, model: type[AnyNamed]) -> dict[str, AnyNamed]:
    """Return the rows by their names. Raises ConfigError as `rows` does, and at a name that stands twice."""
    found: dict[str, AnyNamed] = {}
    for number, row in rows(directory, stem, model):
        if str(row.name) in found:
            raise bad(directory, stem, number, f"field 'id' is {row.name!r}, as in a row before: each needs its own")
        found[str(row.name)] = row
    return found


def file_of(directory: Path, stem: str) -> Path:
    """Return the first existing file named `stem` plus one of SUFFIXES. Raises ConfigError if there is none."""
    for suffix in SUFFIXES:
        path = directory / f"{stem}{suffix}"
        if path.is_file():
            return path
    others = ", ".join(SUFFIXES[1:])
    raise ConfigError(f"{directory} holds no {stem}.jsonl (nor {others}): name its directory with --data")


def bad(directory: Path, stem: str, number: int, why: str) -> ConfigError:
    """Return the error for a bad row. `why` names the field and what is expected there."""
    path = file_of(directory, stem)
    return ConfigError(f"{path}, {'line' if path.suffix == '.jsonl' else 'row'} {number}: {why}")


def texts(path: Path, field: str) -> Iterator[str]:
    """Yield the texts in one field of a file's rows, in any of the formats. Rows without a text there are skipped."""
    for _, row in _raw(path):
        text = row.get(field) if isinstance(row, dict) else None
        if isinstance(text, str) and text.strip():
            yield text


def language_of(question: str, response: str) -> Language:
    """Return the language to check an item of a mixed set in; English if neither language is detected."""
    try:
        return detect(question, response)
    except ConfigError:
        return "en"


def _first(error: ValidationError, model: type[RowModel]) -> str:
    """Describe the first error of a row in one line: the field, its value, and what is expected."""
    first = error.errors(include_url=False)[0]
    field = ".".join(map(str, first["loc"]))
    if not field:
        return "a JSON object is expected"
    if first["type"] == "missing":
        needed = ", ".join(_fields(model))
        return f"field {field!r} is missing; a row of this set has {needed}: is it the file of another set?"
    shown = repr(first["input"])
    expected = first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return f"field {field!r} is {shown[:40]}{'…' if len(shown) > 40 else ''}: expected is {expected}"


def _fields(model: type[RowModel]) -> list[str]:
    return [str(field.alias or name) for name, field in model.model_fields.items() if field.is_required()]


def _raw(path: Path) -> Iterator[tuple[int, Any]]:
    if path.suffix == ".parquet":
        return enumerate(_parquet(path), start=1)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as UTF-8 text ({error})") from error
    if path.suffix == ".csv":
        return _csv(path, text)
    return _json(path, text)


def _csv(path: Path, text: str) -> Iterator[tuple[int, Any]]:
    try:
        yield from enumerate(csv.DictReader(io.StringIO(text, newline="")), start=1)
    except csv.Error as error:
        raise ConfigError(f"{path} cannot be read as CSV ({error})") from None


def _json(path: Path, text: str) -> Iterator[tuple[int, Any]]:
    if text.lstrip().startswith("["):
        yield from enumerate(_parsed(path, "its array", text), start=1)
        return
    # Split at line feeds only: U+2028 and the like may occur inside JSON strings.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, _parsed(path, f"line {number}", line)


def _parsed(path: Path, where: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{path}, {where}: JSON is expected ({error})") from None


def _parquet(path: Path) -> list[dict[str, Any]]:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise ConfigError(
            f'{path.name} is a Parquet file, which needs one more package: pip install "haluagent[parquet]"'
        ) from None
    try:
        table: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    except (OSError, ValueError) as error:  # pyarrow's errors derive from these
        raise ConfigError(f"{path} cannot be read as Parquet ({' '.join(str(error).split())})") from error
    return table
