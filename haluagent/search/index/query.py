"""Finding passages in a local index: first by the rare terms of a query, then by a closer look at the best of them.

A term that half of all passages contain costs time and says little. So the passages are looked up by the rarest terms,
as many as `POSTINGS` allows, and the best of them are ranked by all terms with BM25. Its inverse document frequency is
the variant that stays positive in a small index: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25
and Beyond", Foundations and Trends in Information Retrieval 3 (4), 2009.
"""

import heapq
import math
import sqlite3
from collections import Counter
from typing import NamedTuple

from haluagent.protocols import SearchResult
from haluagent.search.documents.passages import sentences
from haluagent.search.index.terms import is_character, query_terms, strength, terms

LONGEST_QUERY = 400  # characters; the rest is not looked at
MOST_RESULTS = 100
POSTINGS = 10_000  # the passages of the chosen terms, added up: reading these is what takes time
LEAST_TERMS = 4  # terms that are always used, however common
CANDIDATES = 15  # passages looked at closely; for more results, three times as many
TITLE_WEIGHT = 2  # a term in the title counts as often as two in the text
SATURATION = 1.2  # BM25's k1; its b is 0, as passages are about equally long
WEAK = 0.3  # the weight of a term that may be a function word; those of others are 1 to 10
NEARLY_SAME = 0.9  # share of common terms above which two passages of a document count as one
SNIPPET = 240  # characters
LAST_CHARACTER = "\U0010ffff"


class _Hit(NamedTuple):
    document: int
    start: int
    text: str
    url: str
    title: str
    terms: Counter[str]


def search(connection: sqlite3.Connection, query: str, count: int) -> list[SearchResult]:
    """Return at most `count` passages, best first; none if the index has none of the query's most telling terms."""
    count = min(count, MOST_RESULTS)
    asked = query_terms(query[:LONGEST_QUERY])
    most = max(map(strength, asked), default=0)
    [total] = connection.execute("SELECT ifnull(max(id), 0) FROM passage").fetchone()
    telling = _frequencies(connection, [term for term in asked if strength(term) == most])
    weights = {term: _inverse_frequency(often, total) for term, often in telling.items()}
    numbers = _look_up(connection, telling, weights)
    weights = dict.fromkeys(asked, WEAK) | weights
    hits = _load(connection, heapq.nlargest(max(CANDIDATES, 3 * count), numbers, key=numbers.__getitem__))
    hits.sort(key=lambda hit: _score(weights, hit.terms, _title_terms(hit)), reverse=True)
    return [_result(hit, weights) for hit in _different(hits, count)]


def _frequencies(connection: sqlite3.Connection, wanted: list[str]) -> dict[str, int]:
    """Return the number of passages that contain each term, rarest first, without terms that no passage contains."""
    found: dict[str, int] = {}
    for term in wanted:
        last = term + LAST_CHARACTER if is_character(term) else term
        query = "SELECT sum(doc) FROM vocabulary WHERE term BETWEEN ? AND ?"
        [often] = connection.execute(query, (term, last)).fetchone()
        if often:
            found[term] = often
    return dict(sorted(found.items(), key=lambda item: item[1]))


def _inverse_frequency(often: int, total: int) -> float:
    return math.log(1 + max(0.5, total - often + 0.5) / (often + 0.5))


def _look_up(
    connection: sqlite3.Connection, frequencies: dict[str, int], weights: dict[str, float]
) -> dict[int, float]:
    """Return the passages with the rarest terms, each with the total weight of those it contains."""
    found: dict[int, float] = {}
    chosen: list[str] = []
    room = POSTINGS
    for place, (term, often) in enumerate(frequencies.items()):
        # Terms are letters and digits, so nothing in them can end the quotation.
        match = f'"{term}"*' if is_character(term) else f'"{term}"'
        if not chosen or often <= room:
            chosen.append(match)
        elif place >= LEAST_TERMS:
            break
        else:  # only to rank the passages already found
            match += f" AND ({' OR '.join(chosen)})"
        for (number,) in connection.execute("SELECT rowid FROM words WHERE words MATCH ?", (match,)):
            found[number] = found.get(number, 0.0) + weights[term]
        room -= often
    return found


def _load(connection: sqlite3.Connection, numbers: list[int]) -> list[_Hit]:
    query = (
        "SELECT document.id, passage.start, passage.text, document.url, document.title"
        " FROM passage JOIN document ON document.id = passage.document WHERE passage.id = ?"
    )
    hits = []
    for number in numbers:
        for document, start, text, url, title in connection.execute(query, (number,)):
            hits.append(_Hit(document, start, text, url, title, Counter(terms(text))))
    return hits


def _title_terms(hit: _Hit) -> Counter[str]:
    return Counter(terms(hit.title) * TITLE_WEIGHT)


def _score(weights: dict[str, float], *counts: Counter[str]) -> float:
    score = 0.0
    for term, weight in weights.items():
        often = sum(_count(term, counter) for counter in counts)
        score += weight * often * (SATURATION + 1) / (often + SATURATION)
    return score


def _count(term: str, counter: Counter[str]) -> int:
    if is_character(term):  # every occurrence begins exactly one term
        return sum(often for other, often in counter.items() if other[0] == term)
    return counter[term]


def _different(hits: list[_Hit], count: int) -> list[_Hit]:
    """Return the first hits without copies, and without passages that nearly repeat a better one of the same
    document."""
    kept: list[_Hit] = []
    for hit in hits:
        if len(kept) >= count:
            break
        if not any(_repeats(hit, other) for other in kept):
            kept.append(hit)
    return kept


def _repeats(hit: _Hit, other: _Hit) -> bool:
    if hit.terms == other.terms or hit.document != other.document:
        return hit.terms == other.terms
    common = hit.terms & other.terms
    differing = (hit.terms | other.terms) - common
    if any(map(str.isdecimal, differing)):
        return False  # a figure may be what tells them apart
    return common.total() > NEARLY_SAME * (common + differing).total()


def _result(hit: _Hit, weights: dict[str, float]) -> SearchResult:
    return SearchResult(
        title=hit.title, url=hit.url, snippet=_snippet(hit.text, weights), text=hit.text, offset=hit.start
    )


def _snippet(text: str, weights: dict[str, float]) -> str:
    """Return, on one line, the sentence that fits the query best and as much of what follows as there is room for."""
    spans = sentences(text)
    scores = [_score(weights, Counter(terms(text[start:end]))) for start, end in spans]
    best = scores.index(max(scores))
    start = end = spans[best][0]
    for _, following in spans[best:]:
        if end > start and following - start > SNIPPET:
            break
        end = following
    shown = " ".join(text[start:end].split())
    return shown if len(shown) <= SNIPPET else shown[: SNIPPET - 1].rstrip() + "…"
