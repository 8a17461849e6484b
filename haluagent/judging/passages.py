"""Find places in a text: the windows to read, the sentence to look at, and quotations of a claim."""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache

from haluagent.text.chinese import simplified
from haluagent.text.clocks import find_clocks
from haluagent.text.numbers import find_numbers
from haluagent.text.segment import split
from haluagent.text.stemmer import stem
from haluagent.text.windows import windows
from haluagent.text.words import words
from haluagent.types import Sentence, Span

QUOTED_WORDS, QUOTED_HAN = 5, 8  # what is shorter may stand in a text without being said by it

CHARACTER = 0.3  # the weight of a single Chinese character beside that of a pair
LENGTH = 0.25  # the power of a sentence's length that its words are divided by

MARGIN = 100  # characters before a quotation in which the mark is looked for that it follows

# Where a clause ends. A mark between two digits belongs to a number: 12,500 and 3.5.
_ENDS = re.compile(r"\s*(?:$|[。！!？?；;\n]|\.(?!\d)|(?<!\d)[,，]|[,，](?!\d))")


def best_windows(text: str, query: str, most: int, limit: int, count: Callable[[str], int]) -> tuple[list[Span], bool]:
    """Return at most `most` windows of `limit` tokens that share most words with the query, in the order of the text;
    and whether they are all of it."""
    spans = windows(text, limit, count)
    wanted = words(query)
    ranked = sorted(spans, key=lambda span: -len(wanted & words(text[slice(*span)])))
    return sorted(ranked[:most]), len(spans) <= most


def passage(text: str, window: Span, claim: str, question: str = "") -> Span:
    """Return the sentence inside `window` that has most of the claim: where a reader should look. The words of the question decide
    between equals, so that a title that repeats it does not win over the fact."""
    start, end = window
    best = next(iter(by_relevance(split(text[start:end]), claim, question)), None)
    return (start + best.span[0], start + best.span[1]) if best else window


def by_relevance(sentences: Sequence[Sentence], claim: str, question: str = "") -> list[Sentence]:
    """Return the sentences, that with most of the claim first. A word counts by how few of the sentences have it (IDF), whatever its
    ending, and in Chinese single characters count a little. The words of the question decide between equals."""
    bags = [_parts(one.text) for one in sentences]
    said, asked = _parts(claim), _parts(question)
    often = Counter(part for bag in bags for part in bag & (said | asked))
    weights = {
        part: math.log(1 + len(bags) / count) * (CHARACTER if _is_character(part) else 1)
        for part, count in often.items()
    }

    def score(bag: frozenset[str]) -> tuple[float, ...]:
        length = len(bag) ** LENGTH or 1
        return tuple(sum(weights[part] for part in sorted(wanted & bag)) / length for wanted in (said, asked))

    ranked = sorted(zip(sentences, bags, strict=True), key=lambda pair: score(pair[1]), reverse=True)
    return [sentence for sentence, _ in ranked]


@lru_cache(maxsize=1024)  # the sentences of a reference are compared with those of the response one after another
def _parts(text: str) -> frozenset[str]:
    """Return the words of a text, English ones without their endings, and single Chinese characters."""
    found = words(simplified(text))
    return frozenset(stem(word) if word.isascii() else word for word in found).union(
        character for word in found if not word.isascii() for character in word
    )


def _is_character(part: str) -> bool:
    return len(part) == 1 and not part.isascii()


def quoted(claim: str, text: str) -> Span | None:
    """Return where a text holds a claim word for word as a clause of its own; None for a claim of a few words.

    Inside a longer clause the same words may be denied or mean something else: "Nobody says that Paris is big".
    """
    core = claim.strip().rstrip("。.！!；;")
    if len(core.split()) < QUOTED_WORDS and len(re.findall(r"[\u3400-\u9fff]", core)) < QUOTED_HAN:
        return None
    start = text.find(core)
    while start >= 0:
        end = start + len(core)
        if _begins(text, start) and _ENDS.match(text, end):
            return start, end
        start = text.find(core, start + 1)
    return None


def _begins(text: str, start: int) -> bool:
    """Return whether a clause begins at `start`: only white space stands between it and a mark or the beginning."""
    before = text[max(0, start - MARGIN) : start]
    clause = before.rstrip()
    if not clause or "\n" in before[len(clause) :] or clause[-1] in "。！!？?；;":
        return True
    in_number = clause == before and clause[-2:-1].isdecimal() and text[start : start + 1].isdecimal()
    return clause[-1] in ".,，:：" and not in_number


def missing_numbers(claim: str, text: str) -> list[str]:
    """Return the numbers of a claim that a text does not have, as they are written in the claim. Those of a time of day that the
    text has are not among them, however it is written there (7 p.m. for 19:00)."""
    known = {number.value for number in find_numbers(text)}
    absent = [
        number
        for number in find_numbers(claim)
        if number.value not in known and not re.search(rf"(?<![\d.]){re.escape(number.text)}(?!\.?\d)", text)
    ]
    said = find_clocks(claim) if absent else []
    times = find_clocks(text) if said else []
    same = [clock.span for clock in said if any(clock.is_same(one) for one in times)]
    return [one.text for one in absent if not any(start <= one.span[0] < end for start, end in same)]
