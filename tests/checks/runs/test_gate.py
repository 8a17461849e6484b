"""Stages 3 and 4: probes, the gate's rule, and that no run is left without a verdict."""

import os
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from haluagent import HaluAgent
from haluagent.checks.runs import gate
from haluagent.checks.runs.answers.probe import agrees, diverges, needs_probe, probe
from haluagent.checks.runs.gate import acheck_run, add_probes, check_run, decide
from haluagent.checks.runs.records import (
    AgentRun,
    ConsistencyProbe,
    HallucinationReport,
    ReportClaim,
    ToolCallValidation,
    ToolSpec,
    ToolUse,
    Turn,
)
from haluagent.checks.runs.settings import GateSettings
from haluagent.errors import ConfigError, ModelError
from haluagent.protocols import Message

FUZZED = int(os.environ.get("HALUAGENT_TEST_FUZZED_RUNS", "200"))  # 10000 takes minutes
GATE = GateSettings()


def a_claim(score: float, *, critical: bool = True) -> ReportClaim:
    return ReportClaim(text=f"claim {score}", score=score, critical=critical, status=GATE.status(score))


def a_run(*turns: Sequence[ToolUse] | str, answer: str = "It is 40.", task: Any = "factual") -> AgentRun:
    made = [Turn(role="user", text="What does it cost?")]
    made += [
        Turn(role="user", text=one) if isinstance(one, str) else Turn(role="assistant", calls=tuple(one))
        for one in turns
    ]
    return AgentRun(run_id="r", tools=(ToolSpec(name="price"),), turns=tuple(made), answer=answer, task=task)


def a_call(result: str | None = '{"price": 40}') -> ToolUse:
    return ToolUse(id="c", tool="price", arguments={}, result=result, failed=result is None)


def judged(*statuses: Any) -> list[ToolCallValidation]:
    return [ToolCallValidation(tool="price", args={}, status=status) for status in statuses]


@pytest.mark.parametrize(
    ("claims", "action"),
    [
        ([], "emit"),
        ([a_claim(0.85), a_claim(1.0)], "emit"),
        ([a_claim(0.84)], "revise"),  # nothing below revise, and yet not good enough to emit
        ([a_claim(0.5)], "revise"),
        ([a_claim(0.4)], "revise"),
        ([a_claim(0.39)], "block"),
        ([a_claim(0.0, critical=False), a_claim(1.0)], "revise"),  # not critical: worth a second try
    ],
)
def test_the_thresholds(claims: list[ReportClaim], action: str) -> None:
    assert decide(a_run(), claims, [], [], GATE)[0] == action


def test_the_mean_counts_critical_claims_twice_and_a_bad_claim_is_still_revised() -> None:
    mean = GateSettings(overall="mean")
    assert decide(a_run(), [a_claim(0.7), a_claim(1.0, critical=False)], [], [], mean) == ("revise", pytest.approx(0.8))
    claims = [*[a_claim(1.0)] * 5, a_claim(0.5, critical=False)]
    assert decide(a_run(), claims, [], [], mean) == ("revise", pytest.approx(10.5 / 11))
    assert decide(a_run(), [*[a_claim(1.0)] * 5, a_claim(0.6)], [], [], mean)[0] == "emit"


