"""The checker `choice`: a claim against a passage by the same calibrated scored choice as the tool `match`.

A passage that supports a claim makes it an Entailment. One that does not may say something else, or nothing: it is a
Contradiction only if the model also finds that the passage says enough to decide it.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from haluagent.checks.claims.checkers import CheckWork, ClaimFinding
from haluagent.checks.claims.localize import cite
from haluagent.checks.claims.records import Relation
from haluagent.judging.comparison import Comparison, compare
from haluagent.judging.judge import mentions, wording_of
from haluagent.models.calibration import calibration_of
from haluagent.protocols import ToolContext
from haluagent.text.language import written_in
from haluagent.types import Language, Sentence


class ChoiceChecker:
    """A checker that makes two to six scored choices per claim and passage.

    There are two for each of at most three windows, and two more if no window supports the claim. The probability of an
    Entailment is that the passage supports the claim; that of both other labels is that it does not. A threshold tells
    those two apart.
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
        return ClaimFinding("Entailment", found.supported, locate(), found.read)
    label: Relation = "Neutral"
    if _speaks_against(found, text, context.language) and await _says_enough(context, claim, found):
        label = "Contradiction"
    return ClaimFinding(label, 1 - found.supported, locate() if label == "Contradiction" else None, found.read)


def _speaks_against(found: Comparison, text: str, language: Language) -> bool:
    """Return whether a passage may contradict the claim rather than be about something else.

    Texts in the same language that share no word are about different things; those in two languages need not be.
    """
    if found.label == "contradicted":
        return True
    return found.absent and written_in(text) != language


async def _says_enough(context: ToolContext, claim: Sentence, found: Comparison) -> bool:
    """Return whether the window says enough to decide the claim, or the question that it answers."""
    wording = "answer" if wording_of(context) == "answer" else "statement"
    odds = await mentions(
        context, None if wording == "answer" else claim, (context.reference or "")[slice(*found.place)]
    )
    scored = found.reading is None or found.reading.judged.calibrated
    # Without log-probabilities, two answers that disagree have odds of 0, which says nothing.
    return odds >= calibration_of(context.model).mentions[f"{wording}:{context.language}"] and (scored or odds > 0)
