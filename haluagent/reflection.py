"""Reflection: every label against its evidence, then the sentences against each other (the paper's section 2.3).

Every revision keeps the label it replaced and the reason.
"""

from .branch import Detective
from .events import Revised
from .limits import Meter
from .prompts import render
from .tools._equations import find_equations
from .tools._numbers import Number, find_numbers
from .tools._words import words
from .tools.calculator import final_answer, stated_results
from .tools.match import judge
from .types import Evidence, Label, MemoryEntry

SURE = 0.75  # a judgement must be this sure to overrule a tool that computed


async def reflect(detective: Detective, model: Meter) -> None:
    """Revise the memory where the local or the global look says so. The global look needs no model, and is taken
    whatever becomes of the local one."""
    try:
        if detective.task.reference is not None:
            for entry in detective.memory.entries():
                if entry.sentence.index > 0:
                    await _local(detective, entry, model)
    finally:
        look_globally(detective)
        _corroborate(detective)


async def _local(detective: Detective, entry: MemoryEntry, model: Meter) -> None:
    """A sentence that another tool found right (its arithmetic, its dates) must also not go against the reference."""
    if entry.tool == "match" or entry.label != "supported":
        return
    result = await judge(detective.context(model), entry.sentence)
    detective.read.extend(result.read)
    if result.label == "contradicted" and result.confidence > SURE:
        _revise(detective, entry, "contradicted", result.observation, result.confidence, result.evidence)


def look_globally(detective: Detective) -> None:
    """A step that uses the result of a wrong step is wrong, even where it is right taken alone."""
    response, question = detective.task.response, detective.task.question
    wrong: list[MemoryEntry] = []
    for entry in detective.memory.entries():
        if entry.sentence.index == 0:
            continue
        used = _rests_on(entry, wrong, response, question)
        if used is not None:
            number, earlier = used
            reason = render(
                "reason", detective.task.language, kind="depends", detail=f"{number} ({earlier.sentence.name})"
            )
            evidence = Evidence(source="response", text=earlier.sentence.text, span=earlier.sentence.span)
            entry = _revise(detective, entry, "contradicted", reason, earlier.confidence * 0.9, (evidence,))
        if entry.label == "contradicted":
            wrong.append(entry)


def _corroborate(detective: Detective) -> None:
    """A step that nothing could check is supported by the answer that it leads to, where that was worked out anew and
    agrees; a sentence that is no step of the calculation is not."""
    if 0 not in detective.memory:
        return
    whole = detective.memory[0]
    if whole.label != "supported" or whole.tool != "calculator":
        return
    for entry in detective.memory.entries():
        if entry.label == "unverified" and entry.sentence.index > 0 and _is_step(entry.sentence.text, detective):
            reason = render("reason", detective.task.language, kind="corroborated", detail="")
            _revise(detective, entry, "supported", reason, whole.confidence * 0.9, whole.evidence)


def _is_step(text: str, detective: Detective) -> bool:
    """Whether a sentence calculates something, or speaks of what the question speaks of."""
    said = words(text)
    return bool(find_equations(text)) or 2 * len(said & words(detective.task.question)) >= len(said)


def _rests_on(
    entry: MemoryEntry, wrong: list[MemoryEntry], response: str, question: str
) -> tuple[str, MemoryEntry] | None:
    """The number of a wrong step that a sentence calculates with, or that it gives as the answer without any check.

    What claims nothing, and what a reference or another source supports, does not rest on it: the same number may
    well mean something else there.
    """
    calculated = entry.label == "supported" and entry.tool == "calculator"
    answers = entry.label == "unverified" and any(
        entry.sentence.span[0] <= number.span[0] < entry.sentence.span[1] for number in final_answer(response)
    )
    if not calculated and not answers:
        return None
    for earlier in wrong:
        for number in uses(entry.sentence.text, results(earlier, response), question):
            return number, earlier
    return None


def results(entry: MemoryEntry, response: str) -> list[Number]:
    """What a wrong step states as its result: of the equations that were found wrong, or, where it is only a
    consequence of another wrong step, of all of its equations."""
    if entry.revised_from is not None:
        return stated_results(entry.sentence.text)
    spans = [evidence.span for evidence in entry.evidence if evidence.source == "calculator" and evidence.span]
    return [number for span in spans for number in stated_results(response[slice(*span)])]


def uses(text: str, wrong: list[Number], question: str) -> list[str]:
    """The numbers of `text` that are such a result and nothing else: not given in the question, and not worked out
    anew in this text."""
    given = {number.value for number in find_numbers(question)}
    values = {number.value for number in wrong} - given
    fresh = {number.span for number in stated_results(text)}
    return [number.text for number in find_numbers(text) if number.value in values and number.span not in fresh]


def _revise(
    detective: Detective,
    entry: MemoryEntry,
    label: Label,
    reason: str,
    confidence: float,
    evidence: tuple[Evidence, ...] = (),
) -> MemoryEntry:
    revised = detective.memory.revise(
        entry.sentence.index, label, reason, confidence=confidence, evidence=evidence
    )
    detective.emit(Revised(entry=revised))
    return revised
