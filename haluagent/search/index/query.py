"""Finding passages in a local index: first by the rare terms of a query, then by a closer look at the best of them.

A term that half of all passages contain costs time and says little. So the passages are looked up by the rarest terms,
as many as `POSTINGS` allows.
"""

import heapq
import sqlite3
from collections import Counter

from haluagent.search.index.rank import Candidates, Hit, candidates, inverse_frequencies, telling
from haluagent.search.index.store import is_folded
from haluagent.search.index.terms import is_character, terms
from haluagent.text.chinese import simplified
from haluagent.types import Language

POSTINGS = 10_000  # the passages of the chosen terms, added up: reading these is what takes time
LEAST_TERMS = 4  # terms that are always used, however common
_USUAL: dict[Language, list[str]] = {"en": ["the", "of", "is"], "zh": ["的", "是", "在"]}
LAST_CHARACTER = "\U0010ffff"


def find(connection: sqlite3.Connection, query: str, count: int) -> Candidates:
    """Return the candidates for `count` results; none if the index has none of the query's most telling terms.

    An index from before Simplified and Traditional characters were folded is looked up by the characters as they are
    in the query.
    """
    wanted = telling(query, is_folded(connection))
    [total] = connection.execute("SELECT ifnull(max(id), 0) FROM passage").fetchone()
    frequencies = _frequencies(connection, wanted)
    numbers = _look_up(connection, frequencies, inverse_frequencies(frequencies, total))
    hits = _load(connection, heapq.nlargest(candidates(count), numbers, key=numbers.__getitem__))
    return Candidates(hits, {simplified(term): often for term, often in frequencies.items()}, total)


def languages(connection: sqlite3.Connection) -> frozenset[Language]:
    """Return the languages in which an index has a passage with words that nearly every text has."""
    return frozenset(name for name, usual in _USUAL.items() if _frequencies(connection, usual))


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


def _load(connection: sqlite3.Connection, numbers: list[int]) -> list[Hit]:
    query = (
        "SELECT document.id, passage.start, passage.text, document.url, document.title"
        " FROM passage JOIN document ON document.id = passage.document WHERE passage.id = ?"
    )
    hits = []
    for number in numbers:
        for document, start, text, url, title in connection.execute(query, (number,)):
            hits.append(Hit(document, start, text, url, title, Counter(terms(text))))
    return hits
