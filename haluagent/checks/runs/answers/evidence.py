"""The tool results of a run as one text that a small model can read, with a mapping back to the raw results.

JSON becomes lines such as `orders. id: A1; status: shipped`, one for each object, under a line with the call that
returned it: `get_orders (user: U7):`. That line says what the values are about. It is no evidence by itself, and never
cited.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from haluagent.checks.runs.calls.sources import MAX_ALL, MAX_TEXT
from haluagent.checks.runs.records import AgentRun, EvidenceSpan, ToolUse
from haluagent.text.numbers import find_numbers
from haluagent.types import Span

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]++', re.S)
_ESCAPE = re.compile(r"(?:\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[0-9a-fA-F]{4}|\\.", re.S)
_WORDS = {"null": "none"}
_SURROGATE = re.compile("[\ud800-\udfff]")
FEW = 20  # the most numbers of a text that become fields
ARGUMENT = 80  # characters of an argument in its call's line


@dataclass(frozen=True)
class Field:
    """A value of a JSON result: its `path` of names and numbers from 1, the `row` (the object) that contains it, and
    the span of its text in the readable text."""

    path: tuple[str, ...]
    row: tuple[str, ...]
    text: str
    span: Span

    @property
    def key(self) -> str:
        """Return the last name of the path: `price` of `items 2 price`."""
        return _name(self.path)


@dataclass(frozen=True)
class _Piece:
    """A part of the readable text and its source. Lengths differ only if the JSON has an escape there."""

    start: int
    end: int
    call: ToolUse
    raw: Span


@dataclass
class EvidenceText:
    """The readable `text` of all results, and the `fields` of those that are JSON."""

    text: str = ""
    fields: list[Field] = field(default_factory=list)
    counts: list[tuple[str, int]] = field(default_factory=list)  # the name and the length of each array
    _pieces: list[_Piece] = field(default_factory=list)
    _notes: list[tuple[Span, tuple[Span, ...]]] = field(default_factory=list)

    def spans(self, place: Span) -> tuple[EvidenceSpan, ...]:
        """Return the places in raw results of a place in the text, one for each call; () if it has none.

        Those of a note are the places of the values it is calculated from.
        """
        noted = [part for note, parts in self._notes if note[0] < place[1] and place[0] < note[1] for part in parts]
        return tuple(dict.fromkeys(span for part in (place, *noted) for span in self._spans(part)))

    def _spans(self, place: Span) -> tuple[EvidenceSpan, ...]:
        found: dict[int, tuple[ToolUse, int, int]] = {}
        for piece in self._pieces:
            start, end = max(piece.start, place[0]), min(piece.end, place[1])
            if start >= end:
                continue
            a, b = piece.raw
            if b - a == piece.end - piece.start:
                a, b = a + start - piece.start, a + end - piece.start
            known = found.get(id(piece.call))
            found[id(piece.call)] = (piece.call, min(a, known[1]), max(b, known[2])) if known else (piece.call, a, b)
        return tuple(
            EvidenceSpan(call_id=call.id, tool=call.tool, span=(a, b), text=(call.result or "")[a:b])
            for call, a, b in found.values()
        )

    def write(self, text: str) -> Span:
        """Add words that are in no result, and return their span."""
        start = len(self.text)
        self.text += _SURROGATE.sub("\ufffd", text)
        return start, len(self.text)

    def note(self, text: str, parts: tuple[Field, ...]) -> None:
        """Add a line that is calculated from values."""
        self._notes.append((self.write(f"{text}\n"), tuple(part.span for part in parts)))

    def copy(self, call: ToolUse, raw: Span) -> Span:
        """Add a part of a result verbatim."""
        span = self.write((call.result or "")[slice(*raw)])
        self._pieces.append(_Piece(*span, call, raw))
        return span

    def quote(self, call: ToolUse, raw: Span) -> Span:
        """Add the unescaped text of a part of a JSON string."""
        source, start, at = call.result or "", len(self.text), raw[0]
        for escape in _ESCAPE.finditer(source, *raw):
            if at < escape.start():
                self.copy(call, (at, escape.start()))
            said = json.loads(f'"{escape[0]}"')
            self._pieces.append(_Piece(*self.write(said), call, escape.span()))
            at = escape.end()
        if at < raw[1]:
            self.copy(call, (at, raw[1]))
        return start, len(self.text)

    def value(self, call: ToolUse, token: re.Match[str], last: re.Match[str]) -> Span:
        """Add a scalar of a JSON result, or "none" for an empty container from `token` to `last`."""
        mark = token[0]
        if mark.startswith('"'):
            return self.quote(call, (token.start() + 1, token.end() - 1))
        if mark not in _WORDS and mark not in "{[":
            return self.copy(call, token.span())
        span = self.write(_WORDS.get(mark, "none"))
        self._pieces.append(_Piece(*span, call, (token.start(), last.end())))
        return span


def evidence_of(run: AgentRun) -> EvidenceText:
    """Return the results of a run in order, each under the line of its call; empty if there are none. What the agent was
    told of a stopped call is no result.

    Of a result MAX_TEXT characters are read, of all together MAX_ALL.
    """
    made, left = EvidenceText(), MAX_ALL
    for call in calls_of(run):
        if call.stopped or call.result is None or not call.result.strip():
            continue
        most = min(MAX_TEXT, left)
        left -= min(len(call.result), most)
        if len(call.result) > most:
            call = call.model_copy(update={"result": call.result[:most]})
        made.write(("\n\n" if made.text else "") + _heading(call) + "\n")
        result = call.result or ""
        if _is_json(result):
            _flatten(made, call)
        else:
            start, _ = made.copy(call, (0, len(result)))
            _take_numbers(made, result, start)
    return made


def _take_numbers(made: EvidenceText, result: str, start: int) -> None:
    """Add the numbers of a result that is not JSON as fields without a name, if they are few (a small table, a
    note)."""
    numbers = find_numbers(result)
    for number in numbers if len(numbers) <= FEW else ():
        line = str(result.count("\n", 0, number.span[0]))
        span = (start + number.span[0], start + number.span[1])
        made.fields.append(Field(("",), (str(start), line), number.text, span))


def calls_of(run: AgentRun) -> Iterator[ToolUse]:
    return (call for turn in run.turns for call in turn.calls)


def _heading(call: ToolUse) -> str:
    given = call.arguments if isinstance(call.arguments, dict) else {}
    shown = ", ".join(f"{name}: {_short(value)}" for name, value in given.items())
    return f"{call.tool} ({shown}):" if shown else f"{call.tool}:"


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return " ".join(text.split())[:ARGUMENT]


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


def _flatten(made: EvidenceText, call: ToolUse) -> None:
    """Add the scalars of a JSON document in order, with those of one object on one line."""
    path: list[str] = []  # of the open container
    counted: list[int | None] = []  # the number of items in an open array; None for an object
    key: str | None = None
    line: tuple[str, ...] | None = None
    call_row = str(len(made.text))
    tokens = [token for token in _TOKEN.finditer(call.result or "") if token[0] != ","]
    for at, token in enumerate(tokens):
        mark, after = token[0], tokens[at + 1][0] if at + 1 < len(tokens) else ""
        if mark == ":":
            continue
        if mark in "}]":
            name, count = path.pop() if path else "", counted.pop()
            if count is not None:
                made.counts.append((_name((*path, name)) or call.tool, count))
            line = None
            continue
        if counted and counted[-1] is not None:
            counted[-1] += 1
            key = str(counted[-1])
        elif after == ":":
            key = json.loads(mark)
            continue
        is_open = mark in "{["
        if is_open and after not in "}]":
            path += [key or ""] if counted else []
            counted.append(0 if mark == "[" else None)
            key, line = None, None
            continue
        here, listed = tuple(path), bool(counted) and counted[-1] is not None
        if line != here:
            made.write("" if made.text.endswith("\n") else "\n")
            # Without indexes, which would be numbers that nobody stated.
            named = " ".join(part for part in here if not part.isdecimal())
            made.write(f"{named}{':' if listed else '.'} " if named else "")
            line = here
        else:
            made.write("; ")
        made.write("" if listed or key is None else f"{key}: ")
        span = made.value(call, token, tokens[at + 1] if is_open else token)
        made.fields.append(Field((*here, key or ""), (call_row, *here), made.text[slice(*span)], span))
        if is_open:  # it is empty, and its closing bracket comes next
            counted.append(0 if mark == "[" else None)
            path += [key or ""] if len(counted) > 1 else []
        key = None


def _name(path: tuple[str, ...]) -> str:
    return next((part for part in reversed(path) if part and not part.isdecimal()), "")
