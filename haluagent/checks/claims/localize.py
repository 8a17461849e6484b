"""Finding the place in a passage that decides a claim, as offsets into the passage as given."""

from haluagent.checks.claims.records import Citation
from haluagent.judging.instructions import speaks_to_reader
from haluagent.judging.passages import passage
from haluagent.text.segment import split
from haluagent.types import Sentence, Span

MARGIN = 300  # characters that a sentence may extend beyond a window


def cite(passages: tuple[str, ...], number: int, window: Span, query: str) -> Citation:
    """Return the sentence in or reaching into `window` of a passage that shares most words with the query.

    `passages[citation.passage][start:end] == citation.text` always holds.
    """
    text = passages[number]
    inside = sentences_in(text, window)
    whole = (inside[0].span[0], inside[-1].span[1]) if inside else window
    start, end = passage(text, whole, query)
    return Citation(
        passage=number, span=(start, end), text=text[start:end], speaks_to_reader=speaks_to_reader(text[slice(*window)])
    )


def sentences_in(text: str, window: Span) -> list[Sentence]:
    """Return the sentences in or reaching into a window of a text, each with its place in the text."""
    start = max(0, window[0] - MARGIN)
    found = [
        one.model_copy(update={"span": (start + one.span[0], start + one.span[1])})
        for one in split(text[start : window[1] + MARGIN])
    ]
    return [one for one in found if one.span[0] < window[1] and one.span[1] > window[0]]
