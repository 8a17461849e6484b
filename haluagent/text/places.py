"""Places in a text that are taken: what was read as one thing is not read as another."""

from collections.abc import Iterable

from haluagent.types import Span


def covered(text: str, spans: Iterable[Span], sign: str) -> str:
    """Return the text with `sign` in place of every character of the spans: all other characters keep their places."""
    parts, last = [], 0
    for start, end in sorted(spans):
        parts += [text[last:start], sign * (end - max(start, last))]
        last = max(last, end)
    return "".join([*parts, text[last:]])


class Taken:
    """The characters of a text of `length` characters that are taken. A question costs no more than the span it is about."""

    def __init__(self, length: int) -> None:
        self._taken = bytearray(length)

    def add(self, span: Span) -> None:
        """Take these characters."""
        start, end = span
        self._taken[start:end] = b"\1" * (end - start)

    def meets(self, span: Span) -> bool:
        """Return whether one of these characters is taken."""
        return self._taken.find(1, *span) >= 0
