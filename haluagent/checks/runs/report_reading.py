"""Reading a report of any implementation: what it has of the spec's fields, and what is wrong with them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, get_args

from haluagent.checks.runs.records import Action, ConsistencyProbe, ReportClaim, ToolCallValidation
from haluagent.errors import ConfigError

FIELDS: dict[str, type] = {
    "run_id": str, "claims": list, "tool_call_validations": list, "consistency_probes": list, "overall_score": float,
    "action": str, "version": str,
}  # fmt: skip
CLAIM: dict[str, type] = {"text": str, "evidence_spans": list, "score": float, "critical": bool, "status": str}
CALL: dict[str, type] = {"tool": str, "args": object, "status": str, "errors": list}
PROBE: dict[str, type] = {"claim": str, "original": str, "probe_answers": list, "agreement": float}
NAMES: dict[type, str] = {str: "text", list: "list", float: "number", bool: "boolean"}
STATUSES = ("valid", "invalid", "fabricated", "never_called", "stale", "unverified")

LARGEST = 1e300  # of the numbers; NaN is in no interval

Span = tuple[str | None, tuple[int, int] | None, str]  # the call, the place in its result, the text


@dataclass
class ReadReport:
    """A report as far as it can be read. `evidence` has the spans of each claim, `numbers` every score with its name, and
    `problems` a line for each field that is missing or of a wrong type."""

    run_id: str | None = None
    action: str | None = None
    overall: float = 0.0
    claims: list[ReportClaim] = field(default_factory=list)
    evidence: list[list[Span]] = field(default_factory=list)
    validations: list[ToolCallValidation] = field(default_factory=list)
    probes: list[ConsistencyProbe] = field(default_factory=list)
    numbers: list[tuple[str, float]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read_report(data: Any) -> ReadReport:
    """Return what can be read of a report. Raise `ConfigError` if it is no object."""
    if not isinstance(data, dict):
        raise ConfigError("the report is no JSON object")
    found = ReadReport()
    found.problems += _wrong(data, FIELDS, "")
    found.run_id = data.get("run_id") if isinstance(data.get("run_id"), str) else None
    found.action = data.get("action")
    if found.action not in get_args(Action):
        found.problems.append(f"action is {str(found.action)[:40]!r}: it is emit, revise or block")
    if _is(data.get("overall_score"), float):
        found.overall = _bounded(found, "overall_score", data["overall_score"])
    for place, one in _objects(found, data, "claims", CLAIM):
        score = _bounded(found, f"{place}.score", one["score"])
        found.claims.append(ReportClaim(text=one["text"], score=score, critical=one["critical"], status="unchecked"))
        found.evidence.append([_span(found, place, span) for span in one["evidence_spans"]])
    for _, one in _objects(found, data, "tool_call_validations", CALL):
        errors = tuple(map(str, one["errors"]))
        status: Any = one["status"] if one["status"] in STATUSES else "invalid" if errors else "valid"
        args = one["args"] if isinstance(one["args"], dict | str) else str(one["args"])
        found.validations.append(
            ToolCallValidation(
                tool=one["tool"], args=args, status=status, errors=errors, stopped=one.get("stopped") is True
            )
        )
    for place, one in _objects(found, data, "consistency_probes", PROBE):
        agreement = _bounded(found, f"{place}.agreement", one["agreement"])
        answers = tuple(map(str, one["probe_answers"]))
        found.probes.append(
            ConsistencyProbe(claim=one["claim"], original=one["original"], probe_answers=answers, agreement=agreement)
        )
    return found


def _objects(
    found: ReadReport, data: dict[str, Any], name: str, fields: dict[str, type]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the members of a list that have their fields, and note the problems of the others."""
    members = data.get(name)
    for number, one in enumerate(members if isinstance(members, list) else ()):
        place = f"{name}[{number}]"
        problems = _wrong(one, fields, f"{place}.") if isinstance(one, dict) else [f"{place} is no object"]
        found.problems += problems
        if not problems:
            yield place, one


def _wrong(data: dict[str, Any], fields: dict[str, type], place: str) -> list[str]:
    missing = [f"{place}{name} is missing" for name in fields if name not in data]
    return missing + [
        f"{place}{name} is no {NAMES[kind]}"
        for name, kind in fields.items()
        if name in data and not _is(data[name], kind)
    ]


def _is(value: Any, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST < value < LARGEST
    return isinstance(value, kind)


def _bounded(found: ReadReport, name: str, value: float) -> float:
    """Return a score, in [0, 1] for the other clauses; as it is it is one of the `numbers`."""
    found.numbers.append((name, value))
    return min(1.0, max(0.0, value))


def _span(found: ReadReport, place: str, span: Any) -> Span:
    """Return a span of evidence: a text, or an object with a text, and perhaps the call's id and the place."""
    if isinstance(span, str):
        return None, None, span
    if not isinstance(span, dict) or not isinstance(span.get("text"), str):
        found.problems.append(f"{place}.evidence_spans has a member without a text")
        return None, None, ""
    call, at = span.get("call_id"), span.get("span")
    numbers = [one for one in at if type(one) is int] if isinstance(at, list | tuple) and len(at) == 2 else []
    place_of = (numbers[0], numbers[1]) if len(numbers) == 2 else None
    return call if isinstance(call, str) else None, place_of, span["text"]
