"""Reflection: every label against its evidence, then the sentences against each other (the paper's section 2.3).

What the model judged is looked at a second time; what a tool computed is not, since it would compute the same.
Every revision keeps the label it replaced and the reason.
"""

from .branch import Detective
from .errors import FormatError, ToolError
from .events import Revised
from .limits import Meter
from .prompts import render
from .tools.calculator import depends_on, stated_results
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
    entries = [entry for entry in detective.memory.entries() if entry.sentence.index > 0]
    wrong = [entry for entry in entries if entry.label == "contradicted"]
    for entry in entries:
        if entry.label == "contradicted":
            continue
        for earlier in wrong:
            if earlier.sentence.index >= entry.sentence.index:
                break
            shared = depends_on(entry.sentence.text, stated_results(earlier.sentence.text), detective.task.question)
            if shared is None:
                continue
            detail = f"{shared} ({earlier.sentence.name})"
            reason = render("reason", detective.task.language, kind="depends", detail=detail)
            evidence = Evidence(source="response", text=earlier.sentence.text, span=earlier.sentence.span)
            wrong.append(_revise(detective, entry, "contradicted", reason, earlier.confidence * 0.9, (evidence,)))
            wrong.sort(key=lambda item: item.sentence.index)
            break


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
