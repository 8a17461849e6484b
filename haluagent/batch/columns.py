"""The columns of a table of items: which of them are read as which field, and under which names they are written."""

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from pydantic import AliasChoices, BaseModel

from haluagent.errors import ConfigError

OPTIONS = {"answer": "response", "documents": "reference"}  # the command line's names of fields


class FieldNames(NamedTuple):
    """The names that a field goes by in a file, its own first, and whether an item needs it."""

    names: tuple[str, ...]
    needed: bool = False


Fields = Mapping[str, FieldNames]


def fields_of(model: type[BaseModel]) -> dict[str, FieldNames]:
    """Return the fields of an item with the names they go by."""
    found = {}
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        others = [str(choice) for choice in alias.choices] if isinstance(alias, AliasChoices) else []
        found[name] = FieldNames(tuple(dict.fromkeys([name, *others])), field.is_required())
    return found


def check_columns(place: str, names: Collection[str], fields: Fields, columns: Mapping[str, str], whole: bool) -> None:
    """Check that the `columns` chosen for fields are among the `names` that a file has and, if these are its `whole` head, that
    every field an item needs has one. Raise `ConfigError` that says what there is."""
    has = f"it has {', '.join(names) or 'none'}"
    for field, column in columns.items():
        if column not in names:
            raise ConfigError(f"{place} has no column {column!r}: {has}")
        if field not in fields:
            raise ConfigError(f"an item has no field {field!r}: it has {', '.join(fields)}")
    for field, known in fields.items():
        if whole and known.needed and field not in columns and not any(name in names for name in known.names):
            option = OPTIONS.get(field, field)
            raise ConfigError(f"{place} has no column {' or '.join(known.names)}: {has}; name it with --{option}")


def as_item(row: Mapping[str, Any], fields: Fields, columns: Mapping[str, str]) -> dict[str, Any]:
    """Return a row with the chosen columns under the names of their fields. What else stands under a name of such a field is
    not read: it is renamed to `input_NAME`."""
    taken = {name for field in columns for name in fields[field].names}
    others = [name for name in row if name not in columns.values()]
    new = renamed(others, taken)
    chosen = {field: row[column] for field, column in columns.items() if column in row}
    return chosen | {new[name]: row[name] for name in others}


def renamed(names: Iterable[str], taken: Collection[str]) -> dict[str, str]:
    """Return each name as it can stand beside the `taken` ones: `input_NAME` for one of these, and so on."""
    known = list(names)
    found = {}
    for name in known:
        new = name
        while new in taken or (new != name and new in known):
            new = f"input_{new}"
        found[name] = new
    return found


def plain(value: Any) -> Any:
    """Return a value as JSON has it: other ones (times, decimals) as texts, numbers that are none as None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value if value is None or isinstance(value, str | int) else str(value)
