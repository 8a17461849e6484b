"""The normal forms of a text: one way to write each character, for reading it or for comparing it with another."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from haluagent.types import Span

MIXED = "\ue000"
"""Stands before the fraction of a mixed number: `2½` is read as `2`, this mark, `1/2`."""


_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True))
_SAME = {
    **dict.fromkeys("−﹣－‐‑–", "-"), **dict.fromkeys("·∙•⋅∗＊", "*"), "÷": "/", "⁄": "/", "∕": "/", "×": "×", "✕": "×",
    "✖": "×", "，": "，", "：": ":", "￥": "¥", "【": "(", "】": ")", "〔": "(", "〕": ")", "∶": ":",
}  # fmt: skip

TRADITIONAL = dict(
    zip(
        "萬億兩點約將個張條頭頁塊雙對輛顆籃層間戶組隊題門樣時鐘歲釐噸畝頃錢圓種隻",
        "万亿两点约将个张条头页块双对辆颗篮层间户组队题门样时钟岁厘吨亩顷钱元种只",
        strict=True,
    )
)
"""Traditional numerals and what they count, as Simplified ones."""

_SAME |= TRADITIONAL

_SURROGATE = re.compile("[\ud800-\udfff]")


def without_surrogates(text: str) -> str:
    """Return `text` with U+FFFD for each half of a character (a lone surrogate), which no file and no request can hold.
    Offsets stay as they are."""
    return _SURROGATE.sub("\ufffd", text)


def writable(value: Any) -> Any:
    """Return a value of dicts, lists and tuples with `without_surrogates` in all of its texts."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, dict):
        return {writable(name): writable(inner) for name, inner in value.items()}
    return [writable(inner) for inner in value] if isinstance(value, list | tuple) else value


def folded(text: str) -> str:
    """Return `text` in NFKC and without capitals: what is left of it in every comparison."""
    return unicodedata.normalize("NFKC", text).casefold()


def letters(text: str) -> str:
    """Return the letters and digits of `text` and nothing else: two texts that say the same in other punctuation are equal."""
    return "".join(filter(str.isalnum, folded(text)))


def unspaced(text: str) -> str:
    """Return `text` folded and without white space, to look for an address or a quotation whose marks count."""
    return re.sub(r"\s+", "", folded(text))


def spaced(text: str) -> str:
    """Return `text` folded, with single spaces, to look for a whole word."""
    return " ".join(folded(text).split())


class Plain:
    """A text to read numbers and formulas in, and where each character of it came from.

    NFKC alone would read `10²` as `102`, `2½` as `21/2` and the list mark `①` as the number 1; these are set apart first.
    `text` is the normalized text; `span(start, end)` leads back to offsets in the original.
    """

    def __init__(self, original: str) -> None:
        self._origin: Sequence[int] = range(len(original))
        self.text = original
        if not original.isascii():
            self._normalize(original)

    def _normalize(self, original: str) -> None:
        pieces: list[str] = []
        origin: list[int] = []
        power = False
        for index, character in enumerate(original):
            digit = _SUPERSCRIPTS.get(character)
            piece = _plain_character(character)
            if digit is not None:
                piece = digit if power else "^" + digit
            power = digit is not None
            pieces.append(piece)
            origin.extend([index] * len(piece))
        self.text, self._origin = "".join(pieces), origin

    def span(self, start: int, end: int) -> Span:
        """Return the half-open span in the original of a non-empty half-open span in `text`."""
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
