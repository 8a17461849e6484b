"""Measure the gate for whole agent runs on runs written for the purpose, beside a plain prompt on the same model.

`agent_runs.jsonl` holds the runs in pairs: one clean, one with a known fault. A fault is `structural` if stage 1 can
find it without a model.
"""

import asyncio
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pydantic import ValidationError

from haluagent.agent import HaluAgent
from haluagent.batch.journal import Journal, read_lines
from haluagent.bench.methods import simple_prompt
from haluagent.bench.scoring.cost import normalised_seconds
from haluagent.bench.scoring.scores import auroc
from haluagent.checks.runs.answers.evidence import evidence_of
from haluagent.checks.runs.answers.ground import language_of, user_text
from haluagent.checks.runs.forms.reading import parse
from haluagent.checks.runs.gate import acheck_run
from haluagent.checks.runs.records import Action, AgentRun
from haluagent.corpora import packaged
from haluagent.detection.limits import Budget, Meter
from haluagent.errors import ConfigError
from haluagent.types import Record, Usage

Figures = Sequence[tuple[str, str]]


class WrittenRun(Record):
    """A run with its label. `what` describes the fault, if there is one."""

    id: str
    kind: str
    wrong: bool
    structural: bool
    what: str
    run: AgentRun


class RunRow(Record):
    """The result for one run. `flagged` is True if stage 1 found an invalid call, `score` is the overall groundedness
    in [0, 1], and `usage` and `seconds` are the cost of the report. `prompt` is the probability of a fault according to
    the plain prompt, `prompt_usage` its cost."""

    id: str
    model: str
    kind: str
    wrong: bool
    structural: bool
    action: Action
    score: float
    flagged: bool
    probes: int
    usage: Usage
    seconds: float
    prompt: float
    prompt_usage: Usage


def written() -> list[WrittenRun]:
    """Return the labelled runs that ship with the package."""
    given = packaged.rows("haluagent.bench", "agent_runs.jsonl")
    return [WrittenRun.model_validate(fields | {"run": parse(fields["run"], fields["id"])}) for fields in given]


def measure(
    agent: HaluAgent, out: Path, *, probes: bool = True, progress: Callable[[str], None] = print
) -> list[RunRow]:
    """Check the runs that are not yet in `out`, append one JSON line for each, and return all rows of the file.

    Raises ConfigError if `out` belongs to another model or holds lines of another kind, ModelError if the endpoint
    failed.
    """
    try:
        rows = [RunRow.model_validate(fields) for fields in read_lines(out)] if out.exists() else []
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigError(
            f"{out} holds a line that is no row of this measurement ({where}: {first['msg']}): name another file"
        ) from None
    if other := {row.model for row in rows} - {agent.model.name}:
        raise ConfigError(f"{out} holds reports of {', '.join(other)}: name another file for {agent.model.name}")
    missing = [one for one in written() if one.id not in {row.id for row in rows}]
    with Journal(out) as journal:
        for position, one in enumerate(missing, start=1):
            row = agent.wait_for(_one(agent, one, probes))
            journal.append(row.model_dump_json())
            rows.append(row)
            progress(f"{position}/{len(missing)} {one.id}: {row.action}, {row.score:.2f}")
    return rows


async def _one(agent: HaluAgent, one: WrittenRun, probes: bool) -> RunRow:
    await agent.aprepare()
    meter = Meter(agent.model, Budget(agent.limits))
    began = time.monotonic()
    report = await acheck_run(agent.on(meter), one.run, probes=probes)
    seconds = time.monotonic() - began
    evidence = await asyncio.to_thread(evidence_of, one.run)
    _, prompt, usage, _ = await simple_prompt.judge(
        agent.model, user_text(one.run), one.run.answer, evidence.text, language_of(one.run)
    )
    return RunRow(
        id=one.id, model=agent.model.name, kind=one.kind, wrong=one.wrong, structural=one.structural, action=report.action,
        score=report.overall_score, flagged=any(call.status != "valid" for call in report.tool_call_validations),
        probes=len(report.consistency_probes), usage=meter.usage, seconds=seconds, prompt=prompt, prompt_usage=usage,
    )  # fmt: skip


def table(rows: Sequence[RunRow]) -> str:
    """Return the figures as a Markdown table: stage 1 on the structural faults, the other stages on the rest."""
    structural = [row for row in rows if row.structural]
    rest = [row for row in rows if not row.structural]
    clean, wrong = ([row for row in rest if row.wrong is value] for value in (False, True))
    lines = ["| what | figure |", "|---|---|"]
    lines += [
        f"| {name} | {value} |"
        for name, value in (*_of_calls(structural, clean), *_of_answers(clean, wrong), *_cost(rest))
    ]
    return "\n".join(lines)


def _of_calls(structural: Sequence[RunRow], clean: Sequence[RunRow]) -> Figures:
    return [
        ("structural faults found by stage 1", _share(row.flagged for row in structural)),
        ("clean runs that stage 1 flagged", _share(row.flagged for row in clean)),
    ]


def _of_answers(clean: Sequence[RunRow], wrong: Sequence[RunRow]) -> Figures:
    """Return the figures for runs whose fault, if any, is in the answer."""
    found: list[tuple[str, str]] = []
    for action in ("emit", "revise", "block"):
        counts = [_share(row.action == action for row in group) for group in (clean, wrong)]
        found.append((f"{action}: clean runs, wrong runs", ", ".join(counts)))
    labels = [row.wrong for row in (*clean, *wrong)]
    if len(set(labels)) == 2:
        found.append(
            ("AUROC of the overall score", f"{auroc(labels, [1 - row.score for row in (*clean, *wrong)]):.3f}")
        )
        found.append(("AUROC of the plain prompt", f"{auroc(labels, [row.prompt for row in (*clean, *wrong)]):.3f}"))
    said = [_share(row.prompt > 0.5 for row in group) for group in (clean, wrong)]
    found.append(("fault by the plain prompt: clean runs, wrong runs", ", ".join(said)))
    return found


def _cost(rows: Sequence[RunRow]) -> Figures:
    if not rows:
        return []
    own, prompt = (
        sum(normalised_seconds(usage) for usage in usages) / len(rows)
        for usages in ((row.usage for row in rows), (row.prompt_usage for row in rows))
    )
    return [
        ("normalised seconds a report, plain prompt", f"{own:.1f}, {prompt:.1f}"),
        ("seconds a report, median", f"{statistics.median(row.seconds for row in rows):.1f}"),
    ]


def _share(values: Iterable[bool]) -> str:
    given = list(values)
    return f"{sum(given)} of {len(given)}"
