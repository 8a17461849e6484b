"""A grammar for a tool's arguments, made from their JSON Schema: it allows only calls that fit the schema.

It supports objects, arrays, strings, numbers, integers, booleans and `enum`, which tools are described with. It bounds
lengths, so it allows a part of what a schema does, and nothing else.
"""

import json
from collections.abc import Iterator
from typing import Any

from haluagent.checks.runs.calls.schema_check import schema_errors
from haluagent.checks.runs.records import ToolSpec
from haluagent.errors import ConfigError

STRING_CHARACTERS = 200
LIST_ITEMS = 5

TERMINALS = (
    f'string ::= "\\"" char{{1,{STRING_CHARACTERS}}} "\\""',
    'char ::= [^"\\\\\\n\\r\\t] | "\\\\" ["\\\\nt]',
    'integer ::= "-"? ("0" | [1-9] [0-9]{0,14})',
    'number ::= integer ("." [0-9]{1,8})?',
    'boolean ::= "true" | "false"',
    "scalar ::= string | number | boolean",
    f'list ::= "[" (scalar (", " scalar){{0,{LIST_ITEMS - 1}}})? "]"',
    f'entry ::= string ": " scalar\nobject ::= "{{" (entry (", " entry){{0,{LIST_ITEMS - 1}}})? "}}"',
)
_NAMED = {"string": "string", "integer": "integer", "number": "number", "boolean": "boolean", "null": '"null"'}
# Keywords that restrict a value beyond its type: a grammar that ignored them would allow wrong calls.
_BEYOND = (
    "$ref", "allOf", "anyOf", "oneOf", "not", "if", "pattern", "minLength", "maxLength", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "contains", "prefixItems",
    "minProperties", "maxProperties", "patternProperties", "propertyNames", "dependentRequired", "dependentSchemas",
)  # fmt: skip


def object_rules(name: str, schema: dict[str, Any]) -> list[str]:
    """Return the GBNF rules for a JSON object of a schema; `name` is that of the first rule.

    Required properties come first, in the order of the schema. `TERMINALS` have to be added once. Raise `ConfigError`
    for anything that a grammar cannot enforce.
    """
    return list(_object(name, schema))


def _object(name: str, schema: dict[str, Any]) -> Iterator[str]:
    _refuse(schema)
    properties: dict[str, Any] = schema.get("properties", {})
    required = [key for key in properties if key in schema.get("required", ())]
    if missing := set(schema.get("required", ())) - set(properties):
        raise ConfigError(f"the schema requires {', '.join(sorted(missing))} and does not say what that is")
    optional = [key for key in properties if key not in required]
    pairs = {}
    for number, key in enumerate([*required, *optional]):
        value, rules = _value(f"{name}-{number}", properties[key])
        yield from rules
        pairs[key] = f"{literal(json.dumps(key, ensure_ascii=False) + ': ')} {value}"
    # `more-N`: from the optional property N on, each with a comma before it.
    for number, key in enumerate(optional):
        rest = f" {name}-more-{number + 1}" if number + 1 < len(optional) else ""
        yield f'{name}-more-{number} ::= (", " {pairs[key]})?{rest}'
    body = ' ", " '.join(pairs[key] for key in required)
    if required:
        body += f" {name}-more-0" if optional else ""
    elif optional:
        starts = [
            pairs[key] + (f" {name}-more-{number + 1}" if number + 1 < len(optional) else "")
            for number, key in enumerate(optional)
        ]
        body = f"({' | '.join(starts)})?"
    yield f'{name} ::= "{{" {body} "}}"'


def _value(name: str, schema: Any) -> tuple[str, list[str]]:
    """Return the expression for a value in a rule, and the rules it needs."""
    if schema is True:
        return "scalar", []
    if not isinstance(schema, dict):
        raise ConfigError("a property may never have a value: take it out of the schema")
    _refuse(schema)
    if "const" in schema or "enum" in schema:
        options = _options(schema)
        return "(" + " | ".join(literal(json.dumps(option, ensure_ascii=False)) for option in options) + ")", []
    kind = schema.get("type")
    if isinstance(kind, list):
        parts = [_value(f"{name}-{number}", schema | {"type": one}) for number, one in enumerate(kind)]
        return f"({' | '.join(value for value, _ in parts)})", [rule for _, rules in parts for rule in rules]
    if kind == "object":
        if (
            not schema.get("properties")
            and schema.get("additionalProperties", True) is True
            and not schema.get("required")
        ):
            return "object", []
        return name, list(_object(name, schema))
    if kind == "array":
        if "items" not in schema:
            return "list", []
        item, rules = _value(f"{name}-item", schema["items"])
        return f'"[" ({item} (", " {item}){{0,{LIST_ITEMS - 1}}})? "]"', rules
    return _NAMED.get(str(kind), "scalar"), []


def _options(schema: dict[str, Any]) -> list[Any]:
    """Return the values of an `enum` or a `const` that also have the schema's type."""
    holder = ToolSpec(name="value", parameters={"type": "object", "properties": {"value": schema}})
    options = [
        value for value in schema.get("enum", [schema.get("const")]) if not schema_errors(holder, {"value": value})
    ]
    if not options:
        raise ConfigError("a property can have no value: none of its `enum` is of its type")
    return options


def _refuse(schema: dict[str, Any]) -> None:
    if beyond := [key for key in _BEYOND if key in schema]:
        raise ConfigError(
            f"a grammar cannot hold a model to {', '.join(beyond)} of a tool's schema: leave the grammar out"
        )


def literal(text: str) -> str:
    """Return a text as a GBNF literal."""
    return json.dumps(text, ensure_ascii=False)
