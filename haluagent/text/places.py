"""Places in a text that are taken: what was read as one thing is not read as another."""

from haluagent.types import Span


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
