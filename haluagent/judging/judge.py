"""Judge a sentence against texts by scored choice, and find the place that decides it.

The paper's `match` asks GPT-4 whether a sentence is irrelevant to or at odds with its context. Here the served model
is asked, twice, with the options exchanged; a judgement costs two generated tokens for each window that is read.
Long texts are cut into windows; any window may support a sentence, and where none does, any may speak against it.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from haluagent.judging.agreement import agreement, counted
from haluagent.judging.instructions import speaks_to_reader
from haluagent.judging.passages import passage
from haluagent.judging.probabilities import (
    UNCALIBRATED,
    Judgement,
    OutcomeShares,
    agreed,
    judgement,
    log_odds,
    of_outcomes,
)
from haluagent.judging.traced import in_digits, trace_numbers
from haluagent.models.calibration import Calibration, MatchCurve, Wording, calibration_of, fine_tuned_tools_of
from haluagent.prompts import conversation
from haluagent.protocols import Message, Model, ToolContext
from haluagent.text.windows import clip
from haluagent.text.words import words
from haluagent.types import Evidence, Sentence, Span

OPTIONS = ("A", "B")
OUTCOMES = ("A", "B", "C")  # the text says so, says something else, does not say
WINDOW_TOKENS = 1000
ANSWER_TOKENS = 30
THREE_WAY: tuple[Wording, ...] = ("answer", "statement")  # wordings that ask what a text says of a claim
NUMBER_ELSEWHERE = 0.49  # the most that a sentence is supported by a text that lacks one of its numbers
NUMBER_MISSING = 0.25  # the most that a sentence is supported by results that lack one of its numbers


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
    sentence is a bare answer, and how far that agrees; the numbers of the sentence that the texts do not have; and how
    others follow from theirs."""

    judged: Judgement
    supported: float
    anew: str = ""
    agrees: float | None = None
    missing: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()

    @property
    def absent(self) -> tuple[str, ...]:
        """Return the missing numbers in digits: one in words is often the text's, written another way."""
        return in_digits(self.missing)


def wording_of(context: ToolContext) -> Wording:
    """Return how a sentence is judged. A response of one sentence is the answer to the question, where there is one;
    one sentence of several as a statement."""
    if context.results:
        return "results"
    return "answer" if len(context.sentences) == 1 and context.question.strip() else "statement"


async def weigh(
    context: ToolContext,
    sentence: Sentence,
    window: str,
    judged: Judgement,
    known: str,
    wording: Wording,
    *,
    worked_out: bool = False,
) -> Reading:
    """Correct the judgement of a window by the answer that the model gives from it anew. A number in digits that `known`, the
    text that is compared with, neither has nor gives keeps the sentence from being supported. It does not contradict:
    numbers are written in many ways. Only beside the results of tools, which are records, it counts against the sentence.

    `worked_out` says that figures have been worked out, as lines of `known`. Then one that has none is not given: that some
    calculation with the text's numbers gives it shows nothing. Otherwise that has to do.
    """
    supported, anew, agrees = judged.supported, "", None
    if wording == "answer" and judged.calibrated and not judged.silent:
        anew = await answer_anew(context, window)
        agrees = agreement(anew, sentence.text, context.question)
        agrees = await asyncio.to_thread(counted, agrees, anew, sentence.text, context.question, known)
        supported = agreed(supported, agrees, calibration_of(context.model).agreement[context.language])
    traced = await asyncio.to_thread(trace_numbers, sentence.claim, f"{known} {context.question}", context.language)
    if ((worked_out and traced.by_chance) or in_digits(traced.missing)) and not judged.silent:
        votes = wording == "results" and not judged.calibrated
        supported = min(
            supported, 1 - UNCALIBRATED if votes else without_number(wording, calibration_of(context.model))
        )
    return Reading(judged, supported, anew, agrees, traced.missing, traced.lines)


def without_number(wording: Wording, calibration: Calibration) -> float:
    """Return the most that a sentence is supported by a text that lacks one of its numbers."""
    return NUMBER_MISSING if wording == "results" else min(calibration.thresholds.supported, NUMBER_ELSEWHERE)


def base_rate(context: ToolContext, wording: Wording) -> float:
    """Return the share of what is put so that is right, as far as is known beforehand: the context's, else for answers and
    statements that of the model's calibration, else one half."""
    if context.base_rate is not None:
        return context.base_rate
    return calibration_of(context.model).base_rate if wording in THREE_WAY else 0.5


async def answer_anew(context: ToolContext, text: str) -> str:
    """Return the model's answer from the text alone, without the response in sight."""
    count = context.model.count_tokens
    messages = conversation(
        "answer", context.language, evidence=text, question=clip(context.question, WINDOW_TOKENS, count)[0]
    )
    generation = await context.model.generate(messages, stop=["\n"], max_tokens=ANSWER_TOKENS)
    return generation.text.strip()


async def mentions(context: ToolContext, text: str) -> float:
    """Return the mean log-odds of both option orders that the text says enough to answer the question."""
    question = clip(context.question, WINDOW_TOKENS, context.model.count_tokens)[0]
    one, other, _ = await in_both_orders(
        context.model,
        lambda turned: conversation("mentions", context.language, evidence=text, question=question, turned=turned),
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
    question = clip(context.question, WINDOW_TOKENS, count)[0]
    claim = clip(sentence.claim, WINDOW_TOKENS, count)[0]
    familiar = words(sentence.claim) <= words(text)
    curve, rate = calibration.curve(wording, context.language), base_rate(context, wording)
    if wording in THREE_WAY:
        return await _outcome(context, text, question, claim, familiar, curve, rate)
    one, other, scored = await in_both_orders(
        context.model,
        lambda turned: conversation(
            "match", context.language, wording=wording, evidence=text, question=question, claim=claim, turned=turned
        ),
    )
    return judgement(one, other, curve, familiar=familiar, scored=scored, base_rate=rate)


async def _outcome(
    context: ToolContext, text: str, question: str, claim: str, familiar: bool, curve: MatchCurve, rate: float
) -> Judgement:
    """Return whether the text says what the claim says, and if not, whether it says something else or nothing of it. A model
    that was fine-tuned on this question has no lean left and is asked once, any other in both orders of the options."""
    shares: list[OutcomeShares] = []
    scored = True
    taught = "match" in fine_tuned_tools_of(context.model)
    for turned in (False,) if taught else (False, True):
        messages = conversation(
            "verdict", context.language, evidence=text, question=question, claim=claim, turned=turned
        )
        choice = await context.model.choose(messages, OUTCOMES)
        options = OUTCOMES[::-1] if turned else OUTCOMES
        shares.append(OutcomeShares(*(choice.probabilities[one] for one in options)))
        scored = scored and choice.calibrated
    found = of_outcomes(shares, curve, familiar=familiar, scored=scored, base_rate=rate)
    return found._replace(otherwise=found.otherwise - calibration_of(context.model).otherwise[context.language])
