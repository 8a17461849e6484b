"""The model points at the sentence that says what a claim says, where the words that they share do not tell.

RefChecker (Hu et al. 2023) localizes evidence by the similarity of RoBERTa's embeddings. Here it is one scored choice among at
most nine numbered sentences: those that have most of the claim, in the order of the text.
"""

import asyncio
from collections.abc import Sequence

from haluagent.checks.claims.checkers import CheckWork, ClaimFinding
from haluagent.checks.claims.localize import sentences_in
from haluagent.checks.claims.records import CheckedClaim, Citation, Claim
from haluagent.detection.limits import BudgetExceeded
from haluagent.errors import ModelError
from haluagent.judging.passages import by_relevance
from haluagent.prompts import conversation
from haluagent.protocols import ToolContext
from haluagent.text.segment import split
from haluagent.text.windows import clip
from haluagent.text.words import words
from haluagent.types import Sentence

CANDIDATES = 9  # each has one digit as its number
SURE = 0.5  # the share of a claim's words that a sentence has more of, where its words decide
TOKENS = 120  # shown of a sentence, and of the claim


async def relocate(
    work: CheckWork, checked: Sequence[CheckedClaim], findings: Sequence[Sequence[ClaimFinding]]
) -> list[CheckedClaim]:
    """Return the claims with the places that the model points at, where the words that they share leave doubt.

    That takes one call for each citation in doubt, and one for a claim that was given and whose words the response does not
    have. If a call fails or a limit is reached, the place stays as it was.
    """

    async def one(at: int) -> CheckedClaim:
        found, windows = checked[at], {own.citation.passage: own.window for own in findings[at] if own.citation}
        cited = [await _cited(work, found.claim, own, windows.get(own.passage)) for own in found.citations]
        return found.model_copy(update={"claim": await _placed(work, found.claim), "citations": tuple(cited)})

    return await work.each(one, range(len(checked)))


def in_doubt(claim: str, sentences: Sequence[Sentence]) -> bool:
    """Return whether the words of a claim leave doubt which of several sentences it is about: none has most of them, or two
    have equally many."""
    shared = sorted((len(words(claim) & words(one.text)) for one in sentences), reverse=True)
    return len(shared) > 1 and not (shared[0] > shared[1] and shared[0] > SURE * len(words(claim)))


async def point(context: ToolContext, claim: str, sentences: Sequence[Sentence]) -> Sentence | None:
    """Return the sentence that the model points at for a claim; None if it points at none.

    Raise `ModelError` or `BudgetExceeded` as the model does.
    """
    shown = sorted(by_relevance(sentences, claim)[:CANDIDATES], key=lambda one: one.index)
    count = context.model.count_tokens
    messages = conversation(
        "locate",
        context.language,
        sentences=[" ".join(clip(one.text, TOKENS, count)[0].split()) for one in shown],
        claim=clip(claim, TOKENS, count)[0],
    )
    choice = await context.model.choose(messages, [str(number) for number in range(1, len(shown) + 1)])
    undecided = len(set(choice.probabilities.values())) == 1  # its answer was none of the numbers
    return None if undecided else shown[int(choice.best) - 1]


async def _try(work: CheckWork, claim: str, sentences: Sequence[Sentence]) -> Sentence | None:
    if not in_doubt(claim, sentences):
        return None
    try:
        async with asyncio.timeout(work.budget.seconds_left()):
            return await point(work.context, claim, sentences)
    except (ModelError, BudgetExceeded, TimeoutError):
        return None


async def _cited(work: CheckWork, claim: Claim, citation: Citation, window: tuple[int, int] | None) -> Citation:
    text = work.passages[citation.passage]
    found = await _try(work, claim.text, sentences_in(text, window or (0, len(text))))
    if found is None:
        return citation
    start, end = found.span
    return citation.model_copy(update={"span": found.span, "text": text[start:end], "located_by": "model"})


async def _placed(work: CheckWork, claim: Claim) -> Claim:
    if claim.span is not None:
        return claim
    found = await _try(work, claim.text, split(work.context.response))
    return claim if found is None else claim.model_copy(update={"sentence": found.index, "span": found.span})
