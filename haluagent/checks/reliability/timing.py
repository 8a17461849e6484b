"""When a call comes at the wrong time (Relign, section 2.1): again although it gave the same, or before what it needs."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from haluagent.checks.runs.records import AgentRun, ToolUse
from haluagent.text.normalize import spaced

TELLING = 4  # characters, below which a value may stand in a later result by chance


class PlacedCall(NamedTuple):
    """A call with what came before it, the user's words and the results of earlier turns; and the calls that were made
    beside or after it."""

    call: ToolUse
    history: tuple[tuple[ToolUse | None, str], ...]
    later: tuple[ToolUse, ...]


def placed_calls(run: AgentRun) -> Iterator[PlacedCall]:
    """Yield the calls of a run in order."""
    every = [call for turn in run.turns for call in turn.calls]
    before: list[tuple[ToolUse | None, str]] = []
    number = 0
    for turn in run.turns:
        if turn.role == "user":
            before.append((None, turn.text))
        first = number
        for call in turn.calls:
            number += 1
            yield PlacedCall(call, tuple(before), tuple(every[first : number - 1] + every[number:]))
        before += [(call, call.result or "") for call in turn.calls]


def repeats(placed: PlacedCall) -> bool:
    """Return whether the same call had the same result before."""
    call = placed.call
    return any(
        earlier is not None and earlier.tool == call.tool and earlier.result == call.result and _same(earlier, call)
        for earlier, _ in placed.history
    )


def given_later(placed: PlacedCall, unknown: dict[str, Any]) -> str | None:
    """Return a value of the unknown arguments that only a later call gives: one that does not have it as an argument.

    None if there is none, or if it is too short to tell.
    """
    for part in parts(unknown):
        if len(part) < TELLING:
            continue
        for later in placed.later:
            own = spaced(" ".join(parts(later.arguments)))
            if later.succeeded and stands_in(part, spaced(later.result or "")) and not stands_in(part, own):
                return part
    return None


def parts(value: Any) -> Iterator[str]:
    """Yield the strings and numbers in a JSON value."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from parts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from parts(inner)
    elif value is not None and not isinstance(value, bool):
        yield f"{value:.15g}" if isinstance(value, float) else str(value)


def stands_in(part: str, known: str) -> bool:
    """Return whether a text contains a value as a whole word or number; in Chinese, where words have no bounds,
    anywhere."""
    wanted = spaced(part)
    return re.search(rf"(?<![a-z0-9]){re.escape(wanted)}(?![a-z0-9])", known) is not None if wanted else True


def _same(one: ToolUse, other: ToolUse) -> bool:
    return json.dumps(one.arguments, sort_keys=True) == json.dumps(other.arguments, sort_keys=True)
