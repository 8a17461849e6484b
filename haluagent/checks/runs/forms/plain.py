"""The data of other libraries as plain JSON, and the parts that all of them share: texts, arguments, tools."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from haluagent.checks.runs.records import ToolSpec
from haluagent.errors import ConfigError

DEPTH = 100  # no tool takes or returns anything nested deeper
LEFT_OUT = (
    "image image_url input_image audio input_audio video file input_file document media blob uri "
    "reasoning thinking redacted_thinking"
).split()


def plain(value: Any, place: str) -> Any:
    """Return the value as JSON data.

    Pydantic models and mappings become objects, sequences lists, lone surrogates U+FFFD. Raise a `ConfigError`, which
    names `place`, for anything that JSON cannot express.
    """
    return _plain(value, place, 0)


def _plain(value: Any, place: str, depth: int) -> Any:
    if depth > DEPTH:
        raise ConfigError(f"{place} is nested deeper than {DEPTH} levels")
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, BaseModel):
        value = value.model_dump(warnings=False)  # libraries build their records from what models send, unchecked
    if isinstance(value, Mapping):
        return {_plain(str(name), place, depth): _plain(member, place, depth + 1) for name, member in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_plain(member, place, depth + 1) for member in value]
    raise ConfigError(f"{place} holds {type(value).__name__} {str(value)[:40]!r}, which is no JSON")


def objects(value: Any, place: str) -> list[dict[str, Any]]:
    """Return a list of JSON objects. Raise `ConfigError` if it is not one."""
    found = plain(value, place)
    if not isinstance(found, list):
        raise ConfigError(f"{place} is not a list")
    for number, member in enumerate(found):
        if not isinstance(member, dict):
            raise ConfigError(f"{place}[{number}] is not an object")
    return found


def name_of(fields: Mapping[str, Any], name: str, place: str) -> str:
    """Return a required text field. Raise `ConfigError` if it is missing or not a text."""
    value = fields.get(name)
    if not isinstance(value, str):
        raise ConfigError(f"{place}.{name} is {'missing' if value is None else 'not a text'}")
    return value


def text_of(content: Any, joiner: str = "\n", *, others: bool = True) -> str:
    """Return the text of a message or a tool result: a text, or a list of parts whose texts are joined.

    Pictures, sounds and the model's thinking are left out. Other data becomes JSON text, or is left out if `others` is
    False.
    """
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list) and all(isinstance(part, str | dict) for part in content) and _has_parts(content):
        return joiner.join(text for part in content if (text := _part(part, others)))
    return dump(content)


def _has_parts(content: list[Any]) -> bool:
    return not content or any(isinstance(part, dict) and isinstance(part.get("type"), str) for part in content)


def _part(part: str | dict[str, Any], others: bool) -> str:
    if isinstance(part, str):
        return part
    if part.get("type") in LEFT_OUT:
        return ""
    for name in ("text", "refusal", "content"):
        if isinstance(part.get(name), str):
            return str(part[name])
    return dump({name: value for name, value in part.items() if name != "encrypted_content"}) if others else ""


def dump(value: Any) -> str:
    """Return a value as JSON, as a tool would."""
    return json.dumps(value, ensure_ascii=False)


def load(text: str) -> Any:
    """Parse a JSON text. Raise `ValueError` if it is invalid, has NaN or Infinity, or is nested too deep."""

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is no JSON")

    try:
        return plain(json.loads(text, parse_constant=refuse), "the JSON")
    except (ConfigError, RecursionError) as error:
        raise ValueError(str(error)) from None


def arguments_of(value: Any) -> dict[str, Any] | str:
    """Return a call's arguments from an object or its JSON text.

    A text that is not a JSON object is returned unchanged.
    """
    if isinstance(value, dict):
        return value
    if value is None:
        return {}
    if not isinstance(value, str):
        return dump(value)
    try:
        found = load(value)
    except ValueError:
        return value
    return found if isinstance(found, dict) else value


def tool_of(definition: Any, place: str) -> ToolSpec:
    """Convert a tool's definition by OpenAI (chat or Responses), Anthropic, MCP or OpenTelemetry.

    `allowed` is read if present. A provider's own tool, such as web search, has no schema and is named after its type.
    Raise `ConfigError` for an invalid definition.
    """
    fields = plain(definition, place)
    if isinstance(fields, dict) and isinstance(fields.get("function"), dict):
        fields = {**fields["function"], **({"allowed": fields["allowed"]} if "allowed" in fields else {})}
    if not isinstance(fields, dict):
        raise ConfigError(f"{place} is not an object: a tool is {{name, description, parameters}}")
    name = fields.get("name") or fields.get("type")
    if not isinstance(name, str):
        raise ConfigError(f"{place}.name is missing: a tool is {{name, description, parameters}}")
    schemas = [fields[key] for key in ("parameters", "input_schema", "inputSchema") if fields.get(key) is not None]
    schema = schemas[0] if schemas else {"type": "object"}
    if not isinstance(schema, dict):
        raise ConfigError(f"{place}, {name}: its parameters are no JSON Schema")
    allowed = fields.get("allowed") or []
    if not isinstance(allowed, list) or not all(isinstance(value, str) for value in allowed):
        raise ConfigError(f"{place}, {name}: `allowed` is not a list of texts")
    description = fields.get("description")
    return ToolSpec(
        name=name,
        description=description if isinstance(description, str) else "",
        parameters=schema,
        allowed=tuple(allowed),
    )


def tools_of(definitions: Any, place: str = "tools") -> tuple[ToolSpec, ...]:
    """Convert tool definitions, each name once. Raise `ConfigError` for an invalid one."""
    if not isinstance(definitions, list | tuple | None):
        raise ConfigError(f"{place} is not a list")
    found = [
        tool if isinstance(tool, ToolSpec) else tool_of(tool, f"{place}[{number}]")
        for number, tool in enumerate(definitions or ())
    ]
    return tuple({tool.name: tool for tool in found}.values())