@pytest.mark.parametrize(
    ("original", "answers", "agreement", "diverged"),
    [
        ("40", ["40", "40", "45"], 2 / 3, False),
        ("40", ["45", "46", "40"], 1 / 3, True),
        ("40", ["45", "not stated", "not stated"], 0.0, False),  # what finds nothing is no answer
        ("40", ["a price", "the shop", "the item"], 0.0, False),  # nor is what names no number
        ("ORD-77", ["ORD-78", "ORD-78", "shipped"], 0.0, True),
        ("3 May", ["May 4", "4 May", "in spring"], 0.0, True),
        ("9:30", ["Cedar", "10:30", "Birch"], 0.0, False),
        ("Priya Nair", ["Omar Diaz", "Omar Diaz", "not stated"], 0.0, True),
        ("Priya Nair", ["the reference", "name; status", "not stated"], 0.0, False),
        ("Priya Nair", ["Omar Diaz", "Omar Diaz", "priya nair"], 1 / 3, True),
        ("Priya Nair", ["Omar Diaz", "Omar Diaz", "priya"], 1 / 3, True),
        ("李梅", ["王强", "王强", "没有提到"], 0.0, True),
        ("yes", ["No", "no.", "yes"], 1 / 3, True),
        ("yes", ["maybe", "no.", "unclear"], 0.0, False),
        ("是", ["否", "否", "是"], 1 / 3, True),
    ],
)
def test_a_claim_diverges_where_most_answers_say_something_else(
    original: str, answers: list[str], agreement: float, diverged: bool
) -> None:
    probe = ConsistencyProbe(claim="It is so.", original=original, probe_answers=tuple(answers), agreement=agreement)
    assert diverges(probe) is diverged
    assert decide(a_run(), [a_claim(0.9)], [], [probe], GATE)[0] == ("revise" if diverged else "emit")


@pytest.mark.parametrize(
    ("turns", "statuses", "action"),
    [
        ([[a_call()]], ["valid"], "emit"),
        ([[a_call()], [a_call()]], ["valid", "stale"], "emit"),
        ([[a_call()]], ["invalid"], "revise"),
        ([[a_call()], [a_call()]], ["invalid", "valid"], "emit"),  # put right by a second try
        ([[a_call(None)], [a_call()]], ["fabricated", "valid"], "emit"),  # refused, then put right
        ([[a_call()], [a_call()]], ["fabricated", "valid"], "revise"),  # it was executed
        ([[a_call(None), a_call()]], ["fabricated", "valid"], "revise"),  # not a second try: both were made at once
        ([[a_call()]], ["valid", "never_called"], "revise"),
        ([[a_call()], "And now?", [a_call()]], ["fabricated", "valid"], "emit"),  # it was of an earlier answer
    ],
)
def test_rejected_calls(turns: list[Any], statuses: list[str], action: str) -> None:
    assert decide(a_run(*turns), [], judged(*statuses), [], GATE)[0] == action


def test_a_later_call_makes_up_for_one_of_its_own_tool_only() -> None:
    def judge(*tools: str) -> list[str]:
        calls = [ToolUse(id=tool, tool=tool, arguments={}, result="x") for tool in tools]
        run = a_run(*[[call] for call in calls])
        found = [
            ToolCallValidation(tool=tool, args={}, status="valid" if tool == tools[-1] else "invalid") for tool in tools
        ]
        return [one.tool for one, _ in gate.open_rejections(run, found)]

    assert (
        judge("price", "other") == ["price"] and judge("gone", "price") == []
    )  # there is no tool `gone`: any makes up for it


def test_high_stakes_are_tighter_and_block_an_executed_invention() -> None:
    high = GateSettings.for_task("high_stakes")
    assert decide(a_run([a_call()]), [], judged("fabricated"), [], high)[0] == "block"
    assert decide(a_run([a_call(None)]), [], judged("fabricated"), [], high)[0] == "revise"
    assert (
        decide(a_run(), [a_claim(0.86)], [], [], high)[0] == "revise"
        and decide(a_run(), [a_claim(0.45)], [], [], high)[0] == "block"
    )


def test_thresholds_out_of_order_are_refused() -> None:
    with pytest.raises(ConfigError, match="block 0.9"):
        GateSettings(block=0.9)


