"""Ranking passages from one or more collections by BM25, as if they were one collection.

The inverse document frequency is the variant that stays positive in a small index: Robertson and Zaragoza, "The
Probabilistic Relevance Framework: BM25 and Beyond", Foundations and Trends in Information Retrieval 3 (4), 2009.
"""

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from haluagent.protocols import SearchResult
from haluagent.search.documents.passages import sentences, width
from haluagent.search.index.terms import is_character, query_terms, strength, terms

LONGEST_QUERY = 400  # characters; the rest is not looked at
MOST_RESULTS = 100
CANDIDATES = 30  # passages looked at closely; for more results, three times as many
TITLE_WEIGHT = 2  # a term in the title counts as often as two in the text
SATURATION = 1.2  # BM25's k1
LENGTH = 0.75  # BM25's b: how much a term counts less in a passage that is longer than others
USUAL = 450  # columns of a passage that is neither long nor short
WEAK = 0.3  # the weight of a term that may be a function word; those of others are 1 to 10
NEARLY_SAME = 0.9  # share of common terms above which two passages of a document count as one
SNIPPET = 240  # characters


class Hit(NamedTuple):
    """A passage, and the terms of its text."""

    document: int
    start: int
    text: str
    url: str
    title: str
    terms: Counter[str]


class Candidates(NamedTuple):
    """The candidates of a collection, its size, and in how much of it each term of the query occurs: in passages, or
    in articles."""

    hits: list[Hit]
    frequencies: dict[str, int]
    total: int


def candidates(count: int) -> int:
    """Return how many passages are looked at closely for that many results."""
    return max(CANDIDATES, 3 * count)


def telling(query: str, folded: bool = True) -> list[str]:
    """Return the terms of a query by which passages are looked up: its most telling ones."""
    asked = query_terms(query[:LONGEST_QUERY], folded)
    most = max(map(strength, asked), default=0)
    return [term for term in asked if strength(term) == most]


def rank(query: str, found: Sequence[Candidates], count: int) -> list[SearchResult]:
    """Return at most `count` passages of all that were found, best first."""
    frequencies: Counter[str] = Counter()
    for one in found:
        frequencies.update(one.frequencies)
    weights = dict.fromkeys(query_terms(query[:LONGEST_QUERY]), WEAK) | inverse_frequencies(
        frequencies, sum(one.total for one in found)
    )
    hits = best((hit for one in found for hit in one.hits), weights, candidates(count))
    return [_result(hit, weights) for hit in _different(hits, count)]


def inverse_frequencies(frequencies: dict[str, int], total: int) -> dict[str, float]:
    """Return the weight of each term that so many of the `total` passages contain."""
    return {term: math.log(1 + max(0.5, total - often + 0.5) / (often + 0.5)) for term, often in frequencies.items()}


def best(hits: Iterable[Hit], weights: dict[str, float], count: int) -> list[Hit]:
    """Return the `count` passages that fit best, best first."""
    return heapq.nlargest(count, hits, key=lambda hit: _score(weights, width(hit.text), hit.terms, _title_terms(hit)))


def _title_terms(hit: Hit) -> Counter[str]:
    return Counter(terms(hit.title) * TITLE_WEIGHT)


def _score(weights: dict[str, float], length: int, *counts: Counter[str]) -> float:
    """Return the score of a text of so many columns, whose terms are counted in one or more fields."""
    score = 0.0
    saturation = SATURATION * (1 - LENGTH + LENGTH * length / USUAL)
    for term, weight in weights.items():
        often = sum(_count(term, counter) for counter in counts)
        score += weight * often * (SATURATION + 1) / (often + saturation)
    return score


def _count(term: str, counter: Counter[str]) -> int:
    if is_character(term):  # every occurrence begins exactly one term
        return sum(often for other, often in counter.items() if other[0] == term)
    return counter[term]


def _different(hits: list[Hit], count: int) -> list[Hit]:
    """Return the first hits without copies, and without passages that nearly repeat a better one of the same
    document."""
    kept: list[Hit] = []
    for hit in hits:
        if len(kept) >= count:
            break
        if not any(_repeats(hit, other) for other in kept):
            kept.append(hit)
    return kept


def _repeats(hit: Hit, other: Hit) -> bool:
    if hit.terms == other.terms or (hit.url, hit.document) != (other.url, other.document):
        return hit.terms == other.terms
    common = hit.terms & other.terms
    differing = (hit.terms | other.terms) - common
    if any(map(str.isdecimal, differing)):
        return False  # a figure may be what tells them apart
    return common.total() > NEARLY_SAME * (common + differing).total()


def _result(hit: Hit, weights: dict[str, float]) -> SearchResult:
    return SearchResult(
        title=hit.title, url=hit.url, snippet=_snippet(hit.text, weights), text=hit.text, offset=hit.start
    )


def _snippet(text: str, weights: dict[str, float]) -> str:
    """Return, on one line, the sentence that fits the query best and as much of what follows as there is room for."""
    spans = sentences(text)
    scores = [_score(weights, USUAL, Counter(terms(text[start:end]))) for start, end in spans]
    best = scores.index(max(scores))
    start = end = spans[best][0]
    for _, following in spans[best:]:
        if end > start and following - start > SNIPPET:
            break
        end = following
    shown = " ".join(text[start:end].split())
    return shown if len(shown) <= SNIPPET else shown[: SNIPPET - 1].rstrip() + "…"
