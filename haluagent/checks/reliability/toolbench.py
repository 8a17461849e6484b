"""RelyToolBench (Xu et al. 2024): its published rows as tasks, with simulated tools."""

import hashlib
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from haluagent.batch.journal import iterate
from haluagent.checks.reliability.records import KINDS, Kind, ToolTask
from haluagent.checks.runs.calls.schema_check import schema_errors
from haluagent.checks.runs.records import ToolSpec
from haluagent.errors import ConfigError

DESCRIPTION = 300  # characters kept of a description
ITEMS = 3  # items of a list in a simulated result
TYPES = {
    "STRING": "string",
    "ENUM": "string",
    "NUMBER": "number",
    "BOOLEAN": "boolean",
    "ARRAY": "array",
    "OBJECT": "object",
}


def read(path: Path, kinds: Iterable[Kind] = KINDS) -> list[ToolTask]:
    """Read the tasks of a file of rows, or of all `*.jsonl` of a directory.

    Rows of variants that were `dropped` when they were made are left out. Raise a `ConfigError` that names an invalid
    row.
    """
    wanted = set(kinds)
    return [task for _, task in rows(path) if task.kind in wanted]


def stratified(tasks: Sequence[ToolTask], count: int, seed: int = 0) -> list[ToolTask]:
    """Return `count` tasks in order, drawn equally from each kind and subset as far as it has them.

    A larger sample with the same seed contains the smaller one.
    """
    strata: dict[tuple[str, str], list[ToolTask]] = {}
    for task in tasks:
        strata.setdefault((task.kind, task.subset), []).append(task)
    chance = random.Random(seed)
    drawn = [chance.sample(of, len(of)) for of in strata.values()]
    turns = [task for turn in zip_longest(*drawn) for task in turn if task is not None]
    chosen = {task.id for task in turns[:count]}
    return [task for task in tasks if task.id in chosen]


def rows(path: Path) -> Iterator[tuple[dict[str, Any], ToolTask]]:
    """Yield the rows of a file or directory with their tasks, as `read` reads them. Raise `ConfigError`."""
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files or not all(file.is_file() for file in files):
        raise ConfigError(f"{path} has no rows of RelyToolBench: name its JSON lines file, or a directory of them")
    taken: set[str] = set()
    for file in files:
        for number, row in enumerate(iterate(file), start=1):
            if row.get("dropped"):
                continue
            task = parse(row, f"{file}, line {number}")
            if task.id in taken:
                raise ConfigError(f"{file}, line {number}: the task {task.id} is there twice")
            taken.add(task.id)
            yield row, task


def parse(row: Mapping[str, Any], place: str) -> ToolTask:
    """Parse a row as a task. Raise a `ConfigError` that names the place and the missing or mistyped field."""
    try:
        if row["kind"] not in KINDS:
            raise ValueError(f"kind {row['kind']!r} is none of {', '.join(KINDS)}")
        tools = dict(_named(row["api_list"]))
        return ToolTask(
            id=f"{row['kind']}/{row['query_id']}",
            kind=row["kind"],
            subset=str(row.get("subset", "")),
            query=row["query"],
            tools=tuple(_spec(name, api) for name, api in tools.items()),
            responses={name: api.get("template_response") for name, api in tools.items()},
        )
    except KeyError as error:
        raise ConfigError(f"{place}: the field {error} is missing: is this a row of RelyToolBench?") from None
    except (TypeError, ValueError, AttributeError) as error:
        line = str(error).splitlines()[0]
        raise ConfigError(f"{place}: this is no row of RelyToolBench: {line}") from None


