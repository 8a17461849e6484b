"""Parquet files (extra `parquet`), read and written a few thousand rows at a time."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haluagent.batch.columns import plain, renamed
from haluagent.errors import ConfigError

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

ROWS = 2000  # at a time


def open_parquet(path: Path) -> "pyarrow.parquet.ParquetFile":
    """Open a Parquet file. Raise `ConfigError` if it is none, or the extra is not installed."""
    pyarrow = library()
    try:
        return pyarrow.parquet.ParquetFile(path)
    except (OSError, ValueError) as error:  # pyarrow's errors derive from these
        raise ConfigError(f"{path} cannot be read as Parquet ({' '.join(str(error).split())})") from error


def records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows, with values that JSON has: other ones (times, decimals) as texts, numbers that are none as None."""
    for batch in batches(path):
        columns = {name: _values(batch.column(place)) for place, name in enumerate(batch.schema.names)}
        for values in zip(*columns.values(), strict=True):
            yield dict(zip(columns, values, strict=True))


def batches(path: Path) -> "Iterator[pyarrow.RecordBatch]":
    """Yield a file's rows, `ROWS` at a time. Raise `ConfigError` for a damaged file."""
    with open_parquet(path) as file:
        try:
            yield from file.iter_batches(batch_size=ROWS)
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path} cannot be read as Parquet ({' '.join(str(error).split())})") from error


def not_texts(path: Path) -> dict[str, str]:
    """Return the columns that hold numbers or truth values, with their types."""
    types = library().types
    others = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_temporal)
    with open_parquet(path) as file:
        return {field.name: str(field.type) for field in file.schema_arrow if any(is_(field.type) for is_ in others)}


def write_added(source: Path, out: Path, added: Mapping[str, type], verdict: Callable[[int], dict[str, Any]]) -> None:
    """Write the rows of a Parquet file to `out`, in their types, with the columns `added`: `verdict` has those of a row, by its
    number from 1. A column of the same name is renamed."""
    pyarrow = library()
    with open_parquet(source) as file:
        schema = file.schema_arrow
    names = list(renamed(schema.names, added).values())
    new = [pyarrow.field(name, _type(kind)) for name, kind in added.items()]
    schema = pyarrow.schema([*map(pyarrow.Field.with_name, schema, names), *new], schema.metadata)
    number = 0
    with pyarrow.parquet.ParquetWriter(out, schema) as writer:
        for batch in batches(source):
            found = [verdict(number + place) for place in range(1, len(batch) + 1)]
            number += len(batch)
            columns = [pyarrow.array([row.get(one.name) for row in found], one.type) for one in new]
            writer.write_batch(pyarrow.RecordBatch.from_arrays([*batch.columns, *columns], schema=schema))


def write_records(out: Path, kinds: Mapping[str, type], rows: Iterable[dict[str, Any]]) -> None:
    """Write rows whose columns have these kinds: `bool`, `int`, `float` or `str`."""
    pyarrow = library()
    schema = pyarrow.schema([(name, _type(kind)) for name, kind in kinds.items()])
    with pyarrow.parquet.ParquetWriter(out, schema) as writer:
        chunk: list[dict[str, Any]] = []
        for row in rows:
            chunk.append(row)
            if len(chunk) == ROWS:
                writer.write_table(pyarrow.Table.from_pylist(chunk, schema=schema))
                chunk = []
        writer.write_table(pyarrow.Table.from_pylist(chunk, schema=schema))


def _values(column: "pyarrow.Array") -> list[Any]:
    types = library().types
    if types.is_temporal(column.type) or types.is_decimal(column.type):
        column = column.cast("string")
    return [plain(value) for value in column.to_pylist()]


def _type(kind: type) -> "pyarrow.DataType":
    pyarrow = library()
    return {bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}[kind]


def library() -> Any:
    """Return pyarrow. Raise `ConfigError` that names the extra if it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ConfigError('Parquet files need one more package: pip install "haluagent[parquet]"') from None
    return pyarrow
