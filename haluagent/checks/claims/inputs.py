"""Validation of a check's inputs: the passages of a reference, and claims."""

from collections.abc import Sequence

from haluagent.checks.claims.places import stretch
from haluagent.checks.claims.records import Claim
from haluagent.errors import ConfigError
from haluagent.text.segment import split
from haluagent.text.words import words
from haluagent.types import Sentence


def given_passages(reference: str | Sequence[str]) -> tuple[str, ...]:
    """Return the passages of a reference, unchanged; blank ones keep their number.

    Raise `ConfigError` if all are blank.
    """
    passages = (reference,) if isinstance(reference, str) else tuple(reference)
    if not all(isinstance(passage, str) for passage in passages):
        raise ConfigError("a reference is a text or a list of texts")
    if not any(passage.strip() for passage in passages):
        raise ConfigError("the reference is empty: give a text, or leave it out to have one searched for")
    return passages


def given_claims(claims: Sequence[Claim | str | Sequence[str]], response: str) -> tuple[Claim, ...]:
    """Return the claims, each with its place in the response if its words occur there.

    Raise `ConfigError` for a claim that is blank, or neither a text nor a triplet.
    """
    sentences = split(response)
    return tuple(_claim(item, number, response, sentences) for number, item in enumerate(claims, 1))


def _claim(item: Claim | str | Sequence[str], number: int, response: str, sentences: Sequence[Sentence]) -> Claim:
    content: str | tuple[str, str, str]
    if isinstance(item, Claim):
        content = item.content
    elif isinstance(item, str):
        content = item
    elif len(item) == 3 and all(isinstance(part, str) for part in item):
        content = (item[0], item[1], item[2])
    else:
        raise ConfigError(f"claim {number} is neither a text nor a triplet [head, relation, tail]: {str(item)[:80]}")
    if not (content if isinstance(content, str) else " ".join(content)).strip():
        raise ConfigError(f"claim {number} is empty")
    return item if isinstance(item, Claim) else _placed(Claim(content=content), response, sentences)


def _placed(claim: Claim, response: str, sentences: Sequence[Sentence]) -> Claim:
    """Return the claim with its place: where it occurs verbatim, else the part of a sentence that has all of its
    words."""
    start = response.find(claim.text)
    if start >= 0:
        index = next((one.index for one in sentences if one.span[0] <= start < one.span[1]), None)
        return claim.model_copy(update={"sentence": index, "span": (start, start + len(claim.text))})
    said = words(claim.text)
    for sentence in sentences:
        if said and said <= words(sentence.text) and (place := stretch(sentence.text, claim.text)):
            span = (sentence.span[0] + place[0], sentence.span[0] + place[1])
            return claim.model_copy(update={"sentence": sentence.index, "span": span})
    return claim
