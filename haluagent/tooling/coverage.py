"""Which parts of a sentence a tool has not checked.

A tool that reads a date or an equation decides that, and nothing else that stands beside it: of `1 + 1 = 2, and the
capital of France is Berlin` a calculator has checked the first half.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from haluagent.text.numbers import find_numbers
from haluagent.text.places import covered
from haluagent.text.topics import topics
from haluagent.text.units import has_unit
from haluagent.types import CheckedPart, Sentence, Span

_CHECKED = "\0"
_BETWEEN_CLAUSES = re.compile(
    r"[;；。！？!?、，:：\n()（）]|,(?!\d)|(?<!\d),|\.(?!\d)|\b(?:and|but|while|whereas|which|who|because|since)\b"
)
_LIST_MARK = re.compile(r"^\s*(?:\(?\d{1,2}[.)、]\s?|(?:step|case|part) \d{1,2}\b|第\d{1,2}步)", re.IGNORECASE)
_BEHIND = re.compile(
    rf"(?<!{_CHECKED}){_CHECKED}++" + r"[ \t]?[(（]?(?P<word>[a-z]{1,20}|[\u3400-\u9fff]{1,4})(?=\s*(?:$|[^\w\s]))"
)
_ASKS_A_VALUE = re.compile(
    r"\b(?:how|when|what|which)\b[^?？]*[?？]|多少|几|何时|(?:什么|哪|多[长高大远重快深久])[^?？]*[?？]", re.IGNORECASE
)


def open_parts(sentence: Sentence, checked: Collection[Span], question: str = "") -> tuple[Span, ...]:
    """Return the parts of a sentence, as spans into the response, that claim something outside of the checked spans.

    `checked` are spans into the sentence's text. A part claims something where words of its own remain: no function
    words, no words of calculation, and behind what was checked no unit. All of the sentence is open where the question asks
    for a value and has none of the checked numbers: then what was checked is not what the sentence answers.
    """
    text, offset = sentence.text, sentence.span[0]
    inside = [text[start:end] for start, end in checked]
    if _ASKS_A_VALUE.search(question) and topics(question):
        asked = {number.value for number in find_numbers(question)}
        if not any(number.value in asked for one in inside for number in find_numbers(one)):
            return (sentence.span,)
    rest = _LIST_MARK.sub(lambda mark: " " * len(mark[0]), covered(text, checked, _CHECKED))

    def without_unit(behind: re.Match[str]) -> str:
        word = behind["word"]
        unit = has_unit([word.removesuffix("s")]) or any(word in one for one in inside)
        return _CHECKED * len(behind[0]) if unit else behind[0]

    rest = _BEHIND.sub(without_unit, rest)
    return tuple((start + offset, end + offset) for start, end in _clauses(rest) if _claims(rest[start:end]))


def left_open(parts: Iterable[CheckedPart]) -> tuple[Span, ...]:
    """Return the spans that all of the parts left open: empty where they cover the sentence together."""
    first, *others = [part.open for part in parts]
    for spans in others:
        first = tuple(_in_both(first, spans))
    return first


def _in_both(first: Sequence[Span], second: Sequence[Span]) -> Iterator[Span]:
    """Yield what is in spans of both, each of which are in order and without overlap."""
    one = other = 0
    while one < len(first) and other < len(second):
        (a, b), (c, d) = first[one], second[other]
        if max(a, c) < min(b, d):
            yield max(a, c), min(b, d)
        one, other = (one + 1, other) if b <= d else (one, other + 1)


def _clauses(text: str) -> Iterator[Span]:
    start = 0
    for place in (*(match.span() for match in _BETWEEN_CLAUSES.finditer(text)), (len(text), len(text))):
        clause = text[start : place[0]]
        kept = clause.strip(" \t\r\n" + _CHECKED)
        if kept:
            begin = start + clause.index(kept)
            yield begin, begin + len(kept)
        start = place[1]


def _claims(clause: str) -> bool:
    return bool(find_numbers(clause) or topics(clause))
