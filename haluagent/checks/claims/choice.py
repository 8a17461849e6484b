"""The checker `choice`: a claim against a passage by the same calibrated scored choice as the tool `match`.

A passage that supports a claim makes it an Entailment, one that says otherwise a Contradiction; one that does not say is
Neutral.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from haluagent.checks.claims.checkers import CheckWork, ClaimFinding
from haluagent.checks.claims.localize import cite
from haluagent.checks.claims.records import Relation
from haluagent.judging.comparison import compare
from haluagent.types import Sentence


class ChoiceChecker:
    """A checker that makes two scored choices per claim and window, of which it reads at most three of a passage.

    The probability of an Entailment is that the passage supports the claim; that of both other labels is that it does
    not.
    """

    name = "choice"
    asks_model = True

    async def check(self, work: CheckWork, passage: int, claims: Sequence[Sentence]) -> list[ClaimFinding]:
        async def one(claim: Sentence) -> ClaimFinding:
            return await work.attempt(check_one(work, passage, claim))

        return await work.each(one, claims)


async def check_one(work: CheckWork, passage: int, claim: Sentence) -> ClaimFinding:
    """Check one claim against one passage.

    A passage with nothing but white space is Neutral.
    """
    text = work.passages[passage]
    if not text.strip():
        return ClaimFinding("Neutral", read=((0, len(text)),))
    context = replace(work.context, reference=text)
    found = await compare(context, claim)
    locate = partial(cite, work.passages, passage, found.place, claim.claim)
    if found.label == "supported":
        return ClaimFinding("Entailment", found.supported, locate(), found.read, window=found.place)
    contradicted = found.label == "contradicted"
    label: Relation = "Contradiction" if contradicted else "Neutral"
    citation = locate() if contradicted else None
    return ClaimFinding(label, 1 - found.supported, citation, found.read, window=found.place)
