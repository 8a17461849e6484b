"""The reflect stage: every label against its evidence, then the sentences against each other (the paper's section 2.3).

Every revision keeps the label it replaced and the reason.
"""

import re
from fractions import Fraction
from itertools import pairwise

from haluagent.arithmetic.notation import tokenize
from haluagent.arithmetic.results import final_answer, stated_results
from haluagent.detection.limits import Meter
from haluagent.detection.state import DetectionState
from haluagent.events import Revised
from haluagent.judging.comparison import judge
from haluagent.judging.passages import quoted
from haluagent.prompts import render
from haluagent.text.numbers import Number, find_numbers
from haluagent.text.topics import topics
from haluagent.types import Evidence, Label, MemoryEntry, ToolResult

SURE = 0.75  # a judgement must be this sure to overrule a tool that computed
QUOTED = 0.95
_NAME = re.compile(r"(?<=[\w,] )[A-Z][a-z]+")
STEP = 0.9  # that a step is right where the answer is: of 21 in recorded runs, read by hand, 20 were


async def reflect(state: DetectionState, model: Meter) -> None:
    """Revise the memory, first locally and then globally. The global part needs no model and runs even where the local one
    fails."""
    try:
        if state.task.reference is not None:
            for entry in state.memory.entries():
                if entry.sentence.index > 0:
                    await _local(state, entry, model)
    finally:
        look_globally(state)
        _corroborate(state)


async def _local(state: DetectionState, entry: MemoryEntry, model: Meter) -> None:
    """Hold what a tool decided by itself (arithmetic, a date) against the reference.

    Where the reference clearly contradicts what a tool supports, it is contradicted; where it clearly supports what a tool
    contradicts, the two disagree and nothing is decided. What the reference says word for word is supported, whichever
    tool contradicts it.
    """
    if entry.label not in ("supported", "contradicted"):
        return
    reference = state.task.reference or ""
    if entry.label == "contradicted" and (place := quoted(entry.sentence.text, reference)):
        evidence = Evidence(source="reference", text=reference[slice(*place)], span=place)
        reason = render("reason", state.task.language, kind="quoted", detail="")
        revise(state, entry, "supported", reason, QUOTED, (evidence,))
    elif entry.tool != "match":
        result = await judge(state.context(model, entry.sentence.index), entry.sentence)
        state.read.extend(result.read)
        if result.confidence > SURE and {result.label, entry.label} == {"supported", "contradicted"}:
            found: Label = "contradicted" if result.label == "contradicted" else "unverified"
            revise(state, entry, found, result.observation, result.confidence, result.evidence)


def look_globally(state: DetectionState) -> None:
    """Contradict every step that uses the result of a wrong step, even where it is right taken alone."""
    response, question = state.task.response, state.task.question
    wrong: list[MemoryEntry] = []
    for entry in state.memory.entries():
        if entry.sentence.index == 0:
            continue
        used = _rests_on(entry, wrong, response, question)
        if used is not None:
            number, earlier = used
            reason = render("reason", state.task.language, kind="depends", detail=f"{number} ({earlier.sentence.name})")
            evidence = Evidence(source="response", text=earlier.sentence.text, span=earlier.sentence.span)
            entry = revise(state, entry, "contradicted", reason, earlier.confidence * 0.9, (evidence,))
        if entry.label == "contradicted":
            wrong.append(entry)


def _corroborate(state: DetectionState) -> None:
    """Support the steps that nothing could check where the answer they lead to is supported by formulas written from the
    question alone. The confidence is that of the answer, times `STEP`.

    What stays unverified: everything where the answer is not supported; a sentence that is no step (`_is_step`); and what
    was looked up elsewhere, which is a statement about the world. What the model believes of a step is no check, and does not
    count. A step may still be wrong in a way that the answer does not show (`a comes before b` for `b before a`).
    """
    if 0 not in state.memory:
        return
    whole = state.memory[0]
    if whole.label != "supported" or whole.tool != "calculator":
        return
    external = {item.name for item in state.registry if item.external}
    looked_up = {step.sentence for step in state.steps if step.call and step.call.name in external}
    known = _numbers_of_the_solution(state)
    for entry in state.memory.entries():
        index = entry.sentence.index
        if entry.label != "unverified" or index == 0 or index in looked_up:
            continue
        if _is_step(entry.sentence.text, state.task.question, known):
            reason = render("reason", state.task.language, kind="corroborated", detail="")
            revise(state, entry, "supported", reason, whole.confidence * STEP, whole.evidence)


