"""Training steps from measured runs (Relign, section 3.2): good steps to imitate, and ranked steps to prefer."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from haluagent.checks.reliability import turns
from haluagent.checks.reliability.loop import exchange, opening
from haluagent.checks.reliability.records import ReliabilityRow
from haluagent.checks.runs.records import AgentRun
from haluagent.models.tokenizer import ApproximateTokenizer
from haluagent.prompts import render
from haluagent.protocols import Message
from haluagent.types import Language

Rank = Literal["correct", "indecisive", "hallucinated"]
RANKS: tuple[Rank, ...] = ("correct", "indecisive", "hallucinated")  # best first
SHARES = {"original": 4, "unmatched_tools": 3, "missing_parameter": 3}
INDECISIVE = {"unmatched_tools": "ChangeTools", "missing_parameter": "TalkToUser"}


@dataclass(frozen=True)
class LessonStep:
    """A turn of a model, with the messages that led to it."""

    task: str
    language: Language
    messages: tuple[Message, ...]
    reply: str
    rank: Rank


def good_steps(rows: Iterable[ReliabilityRow], seed: int = 0) -> list[LessonStep]:
    """Return steps for supervised tuning: 4 parts originals, 3 with unmatched tools, 3 with a missing parameter.

    For originals, all steps of runs that passed without a hallucinated call are taken; for the others, the one right
    step is written here. There are as many tasks as the rarest of the three kinds allows, drawn with `seed`.
    """
    found: dict[str, dict[str, list[LessonStep]]] = {kind: {} for kind in SHARES}
    for row in rows:
        if row.run is None or not row.settings.indecisive:
            continue
        if row.kind in INDECISIVE:
            found[row.kind].setdefault(row.task, [_given_back(row, row.run)])
        elif row.passed and all(call.kind == "none" for call in row.calls):
            found[row.kind].setdefault(row.task, list(steps(row)))
    times = min(len(found[kind]) // share for kind, share in SHARES.items())
    chance = random.Random(seed)
    chosen = [
        (kind, task) for kind, share in SHARES.items() for task in chance.sample(sorted(found[kind]), times * share)
    ]
    return [step for kind, task in chosen for step in found[kind][task]]


def ranked_steps(rows: Iterable[ReliabilityRow]) -> list[LessonStep]:
    """Return steps for preference tuning: the first step of each rank where runs of a task diverged after the same
    messages.

    Any two of a group make a pair. An answer is no tool call, and has no rank.
    """
    found: dict[tuple[str, str], dict[Rank, LessonStep]] = {}
    for row in rows:
        if not row.settings.indecisive:
            continue
        for step in steps(row, answers=False):
            found.setdefault((step.task, str(step.messages)), {}).setdefault(step.rank, step)
    return [of[rank] for of in found.values() if len(of) > 1 for rank in RANKS if rank in of]


def steps(row: ReliabilityRow, *, answers: bool = True) -> Iterator[LessonStep]:
    """Yield the turns of a run, in order, including its ending."""
    if row.run is None or row.error is not None:
        return
    count = ApproximateTokenizer().count
    messages = _opening(row, row.run)
    kinds = {call.call_id: call.kind for call in row.calls}
    for said in row.run.turns:
        for call in said.calls:
            reply = turns.write(
                turns.ReliabilityTurn(thought=said.text, name=call.tool, arguments=call.arguments), row.language
            )
            rank: Rank = "correct" if kinds.get(call.id) == "none" else "hallucinated"
            yield LessonStep(task=row.task, language=row.language, messages=tuple(messages), reply=reply, rank=rank)
            messages = [*messages, *exchange(reply, call.result or "", row.language, count)]
    name = next((name for name, (ending, _) in turns.ENDINGS.items() if ending == row.ending), None)
    if name is None or (name == "Finish" and not answers):
        return
    turn = turns.ReliabilityTurn(
        thought=row.run.turns[-1].text, name=name, arguments={turns.ENDINGS[name][1]: row.run.answer}
    )
    reply = turns.write(turn, row.language)
    rank = "correct" if name == "Finish" else "indecisive"
    yield LessonStep(task=row.task, language=row.language, messages=tuple(messages), reply=reply, rank=rank)


def _given_back(row: ReliabilityRow, run: AgentRun) -> LessonStep:
    """Return the first step of a task that cannot be done: the right indecisive action."""
    action = INDECISIVE[row.kind]
    needed = [name for tool in run.tools for name in tool.parameters.get("required", ())]
    names, needed = [tool.name for tool in run.tools], list(dict.fromkeys(needed))[:3]
    text = render("reliability_lesson", row.language, action=action, tools=names, parameters=needed)
    thought, _, said = text.partition("\n")
    turn = turns.ReliabilityTurn(thought=thought, name=action, arguments={turns.ENDINGS[action][1]: said.strip()})
    reply = turns.write(turn, row.language)
    return LessonStep(
        task=row.task, language=row.language, messages=tuple(_opening(row, run)), reply=reply, rank="correct"
    )


def _opening(row: ReliabilityRow, run: AgentRun) -> list[Message]:
    query = next(turn.text for turn in run.turns if turn.role == "user")
    return opening(query, run.tools, row.settings, row.language)
