"""A call held against the JSON Schema of its tool (Draft 2020-12, or the draft that the schema's `$schema` names)."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from .records import ToolSpec

MAX_ERRORS = 10
MAX_LENGTH = 240  # characters of one message
_DECIDES_ITSELF = frozenset(
    "additionalProperties unevaluatedProperties patternProperties $ref $dynamicRef allOf anyOf oneOf if".split()
)  # with one of these a schema says itself what else an object may have


def schema_errors(tool: ToolSpec, arguments: Any) -> tuple[str, ...]:
    """What is wrong with the arguments of a call, one line each with the path of the argument; () where nothing is.

    An argument that the schema does not name is an error too, where the schema names arguments and leaves open whether there
    may be others: such a one is made up. References go nowhere but into the schema itself. A schema that is none is the one
    error then, and says so.
    """
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for
    from jsonschema_specifications import REGISTRY
    from referencing.exceptions import Unresolvable

    if not isinstance(arguments, dict):
        return ("the arguments are no JSON object",)
    try:
        kind = validator_for(tool.parameters, default=Draft202012Validator)
        kind.check_schema(tool.parameters)
        found = list(islice(kind(tool.parameters, registry=REGISTRY).iter_errors(arguments), MAX_ERRORS + 1))
    except SchemaError as error:
        return (_line(f"the JSON Schema of {tool.name} is broken at {_path(error.absolute_path)}: {error.message}"),)
    except Unresolvable as error:
        return (_line(f"the JSON Schema of {tool.name} refers to {error.ref!r}, which is not in it"),)
    except Exception as error:  # a pattern or a type that the library cannot use, a reference to itself, and the like
        return (_line(f"the JSON Schema of {tool.name} cannot be used: {type(error).__name__}: {error}"),)
    errors = [_line(f"{_path(error.absolute_path)}: {error.message}") for error in found]
    errors += [f"{_line(name)}: no such argument" for name in islice(_unnamed(tool.parameters, arguments), MAX_ERRORS)]
    return (*errors[:MAX_ERRORS], *(["and more"] if len(errors) > MAX_ERRORS else []))


def _unnamed(schema: dict[str, Any], arguments: dict[str, Any]) -> Iterator[str]:
    named = schema.get("properties")
    if isinstance(named, dict) and named and not _DECIDES_ITSELF & schema.keys():
        yield from (name for name in arguments if name not in named)


def _path(parts: Any) -> str:
    """`to[0].name`, or `arguments` for the object itself."""
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return path.removeprefix(".") or "arguments"


def _line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 1] + "…"
