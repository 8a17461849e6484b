"""Compare a sentence with the reference: word for word first, then by the model's judgement."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from haluagent.arithmetic.equations import find_equations
from haluagent.arithmetic.known import USUAL_CONSTANTS, foreign_numbers
from haluagent.errors import ToolError
from haluagent.judging.instructions import speaks_to_reader
from haluagent.judging.judge import WINDOW_TOKENS, Reading, TextSource, ask, mentions, weigh, wording_of
from haluagent.judging.parts import failing_part
from haluagent.judging.passages import best_windows, passage, quoted
from haluagent.models.calibration import calibration_of
from haluagent.models.tokenizer import ApproximateTokenizer
from haluagent.prompts import render
from haluagent.protocols import ToolContext
from haluagent.text.clock_facts import clock_facts
from haluagent.text.messages import message
from haluagent.text.refusals import unsaid
from haluagent.types import Label, Sentence, Span, ToolResult

WINDOWS = 3  # of a longer reference, the windows that share most with the sentence are read
CLEAR = 0.1  # where only a clear judgement contradicts: a question or a response seldom does, and a figure may follow
QUOTED = 0.95
SILENT = -1.0  # log-odds that a text says something about a topic, at which it says nothing


@dataclass(frozen=True)
class Comparison:
    """A sentence compared with the reference: `label` is None where that decides nothing, and `supported` in [0, 1] the
    probability that the reference supports it. `read` are the windows that were read, all of it where `whole`, and
    `place` the one that counts.

    A quotation of the reference has no `reading`, since it was not judged. `not_mentioned` says that the reference, read in full,
    says neither this nor otherwise. It is not said of a sentence with a number that may follow from the reference's.
    """

    label: Label | None
    supported: float
    place: Span
    read: tuple[Span, ...]
    whole: bool = True
    reading: Reading | None = None
    not_mentioned: bool = False


async def compare(context: ToolContext, sentence: Sentence) -> Comparison:
    """Compare a sentence with the reference. Any window may support it; where none does, any may contradict it.

    At most `WINDOWS` windows are read, those that share most words with the sentence. What was not read may still
    support it, so a reference that was not read whole may contradict a sentence, but is not known to leave it unsaid. A number
    that the reference does not have but may give is not yet worked out, so only a clear judgement contradicts a sentence with one.
    Correct calculations of the sentence with numbers of the reference are read with it, since they follow from it, and so
    are its times of day that do (`text.clock_facts`), and the facts that other tools found. A quotation needs no judgement.
    Raises ToolError where there is no reference.
    """
    reference = context.reference
    if reference is None:
        raise ToolError("no reference was given; use another context or another tool")
    if span := quoted(sentence.text, reference):
        return Comparison("supported", QUOTED, span, ((0, len(reference)),))
    about = f"{context.question} {sentence.claim}"
    count = context.model.count_tokens

    def read() -> tuple[list[Span], bool, str, str]:
        found = best_windows(reference, about, WINDOWS, WINDOW_TOKENS, count)
        text = "\n".join([context.question, *(reference[slice(*span)] for span in found[0])])
        times = _lines(clock_facts(sentence.claim, text, context.language))
        return *found, _sums(sentence.claim, reference, context.question), times

    spans, whole, sums, times = await asyncio.to_thread(read)
    sums += _lines(context.facts)
    wording, windows = wording_of(context), [reference[slice(*span)] + sums + times for span in spans]
    judged = [await ask(context, sentence, window, wording) for window in windows]
    best, place, window = max(zip(judged, spans, windows, strict=True))
    # Beside the results of an agent's tools no calculator runs, so that some calculation with them has to do.
    reading = await weigh(context, sentence, window, best, reference + sums, wording, worked_out=wording != "results")
    limits = calibration_of(context.model).thresholds
    label: Label | None = None
    not_mentioned = False
    if reading.supported > limits.supported:
        label = "supported"
    elif reading.supported < limits.wrong and not any(one.silent for one in judged):
        if wording == "results":  # that question has two answers
            judged = [await ask(context, sentence, window, "statement") for window in windows]
        against, said_at = max(zip((one.against for one in judged), spans, strict=True), key=lambda one: one[0])
        if against > 0.5 and (not reading.derived or reading.supported <= CLEAR):
            label, place = "contradicted", said_at
        not_mentioned = label is None and whole and not reading.derived
    if label and not await holds_alone(context, sentence, reference, place, label):
        label = None
    return Comparison(label, reading.supported, place, tuple(spans), whole, reading, not_mentioned)


async def holds_alone(context: ToolContext, sentence: Sentence, text: str, place: Span, label: Label) -> bool:
    """Return whether a label holds where only its evidence is read, if what was read gives orders to its reader: they may
    have moved the model. Any other label holds."""
    if not speaks_to_reader(text[slice(*place)]):
        return True
    evidence = text[slice(*passage(text, place, sentence.claim, context.question))]
    if speaks_to_reader(evidence):
        return False
    supported = (await ask(context, sentence, evidence, wording_of(context))).supported
    limits = calibration_of(context.model).thresholds
    return supported > limits.supported if label == "supported" else supported < limits.wrong


async def judge(context: ToolContext, sentence: Sentence) -> ToolResult:
    """Return what `compare` finds, in words; a sentence about what the reference does not mention is right where it says
    nothing about that. Raises as `compare` does."""
    if (topic := unsaid(sentence.text)) and (silence := await _silence(context, topic)):
        return silence
    found = await compare(context, sentence)
    language, reference = context.language, context.reference or ""
    source = TextSource("reference", reference)
    if found.reading is None:
        evidence = source.evidence(found.place, sentence.claim, QUOTED)
        return ToolResult(
            observation=message("match.quoted", language),
            label="supported",
            confidence=QUOTED,
            evidence=(evidence,),
            read=found.read,
        )
    failing = ""
    if found.label == "contradicted" or found.not_mentioned:
        text = reference[slice(*found.place)] + _lines(context.facts)
        part = await failing_part(
            context, sentence, text, wording_of(context), calibration_of(context.model).thresholds.supported
        )
        failing = message("match.part", language, part=part.text, p=part.rest) if part else ""
    if found.not_mentioned:
        return ToolResult(
            observation=message("match.absent", language) + failing,
            reason_code="not_in_reference",
            confidence=1 - found.supported,
            read=found.read,
        )
    result = result_of(context, sentence, found.label, source, found.supported, found.place)
    note = message("match.anew", language, answer=found.reading.anew) if found.reading.anew else ""
    note += message("match.number", language, numbers=", ".join(found.reading.absent)) if found.reading.absent else ""
    if found.reading.derived:
        note += message("match.derived", language, lines="; ".join(found.reading.derived))
    if not found.whole and found.label != "supported":
        share = sum(end - start for start, end in found.read) / len(reference)
        note += message("match.unread", language, share=min(max(share, 0.01), 0.99))  # neither none of it nor all
    return result.model_copy(update={"read": found.read, "observation": result.observation + failing + note})


async def derived(context: ToolContext, sentence: Sentence) -> ToolResult:
    """Judge a sentence by the facts that tools have computed from the question and from what the response says before it. They
    support it only where all of that was found right; only a clear judgement contradicts it, since what was computed may be about
    something else."""
    before = context.response[: sentence.span[0]]
    count = context.model.count_tokens
    spans, _ = await asyncio.to_thread(best_windows, before, sentence.claim, 1, WINDOW_TOKENS, count)
    facts = "\n".join(context.facts)
    text = "\n".join(filter(None, [context.question, *(before[slice(*span)] for span in spans), facts]))
    judged = await ask(context, sentence, text, "statement")
    label: Label | None = None
    right = {entry.sentence.index for entry in context.memory if entry.label in ("supported", "no_claim")}
    sure = judged.calibrated and right >= set(range(1, sentence.index))
    if sure and judged.supported > calibration_of(context.model).thresholds.supported:
        label = "supported"
    elif judged.calibrated and judged.supported <= CLEAR and judged.against > 0.5:
        label = "contradicted"
    source = TextSource("facts", facts, offset=None)
    return result_of(context, sentence, label, source, judged.supported, (0, len(facts)))


async def _silence(context: ToolContext, topic: str) -> ToolResult | None:
    """Judge that the reference says nothing about a topic. Nothing is decided where it was not read whole, or may say
    something; None where it does say something, so that the sentence is judged like any other."""
    language, reference = context.language, context.reference or ""
    count = context.model.count_tokens
    spans, whole = await asyncio.to_thread(best_windows, reference, topic, WINDOWS, WINDOW_TOKENS, count)
    asked = replace(context, question=render("topic", language, topic=topic))
    odds = max([await mentions(asked, reference[slice(*span)]) for span in spans], default=0.0)
    if odds >= calibration_of(context.model).mentions[language]:
        return None
    if not whole or odds > SILENT:
        return ToolResult(observation=message("match.absent", language), read=tuple(spans))
    says_nothing = 1 / (1 + math.exp(odds))
    evidence = TextSource("reference", reference).evidence(spans[0], topic, says_nothing)
    return ToolResult(
        observation=message("match.silent", language, topic=topic, p=says_nothing),
        label="supported",
        confidence=says_nothing,
        evidence=(evidence,),
        read=tuple(spans),
    )


def _lines(facts: Sequence[str]) -> str:
    """Return facts as lines to be read after a text."""
    return "".join(f"\n{fact}" for fact in facts)


def _sums(claim: str, text: str, question: str) -> str:
    """Return the equations of a claim that hold and whose numbers stand in the text or the question, as lines to be
    read after it."""
    right = [equation for equation in find_equations(claim) if equation.holds]
    known = [one for one in right if not foreign_numbers(one.computed, [text, question], USUAL_CONSTANTS)]
    return _lines([f"{one.computed} = {one.stated}" for one in known])


def result_of(
    context: ToolContext, sentence: Sentence, label: Label | None, source: TextSource, supported: float, place: Span
) -> ToolResult:
    language = context.language
    where = message(f"match.where.{source.name}", language)
    observation = message(f"match.{label or 'undecided'}", language, where=where, p=supported)
    if label is None:
        return ToolResult(observation=observation)
    question = "" if source.name == "question" else context.question
    evidence = source.evidence(place, sentence.claim, supported, question)
    confidence = supported if label == "supported" else 1 - supported
    return ToolResult(observation=observation, label=label, confidence=confidence, evidence=(evidence,))


def given_about(context: ToolContext, sentence: Sentence) -> str:
    """Return the question, and the part of the reference that is most about the sentence."""
    reference = context.reference or ""
    about = f"{context.question} {sentence.claim}"
    windows, _ = best_windows(reference, about, 1, WINDOW_TOKENS, ApproximateTokenizer().count)
    return "\n".join([context.question, *(reference[slice(*span)] for span in windows)])
