"""What a labelled set holds. Gold labels stay out of what a method is shown."""

from haluagent.types import Language, Record


class Claim(Record):
    """A sentence of the response with its own gold label: True where it is a hallucination, None where it has none."""

    text: str
    wrong: bool | None


class Item(Record):
    """One text to check. `wrong` is the gold label of the whole response: True where it holds a hallucination.

    A method is shown `question`, `response` and `reference`, and nothing else. Where there are `claims`, the response is
    their texts, one a line.
    """

    id: str
    question: str
    response: str
    reference: str | None = None
    language: Language
    wrong: bool
    claims: tuple[Claim, ...] = ()
