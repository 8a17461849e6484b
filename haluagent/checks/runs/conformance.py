"""Conformance: which clauses of the Agent Hallucination Detection Spec a report on a run keeps, whoever made it.

A clause that the run gives no occasion for does not apply. What the spec leaves open is judged by what a report says of
itself: a call counts as rejected if it has errors, and a claim as critical if it is marked so.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from haluagent.checks.runs.answers.critical import specifics
from haluagent.checks.runs.answers.ground import user_text
from haluagent.checks.runs.answers.probe import diverges
from haluagent.checks.runs.calls.check import validate_calls
from haluagent.checks.runs.calls.schema_check import schema_errors
from haluagent.checks.runs.gate import open_rejections
from haluagent.checks.runs.records import AgentRun, ToolUse
from haluagent.checks.runs.report_reading import ReadReport, read_report
from haluagent.checks.runs.settings import GateSettings
from haluagent.text.normalize import unspaced
from haluagent.text.segment import split
from haluagent.types import Record

NEAR = 0.005  # scores may be rounded
SHOWN = 60  # characters of a text
# What comes from nowhere in a call, as stage 1 says it; the spec names these kinds.
_ENTITY = re.compile(r": (?:url|email|id|path|handle) ['\"]")

Level = Literal["MUST", "SHOULD"]
Problems = list[str] | None  # None: the clause does not apply


class Clause(Record):
    """A clause of the spec, with whether the report keeps it, and every problem in one line."""

    name: str
    level: Level
    text: str
    outcome: Literal["pass", "fail", "not applicable"]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Given:
    """A run with a report on it, and the thresholds that it was gated by."""

    run: AgentRun
    report: ReadReport
    settings: GateSettings

    @property
    def calls(self) -> list[ToolUse]:
        return [call for turn in self.run.turns for call in turn.calls]

    @property
    def judged(self) -> bool:
        """Return whether the answer has claims to judge."""
        return self.settings.groundedness and bool(self.run.answer.strip())

    @property
    def faults(self) -> list[str]:
        """Return what forbids to emit the answer."""
        found = []
        if self.report.overall < self.settings.emit - NEAR:
            found.append(f"the overall score {self.report.overall:g} is below {self.settings.emit:g}")
        found += [f"the probes of {_short(one.claim)} diverge" for one in self.report.probes if diverges(one)]
        found += [
            f"a rejected call of {one.tool} stands" for one, _ in open_rejections(self.run, self.report.validations)
        ]
        return found


def conform(run: AgentRun, report: Any, settings: GateSettings | None = None) -> list[Clause]:
    """Return every clause of the spec with its outcome, in the order of the stages.

    `report` is the JSON data of a HallucinationReport; `settings` the thresholds, by default those of the run's task.
    Raise `ConfigError` if it is no object.
    """
    given = Given(run, read_report(report), settings or GateSettings.for_task(run.task))
    return [_held(given, name, level, text, holds) for name, level, text, holds in CLAUSES]


def _held(given: Given, name: str, level: Level, text: str, holds: Callable[[Given], Problems]) -> Clause:
    problems = holds(given)
    outcome: Literal["pass", "fail", "not applicable"] = (
        "not applicable" if problems is None else "fail" if problems else "pass"
    )
    if name == "probes.made" and given.run.task == "high_stakes":
        level = "MUST"
    return Clause(name=name, level=level, text=text, outcome=outcome, problems=tuple(problems or ()))


def _fields(given: Given) -> Problems:
    return list(given.report.problems)


def _run_id(given: Given) -> Problems:
    said = given.report.run_id
    return [] if said == given.run.run_id else [f"it is {said!r}, the run's is {given.run.run_id!r}"]


def _scores(given: Given) -> Problems:
    return [f"{name} is {value:g}" for name, value in given.report.numbers if not 0 <= value <= 1]


def _recorded(given: Given) -> Problems:
    if not given.calls:
        return None
    left = list(given.report.validations)
    problems = []
    for call in given.calls:
        found = next((one for one in left if one.tool == call.tool and one.args == call.arguments), None)
        if found is None:
            problems.append(f"no validation of call {call.id} ({call.tool}) with its arguments")
        else:
            left.remove(found)
    return problems


def _rejected(given: Given, calls: list[ToolUse], why: str) -> Problems:
    """Return the calls whose validation has no error, though there is one. None if there are no such calls."""
    if not calls:
        return None
    with_errors = [one for one in given.report.validations if one.errors and one.status != "valid"]
    return [
        f"call {call.id} ({call.tool}) {why}, and is not rejected with an error"
        for call in calls
        if not any(one.tool == call.tool and one.args == call.arguments for one in with_errors)
    ]


def _schema(given: Given) -> Problems:
    tools = {tool.name: tool for tool in given.run.tools}
    if not tools:
        return None
    wrong = [call for call in given.calls if call.tool not in tools or schema_errors(tools[call.tool], call.arguments)]
    return _rejected(given, wrong, "does not fit its tool")


def _entities(given: Given) -> Problems:
    found = [one for one in validate_calls(given.run) if one.status != "never_called"]
    wrong = [
        call
        for call, one in zip(given.calls, found, strict=True)
        if one.status == "fabricated" and any(map(_ENTITY.search, one.errors))
    ]
    return _rejected(given, wrong, "has an entity that nothing gives")


def _attempts(given: Given) -> Problems:
    return _rejected(given, [call for call in given.calls if call.stopped], "was stopped before it ran")


def _retry(given: Given) -> Problems:
    stopped = [call for call in given.calls if call.stopped]
    return (
        [f"the model was not told why call {call.id} was stopped" for call in stopped if not call.result]
        if stopped
        else None
    )


def _decomposed(given: Given) -> Problems:
    if not given.judged:
        return None
    claims = unspaced("\n".join(claim.text for claim in given.report.claims))
    parts = [part.text for part in specifics(given.run.answer) if part.kind != "name"]
    if not (parts or given.report.claims):
        return None
    return [f"no claim has {part!r} of the answer" for part in dict.fromkeys(parts) if unspaced(part) not in claims]


def _atomic(given: Given) -> Problems:
    if not given.report.claims:
        return None
    return [
        f"more than one sentence: {_short(claim.text)}" for claim in given.report.claims if len(split(claim.text)) > 1
    ]


def _verbatim(given: Given) -> Problems:
    results = {call.id: call.result for call in given.calls if call.result is not None and not call.stopped}
    folded = {name: unspaced(result) for name, result in results.items()}
    spans = [span for claim in given.report.evidence for span in claim]
    if not spans:
        return None
    problems = []
    for call_id, place, text in spans:
        searched = [folded.get(call_id, "")] if call_id is not None else list(folded.values())
        if not any(unspaced(text) in result for result in searched):
            problems.append(f"in no result: {_short(text)}")
        elif call_id is not None and place is not None and results[call_id][slice(*place)] != text:
            problems.append(f"not at {place[0]}-{place[1]} of call {call_id}: {_short(text)}")
    return problems


def _cited(given: Given) -> Problems:
    user = unspaced(user_text(given.run))
    grounded = [
        (claim, spans)
        for claim, spans in zip(given.report.claims, given.report.evidence, strict=True)
        # what the user said is no claim about the results
        if claim.score >= given.settings.emit and not all(unspaced(part.text) in user for part in specifics(claim.text))
    ]
    return [f"no evidence of {_short(claim.text)}" for claim, spans in grounded if not spans] if grounded else None


def _overall(given: Given) -> Problems:
    scores = [claim.score for claim in given.report.claims]
    if not scores:
        return None
    inside = min(scores) - NEAR <= given.report.overall <= max(scores) + NEAR
    return [] if inside else [f"{given.report.overall:g} is no minimum or mean of {min(scores):g} … {max(scores):g}"]


def _critical(given: Given) -> Problems:
    exact = [claim for claim in given.report.claims if any(part.kind != "name" for part in specifics(claim.text))]
    return [f"not critical: {_short(claim.text)}" for claim in exact if not claim.critical] if exact else None


def _probed(given: Given) -> Problems:
    critical = [claim for claim in given.report.claims if claim.critical]
    if given.run.task != "high_stakes" or not critical or not any(call.succeeded for call in given.calls):
        return None
    asked = {one.claim for one in given.report.probes}
    return [f"not asked again: {_short(claim.text)}" for claim in critical if claim.text not in asked]


def _emitted(given: Given) -> Problems:
    return given.faults if given.report.action == "emit" else None


def _blocked(given: Given) -> Problems:
    low = [claim for claim in given.report.claims if claim.critical and claim.score < given.settings.block - NEAR]
    if not low:
        return None
    return (
        []
        if given.report.action == "block"
        else [f"{given.report.action}, though critical and low: {_short(low[0].text)}"]
    )


def _reason(given: Given) -> Problems:
    if given.report.action not in ("revise", "block"):
        return None
    low = any(claim.score < given.settings.revise for claim in given.report.claims)
    return [] if low or given.faults else [f"{given.report.action}, and nothing in the report is a reason"]


def _short(text: str) -> str:
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")


CLAUSES: tuple[tuple[str, Level, str, Callable[[Given], Problems]], ...] = (
    ("calls.recorded", "MUST", "every call of the run has a validation", _recorded),
    ("calls.schema", "MUST", "a call that does not fit its tool's schema is rejected", _schema),
    ("calls.entities", "MUST", "a call with a URL, id, handle or path that nothing gives is rejected", _entities),
    ("calls.attempts", "MUST", "rejected attempts are recorded with their errors", _attempts),
    ("calls.retry", "MUST", "the error goes back to the model", _retry),
    ("claims.decomposed", "MUST", "every number, date and citation of the answer is in a claim", _decomposed),
    ("claims.atomic", "MUST", "a claim is a sentence or less", _atomic),
    ("claims.cited", "MUST", "a grounded claim cites evidence", _cited),
    ("claims.verbatim", "MUST", "evidence stands in a result of the run", _verbatim),
    ("claims.overall", "MUST", "the overall score is the minimum or a mean of the claims", _overall),
    ("probes.critical", "SHOULD", "claims with numbers, dates or citations are critical", _critical),
    ("probes.made", "SHOULD", "at high stakes every critical claim is asked again", _probed),
    ("gate.emit", "MUST", "an emitted answer is above the threshold, without divergence or rejected calls", _emitted),
    ("gate.block", "MUST", "a critical claim below the block threshold blocks", _blocked),
    ("gate.reason", "MUST", "an answer is held back for a reason", _reason),
    ("output.fields", "MUST", "the report has the fields of the spec", _fields),
    ("output.run_id", "MUST", "it names the run", _run_id),
    ("output.scores", "MUST", "scores are in [0, 1]", _scores),
)
