"""Sampling several turns at each step of measured runs, for preference pairs (Relign, section 3.2)."""

import asyncio
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import Field, ValidationError

from haluagent.agent import HaluAgent
from haluagent.batch.journal import Journal, iterate
from haluagent.batch.pool import Bounds, Job, work
from haluagent.checks.reliability import turns
from haluagent.checks.reliability.classify import classify
from haluagent.checks.reliability.judge import CallJudge
from haluagent.checks.reliability.lessons import RANKS, LessonStep, Rank, steps
from haluagent.checks.reliability.loop import TURN_TOKENS
from haluagent.checks.reliability.measure import judge_of
from haluagent.checks.reliability.records import INDECISIVE, ReliabilityRow, ToolTask
from haluagent.checks.reliability.toolbench import Tools
from haluagent.checks.runs.records import AgentRun, ToolUse, Turn
from haluagent.errors import ConfigError, FormatError
from haluagent.protocols import Closable, Message, Model, Role
from haluagent.tooling.turn_format import OBSERVATION
from haluagent.types import Language, Record, Usage


class SampleSettings(Record):
    """How turns are sampled: how many at each step, at which temperature, and which model judges them (None: the one
    that writes them)."""

    samples: int = Field(default=10, ge=2)
    temperature: float = Field(default=1.0, gt=0)
    judge: str | None = None


class SampledTurn(Record):
    """A turn that was written, as it is read; None for the rank of an answer, which is no tool call."""

    reply: str
    rank: Rank | None


class SentMessage(Record):
    """A message that a model was sent."""

    role: Role
    content: str


class SampledStep(Record):
    """The different turns that a model wrote after the same messages; turns that cannot be read are left out."""

    messages: tuple[SentMessage, ...]
    turns: tuple[SampledTurn, ...]


class SampledTask(Record):
    """The sampled steps of a measured task. `digest` is that of its row."""

    task: str
    language: Language
    model: str
    settings: SampleSettings
    digest: str
    steps: tuple[SampledStep, ...] = ()
    usage: Usage = Usage()
    error: str | None = None


async def sample(
    model: Model, row: ReliabilityRow, task: ToolTask, settings: SampleSettings, judging: Model | None = None
) -> SampledTask:
    """Return turns sampled at every step of a measured run, each ranked by what a judge says of its call.

    Raise `ModelError` if an endpoint fails.
    """
    judge = judge_of(model, judging, row.language)
    grammar = turns.grammar(task.tools, row.language, indecisive=True) if row.settings.grammar else None
    found, usage = [], Usage()
    for number, step in enumerate(steps(row)):
        if row.run is None or number >= row.settings.max_calls:  # there it could only end
            break
        generation = await model.generate(
            step.messages, stop=["\n" + OBSERVATION[row.language].strip()], grammar=grammar, max_tokens=TURN_TOKENS,
            temperature=settings.temperature, samples=settings.samples,
        )  # fmt: skip
        usage += generation.usage
        before = row.run.model_copy(update={"turns": row.run.turns[: number + 1], "answer": ""})
        ranked = [
            await _ranked(turn, before, task, judge, row.language) for turn in _read(generation.texts, row.language)
        ]
        sent = tuple(SentMessage(**message) for message in step.messages)
        found.append(SampledStep(messages=sent, turns=tuple(ranked)))
    return _of(row, model.name, settings).model_copy(update={"steps": tuple(found), "usage": usage + judge.usage})


def _read(texts: Iterable[str], language: Language) -> Iterator[turns.ReliabilityTurn]:
    """Yield the different turns among texts."""
    seen: set[str] = set()
    for text in texts:
        try:
            turn = turns.parse(text)
        except FormatError:
            continue
        if (written := turns.write(turn, language)) not in seen:
            seen.add(written)
            yield turn


async def _ranked(
    turn: turns.ReliabilityTurn, before: AgentRun, task: ToolTask, judge: CallJudge, language: Language
) -> SampledTurn:
    rank: Rank | None
    if turn.ending is not None:
        rank = "indecisive" if turn.ending in INDECISIVE else None
    else:
        result, failed = await Tools(task).call(turn.name, turn.arguments)
        number = len(before.turns)
        use = ToolUse(id=f"c{number}", tool=turn.name, arguments=turn.arguments, result=result, failed=failed)
        said = (*before.turns, Turn(role="assistant", text=turn.thought, calls=(use,)))
        (finding,) = await classify(before.model_copy(update={"turns": said}), judge, last=True)
        rank = "correct" if finding.kind == "none" else "hallucinated"
    return SampledTurn(reply=turns.write(turn, language), rank=rank)


