"""The decision on a verdict: offer → act → label → reflect → combine, one function for each stage.

`offer` says which tools may decide a sentence. `act` checks a call and runs it. `label` turns what a tool found into an
entry of the memory; `no_claim` and `undecided` make the entries of sentences that no tool decided. `reflect`
(`detection.reflection`) revises entries against the reference and against each other. `combine` makes the verdict on the
whole response from all entries. The stages are put together in `detection.pipeline`.
"""

import asyncio
import re
from collections.abc import Iterable
from typing import Literal

from haluagent.detection.limits import Meter
from haluagent.detection.self_assessment import self_assessment
from haluagent.detection.state import DetectionState
from haluagent.errors import FormatError, ToolError
from haluagent.events import Action, Thought
from haluagent.prompts import render
from haluagent.tooling.coverage import left_open
from haluagent.tooling.provenance import check_provenance, written_freely
from haluagent.tooling.tool import Tool
from haluagent.tooling.turn_format import ModelTurn
from haluagent.types import CheckedPart, MemoryEntry, Segmentation, Sentence, Step, ToolCall, ToolResult, Usage

# What a model may say instead of calling a tool that verifies.
WAYS_OUT = ("get_answer", "change_tools", "talk_to_user")

CLOSED_BOOK = "closed_book"  # stands in the place of a tool where the model's own belief is the label

NoClaim = Literal["announces", "courtesy", "part", "writing"]


def offer(state: DetectionState, sentence: Sentence, model: Meter) -> list[Tool]:
    """Choose the tools to offer for a sentence.

    Where a specific tool has something to decide there is a claim: those come first, then a reference, and no
    `get_answer`, since it could say that there is no claim. Otherwise the general tools are offered, and `get_answer`
    where the sentence is one of several. With a reference, tools that look elsewhere wait until it could not decide (`offer_later`);
    without one they are offered alone, since a question and a response seldom decide anything, unless a tool has left facts.
    Where the response as a whole is code or the like (`Tool.covers`), the tools that read it as such go before those that read
    it as prose.
    With the autonomy "free" all of them are offered at once, in this order, and behind them the specific tools that add facts to
    a sentence or that it looks like one for (`Tool.adds`, `Tool.plausible`).
    """
    context = state.context(model, sentence.index)
    tools = [item for item in state.registry if not item.system and state.registry.fits(item, context, sentence)]
    specific = [item for item in tools if not item.general]
    if sentence.index == 0:
        covering = {name for name, _ in state.registry.covered(context)}
        return [item for item in specific if item.name in covering] or specific
    near = [item for item in tools if item.general and not item.external]
    far = [item for item in tools if item.general and item.external]
    if state.autonomy == "free":
        others = [item for item in state.registry if item not in tools and not item.system]
        likely = (state.registry.adds, state.registry.plausible)
        first = [*specific, *near, *far, *(one for one in others if any(ask(one, context, sentence) for ask in likely))]
    elif specific:
        first = specific
    else:
        first = near if context.reference or context.facts or not far else far
    if specific or (first and len(context.sentences) == 1):  # a response of one sentence is an answer, and so a claim
        return first
    return [*first, *(state.registry[name] for name in WAYS_OUT)]


def decidable(state: DetectionState, sentence: Sentence, model: Meter) -> bool:
    """Return whether a specific tool has something to decide about a sentence, such as an equation or a date."""
    context = state.context(model)
    return any(
        state.registry.fits(item, context, sentence) for item in state.registry if not item.system and not item.general
    )


def offer_later(state: DetectionState, sentence: Sentence, model: Meter) -> list[Tool]:
    """Choose the tools to offer for a sentence when those offered first could not decide it: those that look elsewhere, and
    before them those that read a reference, or the facts that tools have left."""
    context = state.context(model, sentence.index)
    read = context.reference is not None or bool(context.facts)
    tools = [
        item
        for item in state.registry
        if item.general and not item.system and (read or item.external) and state.registry.fits(item, context, sentence)
    ]
    return sorted(tools, key=lambda item: item.external) if sentence.index else []


async def act(
    state: DetectionState,
    sentence: int | None,
    turn: ModelTurn,
    model: Meter,
    since: Usage,
    known: ToolResult | None = None,
    written: bool = True,
) -> Step:
    """Check the call of one turn, run it unless its result is `known`, and keep the step. A call that failed or was rejected is a
    step with an error and no result.

    `since` is the meter's reading before the turn was written: the step's usage is what came on top of it. What is in a call has to
    come from the texts, unless no model has `written` it.
    """
    state.emit(Thought(sentence=sentence, text=turn.thought))
    state.emit(Action(sentence=sentence, call=turn.call))
    result: ToolResult | None = None
    error: Exception | None = None
    context = state.context(model, sentence)
    try:
        item = state.registry[turn.call.name]
        if written and written_freely(item, turn.call):
            await asyncio.to_thread(check_provenance, item, turn.call, context, state.observations())
        result = known or await state.registry.call(turn.call, context)
        state.read.extend(result.read)
        if result.reason_code and sentence is not None:
            state.unsaid[sentence] = result.confidence
        if isinstance(result, Segmentation):
            await state.segment(result.sentences)
            result = ToolResult(observation=result.observation)
        model.check_time()  # a tool that blocks ends after the limit
    except (FormatError, ToolError) as problem:
        error = problem
    return state.keep(
        Step(
            sentence=sentence,
            thought=turn.thought,
            call=turn.call,
            result=result,
            error=str(error) if error else None,
            rejected=isinstance(error, FormatError),
            usage=model.usage - since,
        )
    )


