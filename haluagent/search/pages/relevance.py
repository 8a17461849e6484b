"""Finding the part of a text that a query is about."""

import math
from collections import Counter

from haluagent.search.documents.passages import split
from haluagent.search.index.terms import terms
from haluagent.types import Span


def best_passage(text: str, query: str) -> Span:
    """Return the passage that shares most terms with the query, rare ones counting for more; the first of equals.

    The weights are those of inverse document frequency, with the passages as documents: Spärck Jones, "A statistical
    interpretation of term specificity", Journal of Documentation 28 (1), 1972.
    """
    spans = split(text)
    wanted = frozenset(terms(query))
    shared = [wanted.intersection(terms(text[start:end])) for start, end in spans]
    frequency = Counter(term for found in shared for term in found)
    scores = [sum(math.log(1 + len(spans) / frequency[term]) for term in found) for found in shared]
    return spans[scores.index(max(scores))] if spans else (0, 0)
