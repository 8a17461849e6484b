"""Acting on a check: let a call run or stop it; emit the answer, have it revised, or refuse; and the log of these
decisions."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from haluagent.agent import HaluAgent
from haluagent.checks.runs import gate
from haluagent.checks.runs.answers.ground import language_of
from haluagent.checks.runs.audit import AuditLog
from haluagent.checks.runs.calls.ahead import GrowingRun
from haluagent.checks.runs.calls.stopped import StoppedCalls
from haluagent.checks.runs.records import Action, AgentRun, HallucinationReport, ToolCallValidation, ToolUse
from haluagent.checks.runs.settings import GateSettings
from haluagent.errors import ConfigError
from haluagent.prompts import render
from haluagent.protocols import Model
from haluagent.text.messages import message
from haluagent.types import Record

OnError = Literal["closed", "open"]
REMEMBERED = 10_000  # runs whose rounds are counted
GROWING = 100  # runs whose texts are kept, so that they need not be read again before each call


class Guarded(Record):
    """The decision about an answer.

    `feedback` is the prompt for the agent's next turn if the action is `revise`; `refusal` is the message to the user
    if it is `block`. `report` is None, and `error` says why, if the run could not be checked. An `error` beside a
    report says that the report could not be logged. `round` counts the checks of the run from 1.
    """

    action: Action
    report: HallucinationReport | None = None
    feedback: str | None = None
    refusal: str | None = None
    error: str | None = None
    round: int = 1


class CheckedCall(Record):
    """The decision about a call that has not run.

    Only if it is `allowed` may it run. Otherwise `feedback` is what the agent is told in place of a result, and `final`
    says that it has had all its retries: it should ask the user. `validation` has the findings; also an allowed call may
    have remarks there. It is None, and `error` says why, if the call could not be checked. An `error` beside a
    validation says that a stopped call could not be logged.
    """

    allowed: bool
    validation: ToolCallValidation | None = None
    feedback: str | None = None
    final: bool = False
    error: str | None = None


class Guard:
    """A guard that checks calls before they run and runs before their answers go out, and keeps every report, also that
    on a stopped call, in the file `audit`.

    A run, identified by its `run_id`, may be sent back `rounds` times; after that it is blocked. A call that was stopped
    may be tried again `retries` times in a run with each tool, until the user speaks again. `on_error` says what happens
    to a run or call that could not be checked, or a run whose report could not be logged: `closed` blocks it, `open`
    lets it out. If `settings` is None, those of the run's task are used; `probes=False` turns stage 3 off, and `probe_model` is the
    agent's own model, to be asked again there. A guard may be
    shared by threads and tasks. `agent` may be None if it only checks calls, which takes no model. Raise `ConfigError`
    for an unknown option or a log that cannot be written.
    """

    def __init__(
        self,
        agent: HaluAgent | None,
        settings: GateSettings | None = None,
        *,
        on_error: OnError,
        audit: Path | str | None = None,
        rounds: int = 2,
        retries: int = 2,
        probes: bool = True,
        probe_model: Model | None = None,
    ) -> None:
        if on_error not in get_args(OnError):
            raise ConfigError(f"on_error={on_error!r} is not known: use 'closed' or 'open'")
        if rounds < 0:
            raise ConfigError(f"rounds={rounds}: a run can be sent back no less than 0 times")
        if retries < 0:
            raise ConfigError(f"retries={retries}: a call can be tried again no less than 0 times")
        self.agent = agent
        self.settings = settings
        self.on_error: OnError = on_error
        self.rounds = rounds
        self.retries = retries
        self.probes = probes
        self.probe_model = probe_model
        self._audit = None if audit is None else AuditLog(audit)
        self._checked: OrderedDict[str, int] = OrderedDict()
        self._growing: OrderedDict[str, GrowingRun] = OrderedDict()
        self._stopped = StoppedCalls()
        self._lock = threading.Lock()

    def check_call(self, run: AgentRun, call: ToolUse) -> CheckedCall:
        """Decide whether a call may run, by stage 1: its tool's schema, and what the run has given before it.

        The run may contain the call already. A call is stopped if the gate would reject it afterwards: it does not fit
        its tool, or a value comes from nowhere. What can neither be traced nor called invented, and a repeated call, are
        remarks. A stopped call is in the log before this returns, and the report on the run says that it was stopped.
        No model is asked. Raise `ConfigError` if the run names no tools, and no exception of the check.
        """
        if not run.tools:
            raise ConfigError("the run does not say which tools were offered: a call cannot be checked without them")
        run = self._stopped.mark(run)
        try:
            validation = self._growing_run(run.run_id).validate(run, call)
        except Exception as problem:  # whatever the error, the call is unchecked
            error, allowed = f"{type(problem).__name__}: {problem}", self.on_error == "open"
            attempt = 1 if allowed else self._stopped.add(run, call)
            logged = self._log_call(run.run_id, attempt, self._unchecked, error)
            told = None if allowed else call_feedback(run, call, (), final=True)
            return CheckedCall(
                allowed=allowed, feedback=told, final=not allowed, error=f"{error}; {logged}" if logged else error
            )
        if validation.status not in gate.REJECTED:
            return CheckedCall(allowed=True, validation=validation)
        attempt = self._stopped.add(run, call)
        validation, final = validation.model_copy(update={"stopped": True}), attempt > self.retries
        return CheckedCall(
            allowed=False,
            validation=validation,
            feedback=call_feedback(run, call, validation.errors, final=final),
            final=final,
            error=self._log_call(run.run_id, attempt, "block" if final else "revise", None, validation),
        )

    async def acheck_call(self, run: AgentRun, call: ToolUse) -> CheckedCall:
        """Decide whether a call may run, outside the event loop; see `check_call`."""
        return await asyncio.to_thread(self.check_call, run, call)

    async def acheck(self, run: AgentRun) -> Guarded:
        """Decide what to do with a run's answer, and log it before returning. Raise no exception of the check, and
        `ConfigError` if the guard has no agent."""
        agent, turn = self._agent(), self._count(run.run_id)
        run = self._stopped.mark(run)
        report, error, seconds = None, None, dict[str, float]()
        try:
            report = await gate.acheck_run(
                agent, run, settings=self.settings, probes=self.probes, probe_model=self.probe_model, seconds=seconds
            )
            if report.action == "revise" and turn > self.rounds:
                report = report.model_copy(update={"action": "block"})  # "or repeated revise loops have failed"
            action = report.action
        except Exception as problem:  # whatever the error, the run is unchecked
            action, error = self._unchecked, f"{type(problem).__name__}: {problem}"
        try:
            if self._audit is not None:
                await asyncio.to_thread(self._audit.append, run.run_id, turn, action, error, report, seconds)
        except Exception as problem:
            logged = f"the audit log could not be written: {problem}"
            action = action if self.on_error == "open" else "block"
            error = f"{error}; {logged}" if error else logged
        if action != "revise":
            self._forget(run.run_id)
        return Guarded(
            action=action,
            report=report,
            feedback=feedback(run, report) if action == "revise" and report else None,
            refusal=refusal(run, report if error is None else None) if action == "block" else None,
            error=error,
            round=turn,
        )

    def check(self, run: AgentRun) -> Guarded:
        """Decide synchronously; see `acheck`."""
        return self._agent().wait_for(self.acheck(run))

    def _agent(self) -> HaluAgent:
        if self.agent is None:
            raise ConfigError("this guard has no agent, and can only check calls: make it as Guard(HaluAgent(), …)")
        return self.agent

    @property
    def _unchecked(self) -> Action:
        return "emit" if self.on_error == "open" else "block"

    def _count(self, run_id: str) -> int:
        with self._lock:
            self._checked[run_id] = self._checked.pop(run_id, 0) + 1
            if len(self._checked) > REMEMBERED:
                self._checked.popitem(last=False)
            return self._checked[run_id]

    def _forget(self, run_id: str) -> None:
        with self._lock:
            self._checked.pop(run_id, None)
            self._growing.pop(run_id, None)

    def _growing_run(self, run_id: str) -> GrowingRun:
        with self._lock:
            self._growing[run_id] = self._growing.pop(run_id, GrowingRun())
            if len(self._growing) > GROWING:
                self._growing.popitem(last=False)
            return self._growing[run_id]

    def _log_call(
        self, run_id: str, attempt: int, action: Action, error: str | None, *found: ToolCallValidation
    ) -> str | None:
        """Log a call that was stopped or not checked, as a report on nothing else. Return why it could not be logged."""
        if self._audit is None:
            return None
        report = HallucinationReport(
            run_id=run_id, claims=(), tool_call_validations=found, overall_score=1, action=action
        )
        try:
            self._audit.append(run_id, attempt, action, error, report if found else None)
        except Exception as problem:
            return f"the audit log could not be written: {problem}"
        return None


async def aguard(
    run: AgentRun,
    agent: HaluAgent | None = None,
    settings: GateSettings | None = None,
    *,
    on_error: OnError,
    audit: Path | str | None = None,
    probes: bool = True,
) -> Guarded:
    """Check one run with `Guard.acheck`, by the default agent if none is given. It counts no rounds: see `Guard`."""
    own = agent or HaluAgent()
    try:
        return await Guard(own, settings, on_error=on_error, audit=audit, rounds=1, probes=probes).acheck(run)
    finally:
        if agent is None:
            await own.aclose()


def guard(
    run: AgentRun,
    agent: HaluAgent | None = None,
    settings: GateSettings | None = None,
    *,
    on_error: OnError,
    audit: Path | str | None = None,
    probes: bool = True,
) -> Guarded:
    """Check one run synchronously; see `aguard`."""
    own = agent or HaluAgent()
    try:
        return own.wait_for(aguard(run, own, settings, on_error=on_error, audit=audit, probes=probes))
    finally:
        if agent is None:
            own.close()


def call_feedback(run: AgentRun, call: ToolUse, errors: Sequence[str], *, final: bool) -> str:
    """Return what the agent is told in place of the result of a stopped call; no `errors` if it could not be checked."""
    return render("call", language_of(run), tool=call.tool, errors=errors, final=final)


def feedback(run: AgentRun, report: HallucinationReport) -> str:
    """Return the prompt for the agent's next turn: its unsupported statements and its rejected calls."""
    weak = [claim for claim in report.claims if claim.status != "grounded"]
    bad = [claim for claim in weak if claim.status != "weak"] or weak
    calls = [call for call, _ in gate.open_rejections(run, report.tool_call_validations)]
    return render("feedback", language_of(run), claims=bad, calls=calls)


def refusal(run: AgentRun, report: HallucinationReport | None) -> str:
    """Return the message to the user in place of a blocked answer.

    It names the kind of failure and reveals nothing else: no tool, no value, no score. A `report` of None stands for a
    run that could not be checked.
    """
    kind = "failed"
    if report is not None:
        rejected = gate.open_rejections(run, report.tool_call_validations)
        grounded = all(claim.status in ("grounded", "weak") for claim in report.claims)
        kind = "calls" if rejected and grounded else "claims"
    return message(f"runs.refusal.{kind}", language_of(run))