@pytest.mark.parametrize(("answer", "original", "kind", "same"), [
    ("40.2", "40", "number", True), ("41", "40", "number", False), ("四十", "40", "number", True),
    ("2026-03-05", "March 5", "date", True), ("2026-03-06", "3月5日", "date", False), ("14:30", "下午2点半", "date", True),
    ("A-1001", "A-1001", "citation", True), ("A-1002", "A-1001", "citation", False),
    ("Ana Moreno", "Moreno", "name", True), ("not stated", "40", "number", False), ("没有提到", "40", "number", False),
    ("Yes.", "yes", None, True), ("No", "yes", None, False),
])  # fmt: skip
def test_answers_are_compared_by_what_they_say(answer: str, original: str, kind: Any, same: bool) -> None:
    assert agrees(answer, original, kind, "en") is same


def test_only_critical_claims_that_are_not_sure_are_asked_anew() -> None:
    assert [needs_probe(a_claim(score), GATE) for score in (0.3, 0.4, 0.9, 0.95)] == [False, True, True, False]
    assert not needs_probe(a_claim(0.7, critical=False), GATE)
    assert needs_probe(a_claim(0.99), GateSettings.for_task("high_stakes"))


@pytest.mark.parametrize(("answer", "agreement", "action"), [("40", 1.0, "emit"), ("45", 0.0, "revise")])
def test_the_probe_does_not_see_what_was_claimed(scripted: Any, answer: str, agreement: float, action: str) -> None:
    model = scripted(choose=lambda messages: 0.98 if "\nA: no" not in messages[-1]["content"] else 0.02, free=answer)
    claim = ReportClaim(text="It is 40.", score=0.9, critical=True, status="grounded")
    report = HallucinationReport(
        run_id="r", claims=(claim,), tool_call_validations=(), overall_score=0.9, action="emit"
    )
    with HaluAgent(model, sandbox="none", search="none") as agent:
        after = agent.wait_for(add_probes(agent, a_run([a_call()]), report))
    (found,) = after.consistency_probes
    assert (found.original, found.probe_answers, found.agreement) == ("40", (answer,) * 3, agreement)
    assert diverges(found) is (agreement == 0.0) and after.action == action
    assert after.claims[0].status == ("grounded" if agreement else "diverged")
    prompts = [messages[-1]["content"] for messages in model.seen]
    assert len(set(prompts)) == 3 and all("It is ____." in text and "price: 40" in text for text in prompts)


@pytest.mark.parametrize(("said", "action"), [("40", "emit"), ("45", "revise")])
def test_the_model_that_wrote_the_answer_is_asked_again_too(scripted: Any, said: str, action: str) -> None:
    checker = scripted(choose=lambda messages: 0.02 if "\nA: no" in messages[-1]["content"] else 0.98, free="40")
    own, seconds = scripted(free=said), dict[str, float]()
    with HaluAgent(checker, sandbox="none", search="none") as agent:
        run = a_run([a_call()], answer="The price is 40.", task="high_stakes")
        report = check_run(agent, run, probe_model=own, seconds=seconds)
    assert [one.probe_answers for one in report.consistency_probes] == [("40",) * 3, (said,) * 3]
    assert report.action == action and set(seconds) == {"calls", "claims", "probes"}
    assert len(own.seen) == 3 and all("price: 40" in messages[-1]["content"] for messages in own.seen)


def test_no_probe_where_nothing_is_to_be_asked(scripted: Any) -> None:
    model = scripted()
    with HaluAgent(model, sandbox="none", search="none") as agent:
        assert agent.wait_for(probe(agent, a_run([a_call()]), [a_claim(0.99)])) == [] and not model.seen


@pytest.mark.parametrize("task", ["factual", "creative", "high_stakes"])
def test_the_whole_check(scripted: Any, task: Any) -> None:
    model = scripted(choose=lambda messages: 0.02 if "\nA: no" in messages[-1]["content"] else 0.98, free="40")
    with HaluAgent(model, sandbox="none", search="none") as agent:
        report = check_run(agent, a_run([a_call()], answer="The price is 40.", task=task), probes=False)
    assert report.action == "emit" and [one.status for one in report.tool_call_validations] == ["valid"]
    assert len(report.claims) == (task != "creative") and bool(report.consistency_probes) is (task == "high_stakes")


