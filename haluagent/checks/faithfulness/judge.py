"""The mode `judge`: reasons first, then PASS or FAIL, as JSON (Lynx, Ravi et al. 2024, appendix A), with our own
prompt."""

import asyncio
import json
import math
from collections.abc import Sequence
from typing import NamedTuple

from haluagent.checks.faithfulness.case import Case, FaithfulnessFinding, undecided
from haluagent.checks.faithfulness.fast import by_choice, covered, unread
from haluagent.checks.faithfulness.parse import JudgeReply, read
from haluagent.checks.faithfulness.template import Template
from haluagent.judging.judge import WINDOW_TOKENS, in_both_orders
from haluagent.judging.passages import best_windows
from haluagent.judging.probabilities import Judgement, judgement, log_odds
from haluagent.models.calibration import calibration_of
from haluagent.prompts import conversation, fence
from haluagent.protocols import Message
from haluagent.text.messages import message
from haluagent.text.windows import clip
from haluagent.types import Language

ANSWER_TOKENS = 500
FREE_TOKENS = 700  # for a model with its own prompt, which may write more
MARGIN = 600  # tokens for the prompt, the second question and the chat template
BULLETS, PART_CHARACTERS = 4, 70


def grammar(language: Language) -> str:
    """Return the GBNF for the reply: one to four points, each with what the response and the reference say, and the
    score."""
    one, other = (message(f"faithfulness.side.{side}", language) for side in ("response", "reference"))
    return "\n".join(
        [
            r'root ::= "{\"REASONING\": [" point (", " point)'
            + f"{{0,{BULLETS - 1}}}"
            + r' "], \"SCORE\": \"" ("PASS" | "FAIL") "\"}"',
            rf'point ::= "\"{one}" part "{other}" part "\""',
            r'part ::= [^"\\;；\n\r]' + f"{{1,{PART_CHARACTERS}}}",
        ]
    )


async def by_reasons(case: Case) -> FaithfulnessFinding:
    """Return the model's reasons and the probability of FAIL.

    The score averages the calibrated log-odds given after these reasons and those of the mode `fast`: small models
    reason badly, so the first alone may say little. If the server gives no probabilities, the score is 1 or 0, by the
    SCORE that was written. A document longer than the model's context is read in part. Undecided if the reply has no
    SCORE. Raise `ModelError` or `BudgetExceeded`.
    """
    reasoned = await reason(case)
    reply, again, coverage = reasoned.reply, reasoned.judged, reasoned.coverage
    if again is None:
        return _unreadable(reasoned.text, reply)
    notes, rest = list(reply.reasoning), unread(coverage, case.language)
    if not again.calibrated:
        return _as_written(reply, coverage, rest)
    compared = await by_choice(case)
    odds = [] if again.silent else [log_odds(again.supported)]
    odds += [] if compared.verdict is None else [log_odds(1 - compared.score)]
    if not odds:
        return _as_written(reply, coverage, rest)
    score = 1 / (1 + math.exp(sum(odds) / len(odds)))
    verdict = case.verdict(score)
    if verdict != reply.score:
        notes.append(message("faithfulness.apart", case.language, written=reply.score, verdict=verdict))
    return FaithfulnessFinding(score, verdict, (*notes, *rest), compared.evidence, coverage)


class Reasoned(NamedTuple):
    """The model's `text`, its parsed `reply`, the judgement after its reasons (None if it wrote no score), and the
    share of the document that it was shown."""

    text: str
    reply: JudgeReply
    judged: Judgement | None
    coverage: float


async def reason(case: Case) -> Reasoned:
    """Have the model write its reasons, and judge after them. Raise `ModelError` or `BudgetExceeded`."""
    question, answer, document, coverage = await asyncio.to_thread(
        _fitted, case, case.model.context - ANSWER_TOKENS - MARGIN
    )
    asked = conversation("faithful", case.language, question=question, reference=document, response=answer)
    generation = await case.model.generate(asked, grammar=grammar(case.language), max_tokens=ANSWER_TOKENS)
    reply = read(generation.text)
    judged = None if reply.score is None else await _judged_again(case, asked, reply)
    return Reasoned(generation.text, reply, judged, coverage)


async def by_template(case: Case, template: Template) -> FaithfulnessFinding:
    """Return the verdict that a model gives to its publisher's prompt, sent as one message.

    The score is 1 for FAIL, 0 for PASS. Undecided if the reply has no SCORE. Raise `ModelError` or `BudgetExceeded`.
    """
    room = case.model.context - FREE_TOKENS - MARGIN // 4 - case.model.count_tokens(template.fixed)
    question, answer, document, coverage = await asyncio.to_thread(_fitted, case, room)
    content = template.fill(fence(question), fence(document), fence(answer))
    generation = await case.model.generate([Message(role="user", content=content)], max_tokens=FREE_TOKENS)
    reply = read(generation.text)
    if reply.score is None:
        return _unreadable(generation.text, reply)
    return _as_written(reply, coverage, unread(coverage, case.language))


def _fitted(case: Case, room: int) -> tuple[str, str, str, float]:
    """Return the question, the answer and the document, cut to `room` tokens in all, and the share of the document that
    is left.

    The document is left whole, or cut to the windows that share most words with the question and the answer.
    """
    count = case.model.count_tokens
    room = max(room, 256)
    question = clip(case.question.strip(), room // 6, count)[0]
    answer = clip(case.answer, room // 3, count)[0]
    room = max(room - count(question) - count(answer), 64)
    limit = min(room, WINDOW_TOKENS)
    spans, whole = best_windows(case.document, f"{case.question} {case.answer}", room // limit, limit, count)
    if whole:
        return question, answer, case.document, 1.0
    document = "\n[…]\n".join(case.document[slice(*span)].strip() for span in spans)
    return question, answer, document, covered(spans, whole, len(case.document))


async def _judged_again(case: Case, asked: Sequence[Message], reply: JudgeReply) -> Judgement:
    """Judge the answer after the model's reasons, asked with the options in both orders.

    The SCORE that the model wrote is not shown, because it would only be repeated.
    """
    # In the grammar's form, so that the engine finds its own text in its cache.
    written = json.dumps({"REASONING": reply.reasoning}, ensure_ascii=False)
    reasons = Message(role="assistant", content=written)
    one, other, scored = await in_both_orders(
        case.model, lambda turned: [*asked, reasons, *conversation("faithful_score", case.language, turned=turned)]
    )
    curve = calibration_of(case.model).curve("reasons", case.language)
    return judgement(one, other, curve, scored=scored)


def _as_written(reply: JudgeReply, coverage: float, rest: list[str]) -> FaithfulnessFinding:
    return FaithfulnessFinding(float(reply.score == "FAIL"), reply.score, (*reply.reasoning, *rest), coverage=coverage)


def _unreadable(text: str, reply: JudgeReply) -> FaithfulnessFinding:
    shown = " ".join(text.split())[:200]
    return undecided(f"the model wrote neither PASS nor FAIL: {shown or '(nothing)'}")._replace(
        reasoning=reply.reasoning
    )
