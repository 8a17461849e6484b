"""Reflection: every label against its evidence, then the sentences against each other (the paper's section 2.3).

What the model judged is looked at a second time; what a tool computed is not, since it would compute the same.
Every revision keeps the label it replaced and the reason.
"""

from .branch import Detective
from .errors import FormatError, ToolError
from .events import Revised
from .limits import Meter
from .prompts import render
from .tools._numbers import Number, find_numbers
from .tools.calculator import stated_results
from .tools.match import judge, second_look
from .types import Evidence, Label, MemoryEntry


async def reflect(detective: Detective, model: Meter) -> None:
    """Revise the memory where the local or the global look says so."""
    for entry in detective.memory.entries():
        await _local(detective, entry, model)
    _global(detective)


async def _local(detective: Detective, entry: MemoryEntry, model: Meter) -> None:
    """A label that `match` gave is judged again with the question turned round; a label from another tool must
    also not contradict the reference, where there is one."""
    if entry.label not in ("supported", "contradicted"):
        return
    context = detective.context(model)
    if entry.tool == "match":
        second = await second_look(context, entry)
        if second is not None and second.label != entry.label:
            reason = render("reason", detective.task.language, kind="second_look", detail=second.observation)
            _revise(detective, entry, second.label or "unverified", reason, second.confidence)
    elif entry.label == "supported" and detective.task.reference and entry.tool and entry.sentence.index > 0:
        try:
            result = await judge(context, entry.sentence, "reference")
        except (FormatError, ToolError):
            return
        detective.read.extend(result.read)
        if result.label == "contradicted":
            _revise(detective, entry, "contradicted", result.observation, result.confidence, result.evidence)


def _global(detective: Detective) -> None:
    """A step that uses the result of a wrong step is wrong, even where it is right taken alone."""
    response, question = detective.task.response, detective.task.question
    wrong: list[MemoryEntry] = []
    for entry in detective.memory.entries():
        if entry.sentence.index == 0:
            continue
        used = next(
            ((number, earlier) for earlier in wrong for number in uses(entry.sentence.text, results(earlier, response), question)),
            None,
        )
        if entry.label != "contradicted" and used is not None:
            number, earlier = used
            reason = render(
                "reason", detective.task.language, kind="depends", detail=f"{number} ({earlier.sentence.name})"
            )
            evidence = Evidence(source="response", text=earlier.sentence.text, span=earlier.sentence.span)
            entry = _revise(detective, entry, "contradicted", reason, earlier.confidence * 0.9, (evidence,))
        if entry.label == "contradicted":
            wrong.append(entry)


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
