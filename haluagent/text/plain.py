"""Text with one way to write each character, and where each character came from.

NFKC alone would read `10²` as `102`, `2½` as `21/2` and the list mark `①` as the number 1; these are set apart first.
"""

import unicodedata

from haluagent.types import Span

MIXED = "\ue000"
"""Stands before the fraction of a mixed number: `2½` is read as `2`, this mark, `1/2`."""


def words(text: str) -> tuple[str, ...]:
    """The words of a list that is easier to read as one line of text."""
    return tuple(text.split())


_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True))
_SAME = {
    **dict.fromkeys("−﹣－‐‑–", "-"), **dict.fromkeys("·∙•⋅∗＊", "*"), "÷": "/", "⁄": "/", "∕": "/", "×": "×", "✕": "×",
    "✖": "×", "，": "，", "：": ":", "￥": "¥", "【": "(", "】": ")", "〔": "(", "〕": ")", "∶": ":",
}  # fmt: skip


class Plain:
    """`text` is the normalized text; `span(start, end)` leads back to offsets in the original."""

    def __init__(self, original: str) -> None:
        pieces: list[str] = []
        self._origin: list[int] = []
        self._length = len(original)
        power = False
        for index, character in enumerate(original):
            digit = _SUPERSCRIPTS.get(character)
            piece = _plain_character(character)
            if digit is not None:
                piece = digit if power else "^" + digit
            power = digit is not None
            pieces.append(piece)
            self._origin.extend([index] * len(piece))
        self.text = "".join(pieces)

    def span(self, start: int, end: int) -> Span:
        """The half-open span in the original of a non-empty half-open span in `text`."""
        return self._origin[start], self._origin[end - 1] + 1


def _plain_character(character: str) -> str:
    if character.isascii():
        return character
    if character in _SAME:
        return _SAME[character]
    if "\u2460" <= character <= "\u24ff" or "\u2776" <= character <= "\u2793":
        return "\n"  # a circled or bracketed number is the mark of a list item
    piece = unicodedata.normalize("NFKC", character)
    if "⁄" in piece and piece[0].isdigit():
        return MIXED + piece.replace("⁄", "/")
    return piece
