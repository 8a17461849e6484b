"""Texts cut to a number of tokens: one that is too long is clipped, or read in windows."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from haluagent.types import Span

# Where a window may end: after line breaks, after a sentence's end in Chinese, and after one in other scripts
# where white space follows. An abbreviation cut from its sentence does no harm here.
_PIECE_END = re.compile(r"\n\s*|[。！？；…][”’」』）)\"']*\s*|[.!?][\"')\]”’]*\s+")


def clip(text: str, room: int, count: Callable[[str], int]) -> tuple[str, int]:
    """Return the text, or its beginning and end where it takes more than `room` tokens; and how many characters are
    hidden."""
    if len(text) <= room or count(text) <= room:  # a token is at least one character of ordinary text
        return text, 0
    keep = max(room // 4, 40)
    hidden = len(text) - 2 * keep
    return f"{text[:keep]} [… {hidden} characters not shown …] {text[-keep:]}", hidden


def windows(text: str, limit: int, count: Callable[[str], int]) -> list[Span]:
    """Return spans of `text` of at most `limit` tokens each, ascending, that together cover all of it.

    `count` gives the tokens of a text. A text that fits is one window; an empty one has none. Windows end where
    a sentence or a line ends; only a piece that is longer than `limit` by itself is cut within. A single
    character that takes more than `limit` tokens is a window all the same. The text is counted about three times
    in all, not once a window. Raises ValueError where `limit` is less than 1.
    """
    if limit < 1:
        raise ValueError(f"windows need a limit of at least one token, not {limit}")
    if not text:
        return []
    if count(text) <= limit:
        return [(0, len(text))]
    pieces = list(_pieces(text, limit, count))
    spans: list[Span] = []
    first = 0
    while first < len(pieces):
        last = _fill(pieces, first, limit)
        # Tokens of a whole are seldom more than those of its parts, but they can be.
        while last > first and count(text[pieces[first].start : pieces[last].end]) > limit:
            last -= 1
        spans.append((pieces[first].start, pieces[last].end))
        first = last + 1
    return spans


@dataclass(frozen=True)
class _Piece:
    start: int
    end: int
    tokens: int


def _fill(pieces: list[_Piece], first: int, limit: int) -> int:
    """Return the last piece that still fits into a window that begins with `first`."""
    last, tokens = first, pieces[first].tokens
    while last + 1 < len(pieces) and tokens + pieces[last + 1].tokens <= limit:
        last += 1
        tokens += pieces[last].tokens
    return last


def _pieces(text: str, limit: int, count: Callable[[str], int]) -> Iterator[_Piece]:
    start = 0
    for end in [*(match.end() for match in _PIECE_END.finditer(text)), len(text)]:
        if end == start:
            continue
        tokens = count(text[start:end])
        if tokens <= limit:
            yield _Piece(start, end, tokens)
        else:
            yield from _hard_cut(text, start, end, tokens, limit, count)
        start = end


def _hard_cut(
    text: str, start: int, end: int, tokens: int, limit: int, count: Callable[[str], int]
) -> Iterator[_Piece]:
    """Cut `text[start:end]`, which has `tokens` tokens, into pieces of at most `limit`, at white space if it is near.

    The length of the next piece is guessed from tokens per character and corrected by counting that piece only.
    """
    density = tokens / (end - start)
    while start < end:
        size = max(1, min(end - start, int(limit / density)))
        while (found := count(text[start : start + size])) > limit and size > 1:
            size = max(1, min(size - 1, int(size * limit / found)))
        space = text.rfind(" ", start + size * 3 // 4, start + size)
        if start + size < end and space > start:
            size = space - start
            found = count(text[start : start + size])
        yield _Piece(start, start + size, found)
        start += size
