"""Validating a call with jsonschema. Loaded on demand, and in the child process of `schema_check`."""

import json
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import Draft202012Validator, extend, validator_for
from jsonschema_specifications import REGISTRY
from referencing.exceptions import Unresolvable

MAX_LENGTH = 240  # characters of one message
# A schema with one of these says itself what else an object may have.
_DECIDES_ITSELF = frozenset(
    "additionalProperties unevaluatedProperties patternProperties $ref $dynamicRef allOf anyOf oneOf if".split()
)


def found_errors(request: dict[str, Any]) -> list[str]:
    """Return the errors in `request["arguments"]`, an object, by `request["schema"]` of the tool `request["name"]`.

    There are at most `request["most"]` lines, and one more if there are more errors.
    """
    name, schema, arguments, most = (request[key] for key in ("name", "schema", "arguments", "most"))
    try:
        found = list(islice(_validator(json.dumps(schema)).iter_errors(arguments), most + 1))
    except SchemaError as error:
        return [line(f"the JSON Schema of {name} is broken at {_path(error.absolute_path)}: {error.message}")]
    except Unresolvable as error:
        return [line(f"the JSON Schema of {name} refers to {error.ref!r}, which is not in it")]
    except Exception as error:  # a pattern or a type that the library cannot use, a reference to itself, and the like
        return [line(f"the JSON Schema of {name} cannot be used: {type(error).__name__}: {error}")]
    errors = [line(f"{_path(error.absolute_path)}: {error.message}") for error in found]
    errors += [f"{line(other)}: no such argument" for other in islice(_unnamed(schema, arguments), most)]
    return [*errors[:most], *(["and more"] if len(errors) > most else [])]


@lru_cache(maxsize=1024)  # a tool is called again and again
def _validator(schema: str) -> Any:
    found = json.loads(schema)
    kind = validator_for(found, default=Draft202012Validator)
    kind.check_schema(found)
    return extend(kind, {"uniqueItems": _unique_items})(found, registry=REGISTRY)


def line(text: str) -> str:
    """Return a text on one line, of bounded length."""
    text = " ".join(text.split())
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 1] + "…"


def _unique_items(validator: Any, wanted: Any, items: Any, schema: Any) -> Iterator[ValidationError]:
    """Check `uniqueItems` in one pass: the library compares each object with all others."""
    if wanted and validator.is_type(items, "array"):
        seen: set[str] = set()
        for place, item in enumerate(items):
            text = _canonical(item)
            if text in seen:
                yield ValidationError(f"item {place} is there twice")
                return
            seen.add(text)


def _canonical(value: Any) -> str:
    """Return a JSON value as a text that equal values share: 1 and 1.0, and an object's members in any order."""
    return json.dumps(_plain_numbers(value), sort_keys=True)


def _plain_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain_numbers(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_plain_numbers(member) for member in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _unnamed(schema: dict[str, Any], arguments: dict[str, Any]) -> Iterator[str]:
    named = schema.get("properties")
    if isinstance(named, dict) and named and not _DECIDES_ITSELF & schema.keys():
        yield from (name for name in arguments if name not in named)


def _path(parts: Any) -> str:
    """Return a path such as `to[0].name`, or `arguments` for the object itself."""
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return path.removeprefix(".") or "arguments"
