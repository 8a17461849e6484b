"""Stage 4: the gate, and the whole check of a run.

Agent Hallucination Detection Spec, "Gating". Where it leaves things open:

- `emit` is the only way out: everything that neither blocks nor is good enough is `revise`. So an overall score
  between the revise and the emit threshold is revised even if no claim is below the former, and so is a mean that is
  high enough if one claim is not.
- A claim below the block threshold that is not critical is revised: it is worth a second try, but no reason to refuse.
- A claim whose probes diverge is revised, and so is a rejected call. A call is rejected if its validation is `invalid`,
  `fabricated` or `never_called`; `stale` and `unverified` are remarks. Only calls since the user last spoke count. A later valid call of
  the same tool (of any tool, if the tool does not exist) makes up for a call that was not executed, or whose arguments
  did not fit. It does not make up for an executed call with an invented argument, which may have had effects: that is
  revised, so that the agent can say so and undo it, and blocked if the stakes are high. A call that was stopped before
  it ran is in the report, and decides nothing more: the agent has been told.
- A creative turn makes no claims, so its overall score is 1 and only its calls decide.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from haluagent.agent import HaluAgent
from haluagent.checks.runs.answers.ground import score_claims
from haluagent.checks.runs.answers.probe import diverges, probe
from haluagent.checks.runs.calls.check import validate_calls
from haluagent.checks.runs.records import (
    Action,
    AgentRun,
    ConsistencyProbe,
    HallucinationReport,
    ReportClaim,
    ToolCallValidation,
    ToolUse,
)
from haluagent.checks.runs.settings import GateSettings
from haluagent.detection.limits import BudgetExceeded
from haluagent.errors import ModelError
from haluagent.protocols import Model
from haluagent.sandbox.worker.work import as_work

__all__ = ["GateSettings", "acheck_run", "add_probes", "check_run", "decide"]

REJECTED = ("invalid", "fabricated", "never_called")
Result = TypeVar("Result")
CRITICAL_WEIGHT = 2  # the weight of a critical claim in the mean


@as_work
async def acheck_run(
    agent: HaluAgent,
    run: AgentRun,
    *,
    settings: GateSettings | None = None,
    probes: bool = True,
    probe_model: Model | None = None,
    seconds: dict[str, float] | None = None,
) -> HallucinationReport:
    """Check a run in all four stages and return the report. Stages 1 and 2 run concurrently.

    `probes=False` leaves stage 3 out, for an immediate report that `add_probes` can complete later; if the settings
    require probes, they are made anyway. `probe_model`, the model that wrote the answer, is then asked again, too.
    `seconds` takes in how long each stage took (`calls`, `claims`, `probes`). Raise `ModelError` if the model fails: there
    is no report without a verdict.
    """
    settings = settings or GateSettings.for_task(run.task)
    try:
        validations, (claims, _) = await asyncio.gather(
            _timed(seconds, "calls", asyncio.to_thread(validate_calls, run)),
            _timed(seconds, "claims", score_claims(agent, run, settings)),
        )
    except BudgetExceeded as limit:
        raise ModelError(f"the run could not be checked: {limit}") from limit
    report = _report(run, claims, validations, (), settings)
    if not (probes or settings.probes_required):
        return report
    return await _timed(seconds, "probes", add_probes(agent, run, report, settings=settings, probe_model=probe_model))


async def add_probes(
    agent: HaluAgent,
    run: AgentRun,
    report: HallucinationReport,
    *,
    settings: GateSettings | None = None,
    probe_model: Model | None = None,
) -> HallucinationReport:
    """Complete a report without probes by stage 3, and update the action. Raise `ModelError`."""
    settings = settings or GateSettings.for_task(run.task)
    found = await probe(agent, run, report.claims, settings, probe_model)
    divergent = {one.claim for one in found if diverges(one)}
    claims = [
        claim.model_copy(update={"status": "diverged"})
        if claim.text in divergent and claim.status in ("grounded", "weak")
        else claim
        for claim in report.claims
    ]
    return _report(run, claims, report.tool_call_validations, found, settings)


async def _timed(seconds: dict[str, float] | None, stage: str, work: Awaitable[Result]) -> Result:
    """Return what the work gives, and note how long it took."""
    began = time.monotonic()
    try:
        return await work
    finally:
        if seconds is not None:
            seconds[stage] = round(time.monotonic() - began, 3)


def check_run(
    agent: HaluAgent,
    run: AgentRun,
    *,
    settings: GateSettings | None = None,
    probes: bool = True,
    probe_model: Model | None = None,
    seconds: dict[str, float] | None = None,
) -> HallucinationReport:
    """Check a run synchronously; see `acheck_run`."""
    return agent.wait_for(
        acheck_run(agent, run, settings=settings, probes=probes, probe_model=probe_model, seconds=seconds)
    )


def decide(
    run: AgentRun,
    claims: Sequence[ReportClaim],
    validations: Sequence[ToolCallValidation],
    probes: Sequence[ConsistencyProbe],
    settings: GateSettings,
) -> tuple[Action, float]:
    """Return the action for the answer, and the overall score."""
    score = overall(claims, settings)
    open_ones = open_rejections(run, validations)
    executed = settings.block_executed and any(one.status == "fabricated" and done for one, done in open_ones)
    if executed or any(claim.critical and claim.score < settings.block for claim in claims):
        return "block", score
    low = any(claim.score < settings.revise for claim in claims)
    if low or open_ones or any(map(diverges, probes)) or score < settings.emit:
        return "revise", score
    return "emit", score


def overall(claims: Sequence[ReportClaim], settings: GateSettings) -> float:
    """Return the lowest score, or the weighted mean; 1 if nothing is claimed."""
    if not claims:
        return 1.0
    if settings.overall == "minimum":
        return min(claim.score for claim in claims)
    weights = [CRITICAL_WEIGHT if claim.critical else 1 for claim in claims]
    return min(1.0, sum(w * claim.score for w, claim in zip(weights, claims, strict=True)) / sum(weights))


def open_rejections(run: AgentRun, validations: Sequence[ToolCallValidation]) -> list[tuple[ToolCallValidation, bool]]:
    """Return the rejected calls since the user last spoke that no later call made up for, each with whether it was
    executed.

    Validations are in the order of the calls; those without a call (`never_called`) come after them.
    """
    calls = deque(
        (number, call) for number, turn in enumerate(run.turns) if turn.role == "assistant" for call in turn.calls
    )
    last = max((number for number, turn in enumerate(run.turns) if turn.role == "user"), default=-1)
    offered = {tool.name for tool in run.tools}
    paired: list[tuple[ToolCallValidation, int, ToolUse | None]] = []
    good: dict[str, int] = {}  # by tool, the turn of its last correct call
    for one in validations:
        fits = bool(calls) and one.status != "never_called" and calls[0][1].tool == one.tool
        number, call = calls.popleft() if fits else (len(run.turns), None)
        paired.append((one, number, call))
        if one.status not in REJECTED and not one.stopped:
            good[one.tool] = max(number, good.get(one.tool, -1))
    latest = max(good.values(), default=-1)
    found = []
    for one, number, call in paired:
        if one.status not in REJECTED or one.stopped or number < last:
            continue
        executed = call is not None and call.succeeded
        later = (good.get(one.tool, -1) if one.tool in offered else latest) > number
        if not later or one.status == "never_called" or (one.status == "fabricated" and executed):
            found.append((one, executed))
    return found


def _report(
    run: AgentRun,
    claims: Sequence[ReportClaim],
    validations: Sequence[ToolCallValidation],
    probes: Sequence[ConsistencyProbe],
    settings: GateSettings,
) -> HallucinationReport:
    action, score = decide(run, claims, validations, probes, settings)
    return HallucinationReport(
        run_id=run.run_id,
        claims=tuple(claims),
        tool_call_validations=tuple(validations),
        consistency_probes=tuple(probes),
        overall_score=score,
        action=action,
    )