def _numbers_of_the_solution(state: DetectionState) -> set[Fraction]:
    """Collect the values of the question, of the answer, and of the sentences that the calculator supports."""
    entries = state.memory.entries()
    right = [entry.sentence for entry in entries if _calculated(entry)]
    texts = [state.task.question, *(sentence.text for sentence in right if sentence.index)]
    numbers = [number for text in texts for number in find_numbers(text)]
    return {number.value for number in [*numbers, *final_answer(state.task.response)]}


def _is_step(text: str, question: str, known: set[Fraction]) -> bool:
    """Return True for a sentence that only calculates, or that is about what the question is about. Without a formula
    (`0.9x = x - 250`), each number must be one of `known`; in a formula a number may be worked out on the way."""
    if not _is_about(text, question):
        return False
    return _has_formula(text) or (bool(topics(text)) and all(number.value in known for number in find_numbers(text)))


def _is_about(text: str, problem: str) -> bool:
    """Return True for a text that speaks of what a problem speaks of: two of three of its words that are neither numbers nor
    said in any calculation stand in it (of a Chinese pair, both characters), and every name."""
    said, asked = topics(text), topics(problem)
    shared = [word for word in said if word in asked or (not word.isascii() and set(word) <= set(problem))]
    return 3 * len(shared) >= 2 * len(said) and all(name in problem for name in _NAME.findall(text))


def _has_formula(text: str) -> bool:
    """Return True for a text that calculates with operators or with a multiple of an unknown; `x = 50` and `5-day` do not."""
    kinds = [token.kind for token in tokenize(text)]
    signs = "unknown" in kinds or any(sign in text for sign in "=≈×÷")
    return ("operator" in kinds and signs) or any(
        first in ("number", "pi") and second == "unknown" for first, second in pairwise(kinds)
    )


def _rests_on(
    entry: MemoryEntry, wrong: list[MemoryEntry], response: str, question: str
) -> tuple[str, MemoryEntry] | None:
    """Return the number of a wrong step that a sentence calculates with, or gives as the answer without any check.

    What claims nothing, and what a reference or another source supports, does not rest on it: the same number may
    well mean something else there.
    """
    calculated = _calculated(entry)
    answers = entry.label == "unverified" and any(
        entry.sentence.span[0] <= number.span[0] < entry.sentence.span[1] for number in final_answer(response)
    )
    if not calculated and not answers:
        return None
    for earlier in wrong:
        for number in uses(entry.sentence.text, results(earlier, response), question):
            return number, earlier
    return None


def _calculated(entry: MemoryEntry) -> bool:
    """Return True for a sentence that the calculator supports, or the part of it that it could check."""
    if entry.label == "supported":
        return entry.tool == "calculator"
    return entry.label == "unverified" and any(part.tool == "calculator" for part in entry.parts)


def results(entry: MemoryEntry, response: str) -> list[Number]:
    """Return the results that a wrong step states: those of the equations found wrong, or of all its equations where it only
    follows from another wrong step."""
    if entry.revised_from is not None:
        return stated_results(entry.sentence.text)
    spans = [evidence.span for evidence in entry.evidence if evidence.source == "calculator" and evidence.span]
    return [number for span in spans for number in stated_results(response[slice(*span)])]


def uses(text: str, wrong: list[Number], question: str) -> list[str]:
    """Return the numbers of `text` that can only come from a wrong result: not given in the question, and not worked out anew
    in this text."""
    given = {number.value for number in find_numbers(question)}
    values = {number.value for number in wrong} - given
    fresh = {number.span for number in stated_results(text)}
    return [number.text for number in find_numbers(text) if number.value in values and number.span not in fresh]


def tested_again(state: DetectionState, entry: MemoryEntry, found: ToolResult | None) -> MemoryEntry:
    """Return an entry after another tool tested its sentence: where that one is sure of the opposite, the two disagree and
    nothing is decided."""
    opposite = found and not found.open and {found.label, entry.label} == {"supported", "contradicted"}
    if not found or not opposite or found.confidence <= SURE:
        return entry
    reason = f"{entry.reason}; {found.observation}"
    return revise(state, entry, "unverified", reason, found.confidence, found.evidence)


def revise(
    state: DetectionState,
    entry: MemoryEntry,
    label: Label,
    reason: str,
    confidence: float,
    evidence: tuple[Evidence, ...] = (),
    tool: str | None = None,
) -> MemoryEntry:
    """Change a label, keeping what it was and why it changed, and emit the entry."""
    revised = state.memory.revise(
        entry.sentence.index, label, reason, confidence=confidence, evidence=evidence, tool=tool
    )
    state.emit(Revised(entry=revised))
    return revised
