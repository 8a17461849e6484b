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
from haluagent.bench.labelled_runs import LabelledRun, written
from haluagent.bench.methods import simple_prompt
from haluagent.bench.scoring.cost import normalised_seconds
from haluagent.bench.scoring.scores import auroc
from haluagent.checks.runs.answers.evidence import evidence_of
from haluagent.checks.runs.answers.ground import language_of, user_text
from haluagent.checks.runs.gate import GateSettings, acheck_run, decide
from haluagent.checks.runs.records import Action
from haluagent.detection.limits import Budget, Meter
from haluagent.errors import ConfigError
from haluagent.types import Record, Usage

Figures = Sequence[tuple[str, str]]


class RunRow(Record):
    """The result for one run. `flagged` is True if stage 1 found an invalid call, `score` is the overall groundedness
    in [0, 1], and `usage` and `seconds` are the cost of the report. `prompt` is the probability of a fault according to
    the plain prompt, `prompt_usage` its cost. `critical` is the lowest score of a critical claim, 1 if there is none, and
    `stands` the action that the calls and probes ask for, whatever the claims score."""

    id: str
    model: str
    kind: str
    wrong: bool
    structural: bool
    group: str
    action: Action
    stands: Action
    score: float
    critical: float
    flagged: bool
    probes: int
    usage: Usage
    seconds: float
    prompt: float
    prompt_usage: Usage


def measure(
    agent: HaluAgent,
    out: Path,
    runs: Sequence[LabelledRun] | None = None,
    *,
    probes: bool = True,
    progress: Callable[[str], None] = print,
) -> list[RunRow]:
    """Check the runs (the packaged ones by default) that are not yet in `out`, append one JSON line for each, and return
    all rows of the file.

    Raises ConfigError if `out` belongs to another model or other runs or holds lines of another kind, ModelError if the
    endpoint failed.
    """
    runs = written() if runs is None else runs
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
    if {row.id for row in rows} - {one.id for one in runs}:
        raise ConfigError(f"{out} holds reports of other runs: name another file")
    done = {row.id for row in rows}
    missing = [one for one in runs if one.id not in done]
    with Journal(out) as journal:
        for position, one in enumerate(missing, start=1):
            row = agent.wait_for(_one(agent, one, probes))
            journal.append(row.model_dump_json())
            rows.append(row)
            progress(f"{position}/{len(missing)} {one.id}: {row.action}, {row.score:.2f}")
    return rows


async def _one(agent: HaluAgent, one: LabelledRun, probes: bool) -> RunRow:
    await agent.aprepare()
    meter = Meter(agent.model, Budget(agent.limits))
    began = time.monotonic()
    report = await acheck_run(agent.on(meter), one.run, probes=probes)
    seconds = time.monotonic() - began
    evidence = await asyncio.to_thread(evidence_of, one.run)
    _, prompt, usage, _ = await simple_prompt.judge(
        agent.model, user_text(one.run), one.run.answer, evidence.text, language_of(one.run)
    )
    validations, settings = report.tool_call_validations, GateSettings.for_task(one.run.task)
    stands, _ = decide(one.run, (), validations, report.consistency_probes, settings)
    return RunRow(
        id=one.id, model=agent.model.name, kind=one.kind, wrong=one.wrong, structural=one.structural, group=one.group,
        action=report.action, stands=stands, score=report.overall_score,
        critical=min((claim.score for claim in report.claims if claim.critical), default=1.0),
        flagged=any(call.status != "valid" for call in validations), probes=len(report.consistency_probes),
        usage=meter.usage, seconds=seconds, prompt=prompt, prompt_usage=usage,
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
