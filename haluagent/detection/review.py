"""The model's look back over all results before the answer (reflection in Cheng et al. 2024, section 2.3)."""

import asyncio
from collections.abc import Sequence

from haluagent.detection.branch import exchange
from haluagent.detection.limits import TURN_TOKENS, Meter
from haluagent.detection.reflection import SURE, revise
from haluagent.detection.state import DetectionState
from haluagent.detection.transcript import pointed, useful
from haluagent.detection.verdict import CLOSED_BOOK, act
from haluagent.errors import FormatError
from haluagent.prompts import render
from haluagent.tooling import turn_format
from haluagent.types import MemoryEntry, Sentence, Step, ToolResult


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
        if sum(model.count_tokens(message["content"]) for message in messages) + TURN_TOKENS > model.context:
            return
        before = model.usage
        generation = await model.generate(
            messages,
            stop=["\n" + mark.strip() for mark in turn_format.OBSERVATION.values()],
            grammar=grammar,
            max_tokens=TURN_TOKENS,
        )
        try:
            turn = turn_format.parse(generation.text, generation.truncated)
            if turn.call.name not in [item.name for item in tools]:
                raise FormatError(f"{turn.call.name} is not offered here")
            if turn.call.name == "get_answer":
                await act(state, None, turn, model, before)
                return
            claim = await asyncio.to_thread(_doubted, state, turn, claims, model)
        except FormatError as error:
            step = Step(
                sentence=None, thought=generation.text, call=None, result=None, error=str(error), usage=generation.usage
            )
            state.keep(step)
        else:
            step = await act(state, claim.index, turn, model, before)
            if step.result and step.result.label in ("supported", "contradicted") and not step.result.open:
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
    """Let a second test count: it decides what no tool had decided. Where it is sure of the opposite of what another found, the
    two disagree and nothing is decided."""
    if entry.label == "unverified" or entry.tool == CLOSED_BOOK:
        if entry.revised_from is None and found.label:
            revise(state, entry, found.label, found.observation, found.confidence, found.evidence, tool)
    elif found.label != entry.label and found.confidence > SURE:
        reason = f"{entry.reason}; {found.observation}"
        revise(state, entry, "unverified", reason, found.confidence, found.evidence)
