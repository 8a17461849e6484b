"""The model's look back over all results before the answer (reflection in Cheng et al. 2024, section 2.3)."""

import asyncio
from collections.abc import Sequence

from haluagent.detection.branch import exchange, unusable, write_turn
from haluagent.detection.limits import Meter
from haluagent.detection.reflection import revise, tested_again
from haluagent.detection.state import DetectionState
from haluagent.detection.transcript import has_room, pointed, useful
from haluagent.detection.verdict import CLOSED_BOOK, act
from haluagent.errors import FormatError
from haluagent.prompts import render
from haluagent.tooling import turn_format
from haluagent.types import MemoryEntry, Sentence, ToolResult


async def review(state: DetectionState, model: Meter) -> None:
    """Show the model all claims with their results, and let it call tools for those it doubts, until it calls `get_answer` or
    has had as many turns as a sentence has. Only what a tool then decides changes a label.

    Nothing is reviewed where there is only one claim, and it ends where the results outgrow the model's context. Raises
    ModelError and BudgetExceeded.
    """
    entries = [entry for entry in state.memory.entries() if entry.label != "no_claim" and entry.sentence.index]
    if len(entries) < 2:
        return
    messages = state.task.review(entries)
    claims = [entry.sentence for entry in entries]
    fitting = await asyncio.to_thread(useful, state, claims, model)
    tools = [item for item in fitting if not item.system or item.name == "get_answer"]
    grammar = turn_format.grammar(tools, [claim.name for claim in claims], state.task.language)
    for _ in range(state.limits.steps):
        if not has_room(messages, model):
            return
        before = model.usage
        generation = await write_turn(model, messages, grammar)
        try:
            turn = turn_format.parse(generation.text, generation.truncated)
            if turn.call.name not in [item.name for item in tools]:
                raise FormatError(f"{turn.call.name} is not offered here")
            if turn.call.name == "get_answer":
                await act(state, None, turn, model, before)
                return
            claim = await asyncio.to_thread(_doubted, state, turn, claims, model)
        except FormatError as error:
            step = state.keep(unusable(None, generation, error))
        else:
            step = await act(state, claim.index, turn, model, before)
            if step.result:
                _count(state, state.memory[claim.index], turn.call.name, step.result)
        observation = step.result.observation if step.result else step.error or ""
        messages += exchange(generation.text, observation, state.task.language)


def _doubted(state: DetectionState, turn: turn_format.ModelTurn, claims: Sequence[Sentence], model: Meter) -> Sentence:
    """Return the claim that a call tests. Raises FormatError where it names none, or where that tool has decided it already."""
    claim = pointed(state, turn, model)
    if claim is None or claim not in claims:
        raise FormatError(f"point to one of {', '.join(one.name for one in claims)}")
    for step in state.steps:
        same = step.sentence == claim.index and step.call and step.call.name == turn.call.name
        if same and (step.call == turn.call or (step.result and step.result.label)):
            raise FormatError(render("reason", state.task.language, kind="repeated", detail=""))
    return claim


def _count(state: DetectionState, entry: MemoryEntry, tool: str, found: ToolResult) -> None:
    """Let a second test count: it decides what no tool had decided, and may disagree with what one had."""
    if entry.label != "unverified" and entry.tool != CLOSED_BOOK:
        tested_again(state, entry, found)
    elif entry.revised_from is None and found.label in ("supported", "contradicted") and not found.open:
        revise(state, entry, found.label, found.observation, found.confidence, found.evidence, tool)
