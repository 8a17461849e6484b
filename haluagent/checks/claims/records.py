"""The records of a claim check: RefChecker's labels (Hu et al. 2023), each with its places in the texts."""

from typing import Literal

from haluagent.types import Language, Record, Span, Usage

Format = Literal["sentence", "subsentence", "triplet"]
Relation = Literal["Entailment", "Neutral", "Contradiction"]
Aggregator = Literal["strict", "soft", "major"]
Verdict = Relation | Literal["Abstain"]
Localization = Literal["overlap", "model"]

RELATIONS: tuple[Relation, ...] = ("Entailment", "Neutral", "Contradiction")


class Claim(Record):
    """A statement in a response: a text, or the head, relation and tail of a triplet.

    `sentence` is the index, from 1, of the sentence that it came from. `span` is its place in the response: the text's
    own, or the part of the sentence that has the words of a triplet. Both are None if a claim was given and its words
    do not occur there.
    """

    content: str | tuple[str, str, str]
    sentence: int | None = None
    span: Span | None = None

    @property
    def text(self) -> str:
        """Return the claim as one text."""
        return self.content if isinstance(self.content, str) else " ".join(self.content)


class Citation(Record):
    """A place in one of the passages, counted from 0: `passages[passage][span[0]:span[1]] == text`. `speaks_to_reader` as
    in `Evidence`; `located_by` says whether the words that it shares with the claim decided, or the model."""

    passage: int
    span: Span
    text: str
    speaks_to_reader: bool = False
    located_by: Localization = "overlap"


class CheckedClaim(Record):
    """A claim with its label.

    `probability` in [0, 1] is that of the label. `citations` are all the places that decide it, and `checker` is the
    name of the checker or tool that did. If there is no label, `label` is None and `error` says why: that is never a
    Neutral.
    """

    claim: Claim
    label: Relation | None
    probability: float | None = None
    citations: tuple[Citation, ...] = ()
    checker: str = ""
    error: str | None = None


class ClaimReport(Record):
    """A response with its claims checked against passages.

    `verdict` is that of the aggregator, with the ratios of all labels beside it; it is None if a claim has no label,
    and "Abstain" if the response makes no claim. `passages` are the texts compared with, including retrieved ones.
    `coverage` in [0, 1] is the share of their characters that was read.
    """

    question: str
    response: str
    language: Language
    format: Format
    aggregator: Aggregator
    claims: tuple[CheckedClaim, ...]
    verdict: Verdict | None
    ratios: dict[Relation, float]
    passages: tuple[str, ...]
    coverage: float = 1.0
    usage: Usage = Usage()
    seconds: float = 0.0
    error: str | None = None
