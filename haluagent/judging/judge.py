"""Judge a sentence against texts by scored choice, and find the place that decides it.

The paper's `match` asks GPT-4 whether a sentence is irrelevant to or at odds with its context. Here the served model
is asked, twice, with the options exchanged; a judgement costs two generated tokens for each window that is read.
Long texts are cut into windows; any window may support a sentence, the best one must speak against it.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from haluagent.judging.agreement import agreement, counted
from haluagent.judging.instructions import speaks_to_reader
from haluagent.judging.passages import missing_numbers, passage
from haluagent.judging.probabilities import UNCALIBRATED, Judgement, agreed, judgement, log_odds
from haluagent.models.calibration import Wording, calibration_of
from haluagent.prompts import conversation
from haluagent.protocols import Message, Model, ToolContext
from haluagent.text.windows import clip
from haluagent.text.words import words
from haluagent.types import Evidence, Sentence, Span

OPTIONS = ("A", "B")
WINDOW_TOKENS = 1000
ANSWER_TOKENS = 30
NUMBER_MISSING = 0.25  # the most that a sentence is supported by a text that lacks one of its numbers


@dataclass(frozen=True)
class TextSource:
    """A text to compare with. `text` is verbatim what stands at `offset` of the document that `url` names; None where
    it stands in none, as a search engine's snippet."""

    name: str
    text: str
    url: str | None = None
    offset: int | None = 0

    def evidence(self, place: Span, claim: str, score: float, question: str = "") -> Evidence:
        """Return the sentence inside `place`, which was read, that is most about the claim, with its offsets in the
        document."""
        start, end = passage(self.text, place, claim, question)
        span = None if self.offset is None else (self.offset + start, self.offset + end)
        return Evidence(
            source=self.name,
            text=self.text[start:end],
            url=self.url,
            span=span,
            score=score,
            speaks_to_reader=speaks_to_reader(self.text[slice(*place)]),
        )


@dataclass(frozen=True)
class Reading:
    """The reading of one window: how far it supports the sentence, in [0, 1]; the answer it gives by itself, where the
    sentence is a bare answer, and how far that agrees; and the numbers of the sentence that the texts do not have."""

    judged: Judgement
    supported: float
    anew: str = ""
    agrees: float | None = None
    missing: tuple[str, ...] = ()


def wording_of(context: ToolContext) -> Wording:
    """Return how a sentence is judged. A response of one sentence is the answer to the question, where there is one;
    one sentence of several as a statement."""
    if context.results:
        return "results"
    return "answer" if len(context.sentences) == 1 and context.question.strip() else "statement"


async def weigh(
    context: ToolContext, sentence: Sentence, window: str, judged: Judgement, known: str, wording: Wording
) -> Reading:
    """Correct the judgement of a window by the answer that the model gives from it anew, and by the numbers of the
    sentence that `known`, the text that is compared with, does not have."""
    supported, anew, agrees = judged.supported, "", None
    if wording == "answer" and judged.calibrated and not judged.silent:
        anew = await answer_anew(context, window)
        agrees = agreement(anew, sentence.text, context.question)
        agrees = await asyncio.to_thread(counted, agrees, anew, sentence.text, context.question, known)
        supported = agreed(supported, agrees, calibration_of(context.model).agreement[context.language])
    missing = tuple(await asyncio.to_thread(missing_numbers, sentence.claim, f"{known} {context.question}"))
    if missing and not judged.silent:
        supported = min(supported, NUMBER_MISSING if judged.calibrated else 1 - UNCALIBRATED)
    return Reading(judged, supported, anew, agrees, missing)


async def answer_anew(context: ToolContext, text: str) -> str:
    """Return the model's answer from the text alone, without the response in sight."""
    count = context.model.count_tokens
    messages = conversation(
        "answer", context.language, evidence=text, question=clip(context.question, WINDOW_TOKENS, count)[0]
    )
    generation = await context.model.generate(messages, stop=["\n"], max_tokens=ANSWER_TOKENS)
    return generation.text.strip()


async def mentions(context: ToolContext, sentence: Sentence | None, text: str) -> float:
    """Return the mean log-odds of both option orders that the text says enough to decide a sentence, or, without one,
    to answer the question. A text that says nothing of a sentence is judged like one that says something else; this
    tells them apart."""
    count = context.model.count_tokens
    question = clip(context.question, WINDOW_TOKENS, count)[0]
    claim = clip(sentence.claim, WINDOW_TOKENS, count)[0] if sentence else ""
    one, other, _ = await in_both_orders(
        context.model,
        lambda turned: conversation(
            "mentions", context.language, evidence=text, question=question, claim=claim, turned=turned
        ),
    )
    return (log_odds(one) + log_odds(other)) / 2


async def in_both_orders(model: Model, put: Callable[[bool], Sequence[Message]]) -> tuple[float, float, bool]:
    """Return the probabilities of "yes" where it is option A, and where the options are exchanged (`put(True)`); and
    whether both come from log-probabilities. A small model leans to a letter, whatever is asked."""
    yes: list[float] = []
    scored = True
    for turned in (False, True):
        choice = await model.choose(put(turned), OPTIONS)
        yes.append(choice.probabilities[OPTIONS[turned]])
        scored = scored and choice.calibrated
    return yes[0], yes[1], scored


async def ask(context: ToolContext, sentence: Sentence, text: str, wording: Wording) -> Judgement:
    """Return whether the text supports the sentence, or whether both can be true, asked with the options in both
    orders."""
    count, calibration = context.model.count_tokens, calibration_of(context.model)
    shown = calibration.answer_asked_as[context.language] if wording == "answer" else wording
    question = clip(context.question, WINDOW_TOKENS, count)[0]
    claim = clip(sentence.claim, WINDOW_TOKENS, count)[0]
    one, other, scored = await in_both_orders(
        context.model,
        lambda turned: conversation(
            "match", context.language, wording=shown, evidence=text, question=question, claim=claim, turned=turned
        ),
    )
    familiar = words(sentence.claim) <= words(text)
    curve = calibration.curve(wording, context.language)
    return judgement(one, other, curve, familiar=familiar, scored=scored, base_rate=context.base_rate)
