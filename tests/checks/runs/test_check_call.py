"""The check of a call before it runs: what is stopped, what may run, how often, and what is kept of it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from waiting import steps

from haluagent import HaluAgent
from haluagent.checks.runs.answers.evidence import evidence_of
from haluagent.checks.runs.audit import AuditLog, read_audit
from haluagent.checks.runs.calls.ahead import GrowingRun
from haluagent.checks.runs.calls.check import validate_calls
from haluagent.checks.runs.gate import decide
from haluagent.checks.runs.guard import Guard
from haluagent.checks.runs.records import AgentRun, ToolSpec, ToolUse, Turn
from haluagent.checks.runs.settings import GateSettings
from haluagent.errors import ConfigError

LINES = (Path(__file__).parents[2] / "data" / "calls.jsonl").read_text("utf-8").splitlines()
CALLS: list[dict[str, Any]] = [json.loads(line) for line in LINES]
REFUND = ToolSpec(
    name="create_refund",
    description="Refund an order.",
    parameters={
        "type": "object",
        "required": ["order_id"],
        "properties": {
            "order_id": {"type": "string"},
            "amount": {"type": "number"},
            "reason": {"type": "string", "enum": ["damaged", "late"]},
            "limit": {"type": "integer", "default": 350},
        },
    },
)
ORDERS = ToolSpec(name="list_orders", description="The orders of a customer.")
TOOLS = (REFUND, ORDERS)
SYSTEM = "You work for the shop S-4410. Today is 2026-03-04."
FOUND = ToolUse(
    id="c1", tool="list_orders", arguments={}, result='{"orders": [{"order_id": "DD-20933", "total": 86.4}]}'
)


def user(text: str) -> Turn:
    return Turn(role="user", text=text)


def made(*calls: ToolUse) -> Turn:
    return Turn(role="assistant", calls=calls)


def run_of(*turns: Turn, name: str = "r", answer: str = "", tools: tuple[ToolSpec, ...] = TOOLS) -> AgentRun:
    return AgentRun(run_id=name, system=SYSTEM, tools=tools, turns=turns, answer=answer)


def refund(number: int = 2, **arguments: Any) -> ToolUse:
    return ToolUse(id=f"c{number}", tool="create_refund", arguments=arguments)


ASKED = user("Please refund my broken lamp, or 20% of it, customer 88213.")
BEFORE = (ASKED, made(FOUND))


@pytest.fixture
def guard(tmp_path: Path) -> Guard:
    return Guard(None, on_error="closed", audit=tmp_path / "log")


@pytest.mark.parametrize(
    "arguments",
    [
        {"order_id": "DD-20933"},  # of a result
        {"order_id": "dd20933", "amount": 86.4},
        {"order_id": "88213"},  # of the user
        {"order_id": "S-4410"},  # of the system prompt
        {"order_id": "DD-20933", "reason": "damaged"},  # a constant of the schema
        {"order_id": "DD-20933", "limit": 350},  # its default
        {"order_id": "DD-20933", "amount": 17.28},  # worked out: a fifth, as the user says
    ],
)
def test_what_the_run_gives_may_run(guard: Guard, arguments: dict[str, Any]) -> None:
    checked = guard.check_call(run_of(*BEFORE), refund(**arguments))
    assert checked.allowed and checked.feedback is None and not checked.final
    assert checked.validation and not checked.validation.stopped


@pytest.mark.parametrize(
    ("call", "status", "why"),
    [
        (refund(order_id="DD-20993"), "fabricated", "order_id: id 'DD-20993' comes from nowhere in the run"),
        (refund(order_id="DD-20933", amount=812.5), "fabricated", "amount: number '812.5'"),
        (refund(order_id="DD-20933", amount="a lot"), "invalid", "amount: 'a lot' is not of type 'number'"),
        (refund(amount=86.4), "invalid", "'order_id' is a required property"),
        (refund(order_id="DD-20933", reason="cheap"), "invalid", "reason: 'cheap' is not one of"),
        (refund(order_id="DD-20933", note="x"), "invalid", "note: no such argument"),
        (ToolUse(id="c", tool="create_refund", arguments='{"order_id": '), "invalid", "no JSON object"),
        (ToolUse(id="c", tool="pay_out", arguments={}), "invalid", "there is no tool 'pay_out'"),
    ],
)
def test_what_it_does_not_give_is_stopped_with_the_reason(guard: Guard, call: ToolUse, status: str, why: str) -> None:
    checked = guard.check_call(run_of(*BEFORE), call)
    assert checked.validation and not checked.allowed and not checked.final
    assert (checked.validation.status, checked.validation.stopped) == (status, True)
    assert any(why in error for error in checked.validation.errors)
    assert checked.feedback and all(error in checked.feedback for error in checked.validation.errors)
    assert "not executed" in checked.feedback and call.tool in checked.feedback


def test_a_remark_stops_nothing(guard: Guard) -> None:
    again = FOUND.model_copy(update={"id": "c2", "result": None})
    stale = guard.check_call(run_of(*BEFORE), again)
    assert stale.allowed and stale.validation and stale.validation.status == "stale"
    some = ToolSpec(name="list_orders", parameters={"type": "object", "properties": {"limit": {"type": "integer"}}})
    call = ToolUse(id="c2", tool="list_orders", arguments={"limit": 50})
    unsure = guard.check_call(run_of(ASKED, name="other", tools=(some,)), call)
    assert unsure.allowed and unsure.validation and unsure.validation.status == "unverified"


def test_a_call_in_the_run_is_judged_by_what_came_before_it(guard: Guard) -> None:
    waiting = refund(order_id="DD-20933")
    late = run_of(ASKED, made(waiting), made(FOUND))
    assert not guard.check_call(late, waiting).allowed
    sibling = run_of(ASKED, made(FOUND, waiting), name="other")
    assert guard.check_call(sibling, waiting).allowed


def test_retries_are_bounded_for_each_run_and_tool_and_start_again_when_the_user_speaks(guard: Guard) -> None:
    turns: tuple[Turn, ...] = BEFORE
    for number in range(2, 6):
        call = refund(number, order_id=f"DD-2099{number}")
        checked = guard.check_call(run_of(*turns, made(call)), call)
        assert not checked.allowed and checked.final is (number > 3)
        assert checked.feedback and ("Ask the user" in checked.feedback) is checked.final
        turns = (*turns, made(call.model_copy(update={"result": checked.feedback})))
    other = ToolUse(id="o", tool="list_orders", arguments={"customer": "C-77120"})
    assert not guard.check_call(run_of(*turns), other).final
    assert not guard.check_call(run_of(*BEFORE, name="other"), refund(order_id="DD-20993")).final
    assert guard.check_call(run_of(*turns), refund(9, order_id="DD-20933")).allowed  # a right one still runs
    more = run_of(*turns, user("Try again."))
    assert not guard.check_call(more, refund(10, order_id="DD-20993")).final
    given = run_of(*turns, user("It is DD-20993."))
    assert guard.check_call(given, refund(11, order_id="DD-20993")).allowed
    none = Guard(None, on_error="closed", retries=0)
    assert none.check_call(run_of(*BEFORE), refund(order_id="DD-20993")).final


def test_calls_that_are_made_at_once_are_counted_each(guard: Guard) -> None:
    calls = [refund(number, order_id=f"DD-2099{number}") for number in range(2, 6)]
    run = run_of(*BEFORE, made(*calls))

    async def all_of_them() -> list[bool]:
        return [one.final for one in await asyncio.gather(*(guard.acheck_call(run, call) for call in calls))]

    assert sorted(asyncio.run(all_of_them())) == [False, False, True, True]


def test_the_feedback_gives_nothing_to_later_calls(guard: Guard) -> None:
    wrong = refund(order_id="DD-20993", amount="9x", limit="DD-55120")
    stopped = guard.check_call(run_of(*BEFORE, made(wrong)), wrong)
    run = run_of(*BEFORE, made(wrong.model_copy(update={"result": stopped.feedback})))
    for order in ("DD-20993", "DD-55120"):
        assert not guard.check_call(run, refund(3, order_id=order)).allowed


def test_the_log_and_the_report_hold_the_stopped_call(
    tmp_path: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from haluagent.checks.runs import gate

    async def no_claims(*given: Any) -> Any:
        return [], None

    monkeypatch.setattr(gate, "score_claims", no_claims)
    agent = HaluAgent(scripted(()), sandbox="none", search="none")
    guard = Guard(agent, on_error="closed", audit=tmp_path / "log", probes=False)
    wrong, right = refund(2, order_id="DD-20993"), refund(3, order_id="DD-20933")
    told = guard.check_call(run_of(*BEFORE, made(wrong)), wrong).feedback
    turns = (*BEFORE, made(wrong.model_copy(update={"result": told})))
    assert guard.check_call(run_of(*turns, made(right)), right).allowed
    turns = (*turns, made(right.model_copy(update={"result": '{"status": "accepted"}'})))
    report = guard.check(run_of(*turns, answer="The refund was accepted.")).report
    assert report is not None and report.action == "emit"
    assert [(one.status, one.stopped) for one in report.tool_call_validations] == [
        ("valid", False), ("fabricated", True), ("valid", False),
    ]  # fmt: skip
    first, last = read_audit(tmp_path / "log")
    assert first.report and (first.action, first.round) == ("revise", 1) and last.report == report
    (kept,) = first.report.tool_call_validations
    assert (kept.tool, kept.args, kept.stopped) == ("create_refund", {"order_id": "DD-20993"}, True)


def test_a_stopped_call_is_neither_evidence_nor_a_deed_nor_an_open_rejection() -> None:
    stopped = refund(order_id="DD-20993").model_copy(update={"result": "not executed: DD-20993", "stopped": True})
    asks = run_of(ASKED, made(stopped), answer="Which order do you mean?")
    assert evidence_of(asks).text == ""
    (found,) = validate_calls(asks)
    assert (found.status, found.stopped) == ("fabricated", True)
    assert decide(asks, [], [found], [], GateSettings.for_task("high_stakes"))[0] == "emit"
    lies = asks.model_copy(update={"answer": "I have refunded your order."})
    assert [one.status for one in validate_calls(lies)] == ["fabricated", "never_called"]


@pytest.mark.parametrize(("on_error", "allowed"), [("closed", False), ("open", True)])
def test_a_check_that_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, on_error: Any, allowed: bool) -> None:
    def fails(*given: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(GrowingRun, "validate", fails)
    guard = Guard(None, on_error=on_error, audit=tmp_path / "log")
    checked = guard.check_call(run_of(*BEFORE), refund(order_id="DD-20933"))
    assert (checked.allowed, checked.validation, checked.error) == (allowed, None, "RuntimeError: broken")
    assert allowed or (checked.feedback and "could not be checked" in checked.feedback)
    (line,) = read_audit(tmp_path / "log")
    assert (line.action, line.error) == ("emit" if allowed else "block", "RuntimeError: broken")


def test_a_log_that_cannot_be_written_lets_nothing_run(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(AuditLog, "append", fails)
    checked = guard.check_call(run_of(*BEFORE), refund(order_id="DD-20993"))
    assert not checked.allowed and checked.error == "the audit log could not be written: the disk is full"


def test_what_cannot_be_checked_is_said() -> None:
    guard = Guard(None, on_error="open")
    with pytest.raises(ConfigError, match="does not say which tools were offered"):
        guard.check_call(run_of(*BEFORE, tools=()), refund(order_id="DD-20933"))
    with pytest.raises(ConfigError, match="this guard has no agent"):
        guard.check(run_of(*BEFORE))
    with pytest.raises(ConfigError, match="retries=-1"):
        Guard(None, on_error="open", retries=-1)


@pytest.mark.parametrize(
    ("said", "iban", "given"),
    [
        ("Pay DE89 3704 0044 0532 0130 00.", "DE89370400440532013000", True),
        ("Pay DE89 3704 0044 0532 0130 00.", "DE89370400440532013001", False),
        ("Pay DE89 3704 0044 0532 0130 00 12.", "DE893704004405320130001", False),
        ("Pay GB29 NWBK 6016 1331 9268 19.", "GB29NWBK60161331926819", True),
    ],
)
def test_a_number_in_groups_is_the_same_in_an_identifier(guard: Guard, said: str, iban: str, given: bool) -> None:
    pay = ToolSpec(name="pay", parameters={"type": "object", "properties": {"iban": {"type": "string"}}})
    run = run_of(user(said), tools=(pay,))
    assert guard.check_call(run, ToolUse(id="c", tool="pay", arguments={"iban": iban})).allowed is given


def test_the_user_is_answered_in_chinese(guard: Guard) -> None:
    run = run_of(user("帮我给订单退款，灯坏了。"))
    feedback = guard.check_call(run, refund(order_id="DD-20993")).feedback
    assert feedback and "没有执行" in feedback


def test_ahead_is_as_good_as_afterwards() -> None:
    """The calls of tests/data, one after the other in runs that grow, judged before and after they have run."""
    for invented in (False, True):
        for number, line in enumerate(CALLS):
            tool = ToolSpec(
                name=line["tool"],
                parameters={"type": "object"} | ({"properties": p} if (p := line.get("properties")) else {}),
            )
            arguments = line["arguments"] | (line["invented"] if invented else {})
            seen = [ToolUse(id=f"r{at}", tool="look", arguments={}, result=text)
                    for at, text in enumerate(line.get("results", ()))]  # fmt: skip
            turns = (user(line["said"]), *map(made, seen))
            run = AgentRun(
                run_id=f"{number}", system=line.get("system", ""), tools=(tool, ToolSpec(name="look")),
                turns=turns, answer="",
            )  # fmt: skip
            call = ToolUse(id="c", tool=tool.name, arguments=arguments)
            after = validate_calls(run.model_copy(update={"turns": (*turns, made(call))}))[-1]
            assert GrowingRun().validate(run, call) == after


def rows(number: int) -> str:
    return json.dumps(
        {"orders": [{"order_id": f"DD-{31 * number + at + 20000}", "total": at + 0.5} for at in range(5)]}
    )


def growing(length: int) -> list[tuple[AgentRun, ToolUse]]:
    """A run of so many calls, as it stands before each of them; its records are made anew, as converters do."""
    turns: tuple[Turn, ...] = (user("Refund all orders from 2026 on, for customer C-1004."),)
    found = []
    for number in range(length):
        order = "C-1004" if number == 0 else f"DD-{31 * (number // 2) + 20000}"
        call = refund(number, order_id=order, amount=2.5 if number else 1)
        found.append((AgentRun.model_validate(run_of(*turns, made(call)).model_dump()), call))
        turns = (*turns, made(call.model_copy(update={"result": rows(number)})))
    return found


def test_a_run_that_grows_is_read_once() -> None:
    guard, runs = Guard(None, on_error="closed"), growing(120)

    def check(first: int, last: int) -> None:
        for run, call in runs[first:last]:
            guard.check_call(run, call)

    check(0, 10)
    early = steps(lambda: check(10, 30))
    check(30, 100)
    assert steps(lambda: check(100, 120)) < 2 * early


def test_a_run_that_is_changed_further_back_is_read_anew() -> None:
    guard = Guard(None, on_error="closed")
    assert guard.check_call(run_of(*BEFORE), refund(order_id="DD-20933")).allowed
    assert not guard.check_call(run_of(ASKED), refund(3, order_id="DD-20933")).allowed
    assert guard.check_call(run_of(*BEFORE), refund(4, order_id="DD-20933")).allowed
