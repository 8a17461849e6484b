"""What other libraries keep of a run, as plain JSON data, and the parts that all of them have: texts, arguments, tools."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from haluagent.checks.runs.records import ToolSpec
from haluagent.errors import ConfigError

DEPTH = 100  # nothing that a tool takes or returns is nested deeper
LEFT_OUT = (
    "image image_url input_image audio input_audio video file input_file document media blob uri "
    "reasoning thinking redacted_thinking"
).split()


def plain(value: Any, place: str) -> Any:
    """The value as JSON data: records of pydantic and mappings as objects, sequences as lists, half a character (a lone
    surrogate) as U+FFFD. Raises ConfigError, which names `place`, for what JSON cannot say."""
    return _plain(value, place, 0)


def _plain(value: Any, place: str, depth: int) -> Any:
    if depth > DEPTH:
        raise ConfigError(f"{place} is nested deeper than {DEPTH} levels")
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, BaseModel):
        value = value.model_dump(warnings=False)  # libraries build their records of what models send without a check
    if isinstance(value, Mapping):
        return {_plain(str(name), place, depth): _plain(member, place, depth + 1) for name, member in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_plain(member, place, depth + 1) for member in value]
    raise ConfigError(f"{place} holds {type(value).__name__} {str(value)[:40]!r}, which is no JSON")


def objects(value: Any, place: str) -> list[dict[str, Any]]:
    """A list of JSON objects. Raises ConfigError where it is none."""
    found = plain(value, place)
    if not isinstance(found, list):
        raise ConfigError(f"{place} is not a list")
    for number, member in enumerate(found):
        if not isinstance(member, dict):
            raise ConfigError(f"{place}[{number}] is not an object")
    return found


def name_of(fields: Mapping[str, Any], name: str, place: str) -> str:
    """A field that has to be there, a text. Raises ConfigError where it is not."""
    value = fields.get(name)
    if not isinstance(value, str):
        raise ConfigError(f"{place}.{name} is {'missing' if value is None else 'not a text'}")
    return value


def text_of(content: Any, joiner: str = "\n", *, others: bool = True) -> str:
    """The text of a message or a tool result: a text, or a list of parts whose texts are joined. Pictures, sounds and what the
    model thought to itself are left out; other data is the text of its JSON, and left out too without `others`."""
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
    """JSON as a tool would return it."""
    return json.dumps(value, ensure_ascii=False)


def load(text: str) -> Any:
    """The data of a JSON text. Raises ValueError where it is none, also for NaN, Infinity, and for what is nested too deep."""

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is no JSON")

    try:
        return plain(json.loads(text, parse_constant=refuse), "the JSON")
    except (ConfigError, RecursionError) as error:
        raise ValueError(str(error)) from None


def arguments_of(value: Any) -> dict[str, Any] | str:
    """The arguments of a call: an object, or the text of one. What the model wrote stays a text where it is no JSON object."""
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
    """A tool as OpenAI (chat or Responses), Anthropic, MCP and OpenTelemetry describe it. `allowed` is read where it is there.
    A provider's own tool, such as web search, has no schema and is called like its type. Raises ConfigError for what is none."""
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
    """Tools, each once. Raises ConfigError for what is none."""
    if not isinstance(definitions, list | tuple | None):
        raise ConfigError(f"{place} is not a list")
    found = [
        tool if isinstance(tool, ToolSpec) else tool_of(tool, f"{place}[{number}]")
        for number, tool in enumerate(definitions or ())
    ]
    return tuple({tool.name: tool for tool in found}.values())