def ranked_samples(tasks: Iterable[SampledTask], seed: int = 0) -> list[LessonStep]:
    """Return steps for preference tuning: at each step with several ranks one turn of each, drawn with `seed`."""
    found = []
    for one in tasks:
        chance = random.Random(f"{seed}/{one.task}")
        for step in one.steps:
            of = {rank: [turn.reply for turn in step.turns if turn.rank == rank] for rank in RANKS}
            chosen = [(rank, chance.choice(replies)) for rank, replies in of.items() if replies]
            if len(chosen) > 1:
                sent = tuple(Message(role=message.role, content=message.content) for message in step.messages)
                found += [LessonStep(one.task, one.language, sent, reply, rank) for rank, reply in chosen]
    return found


def run(
    rows: Sequence[ReliabilityRow],
    tasks: Mapping[str, ToolTask],
    out: Path,
    agents: list[HaluAgent],
    settings: SampleSettings,
    *,
    judging: Model | None = None,
    in_flight: int = 1,
    bounds: Bounds | None = None,
    progress: Callable[[SampledTask], None] = lambda sampled: None,
) -> str | None:
    """Sample at the steps of the rows that `out` does not have yet, or has with an error.

    Return None if all are done, else the reason for stopping. Raise `ConfigError` if `out` has rows of other settings
    or runs, or if a row's task is missing, `ModelError` if no endpoint answers any more.
    """
    if missing := [row.task for row in rows if row.task not in tasks]:
        raise ConfigError(f"--data does not have the task {missing[0]}: name the tasks that the runs were measured on")
    with Journal(out) as journal:
        done = finished(rows, out, agents[0].model.name, settings)

        def keep(sampled: SampledTask) -> None:
            journal.append(json.dumps(sampled.model_dump(mode="json"), ensure_ascii=False))
            progress(sampled)

        waiting = [row for row in rows if row.task not in done or done[row.task].error]
        jobs = (_job(row, tasks[row.task], agents[0].model.name, settings, judging) for row in waiting)

        async def closing() -> str | None:
            try:
                return await work(jobs, agents, keep, in_flight=in_flight, bounds=bounds)
            finally:
                if isinstance(judging, Closable):
                    await judging.aclose()

        return asyncio.run(closing())


def finished(rows: Sequence[ReliabilityRow], out: Path, model: str, settings: SampleSettings) -> dict[str, SampledTask]:
    """Return what `out` has, the last of each task. Raise `ConfigError` if it is of other runs, settings or models."""
    wanted = {row.task: _of(row, model, settings) for row in rows}
    found = {one.task: one for one in read(out)} if out.exists() else {}
    for one in found.values():
        of = wanted.get(one.task)
        if of is None or (one.model, one.settings, one.digest) != (of.model, of.settings, of.digest):
            raise ConfigError(f"{out} holds samples of another model, other settings or other runs: name another file")
    return found


def read(path: Path) -> Iterator[SampledTask]:
    """Yield the rows of a file of samples. Raise a `ConfigError` that names an invalid line."""
    if not path.is_file():
        raise ConfigError(f"{path} does not exist: name a file that `haluagent reliability sample` wrote")
    for number, row in enumerate(iterate(path), start=1):
        try:
            yield SampledTask.model_validate(row)
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise ConfigError(f"{path}, line {number}: {where or 'the row'}: {first['msg']}") from None


def _of(row: ReliabilityRow, model: str, settings: SampleSettings) -> SampledTask:
    return SampledTask(task=row.task, language=row.language, model=model, settings=settings, digest=row.digest)


def _job(
    row: ReliabilityRow, task: ToolTask, model: str, settings: SampleSettings, judging: Model | None
) -> Job[SampledTask]:
    async def one(agent: HaluAgent) -> SampledTask:
        return await sample(agent.model, row, task, settings, judging)

    return Job(one, lambda error: _of(row, model, settings).model_copy(update={"error": error}))
