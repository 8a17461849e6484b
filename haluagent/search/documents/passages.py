"""Splitting a text into passages of a few sentences, each with its place. No model is asked.

A passage ends at the end of a sentence, preferably of a paragraph. Sizes are in terminal columns: a Chinese character
counts as two, because it says about twice as much as a letter.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from sentencex import get_sentence_boundaries

from haluagent.types import Span

LARGEST = 900  # columns: 450 Chinese characters or 900 letters
ENOUGH = 600  # from this size on, the end of a paragraph ends the passage
HEADED = 300  # from this size on, a heading begins the next passage
OVERLAP = 200  # a last sentence of at most this size also begins the next passage, if its paragraph goes on
REST = 150  # a remainder of at most this size is joined to the passage before

# `sentencex` takes quadratic time for a line with many open quotation marks, so none is longer than this.
_LINE = re.compile(r"[^\n]{1,8000}(?:(?=\n)|\Z|(?<=[.!?。！？]))|[^\n]{1,8000}")
_HEADING = re.compile(r"#{1,6} ")
_PARAGRAPH_END = re.compile(r"[.!?:。！？：…][”’」』）)\"']*\s*\Z|\n[^\S\n]*\n\s*\Z")
_CHINESE_END = re.compile(r"[。！？；…]+[”’」』）】》\"]*")
_PAUSE = re.compile(r"[，、：；,:;]\s*|\s+")


class _Sentence(NamedTuple):
    start: int
    end: int
    width: int
    needed: int  # the width that the passage so far must have for a new one to begin here


def split(text: str) -> list[Span]:
    """Return the spans of the passages, in order.

    Each begins and ends with a non-white character, and together they cover all such characters. Neighbours overlap by
    at most one sentence.
    """
    passages: list[Span] = []
    here: list[_Sentence] = []
    size = 0
    for sentence in _sentences(text):
        gap = sentence.start - here[-1].end if here else 0
        if here and (size + gap + sentence.width > LARGEST or size >= sentence.needed):
            passages.append((here[0].start, here[-1].end))
            last = here[-1]
            goes_on = sentence.needed > LARGEST and len(here) > 1
            here = [last] if goes_on and last.width + gap <= min(OVERLAP, LARGEST - sentence.width) else []
            size = last.width if here else 0
        size += (gap if here else 0) + sentence.width
        here.append(sentence)
    if here and passages and size <= REST:
        passages[-1] = (passages[-1][0], here[-1].end)
    elif here:
        passages.append((here[0].start, here[-1].end))
    return passages


def sentences(text: str) -> list[Span]:
    """Return the spans of the sentences, in order, without white space at their ends.

    Those too long for a passage are cut.
    """
    return [(sentence.start, sentence.end) for sentence in _sentences(text)]


def width(text: str) -> int:
    """Return the width of a text in columns."""
    return (len(text) + len(text.encode("utf-8", "replace"))) // 2


def _sentences(text: str) -> Iterator[_Sentence]:
    for line in _LINE.finditer(text):
        needed = LARGEST + 1
        if _HEADING.match(line[0].lstrip()):
            needed = HEADED
        elif line.start() and _PARAGRAPH_END.search(text, max(0, line.start() - 20), line.start()):
            needed = ENOUGH
        for start, end in _ends(line[0]):
            piece = line[0][start:end].strip()
            if piece:
                at = line.start() + line[0].index(piece, start)
                yield _Sentence(at, at + len(piece), width(piece), needed)
                needed = LARGEST + 1


def _ends(line: str) -> Iterator[Span]:
    """Yield the spans of a line's sentences, end to end. Those too long for a passage are cut at their pauses."""
    ends = {boundary["end_index"] for boundary in get_sentence_boundaries("en", line)}
    ends |= {match.end() for match in _CHINESE_END.finditer(line)} | {len(line)}
    start = 0
    for end in sorted(ends):
        while width(line[start:end]) > LARGEST:
            cut = _pause(line, start, start + LARGEST // 2)
            yield start, cut
            start = cut
        yield start, end
        start = end


def _pause(line: str, start: int, end: int) -> int:
    """Return the last pause in the second half of `line[start:end]`, or `end`."""
    pauses = [match.end() for match in _PAUSE.finditer(line, (start + end) // 2, end)]
    return pauses[-1] if pauses else end
