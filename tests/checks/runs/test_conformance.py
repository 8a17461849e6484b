"""The clauses of the spec: a report that keeps them, and for each clause one that does not."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from haluagent import HaluAgent
from haluagent.checks.runs.conformance import CLAUSES, conform
from haluagent.checks.runs.forms.reading import parse
from haluagent.checks.runs.gate import check_run
from haluagent.cli import main as cli
from haluagent.errors import ConfigError

RESULT = '{"order_id": "ORD-20933", "status": "shipped", "total": 82.0}'
RUN = {
    "run_id": "r",
    "tools": [{"name": "get_order", "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}}}],
    "turns": [
        {"role": "user", "text": "What about my order?"},
        {"role": "assistant", "calls": [
            {"id": "c1", "tool": "get_order", "arguments": {"order_id": "ORD-1"}, "result": "not executed", "stopped": True},
            {"id": "c2", "tool": "get_order", "arguments": {"order": 1}, "result": "not executed", "stopped": True}]},
        {"role": "user", "text": "It is ORD-20933."},
        {"role": "assistant", "calls": [{"id": "c3", "tool": "get_order", "arguments": {"order_id": "ORD-20933"}, "result": RESULT}]},
    ],
    "answer": "It costs 82 dollars. It was shipped.",
    "task": "high_stakes",
}  # fmt: skip
AT = RESULT.index('"total": 82.0')
REPORT = {
    "run_id": "r",
    "claims": [
        {"text": "It costs 82 dollars.", "score": 0.97, "critical": True, "status": "fine",
         "evidence_spans": [{"call_id": "c3", "tool": "get_order", "span": [AT, AT + 13], "text": '"total": 82.0'}]},
        {"text": "It was shipped.", "score": 0.93, "critical": False, "status": "fine", "evidence_spans": ['"status": "shipped"']},
    ],
    "tool_call_validations": [
        {"tool": "get_order", "args": {"order_id": "ORD-1"}, "status": "rejected", "errors": ["no such id"], "stopped": True},
        {"tool": "get_order", "args": {"order": 1}, "status": "rejected", "errors": ["unknown argument"], "stopped": True},
        {"tool": "get_order", "args": {"order_id": "ORD-20933"}, "status": "ok", "errors": []},
    ],
    "consistency_probes": [
        {"claim": "It costs 82 dollars.", "original": "82", "probe_answers": ["82", "82"], "agreement": 1},
    ],
    "overall_score": 0.93, "action": "emit", "version": "1.0", "more": "is allowed",
}  # fmt: skip


def outcomes(run: Any, report: Any) -> dict[str, str]:
    return {one.name: one.outcome for one in conform(parse(run), report)}


def with_(data: Any, path: str, value: Any) -> Any:
    """Return a copy with another value at a path; ... removes it."""
    new = copy.deepcopy(data)
    *places, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    inner = new
    for place in places:
        inner = inner[place]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return new


def test_a_report_of_another_implementation_keeps_every_clause() -> None:
    found = outcomes(RUN, REPORT)
    assert len(found) == len(CLAUSES)
    assert {name for name, outcome in found.items() if outcome != "pass"} == {
        "gate.block",
        "gate.reason",
    }  # nothing to hold back


DIVERGENT = {"claim": "It costs 82 dollars.", "original": "82", "probe_answers": ["28"], "agreement": 0}
BROKEN: list[tuple[str, Callable[[], tuple[Any, Any]]]] = [
    ("calls.recorded", lambda: (RUN, with_(REPORT, "tool_call_validations.2", ...))),
    ("calls.schema", lambda: (RUN, with_(REPORT, "tool_call_validations.1.errors", []))),
    ("calls.entities", lambda: (RUN, with_(REPORT, "tool_call_validations.0.errors", []))),
    ("calls.attempts", lambda: (RUN, with_(REPORT, "tool_call_validations.0.args", {}))),
    ("calls.retry", lambda: (with_(RUN, "turns.1.calls.0.result", ...), REPORT)),
    ("claims.decomposed", lambda: (with_(RUN, "answer", "It costs 82 dollars. It was shipped on 3 May."), REPORT)),
    ("claims.atomic", lambda: (RUN, with_(REPORT, "claims.0.text", "It costs 82 dollars. It was shipped."))),
    ("claims.cited", lambda: (RUN, with_(REPORT, "claims.0.evidence_spans", []))),
    ("claims.verbatim", lambda: (RUN, with_(REPORT, "claims.0.evidence_spans.0.text", '"total": 28.0'))),
    ("claims.verbatim", lambda: (RUN, with_(REPORT, "claims.0.evidence_spans.0.span", [0, 13]))),
    ("claims.overall", lambda: (RUN, with_(REPORT, "overall_score", 0.99))),
    ("probes.critical", lambda: (RUN, with_(REPORT, "claims.0.critical", False))),
    ("probes.made", lambda: (RUN, with_(REPORT, "consistency_probes", []))),
    ("gate.emit", lambda: (RUN, with_(REPORT, "consistency_probes.0", DIVERGENT))),
    ("gate.emit", lambda: (RUN, with_(with_(REPORT, "claims.1.score", 0.8), "overall_score", 0.8))),
    ("gate.block", lambda: (RUN, with_(REPORT, "claims.0.score", 0.3))),
    ("gate.reason", lambda: (RUN, with_(REPORT, "action", "block"))),
    ("output.fields", lambda: (RUN, with_(REPORT, "version", ...))),
    ("output.fields", lambda: (RUN, with_(REPORT, "claims.0.score", "high"))),
    ("output.fields", lambda: (RUN, with_(REPORT, "action", "pass"))),
    ("output.run_id", lambda: (RUN, with_(REPORT, "run_id", "s"))),
    ("output.scores", lambda: (RUN, with_(REPORT, "consistency_probes.0.agreement", 1.5))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("clause", "make"), BROKEN, ids=[f"{name}-{number}" for number, (name, _) in enumerate(BROKEN)]
)
def test_a_report_that_breaks_a_clause_fails_there(clause: str, make: Callable[[], tuple[Any, Any]]) -> None:
    assert outcomes(*make())[clause] == "fail"


def test_every_clause_has_a_report_that_breaks_it() -> None:
    assert {name for name, *_ in CLAUSES} == {name for name, _ in BROKEN}


def test_what_a_run_gives_no_occasion_for_does_not_apply() -> None:
    run = {
        "run_id": "r",
        "turns": [{"role": "user", "text": "Write a poem."}],
        "answer": "Roses are red.",
        "task": "creative",
    }
    report = {**REPORT, "claims": [], "tool_call_validations": [], "consistency_probes": [], "overall_score": 1}
    assert {name for name, outcome in outcomes(run, report).items() if outcome == "pass"} == {
        "gate.emit", "output.fields", "output.run_id", "output.scores"}  # fmt: skip


def test_our_own_report_keeps_them(scripted: Any) -> None:
    model = scripted(choose=lambda messages: 0.02 if "\nA: no" in messages[-1]["content"] else 0.98, free="82")
    run = parse(RUN)
    with HaluAgent(model, sandbox="none", search="none") as agent:
        report = check_run(agent, run).model_dump(mode="json")
    assert [
        (one.name, one.problems) for one in conform(run, json.loads(json.dumps(report))) if one.outcome == "fail"
    ] == []


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*REPORT, "text", "score", "span"]), inner, max_size=4)
    ),
    max_leaves=8,
)
PATHS = ["claims", "claims.0", "claims.0.score", "claims.0.evidence_spans", "claims.0.evidence_spans.0.span", "overall_score",
         "tool_call_validations.0.args", "tool_call_validations.0.errors", "consistency_probes.0.probe_answers", "action"]  # fmt: skip


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(PATHS), ANY)
def test_a_report_may_hold_anything(path: str, value: Any) -> None:
    assert len(conform(parse(RUN), with_(REPORT, path, value))) == len(CLAUSES)


def test_the_command_says_what_fails_and_ends_with_1(tmp_path: Path, capsys: Any) -> None:
    (run := tmp_path / "run.json").write_text(json.dumps(RUN))
    (report := tmp_path / "report.json").write_text(json.dumps(REPORT))
    assert cli.run(["runs", "conform", str(run), str(report)]) == 0
    assert "16 pass, 0 fail, 2 do not apply" in capsys.readouterr().out
    assert cli.run(["runs", "conform", str(run), str(report), "--emit", "0.95", "--json"]) == 1
    failed = [one for one in json.loads(capsys.readouterr().out) if one["outcome"] == "fail"]
    assert [(one["name"], one["problems"]) for one in failed] == [
        ("gate.emit", ["the overall score 0.93 is below 0.95"])
    ]
    report.write_text("[")
    assert cli.run(["runs", "conform", str(run), str(report)]) == 2
    with pytest.raises(ConfigError, match="no JSON object"):
        conform(parse(RUN), [])
