"""Find places in a text: the windows to read, the sentence to look at, and quotations of a claim."""

import re
from collections.abc import Callable

from haluagent.text.numbers import find_numbers
from haluagent.text.segment import split
from haluagent.text.windows import windows
from haluagent.text.words import words
from haluagent.types import Sentence, Span

QUOTED_WORDS, QUOTED_HAN = 5, 8  # what is shorter may stand in a text without being said by it

# Where a clause begins and ends. A mark between two digits belongs to a number: 12,500 and 3.5.
_BEGINS = r"(?:^|[。！!？?；;\n]|(?<!\d)[.,，:：]|[.,，:：](?!\d))\s*"
_ENDS = r"\s*(?:$|[。！!？?；;\n]|\.(?!\d)|(?<!\d)[,，]|[,，](?!\d))"


def best_windows(text: str, query: str, most: int, limit: int, count: Callable[[str], int]) -> tuple[list[Span], bool]:
    """Return at most `most` windows of `limit` tokens that share most words with the query, in the order of the text;
    and whether they are all of it."""
    spans = windows(text, limit, count)
    wanted = words(query)
    ranked = sorted(spans, key=lambda span: -len(wanted & words(text[slice(*span)])))
    return sorted(ranked[:most]), len(spans) <= most


def passage(text: str, window: Span, claim: str, question: str = "") -> Span:
    """Return the sentence inside `window` that shares most words with the claim: where a reader should look. Words of
    the question count half, so that a title that repeats the question does not win over the fact."""
    start, end = window
    said, asked = words(claim), words(question)

    def shared(item: Sentence) -> int:
        found = words(item.text)
        return 2 * len(said & found) + len(asked & found)

    best = max(split(text[start:end]), key=shared, default=None)
    return (start + best.span[0], start + best.span[1]) if best else window


def quoted(claim: str, text: str) -> Span | None:
    """Return where a text holds a claim word for word as a clause of its own; None for a claim of a few words.

    Inside a longer clause the same words may be denied or mean something else: "Nobody says that Paris is big".
    """
    core = claim.strip().rstrip("。.！!；;")
    if len(core.split()) < QUOTED_WORDS and len(re.findall(r"[\u3400-\u9fff]", core)) < QUOTED_HAN:
        return None
    found = re.search(rf"{_BEGINS}({re.escape(core)})(?={_ENDS})", text)
    return found.span(1) if found else None


def missing_numbers(claim: str, text: str) -> list[str]:
    """Return the numbers of a claim that a text does not have, as they are written in the claim."""
    known = {number.value for number in find_numbers(text)}
    return [
        number.text
        for number in find_numbers(claim)
        if number.value not in known and not re.search(rf"(?<![\d.]){re.escape(number.text)}(?!\.?\d)", text)
    ]
