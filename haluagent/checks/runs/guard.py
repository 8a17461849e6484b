"""Acting on a report: emit the answer, have it revised, or refuse; and the log of these decisions."""

import asyncio
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Literal, get_args

from haluagent.agent import HaluAgent
from haluagent.checks.runs import gate
from haluagent.checks.runs.answers.ground import language_of
from haluagent.checks.runs.audit import AuditLog
from haluagent.checks.runs.records import Action, AgentRun, HallucinationReport
from haluagent.checks.runs.settings import GateSettings
from haluagent.errors import ConfigError
from haluagent.prompts import render
from haluagent.text.messages import message
from haluagent.types import Record

OnError = Literal["closed", "open"]
REMEMBERED = 10_000  # runs whose rounds are counted


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


class Guard:
    """A guard that checks runs before their answers go out, and keeps every report in the file `audit`.

    A run, identified by its `run_id`, may be sent back `rounds` times; after that it is blocked. `on_error` says what
    happens to a run that could not be checked, or whose report could not be logged: `closed` blocks it, `open` lets it
    out. If `settings` is None, those of the run's task are used; `probes` turns stage 3 off. A guard may be shared by
    threads and tasks. Raise `ConfigError` for an unknown option or a log that cannot be written.
    """

    def __init__(
        self,
        agent: HaluAgent,
        settings: GateSettings | None = None,
        *,
        on_error: OnError,
        audit: Path | str | None = None,
        rounds: int = 2,
        probes: bool = True,
    ) -> None:
        if on_error not in get_args(OnError):
            raise ConfigError(f"on_error={on_error!r} is not known: use 'closed' or 'open'")
        if rounds < 0:
            raise ConfigError(f"rounds={rounds}: a run can be sent back no less than 0 times")
        self.agent = agent
        self.settings = settings
        self.on_error: OnError = on_error
        self.rounds = rounds
        self.probes = probes
        self._audit = None if audit is None else AuditLog(audit)
        self._checked: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    async def acheck(self, run: AgentRun) -> Guarded:
        """Decide what to do with a run's answer, and log it before returning. Raise no exception of the check."""
        turn = self._count(run.run_id)
        report, error = None, None
        try:
            report = await gate.acheck_run(self.agent, run, settings=self.settings, probes=self.probes)
            if report.action == "revise" and turn > self.rounds:
                report = report.model_copy(update={"action": "block"})  # "or repeated revise loops have failed"
            action = report.action
        except Exception as problem:  # whatever the error, the run is unchecked
            action, error = self._unchecked, f"{type(problem).__name__}: {problem}"
        try:
            if self._audit is not None:
                await asyncio.to_thread(self._audit.append, run.run_id, turn, action, error, report)
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
        return self.agent.wait_for(self.acheck(run))

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
