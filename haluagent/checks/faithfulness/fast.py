"""The mode `fast`: only the calibrated judgement of `match`, two scored choices per window, nothing generated."""

import asyncio
import math
from dataclasses import replace

from haluagent.checks.faithfulness.case import Case, Finding, undecided
from haluagent.judging.comparison import QUOTED, WINDOWS
from haluagent.judging.judge import WINDOW_TOKENS, Source, ask, weigh
from haluagent.judging.passages import best_windows, quoted
from haluagent.models.calibration import Wording
from haluagent.protocols import ToolContext
from haluagent.text.segment import split
from haluagent.text.windows import clip
from haluagent.types import Language, Sentence, Span

_TEXTS: dict[Language, dict[str, str]] = {
    "en": {
        "PASS": 'the documents support the answer ({p:.0%}); compared with: "{passage}"',
        "FAIL": 'the documents do not support the answer ({p:.0%}); compared with: "{passage}"',
        "quoted": "the documents say this word for word",
        "number": "{numbers} is not in the documents",
        "unread": "only {share} % of the documents was read, the parts most like the question and the answer",
        "clipped": "the answer is long: {hidden} characters in its middle were not read",
    },
    "zh": {
        "PASS": "文档支持这个答案（{p:.0%}）；对照：“{passage}”",
        "FAIL": "文档不支持这个答案（{p:.0%}）；对照：“{passage}”",
        "quoted": "文档原文就是这样写的",
        "number": "文档中没有 {numbers}",
        "unread": "只读了文档的 {share} %，即与问题和答案最接近的部分",
        "clipped": "答案很长：中间有 {hidden} 个字符没有读",
    },
}
_SILENT = "the model's judgement depends on nothing but the order of its options: use another mode, or another model"


async def by_choice(case: Case) -> Finding:
    """Judge whether the documents support the answer; one window is enough, of those that share most words with it.

    A single sentence is judged as the answer to the question, several as one statement. Undecided if the judgement says
    nothing. Raise `ModelError` or `BudgetExceeded`.
    """
    texts = _TEXTS[case.language]
    source = Source("reference", case.document)
    if span := quoted(case.answer, case.readable):
        evidence = source.evidence(span, case.answer, QUOTED)
        return Finding(1 - QUOTED, case.verdict(1 - QUOTED), (texts["quoted"],), (evidence,))
    count = case.model.count_tokens
    about = f"{case.question} {case.answer}"
    spans, whole = await asyncio.to_thread(best_windows, case.readable, about, WINDOWS, WINDOW_TOKENS, count)
    claim = Sentence(index=0, text=case.answer, span=(0, len(case.answer)))
    context = ToolContext(case.question, case.answer, case.language, (claim,), case.model, reference=case.document)
    wording: Wording = "answer" if case.question.strip() and len(split(case.answer)) == 1 else "statement"
    judged = [await ask(context, claim, case.readable[slice(*span)], wording) for span in spans]
    best, place = max(zip(judged, spans, strict=True))
    if best.silent:
        return undecided(_SILENT)
    unasked = replace(context, question="")  # a number that only the question has is not in the documents
    # As a statement, so that its numbers are checked and nothing is generated.
    reading = await weigh(unasked, claim, case.readable[slice(*place)], best, case.readable, "statement")
    score = 1 - reading.supported
    verdict = case.verdict(score)
    evidence = source.evidence(place, case.answer, reading.supported, case.question)
    notes = [texts[verdict].format(p=reading.supported, passage=" ".join(clip(evidence.text, 80, count)[0].split()))]
    if reading.missing:
        notes.append(texts["number"].format(numbers=", ".join(reading.missing)))
    if hidden := clip(case.answer, WINDOW_TOKENS, count)[1]:
        notes.append(texts["clipped"].format(hidden=hidden))
    coverage = covered(spans, whole, len(case.document))
    return Finding(score, verdict, (*notes, *unread(coverage, case.language)), (evidence,), coverage)


def covered(spans: list[Span], whole: bool, length: int) -> float:
    """Return the share in [0, 1] of a text that its windows cover; 1 only if they are all of it."""
    return 1.0 if whole else min(sum(end - start for start, end in spans) / length, 0.999)


def unread(coverage: float, language: Language) -> list[str]:
    """Return the note for a text that was not read in full, or an empty list."""
    return [_TEXTS[language]["unread"].format(share=max(1, math.floor(coverage * 100)))] if coverage < 1 else []
