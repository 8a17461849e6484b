"""The items of a labelled set. A method never sees their gold labels."""

from haluagent.types import Language, Record


class LabelledClaim(Record):
    """A sentence of the response with its gold label: True for a hallucination, None if it is not labelled."""

    text: str
    wrong: bool | None


class Item(Record):
    """One text to check. `wrong` is the gold label of the whole response: True if it contains a hallucination.

    A method sees `question`, `response` and `reference`, and nothing else. If there are `claims`, the response consists
    of their texts, one per line. Items of one `group` share their reference.
    """

    id: str
    question: str
    response: str
    reference: str | None = None
    language: Language
    wrong: bool
    claims: tuple[LabelledClaim, ...] = ()
    group: str | None = None
