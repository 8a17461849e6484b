"""The checker `joint`: several claims compared with a passage in one call, which gives a letter for each number.

A claim that the model leaves out, answers in two ways or answers illegibly is asked again alone, with `choice`. It is
never taken for Neutral.
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import Sequence

from haluagent.checks.claims.checkers import CheckWork, ClaimFinding
from haluagent.checks.claims.choice import check_one
from haluagent.checks.claims.localize import cite
from haluagent.checks.claims.merge import MERGED
from haluagent.checks.claims.records import Relation
from haluagent.detection.limits import BudgetExceeded
from haluagent.errors import ModelError
from haluagent.judging.comparison import QUOTED, WINDOWS
from haluagent.judging.judge import WINDOW_TOKENS
from haluagent.judging.passages import best_windows, quoted
from haluagent.prompts import conversation
from haluagent.text.windows import clip
from haluagent.types import Sentence, Span

TOGETHER = 8  # claims in one call
CLAIM_TOKENS = 150
LINE_TOKENS = 6

_LETTERS: dict[str, Relation] = {"A": "Entailment", "B": "Contradiction", "C": "Neutral"}
_NUMBER = re.compile(r"(?<![\w.])(\d{1,2})[\s*]*[:：.．、)）]")
_LETTER = re.compile(r"(?<![A-Za-z0-9])[ABC](?![A-Za-z0-9])")


class JointChecker:
    """A checker that makes one call for up to eight claims and a window of a passage.

    Of a long passage, the three windows that share most words with a claim are read for it. It gives no probabilities,
    because that of a letter in a list means nothing.
    """

    name = "joint"
    asks_model = True

    async def check(self, work: CheckWork, passage: int, claims: Sequence[Sentence]) -> list[ClaimFinding]:
        text, count = work.passages[passage], work.context.model.count_tokens
        if not text.strip():
            return [ClaimFinding("Neutral", read=((0, len(text)),)) for _ in claims]
        found: dict[int, ClaimFinding] = {}  # by the claim's index in `claims`
        wanted: dict[Span, list[int]] = defaultdict(list)
        for at, claim in enumerate(claims):
            if place := quoted(claim.text, text):
                there = cite(work.passages, passage, place, claim.claim)
                found[at] = ClaimFinding("Entailment", QUOTED, there, ((0, len(text)),), window=place)
            else:
                spans, _ = await asyncio.to_thread(best_windows, text, claim.claim, WINDOWS, WINDOW_TOKENS, count)
                for span in spans:
                    wanted[span].append(at)

        async def ask(call: tuple[Span, list[int]]) -> dict[int, Relation]:
            span, group = call
            return await _ask(work, text[slice(*span)], [claims[at] for at in group])

        calls = [(span, group) for span in sorted(wanted) for group in _groups(wanted[span])]
        answers: dict[int, list[tuple[Relation, Span]]] = defaultdict(list)
        lost: set[int] = set()
        for (span, group), labels in zip(calls, await work.each(ask, calls), strict=True):
            for number, at in enumerate(group):
                if number in labels:
                    answers[at].append((labels[number], span))
                else:
                    lost.add(at)
        for at in set(answers) - lost:
            label = next(one for one in MERGED if any(one == said for said, _ in answers[at]))
            place = next(span for said, span in answers[at] if said == label)
            citation = cite(work.passages, passage, place, claims[at].claim) if label != "Neutral" else None
            found[at] = ClaimFinding(label, None, citation, tuple(span for _, span in answers[at]), window=place)

        async def alone(at: int) -> ClaimFinding:
            return await work.attempt(check_one(work, passage, claims[at]))

        again = sorted(lost)
        found |= zip(again, await work.each(alone, again), strict=True)
        return [found[at] for at in range(len(claims))]


def _groups(numbers: list[int]) -> list[list[int]]:
    return [numbers[at : at + TOGETHER] for at in range(0, len(numbers), TOGETHER)]


async def _ask(work: CheckWork, window: str, claims: Sequence[Sentence]) -> dict[int, Relation]:
    """Return the model's labels by index in `claims`; empty if the call failed."""
    model = work.context.model
    shown = [" ".join(clip(claim.claim, CLAIM_TOKENS, model.count_tokens)[0].split()) for claim in claims]
    messages = conversation("joint", work.context.language, evidence=window, claims=shown)
    try:
        async with asyncio.timeout(work.budget.seconds_left()):
            answer = await model.generate(
                messages, grammar=grammar(len(claims)), max_tokens=LINE_TOKENS * (len(claims) + 1)
            )
    except (ModelError, BudgetExceeded, TimeoutError):
        return {}  # asked again one by one, the claims will report the error
    return {number - 1: label for number, label in parse(answer.text, len(claims)).items()}


def grammar(count: int) -> str:
    """Return the GBNF for `1: A` to `count: C`, a line each."""
    lines = ' "\\n" '.join(f'"{number}: " letter' for number in range(1, count + 1))
    return f"root ::= {lines}\nletter ::= [ABC]"


def parse(text: str, count: int) -> dict[int, Relation]:
    """Return the labels in the model's text, by the numbers 1 to `count`, ignoring other text around them.

    A number without a letter, or with two different ones, is left out.
    """
    marks = list(_NUMBER.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    said: dict[int, set[str]] = defaultdict(set)
    for mark, end in zip(marks, ends, strict=False):
        said[int(mark[1])].update(_LETTER.findall(text, mark.end(), end))
    return {
        number: _LETTERS[letters.pop()]
        for number, letters in said.items()
        if 1 <= number <= count and len(letters) == 1
    }
