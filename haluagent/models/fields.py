"""Fields of what a server answers. One that has another type than it should counts as left out."""

from collections.abc import Mapping
from typing import Any

LARGEST = 2**53  # more tokens, or slots, than anything has


def object_in(answer: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the object in a field; an empty one where there is none."""
    value = answer.get(name)
    return value if isinstance(value, dict) else {}


def list_in(answer: Mapping[str, Any], name: str) -> list[Any]:
    """Return the list in a field; an empty one where there is none."""
    value = answer.get(name)
    return value if isinstance(value, list) else []


def count_in(answer: Mapping[str, Any], name: str) -> int | None:
    """Return the whole number from 0 in a field; None where there is none."""
    value = answer.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < LARGEST:
        return None
    return int(value) if value == int(value) else None
