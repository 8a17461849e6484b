"""Extraction of a response's claims, in one of three formats."""

import asyncio
from collections.abc import Sequence
from typing import get_args

from haluagent.agent import HaluAgent
from haluagent.checks.claims.claimless import claiming
from haluagent.checks.claims.records import Claim, Format
from haluagent.checks.claims.subsentences import clauses
from haluagent.checks.claims.triplets import as_claim, triplets
from haluagent.errors import ConfigError
from haluagent.text import language as languages
from haluagent.types import Record, Sentence, Usage


class Extraction(Record):
    """The claims of a response, in order; none if it abstains.

    `error` says which sentences could not be decomposed; they are kept among the claims as whole sentences.
    """

    claims: tuple[Claim, ...]
    usage: Usage = Usage()
    error: str | None = None


async def extract(
    agent: HaluAgent, response: str, question: str = "", *, format: Format = "sentence", language: str = "auto"
) -> Extraction:
    """Extract the claims of a response, each with its sentence and its place.

    `sentence` and `subsentence` (the clauses of each sentence) are cut by rule without a model; `triplet` takes one
    call for about six sentences. Sentences that claim nothing are left out: see `claimless`. Raise `ConfigError` for an
    empty response or an unknown format or language, `ModelError` if the endpoint fails.
    """
    if format not in get_args(Format):
        raise ConfigError(f"claim format {format!r} is not known: use {', '.join(get_args(Format))}")
    if not response.strip():
        raise ConfigError("the response is empty: there is nothing to take claims from")
    chosen = await asyncio.to_thread(languages.choose, language, question, response)
    sentences = await asyncio.to_thread(claiming, response, question)  # a long response takes seconds
    if format == "sentence":
        return Extraction(claims=tuple(map(as_claim, sentences)))
    if format == "subsentence":
        return Extraction(claims=await asyncio.to_thread(_by_clauses, sentences))
    if not sentences:
        return Extraction(claims=())
    await agent.aprepare()
    found = await triplets(agent, sentences, response, question, chosen)
    error = f"{found.whole} of {len(sentences)} sentences have no triplets and stand whole" if found.whole else None
    return Extraction(claims=found.claims, usage=found.usage, error=error)


def _by_clauses(sentences: Sequence[Sentence]) -> tuple[Claim, ...]:
    return tuple(
        Claim(content=item.text[a:b], sentence=item.index, span=(item.span[0] + a, item.span[0] + b))
        for item in sentences
        for a, b in clauses(item.text)
    )