def test_an_invented_call_is_caught_in_a_creative_run_too(scripted: Any) -> None:
    run = a_run([ToolUse(id="c", tool="no_such_tool", arguments={}, result="ok")], task="creative")
    with HaluAgent(scripted(), sandbox="none", search="none") as agent:
        assert check_run(agent, run).action == "revise"


class Broken:
    """A model whose endpoint is gone."""

    name, context, base_url = "broken", 8192, "http://127.0.0.1:9/v1"

    async def generate(self, messages: Sequence[Message], **options: Any) -> Any:
        raise ModelError("the endpoint is gone")

    async def choose(self, messages: Sequence[Message], choices: Sequence[str]) -> Any:
        raise ModelError("the endpoint is gone")

    def count_tokens(self, text: str) -> int:
        return len(text) // 4


def test_a_model_that_fails_gives_no_report_or_one_that_does_not_emit() -> None:
    with HaluAgent(Broken(), sandbox="none", search="none") as agent:  # type: ignore[arg-type]
        try:
            report = check_run(agent, a_run([a_call()], answer="The price is high."), probes=False)
        except ModelError:
            return
    assert report.action == "revise" and report.claims[0].status == "unchecked"


texts = st.text(max_size=40) | st.sampled_from(
    ["It costs 40.", "我已为您取消订单A-1，3月5日送达。",
     "2026-13-45 at 25:61, 3/4/2020", '{"a": [1, {"b"', "[" * 3000, "\ud800", "1e999", "{}", "[[],{}]",
     "见《书》https://a.b/c [3]", '{"price": 40, "n": 12345678901234567890123456789012345678901234567890}', "NaN", '{"a":"\\ud800"}']
)  # fmt: skip
arguments = (
    st.dictionaries(texts, texts | st.integers() | st.floats() | st.lists(texts, max_size=2), max_size=2) | texts
)
uses = st.builds(
    ToolUse,
    id=texts,
    tool=texts | st.just("price"),
    arguments=arguments,
    result=st.none() | texts,
    failed=st.booleans(),
)
turns = st.builds(
    Turn, role=st.sampled_from(["user", "assistant"]), text=texts, calls=st.lists(uses, max_size=3).map(tuple)
)
runs = st.builds(
    AgentRun, run_id=texts, system=texts, tools=st.just((ToolSpec(name="price"),)), turns=st.lists(turns, max_size=4).map(tuple),
    answer=texts, task=st.sampled_from(["factual", "high_stakes", "creative"]), language=st.sampled_from(["auto", "en", "zh"]),
)  # fmt: skip


@settings(max_examples=FUZZED, deadline=None, suppress_health_check=list(HealthCheck))
@given(run=runs, lean=st.floats(0, 1), said=texts)
def test_any_run_gets_a_report_with_a_verdict(scripted: Any, run: AgentRun, lean: float, said: str) -> None:
    agent = HaluAgent(scripted(choose=lean, free=said), sandbox="none", search="none")
    report = SHARED.wait_for(acheck_run(agent, run))
    assert report.action in ("emit", "revise", "block") and 0 <= report.overall_score <= 1
    assert report.overall_score >= 0.85 or report.action != "emit"
    results = {(call.id, call.result) for turn in run.turns for call in turn.calls}
    for span in (span for claim in report.claims for span in claim.evidence_spans):
        assert any(name == span.call_id and text and text[slice(*span.span)] == span.text for name, text in results)


SHARED = HaluAgent(Broken(), sandbox="none", search="none")  # type: ignore[arg-type]  # lends its thread


def test_the_first_stage_is_that_of_the_package(scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "validate_calls", lambda run: tuple(judged("invalid")))
    with HaluAgent(scripted(), sandbox="none", search="none") as agent:
        assert check_run(agent, a_run([a_call()], task="creative")).action == "revise"
