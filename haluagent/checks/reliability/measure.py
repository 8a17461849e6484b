"""Running and judging tasks one by one. Rows are kept in a file as they are done, so a run can be resumed."""

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from haluagent.agent import HaluAgent
from haluagent.batch.journal import Journal, iterate
from haluagent.batch.pool import Bounds, Job, work
from haluagent.checks.reliability.classify import classify
from haluagent.checks.reliability.judge import CallJudge, Judge
from haluagent.checks.reliability.loop import Done, solve
from haluagent.checks.reliability.records import INDECISIVE, CallFinding, ReliabilityRow, ReliabilitySettings, ToolTask
from haluagent.checks.reliability.separate import SeparateJudge
from haluagent.checks.reliability.toolbench import Tools
from haluagent.checks.runs.records import ToolUse
from haluagent.errors import ConfigError
from haluagent.protocols import Closable, Model
from haluagent.text.language import written_in
from haluagent.types import Language


async def measure(
    agent: HaluAgent, task: ToolTask, settings: ReliabilitySettings, judging: Model | None = None
) -> ReliabilityRow:
    """Run a task with the agent's model, and have the model `judging`, or the same one, judge what it did.

    Raise `ModelError` if the endpoint fails, `ConfigError` for a tool whose schema cannot be turned into a grammar.
    """
    began = time.monotonic()
    language = language_of(task.query, settings)
    done = await solve(agent.model, task.id, task.query, task.tools, Tools(task).call, settings, language)
    judge = judge_of(agent.model, judging, language)
    findings = await classify(done.run, judge)
    passed, hallucinated = await judge_end(judge, task, done, findings)
    return row_of(task, agent.model.name, settings).model_copy(
        update={
            "language": language, "run": done.run, "ending": done.ending, "calls": findings, "passed": passed,
            "task_hallucinated": hallucinated, "usage": done.usage + judge.usage, "seconds": time.monotonic() - began,
        }
    )  # fmt: skip


def judge_of(measured: Model, judging: Model | None, language: Language) -> CallJudge:
    """Return the judge of one run: another model, which is asked in words, or the measured one, with one token."""
    return Judge(measured, language) if judging is None else SeparateJudge(judging, language)


async def judge_end(judge: CallJudge, task: ToolTask, done: Done, findings: Sequence[CallFinding]) -> tuple[bool, bool]:
    """Return whether a task is passed, and whether its answer is hallucinated.

    A task that can be solved is passed if it is; one that cannot is passed if it is given back, by an indecisive action
    or by an answer that says so. An answer without any result solves nothing. An answer is hallucinated if it draws on
    the result of a hallucinated call; an error is no such result.
    """
    if done.ending in INDECISIVE:
        return not task.solvable, False
    if done.ending != "answer" or not done.run.answer:
        return False, False
    calls = {call.id: call for turn in done.run.turns for call in turn.calls}
    if task.solvable and all(call.failed or not call.result for call in calls.values()):
        return False, False  # an answer without any result is made up
    solved = await judge.solved(task.query, done.run.answer, list(calls.values()))
    wrong: list[ToolUse] = [calls[finding.call_id] for finding in findings if finding.kind != "none"]
    wrong = [call for call in wrong if not call.failed]
    hallucinated = bool(wrong) and (await judge.uses(done.run.answer, wrong)).verdict == "yes"
    return solved.verdict == ("yes" if task.solvable else "no"), hallucinated


def language_of(query: str, settings: ReliabilitySettings) -> Language:
    return written_in(query) if settings.language == "auto" else settings.language


def run(
    tasks: Sequence[ToolTask],
    out: Path,
    agents: list[HaluAgent],
    settings: ReliabilitySettings,
    *,
    judging: Model | None = None,
    in_flight: int = 1,
    bounds: Bounds | None = None,
    again: bool = False,
    progress: Callable[[ReliabilityRow], None] = lambda row: None,
) -> str | None:
    """Do the tasks that are not in `out` yet; with `again`, those that failed are repeated.

    Return None if all are done, else the reason for stopping. Raise `ConfigError` if `out` holds rows of other
    settings, `ModelError` if no endpoint answers any more.
    """
    with Journal(out) as journal:
        done = finished(tasks, out, agents[0].model.name, settings)

        def keep(row: ReliabilityRow) -> None:
            journal.append(json.dumps(row.model_dump(mode="json"), ensure_ascii=False))
            progress(row)

        waiting = [task for task in tasks if task.id not in done or (again and done[task.id].error)]
        jobs = (_job(task, agents[0].model.name, settings, judging) for task in waiting)

        async def judged() -> str | None:
            try:
                return await work(jobs, agents, keep, in_flight=in_flight, bounds=bounds)
            finally:
                if isinstance(judging, Closable):
                    await judging.aclose()

        return asyncio.run(judged())


def finished(
    tasks: Sequence[ToolTask], out: Path, model: str, settings: ReliabilitySettings
) -> dict[str, ReliabilityRow]:
    """Return the rows that `out` has of these tasks, the last of each.

    Raise `ConfigError` if one is of another model or other settings, or of a task that has changed.
    """
    found = {row.task: row for row in read(out)} if out.exists() else {}
    wanted = {task.id: digest(task, model, settings) for task in tasks}
    for row in found.values():
        if row.model != model or row.settings != settings or wanted.get(row.task, row.digest) != row.digest:
            raise ConfigError(f"{out} holds rows of another model, other settings or other tasks: name another file")
    return {task: row for task, row in found.items() if task in wanted}


def read(path: Path) -> Iterator[ReliabilityRow]:
    """Yield the rows of a file. Raise a `ConfigError` that names an invalid line."""
    if not path.is_file():
        raise ConfigError(f"{path} does not exist: name a file that `haluagent reliability run` wrote")
    for number, row in enumerate(iterate(path), start=1):
        yield _parse(row, f"{path}, line {number}")


def _parse(row: dict[str, Any], place: str) -> ReliabilityRow:
    try:
        return ReliabilityRow.model_validate(row)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        raise ConfigError(f"{place}: {'.'.join(map(str, first['loc'])) or 'the row'}: {first['msg']}") from None


def row_of(task: ToolTask, model: str, settings: ReliabilitySettings) -> ReliabilityRow:
    """Return the row of a task that has not been run yet."""
    return ReliabilityRow(
        task=task.id,
        kind=task.kind,
        subset=task.subset,
        model=model,
        settings=settings,
        digest=digest(task, model, settings),
    )


def digest(task: ToolTask, model: str, settings: ReliabilitySettings) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a task and how it is run."""
    content = [task.model_dump(), model, settings.model_dump(exclude_none=True)]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _job(task: ToolTask, model: str, settings: ReliabilitySettings, judging: Model | None) -> Job[ReliabilityRow]:
    async def one(agent: HaluAgent) -> ReliabilityRow:
        return await measure(agent, task, settings, judging)

    def failed(error: str) -> ReliabilityRow:
        return row_of(task, model, settings).model_copy(update={"error": error})

    return Job(one, failed)
