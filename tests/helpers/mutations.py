"""A well-formed JSON value, and every way to put something hostile in one place of it."""

import copy
from collections.abc import Iterator
from typing import Any

GONE = object()  # the place itself is left out
HOSTILE = [
    None, True, False, 0, -1, -(10**9), 10**400, 1.5, float("nan"), float("inf"), float("-inf"), "", "x", "\ud83d", "\x00",
    [], [1], [[]], [None], {}, {"x": 1}, [{"top_logprobs": "x"}], GONE,
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all values inside a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*path, key)
        yield from places(one, (*path, key))


def mutated(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield copies of a JSON value with one thing changed in each, under a name that says what."""
    for path in places(value):
        for hostile in HOSTILE:
            changed = copy.deepcopy(value)
            parent = changed
            for key in path[:-1]:
                parent = parent[key]
            if hostile is not GONE:
                parent[path[-1]] = hostile
            else:
                del parent[path[-1]]
            yield f"{'.'.join(map(str, path))}={'gone' if hostile is GONE else repr(hostile)[:30]}", changed
