"""Finding the place in a passage that decides a claim, as offsets into the passage as given."""

from haluagent.checks.claims.records import Citation
from haluagent.judging.instructions import speaks_to_reader
from haluagent.judging.passages import passage
from haluagent.text.segment import split
from haluagent.types import Span

MARGIN = 300  # characters that a sentence may extend beyond a window


def cite(passages: tuple[str, ...], number: int, window: Span, query: str) -> Citation:
    """Return the sentence in or reaching into `window` of a passage that shares most words with the query.

    `passages[citation.passage][start:end] == citation.text` always holds.
    """
    text = passages[number]
    start, end = passage(text, _whole_sentences(text, window), query)
    return Citation(
        passage=number, span=(start, end), text=text[start:end], speaks_to_reader=speaks_to_reader(text[slice(*window)])
    )


def _whole_sentences(text: str, window: Span) -> Span:
    """Return the window, extended to whole sentences."""
    start = max(0, window[0] - MARGIN)
    places = [(start + one.span[0], start + one.span[1]) for one in split(text[start : window[1] + MARGIN])]
    inside = [place for place in places if place[0] < window[1] and place[1] > window[0]]
    return (inside[0][0], inside[-1][1]) if inside else window
