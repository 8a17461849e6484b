"""The paper's single growing transcript: one conversation in which the model splits, checks, reflects and answers.

Its cost grows with the square of the number of sentences; it is kept for models that were trained on it.
"""

import asyncio
from collections.abc import Sequence

from haluagent.detection.branch import exchange, write_turn
from haluagent.detection.limits import TURN_TOKENS, BudgetExceeded, Meter
from haluagent.detection.state import DetectionState
from haluagent.detection.verdict import act, label, open_text, states_something, unreached
from haluagent.errors import FormatError
from haluagent.prompts import render
from haluagent.protocols import Message
from haluagent.tooling import turn_format
from haluagent.tooling.tool import Tool
from haluagent.types import Sentence, Step, Stop


async def transcript(state: DetectionState, units: Sequence[Sentence], model: Meter) -> Stop:
    """Let the model lead until `get_answer` or a limit; units it left out are `unverified`, but for the response as a whole
    beside its sentences.

    The step limit counts per unit, as in branches, with one turn more for the split and one for the answer. Raises
    BudgetExceeded where the transcript outgrows the model's context.
    """
    task, limits = state.task, state.limits
    if not units:
        return "answer"
    pointers = [unit.name for unit in units]
    grammar = turn_format.grammar(await asyncio.to_thread(useful, state, units, model), pointers, task.language)
    await model.warm(task.system)
    messages: list[Message] = task.opening()
    format_errors = 0
    stop: Stop = "step_limit"
    for _ in range(limits.steps * len(units) + 2):
        if not has_room(messages, model):
            raise BudgetExceeded(f"the transcript outgrew the model's context of {model.context} tokens")
        before = model.usage
        generation = await write_turn(model, messages, grammar)
        turn = None
        try:
            turn = turn_format.parse(generation.text, generation.truncated)
            sentence_of_turn = pointed(state, turn, model)
        except FormatError as error:
            format_errors += 1
            thought, call = (turn.thought, turn.call) if turn else (generation.text, None)
            rejected = call is not None
            state.keep(
                Step(
                    sentence=None,
                    thought=thought,
                    call=call,
                    result=None,
                    error=str(error),
                    rejected=rejected,
                    usage=generation.usage,
                )
            )
            if format_errors > limits.format_errors:
                stop = "format_errors"
                break
            messages += exchange(generation.text, str(error), task.language)
            continue
        step = await act(state, sentence_of_turn.index if sentence_of_turn else None, turn, model, before)
        observation = step.result.observation if step.result else step.error or ""
        if sentence_of_turn and step.result and step.result.label:
            _remember(state, sentence_of_turn, step)
            if sentence_of_turn.index not in state.memory and sentence_of_turn.index in state.parts:
                left = render("reason", task.language, kind="open", detail=open_text(state, sentence_of_turn))
                observation = f"{observation}; {left}"
        if turn.call.name == "get_answer" and sentence_of_turn is None and step.result:
            stop = "answer"
            break
        messages += exchange(generation.text, observation, task.language)
    for unit in units:
        if unit.index not in state.memory and (unit.index or len(units) == 1):
            unreached(state, unit, "ended" if stop == "answer" else stop)
    return stop


def useful(state: DetectionState, units: Sequence[Sentence], model: Meter) -> list[Tool]:
    """List the system tools, those that have something to decide about a unit or facts to add, and then those that read facts."""
    tools, told = state.registry, [(state.context(model, unit.index), unit) for unit in units]
    adding = {item.name for item in tools if any(tools.adds(item, *one) for one in told)}

    def wanted(item: Tool) -> bool:
        reads = bool(adding) and item.general and not item.external
        return item.system or reads or item.name in adding or any(tools.fits(item, *one) for one in told)

    return [item for item in tools if wanted(item)]


def has_room(messages: Sequence[Message], model: Meter) -> bool:
    """Return whether a turn fits into the model's context after these messages."""
    return sum(model.count_tokens(message["content"]) for message in messages) + TURN_TOKENS <= model.context


def pointed(state: DetectionState, turn: turn_format.ModelTurn, model: Meter) -> Sentence | None:
    """Return the sentence a call points to; None for a call about none. Raises FormatError where the tool has nothing to
    decide about it."""
    if "sentence" not in turn.call.arguments:
        return None
    context = state.context(model)
    pointer = str(turn.call.arguments["sentence"])
    try:
        sentence = context.sentence(int(pointer.lstrip("Ss")))
    except (KeyError, ValueError):
        raise FormatError(f"{pointer} names no sentence; write one of S0 to S{len(context.sentences)}") from None
    item = state.registry[turn.call.name]
    context = state.context(model, sentence.index)
    fits, adds = state.registry.fits, state.registry.adds
    if not item.system and not (fits(item, context, sentence) or adds(item, context, sentence)):
        raise FormatError(f"{item.name} cannot decide anything about {sentence.name}; use another tool")
    return sentence


def _remember(state: DetectionState, sentence: Sentence, step: Step) -> None:
    """Record a label. What a tool decided is not undone by `get_answer`, and a sentence with a number or a name in it
    claims something."""
    if step.call is None or step.result is None:
        return
    if state.registry[step.call.name].system:
        known = sentence.index in state.memory
        if known or (step.result.label == "no_claim" and states_something(sentence.text)):
            return
    label(state, sentence, step.call, step.result)