def label(state: DetectionState, sentence: Sentence, call: ToolCall, result: ToolResult) -> MemoryEntry | None:
    """Record what a tool decided. None where it supports a part of the sentence, and no tool has checked the rest yet."""
    tool, found, confidence, evidence = call.name, result.label or "unverified", result.confidence, result.evidence
    earlier = state.parts.get(sentence.index, ())
    if found == "supported" and (result.open or earlier):
        part = CheckedPart(tool=tool, label=found, confidence=confidence, evidence=evidence, open=result.open)
        parts = state.parts[sentence.index] = (*earlier, part)
        if left_open(parts):
            return None
        confidence = min(one.confidence for one in parts)
        evidence = tuple({item.text: item for one in reversed(parts) for item in reversed(one.evidence)}.values())[::-1]
    return state.record(
        MemoryEntry(
            sentence=sentence,
            label=found,
            evidence=evidence,
            tool=tool,
            confidence=confidence,
            reason=result.observation,
        )
    )


def open_text(state: DetectionState, sentence: Sentence) -> str:
    """Return what tools have left open of a sentence that they checked in part, in quotation marks."""
    spans = left_open(state.parts[sentence.index])
    return ", ".join(f"“{state.task.response[start:end]}”" for start, end in spans)


def no_claim(state: DetectionState, sentence: Sentence, kind: NoClaim, detail: str = "") -> MemoryEntry:
    """Record a sentence that claims nothing by itself, with the kind of reason."""
    reason = render("reason", state.task.language, kind=kind, detail=detail)
    return state.record(MemoryEntry(sentence=sentence, label="no_claim", reason=reason))


def parts_of_whole(state: DetectionState, model: Meter) -> set[int]:
    """Record the sentences that a tool judges as parts of the whole response, as it does code, as no claims of their own.
    Return their indices."""
    covered = state.registry.covered(state.context(model))
    parts: set[int] = set()
    for sentence in state.task.sentences:
        start, end = sentence.span
        name = next((name for name, span in covered if span[0] < end and start < span[1]), None)
        if name is not None:
            no_claim(state, sentence, "part", name)
            parts.add(sentence.index)
    return parts


def unreached(state: DetectionState, sentence: Sentence, kind: str, detail: str = "") -> MemoryEntry:
    """Record a sentence that nothing looked at, because a limit or an error came first."""
    reason = render("reason", state.task.language, kind=kind, detail=detail)
    return state.record(MemoryEntry(sentence=sentence, label="unverified", reason=reason))


async def undecided(
    state: DetectionState, sentence: Sentence, reason: str, model: Meter, *, closed_book: bool = True
) -> MemoryEntry:
    """Record a sentence that no tool decided, with the model's own belief beside it; where it gave further answers to the
    question, with how far they agree with the sentence.

    In closed-book mode the belief becomes the label, unless `closed_book` is False: a limit is no judgement. Agreement never
    becomes one, so no further answers are asked for then.
    """
    belief = None
    if not state.closed_book:
        belief = await state.samples.agreement(state.context(model, sentence.index), sentence)
    if belief is None:
        belief = await self_assessment(state.task, sentence, model)
    if state.closed_book and closed_book and belief is not None and belief != 0.5:
        return state.record(
            MemoryEntry(
                sentence=sentence,
                label="supported" if belief > 0.5 else "contradicted",
                confidence=max(belief, 1 - belief),
                reason=render("reason", state.task.language, kind="closed_book", detail=f"{belief:.0%}"),
                opinion=belief,
                tool=CLOSED_BOOK,
            )
        )
    return state.record(MemoryEntry(sentence=sentence, label="unverified", reason=reason, opinion=belief))


def states_something(text: str) -> bool:
    """Return True for a sentence with a number or, inside, a name: it is not for the model to say that it claims nothing."""
    return re.search(r"\d|[a-z,] [A-Z][a-z]", text) is not None


def combine(entries: Iterable[MemoryEntry]) -> tuple[bool | None, float]:
    """Decide whether the response holds a hallucination, with the probability in [0, 1] that it does.

    True if any sentence is contradicted; False if there is a claim and every claim is supported; None otherwise.
    The score is that of the most doubtful claim. The verdict looks at labels alone, so a score above one half
    beside None means: suspicious, not shown.
    """
    claims = [entry for entry in entries if entry.label != "no_claim"]
    score = max((doubt(entry) for entry in claims), default=0.5)
    if any(entry.label == "contradicted" for entry in claims):
        return True, score
    if claims and all(entry.label == "supported" for entry in claims):
        return False, score
    return None, score


def doubt(entry: MemoryEntry) -> float:
    """Return the probability that a sentence is wrong. Nothing known is one half; an opinion moves it half of its way. What
    the reference does not say counts like what it contradicts."""
    if entry.label == "contradicted" or entry.reason_code:
        return max(entry.confidence, 0.5)
    if entry.label == "supported":
        return min(1.0 - entry.confidence, 0.5)
    if entry.opinion is None:
        return 0.5
    return 0.5 + (0.5 - entry.opinion) / 2