def _named(apis: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the APIs with the unique names that they are offered under, made as in ToolBench."""
    taken: set[str] = set()
    for api in apis:
        parts = (_identifier(api["api_name"]), _identifier(api["tool_name"]))
        plain = name = "_for_".join(part for part in parts if part)[:64] or "tool"
        number = 1
        while name in taken:
            number += 1
            name = f"{plain}_{number}"
        taken.add(name)
        yield name, api


def _identifier(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def _spec(name: str, api: Mapping[str, Any]) -> ToolSpec:
    required = {parameter["name"]: _schema(parameter) for parameter in api["required_parameters"]}
    optional = {parameter["name"]: _schema(parameter) for parameter in api["optional_parameters"]}
    schema = {
        "type": "object",
        "properties": required | {key: value for key, value in optional.items() if key not in required},
        "required": list(required),
        "additionalProperties": False,
    }
    description = f"{api['tool_name']}: {api.get('api_description') or api['api_name']}"
    return ToolSpec(name=name, description=" ".join(description.split())[:DESCRIPTION], parameters=schema)


def _schema(parameter: Mapping[str, Any]) -> dict[str, Any]:
    kind = TYPES.get(str(parameter["type"]).upper().split(" ")[0], "string")
    schema: dict[str, Any] = {"type": kind}
    if description := " ".join(str(parameter.get("description") or "").split())[:DESCRIPTION]:
        schema["description"] = description
    default = _default(parameter.get("default"), kind)
    return schema if default is None else schema | {"default": default}


def _default(value: Any, kind: str) -> Any:
    """Return a default converted to its parameter's type, or None if it is not of that type.

    The published ones are strings.
    """
    if kind == "string":
        return str(value) if value not in (None, "") else None
    try:
        value = json.loads(value.lower() if kind == "boolean" else value) if isinstance(value, str) else value
    except ValueError:
        return None
    of_kind = {"number": int | float, "boolean": bool, "array": list, "object": dict}[kind]
    right = isinstance(value, of_kind) and (kind == "boolean" or not isinstance(value, bool))
    return value if right else None


class Tools:
    """The simulated tools of a task.

    A good call is answered from the tool's template, with values that depend only on the call: the same call gives the
    same result. A bad call is answered with an error message, as a real service does.
    """

    def __init__(self, task: ToolTask) -> None:
        self._specs = {spec.name: spec for spec in task.tools}
        self._responses = task.responses

    async def call(self, name: str, arguments: dict[str, Any] | str) -> tuple[str, bool]:
        """Return the result as JSON, and whether it is an error."""
        spec = self._specs.get(name)
        if spec is None:
            return _json({"error": f"there is no function {name}"}), True
        if errors := schema_errors(spec, arguments):
            return _json({"error": "; ".join(errors)}), True
        assert isinstance(arguments, dict)
        template = _template(self._responses.get(name))
        if template is None:
            return _json({"status": "success", "request": arguments}), False
        seed = _json([name, arguments])
        return _json(_fill(template, "value", arguments, seed)), False


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _template(published: Any) -> Any:
    """Return a template, parsed if it was published as JSON text."""
    if isinstance(published, str) and published[:1] in "{[":
        try:
            return json.loads(published)
        except ValueError:
            return None
    return published or None


_LIST = re.compile(r"list of (\w+) with length (\d+)")


def _fill(template: Any, key: str, arguments: Mapping[str, Any], seed: str) -> Any:
    """Return values for the types that a template names.

    A field with the name of an argument gets that argument's value.
    """
    if isinstance(template, dict):
        fields = {name: value for name, value in template.items() if name != "_list_length"}
        return {name: _fill(value, name, arguments, f"{seed}/{name}") for name, value in fields.items()}
    if isinstance(template, list):
        return [value for item in template for value in _repeat(item, key, arguments, seed)]
    if key in arguments and template in ("str", "int", "float", "bool"):
        return arguments[key]
    if isinstance(template, str) and (match := _LIST.fullmatch(template)):
        return [_value(match[1], key, f"{seed}/{number}") for number in range(min(ITEMS, int(match[2])))]
    return _value(template, key, seed)


def _repeat(item: Any, key: str, arguments: Mapping[str, Any], seed: str) -> list[Any]:
    length = str(item.get("_list_length", 1)) if isinstance(item, dict) else "1"
    count = min(ITEMS, int(length)) if length.isdecimal() else 1
    return [_fill(item, key, arguments, f"{seed}/{number}") for number in range(count)]


def _value(kind: Any, key: str, seed: str) -> Any:
    """Return a value of a type; anything but the name of a type is returned unchanged."""
    number = int(hashlib.sha256(seed.encode()).hexdigest()[:8], 16)
    values = {
        "str": f"{key}_{number % 0x10000:04x}", "int": number % 1000, "float": number % 100_000 / 100, "bool": number % 2 == 0,
        "NoneType": None, "empty list": [], "list": [], "dict": {},
    }  # fmt: skip
    return values.get(kind, kind) if isinstance(kind, str) else kind
