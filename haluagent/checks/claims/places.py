"""Locating the words of a claim in a text."""

import re
from collections.abc import Iterator

from haluagent.text.words import words
from haluagent.types import Span

_RUN = re.compile(r"[A-Za-z0-9]+(?:[.'][A-Za-z0-9]+)*|[\u3400-\u9fff]+")


def stretch(text: str, claim: str) -> Span | None:
    """Return the smallest stretch of `text` that has all the words of `claim` that occur in it; None if none does.

    Common words do not count; Chinese is compared by pairs of characters.
    """
    wanted = words(claim)
    found = [(word, place) for word, place in _occurrences(text) if word in wanted]
    all_of_them = {word for word, _ in found}
    best: Span | None = None
    inside: list[tuple[str, Span]] = []
    for one in found:
        inside.append(one)
        while inside[0][0] in {word for word, _ in inside[1:]}:
            inside.pop(0)
        place = (inside[0][1][0], one[1][1])
        if {word for word, _ in inside} == all_of_them and (best is None or place[1] - place[0] < best[1] - best[0]):
            best = place
    return best


def _occurrences(text: str) -> Iterator[tuple[str, Span]]:
    for match in _RUN.finditer(text):
        start, end = match.span()
        if match[0].isascii():
            yield match[0].lower(), (start, end)
        else:
            places = ((at, min(at + 2, end)) for at in range(start, max(end - 1, start + 1)))
            yield from ((text[slice(*place)], place) for place in places)
