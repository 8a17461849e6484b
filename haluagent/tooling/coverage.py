"""Which parts of a sentence a tool has not checked.

A tool that reads a date or an equation decides that, and nothing else that stands beside it: of `1 + 1 = 2, and the
capital of France is Berlin` a calculator has checked the first half.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction

from haluagent.text.numbers import find_numbers
from haluagent.text.topics import topics
from haluagent.types import CheckedPart, Sentence, Span

_CHECKED = "\0"
_BETWEEN_CLAUSES = re.compile(
    r"[;；。！？!?、，:：\n()（）]|,(?!\d)|(?<!\d),|\.(?!\d)|\b(?:and|but|while|whereas|which|who|because|since)\b"
)
_LIST_MARK = re.compile(r"^\s*(?:\(?\d{1,2}[.)、]\s?|(?:step|case|part) \d{1,2}\b|第\d{1,2}步)", re.IGNORECASE)
_UNIT = re.compile(rf"(?<!{_CHECKED}){_CHECKED}++" + r"[ \t]?(?:[a-z]{1,20}|[\u3400-\u9fff]{1,2})(?=\s*(?:$|[^\w\s]))")
_NAME = re.compile(r"(?<=[\w,] )[A-Z][a-z]+")


def open_parts(
    sentence: Sentence,
    checked: Collection[Span],
    given: str = "",
    known: Collection[Fraction] = (),
    *,
    units: bool = True,
) -> tuple[Span, ...]:
    """Return the parts of a sentence, as spans into the response, that claim something outside of the checked spans.

    `checked` are spans into the sentence's text. A part claims something where words of its own remain: no function
    words, no words of calculation, no unit behind what was checked. Where the sentence only works out what a problem
    asks for, `given` is that problem, and `known` are the values that it gives or that were worked out: two of three
    words that are also the problem's, without another name, claim nothing new. `units` is False where what was checked
    has no unit, as a weekday has none.
    """
    rest = sentence.text
    for start, end in checked:
        rest = rest[:start] + _CHECKED * (end - start) + rest[end:]
    rest = _LIST_MARK.sub(lambda mark: " " * len(mark[0]), rest)
    if units:
        rest = _UNIT.sub(lambda unit: _CHECKED * len(unit[0]), rest)
    offset = sentence.span[0]
    return tuple(
        (start + offset, end + offset) for start, end in _clauses(rest) if _claims(rest[start:end], given, known)
    )


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


def _claims(clause: str, given: str, known: Collection[Fraction]) -> bool:
    if any(number.value not in known for number in find_numbers(clause)):
        return True
    return not is_about(clause, given) if given else bool(topics(clause))


def is_about(text: str, problem: str) -> bool:
    """Return whether a text speaks of what a problem speaks of: two of three of its words that are neither numbers nor said
    in any calculation stand in it (of a Chinese pair, both characters), and every name."""
    said, asked = topics(text), topics(problem)
    shared = [word for word in said if word in asked or (not word.isascii() and set(word) <= set(problem))]
    return 3 * len(shared) >= 2 * len(said) and all(name in problem for name in _NAME.findall(text))
