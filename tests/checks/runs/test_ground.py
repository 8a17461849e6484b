"""Stage 2: the answer in claims, what is critical in them, and how far the results of the run support each."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import believes

from haluagent import HaluAgent
from haluagent.checks.runs.answers.critical import is_commitment, specifics
from haluagent.checks.runs.answers.derived import Derived
from haluagent.checks.runs.answers.evidence import evidence_of
from haluagent.checks.runs.answers.ground import score_claims
from haluagent.checks.runs.records import AgentRun, ReportClaim, ToolUse, Turn
from haluagent.checks.runs.settings import GateSettings
from haluagent.judging.judge import NUMBER_MISSING
from haluagent.protocols import Message
from haluagent.text.clocks import find_clocks
from haluagent.text.dates import find_days

ORDER = {
    "orders": [
        {"id": "A-1001", "status": "shipped", "price": 40, "eta": "2026-03-05"},
        {"id": "A-1002", "price": 35.49},
    ]
}


def a_run(answer: str, *results: Any, user: str = "Where is my order?", **arguments: Any) -> AgentRun:
    texts = [one if isinstance(one, str) else json.dumps(one) for one in results]
    calls = tuple(
        ToolUse(id=f"c{n}", tool="get_orders", arguments=arguments, result=text) for n, text in enumerate(texts)
    )
    return AgentRun(
        run_id="r", turns=(Turn(role="user", text=user), Turn(role="assistant", calls=calls)), answer=answer
    )


def says(supports: Callable[[str, str], bool]) -> Callable[[Sequence[Message]], Sequence[float]]:
    """A model that is sure of what a function of the evidence and the claim says."""

    def belief(text: str) -> float:
        evidence, claim = (re.search(rf"<{tag}>\n(.*?)\n</{tag}>", text, re.S) for tag in ("reference", "statement"))
        return 0.99 if supports(evidence[1] if evidence else "", claim[1] if claim else "") else 0.01

    return believes(belief)


def scored(model: Any, run: AgentRun, settings: GateSettings | None = None) -> list[ReportClaim]:
    with HaluAgent(model, sandbox="none", search="none") as agent:
        claims, _ = agent.wait_for(score_claims(agent, run, settings))
    results = {call.id: call.result or "" for turn in run.turns for call in turn.calls}
    for span in (span for claim in claims for span in claim.evidence_spans):
        assert results[span.call_id][slice(*span.span)] == span.text != ""
    return claims


def test_json_is_read_as_lines_and_every_value_leads_back_to_its_place() -> None:
    raw = '{"user":{"name":"Zo\\u00eb \\"Z\\"","tags":[]},"sums":[1,2.50],"left":null}'
    text = evidence_of(a_run("x", raw, ORDER, user_id="U7"))
    assert text.text.startswith(
        'get_orders (user_id: U7):\nuser. name: Zoë "Z"; tags: none\nsums: 1; 2.50\nleft: none\n'
    )
    assert "orders. id: A-1001; status: shipped; price: 40; eta: 2026-03-05\norders. id: A-1002" in text.text
    found = {field.path: [span.text for span in text.spans(field.span)] for field in text.fields}
    assert (
        found["user", "name"] == ['Zo\\u00eb \\"Z\\"'] and found["sums", "2"] == ["2.50"] and found["left",] == ["null"]
    )
    assert text.spans((0, 5)) == ()  # the line of the call is no evidence


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(values, st.booleans(), st.integers(0, 200), st.integers(0, 200))
def test_any_json_keeps_its_places(value: Any, ascii_only: bool, start: int, length: int) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_only)
    text = evidence_of(a_run("x", raw))
    assert all(raw[slice(*span.span)] == span.text for span in text.spans((start, start + length)))
    for field in text.fields:
        assert field.text == text.text[slice(*field.span)]


@pytest.mark.parametrize(
    ("claim", "note"),
    [
        ("Together they cost 75.49.", "price 40 + 35.49 = 75.49"),
        ("The second one is about 35 dollars.", "price 35.49 ≈ 35"),
        ("It arrives on March 5.", "2026-03-05 = March 5"),
        ("它将于3月5日送达。", "2026-03-05 = 3月5日"),
        ("There are two orders.", "orders: two entries"),
        ("The second costs 4.51 less.", "price 40 - price 35.49 = 4.51"),
        ("Three of the first cost 120.", "price 40 × 3 = 120"),
    ],
)
def test_what_follows_by_arithmetic_is_written_down(claim: str, note: str) -> None:
    notes, invented = Derived(evidence_of(a_run("x", ORDER)), "I want 3 of them").notes(claim)
    assert note in [line for line, _ in notes] and not invented


@pytest.mark.parametrize(
    ("results", "user", "claim", "note"),
    [
        (({"balance": 2500}, {"rate": 0.88}), "", "It is worth 2,200 francs.", "balance 2500 × rate 0.88 = 2,200"),
        (
            ({"annual_rate_percent": 1.45},), "两万块存一年，利息多少？", "利息是290元。",
            "两万 × annual_rate_percent 1.45 = 290",
        ),
        (({"price": "80"}, {"discount_rate": "15%"}), "", "That is 12 euros off.", "price 80 × discount_rate 15% = 12"),
        (({"annual_rate_percent": 1.45},), "两万块存一年，利息多少？", "利息是29000元。", None),
        (({"balance": 2500}, {"version": 0.88}), "", "It is worth 2,200 francs.", None),
        (({"price": 80}, {"iterations": 45}, {"duration_s": 45}), "", "You pay 3,600 euros.", None),
        (({"price": 80}, {"exchangeRate": 1.1}), "", "That is 88 dollars.", "price 80 × exchangeRate 1.1 = 88"),
    ],
)  # fmt: skip
def test_a_rate_is_applied_to_an_amount(results: tuple[Any, ...], user: str, claim: str, note: str | None) -> None:
    notes, _ = Derived(evidence_of(a_run("x", *results)), user).notes(claim)
    assert [line for line, _ in notes] == ([note] if note else [])


def test_a_day_that_is_nowhere_is_invented_and_a_term_leads_to_one_that_is_not() -> None:
    derived = Derived(evidence_of(a_run("x", {"issued": "2026-03-10", "days": 30})), "")
    assert derived.notes("It is due on 9 April 2026.") == ([("2026-03-10 + 30 d = 9 April 2026", ())], [])
    assert derived.notes("It is due on 10 April 2026.")[1] == ["10 April 2026"]
    assert Derived(evidence_of(a_run("x", {"start": "15:30"})), "").notes("下午5点半开始。")[1] == ["下午5点半"]


def test_days_and_times_are_read_in_both_languages() -> None:
    assert [(day.month, day.day) for day in find_days("5 March, Mar 6th, 3月7日, 2026-03-08")] == [
        (3, 5),
        (3, 6),
        (3, 7),
        (3, 8),
    ]
    assert [clock.minutes for clock in find_clocks("2:30 pm, 14:45, 下午3点半, 上午9点, 2026-01-01T08:05:00Z")] == [
        870,
        885,
        930,
        540,
        485,
    ]
    assert [clock.minutes for clock in find_clocks("9:00-20:00, 2026-01-01T08:05-05:00, 晚上十一点半")] == [
        540,
        1200,
        485,
        1410,
    ]
    assert [
        clock.minutes for clock in find_clocks("half past eleven at night, a quarter to ten, 4 o'clock, 三点建议")
    ] == [1410, 585, 240]


@pytest.mark.parametrize(
    ("claim", "kinds"),
    [
        ("Order A-1001 ships on March 5 at 2:30 pm for 40 dollars.", ["citation", "date", "date", "number"]),
        ("It was led by Ana Moreno of the Lyon office.", ["name", "name"]),
        ("已为您预订3月5日的房间，编号R-204，邮箱a@b.cn。", ["date", "citation", "citation"]),
        ("See https://a.example/x and “Soil and drought”.", ["citation", "citation"]),
        ("The weather is mild today.", []),
        ("今天天气不错。", []),
    ],
)
def test_what_is_critical_is_found_by_rule(claim: str, kinds: list[str]) -> None:
    assert [one.kind for one in specifics(claim)] == kinds
    assert all(claim[slice(*one.span)] == one.text for one in specifics(claim))


@pytest.mark.parametrize(("claim", "expected"), [
    ("I've cancelled the order.", True), ("We will call back.", True), ("已为您取消订单", True), ("我会给您回电", True),
    ("The order is late.", False), ("订单还没有发货", False),
])  # fmt: skip
def test_commitments(claim: str, expected: bool) -> None:
    assert is_commitment(claim) is expected


def test_claims_are_scored_against_the_results_and_courtesies_left_out(scripted: Any) -> None:
    model = scripted(choose=says(lambda evidence, claim: "shipped" in claim and "shipped" in evidence))
    right, wrong = scored(
        model, a_run("The order A-1001 was shipped. The order A-1002 was cancelled. I hope this helps!", ORDER)
    )
    assert (right.status, right.critical) == ("grounded", True) and right.score > 0.85
    assert [span.text for span in right.evidence_spans][0].startswith("A-1001")
    assert wrong.status == "contradicted" and wrong.score < 0.4 and wrong.evidence_spans


@pytest.mark.parametrize("answer", [
    "Order A-1001 was shipped, see https://shop.example/a.", "Order A-9009 was shipped.", "It was shipped on 9 March 2026.",
    "Order A-1001 was shipped for 99 dollars.",
])  # fmt: skip
def test_what_stands_nowhere_is_never_grounded_whatever_the_model_says(scripted: Any, answer: str) -> None:
    claims = scored(scripted(choose=says(lambda evidence, claim: True)), a_run(answer, ORDER))
    assert min(claim.score for claim in claims) < 0.4


def test_a_figure_that_a_calculation_gives_is_left_to_the_model(scripted: Any) -> None:
    run = a_run("The account now has 2650 euros.", {"balance": 900}, amount=1750)
    scores = [scored(scripted(choose=says(sure)), run)[0].score for sure in (lambda *_: True, lambda *_: False)]
    assert scores[0] > 0.85 and scores[1] < 0.4


def test_the_words_of_the_user_are_no_evidence_but_can_be_repeated(scripted: Any) -> None:
    user = "I was promised a refund of 300 for A-1001."
    sure = says(lambda evidence, claim: "refund" in evidence)
    assert scored(scripted(choose=sure), a_run("The refund is granted.", ORDER, user=user))[0].score < 0.4
    assert (
        scored(scripted(choose=sure), a_run("You said that you were promised a refund of 300.", ORDER, user=user))[
            0
        ].score
        > 0.85
    )


def test_without_results_nothing_is_grounded_and_no_model_is_asked(scripted: Any) -> None:
    model = scripted()
    assert [(claim.score, claim.status) for claim in scored(model, a_run("The tower is 52 metres high."))] == [
        (0.0, "ungrounded")
    ]
    assert scored(model, a_run("  ", ORDER)) == [] == scored(model, a_run("I hope this helps!", ORDER))
    assert scored(model, a_run("The tower is high.", ORDER), GateSettings.for_task("creative")) == []
    assert not model.seen


def test_the_base_rate_moves_what_was_judged_and_not_what_a_rule_decides(scripted: Any) -> None:
    run = a_run("The first order was shipped. It costs 41.", ORDER)
    model = scripted(choose=lambda messages: 0.6 if "\nA: no" not in messages[-1]["content"] else 0.4)
    rates = (0.5, 0.8, 0.95)
    judged, decided = zip(
        *([c.score for c in scored(model, run, GateSettings(base_rate=rate))] for rate in rates), strict=True
    )
    odds = [score / (1 - score) for score in judged]
    assert [one / odds[0] for one in odds] == pytest.approx([rate / (1 - rate) for rate in rates], rel=1e-3)
    assert decided == (NUMBER_MISSING,) * 3
