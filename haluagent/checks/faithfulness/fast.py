"""The mode `fast`: only the calibrated judgement of `match`, two scored choices per window, nothing generated."""

import asyncio
import math
from dataclasses import replace

from haluagent.checks.faithfulness.case import Case, FaithfulnessFinding, undecided
from haluagent.judging.comparison import QUOTED, WINDOWS
from haluagent.judging.judge import WINDOW_TOKENS, TextSource, ask, weigh
from haluagent.judging.passages import best_windows, quoted
from haluagent.models.calibration import Wording
from haluagent.protocols import ToolContext
from haluagent.text.messages import message
from haluagent.text.segment import split
from haluagent.text.windows import clip
from haluagent.types import Language, Sentence, Span

_SILENT = "the model's judgement depends on nothing but the order of its options: use another mode, or another model"


async def by_choice(case: Case) -> FaithfulnessFinding:
    """Judge whether the documents support the answer; one window is enough, of those that share most words with it.

    A single sentence is judged as the answer to the question, several as one statement. Undecided if the judgement says
    nothing. Raise `ModelError` or `BudgetExceeded`.
    """
    language = case.language
    source = TextSource("reference", case.document)
    if span := quoted(case.answer, case.document):
        evidence = source.evidence(span, case.answer, QUOTED)
        return FaithfulnessFinding(
            1 - QUOTED, case.verdict(1 - QUOTED), (message("faithfulness.quoted", language),), (evidence,)
        )
    count = case.model.count_tokens
    about = f"{case.question} {case.answer}"
    spans, whole = await asyncio.to_thread(best_windows, case.document, about, WINDOWS, WINDOW_TOKENS, count)
    claim = Sentence(index=0, text=case.answer, span=(0, len(case.answer)))
    context = ToolContext(
        case.question, case.answer, case.language, (claim,), case.model, reference=case.document, base_rate=case.base_rate
    )  # fmt: skip
    wording: Wording = "answer" if case.question.strip() and len(split(case.answer)) == 1 else "statement"
    judged = [await ask(context, claim, case.document[slice(*span)], wording) for span in spans]
    best, place = max(zip(judged, spans, strict=True))
    if best.silent:
        return undecided(_SILENT)
    unasked = replace(context, question="")  # a number that only the question has is not in the documents
    # As a statement, so that its numbers are checked and nothing is generated.
    reading = await weigh(unasked, claim, case.document[slice(*place)], best, case.document, "statement")
    score = 1 - reading.supported
    verdict = case.verdict(score)
    evidence = source.evidence(place, case.answer, reading.supported, case.question)
    notes = [
        message(
            f"faithfulness.{verdict}",
            language,
            p=reading.supported,
            passage=" ".join(clip(evidence.text, 80, count)[0].split()),
        )
    ]
    if verdict == "FAIL" and whole and max(one.against for one in judged) < 0.5:
        notes.append(message("faithfulness.absent", language))
    if reading.absent:
        notes.append(message("faithfulness.number", language, numbers=", ".join(reading.absent)))
    if hidden := clip(case.answer, WINDOW_TOKENS, count)[1]:
        notes.append(message("faithfulness.clipped", language, hidden=hidden))
    coverage = covered(spans, whole, len(case.document))
    return FaithfulnessFinding(score, verdict, (*notes, *unread(coverage, case.language)), (evidence,), coverage)


def covered(spans: list[Span], whole: bool, length: int) -> float:
    """Return the share in [0, 1] of a text that its windows cover; 1 only if they are all of it."""
    return 1.0 if whole else min(sum(end - start for start, end in spans) / length, 0.999)


def unread(coverage: float, language: Language) -> list[str]:
    """Return the note for a text that was not read in full, or an empty list."""
    return [message("faithfulness.unread", language, share=max(1, math.floor(coverage * 100)))] if coverage < 1 else []
