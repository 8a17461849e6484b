"""Stage 1: calls against their schemas, entities against what the run gave, and claims of calls that were never made."""

import json
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from waiting import steps

from haluagent.checks.runs.calls.check import validate_calls
from haluagent.checks.runs.records import AgentRun, ToolCallValidation, ToolSpec, ToolUse, Turn

ANY = ToolSpec(name="act", parameters={"type": "object"})
ORDER = ToolSpec(
    name="get_order",
    description="Status of an order",
    parameters={
        "type": "object",
        "properties": {
            "order_id": {"type": "string", "description": "The order, e.g. ORD-55555"},
            "detail": {"type": "string", "enum": ["short", "v2-2048"]},
            "count": {"type": "integer"},
        },
        "required": ["order_id"],
    },
)
TOOLS = (
    ANY, ORDER, ToolSpec(name="get_weather", description="Weather of a city"), ToolSpec(name="send_email", description="Send an e-mail"),
    ToolSpec(name="cancel_order", description="Cancel an order"), ToolSpec(name="create_event", description="Add to the calendar"),
    ToolSpec(name="web_search", description="Search the web"),
)  # fmt: skip
NOW = "Today is 2024-06-05 (Wednesday)."
HEUTE = "今天是2024年6月5日。"


def user(text: str) -> Turn:
    return Turn(role="user", text=text)


def call(tool: str, arguments: Any, result: str | None = "done", failed: bool = False, text: str = "") -> Turn:
    use = ToolUse(id=f"{tool}{arguments}", tool=tool, arguments=arguments, result=result, failed=failed)
    return Turn(role="assistant", text=text, calls=(use,))


def check(
    *turns: Turn, answer: str = "", system: str = "", tools: tuple[ToolSpec, ...] = TOOLS
) -> tuple[ToolCallValidation, ...]:
    return validate_calls(AgentRun(run_id="1", system=system, tools=tools, turns=turns, answer=answer))


@pytest.mark.parametrize(
    ("asked", "arguments", "system"),
    [
        ("Refund order 20931.", {"order_id": "ORD-20931"}, ""),
        ("订单号：ＡＢ１２３４５，查一下", {"id": "ab-12345"}, ""),
        ("Commit 3f9ac21d8e7b6a5f4c3d2e1f0a9b8c7d6e5f4a3b", {"sha": "3f9ac21"}, ""),
        ("Read HTTPS://Example.com/a%20b/", {"url": "https://example.com/a b".replace(" ", "%20")}, ""),
        ("Open psf/requests on GitHub", {"url": "https://github.com/psf/requests"}, ""),
        ("Mail Ann (ann at example dot com)", {"to": ["ann@example.com"], "body": "Dear Ann, see step-2 (UTF-8)."}, ""),
        ("把 报告.pdf 发给 wang@example.cn", {"to": "WANG@example.cn", "body": "附件为报告.pdf，请查收。"}, ""),
        ("Read ~/docs/a.txt", {"path": "/home/ann/docs/a.txt"}, ""),
        ("Put notes.md into /srv/data", {"path": "/srv/data/notes.md"}, ""),
        ("Ping Lee in #general", {"channel": "general", "text": "Hi @lee"}, ""),
        ("Call 138-0013-8000", {"phone": "+86 138 0013 8000"}, ""),
        ("转账三千五百元", {"amount": 3500}, ""),
        ("Pay 1,250 dollars and $49.99", {"amount": 1250.0, "cents": 4999, "note": "USD1250"}, ""),
        ("What is 15% of 2340?", {"expression": "2340*0.15"}, ""),
        ("Items at 349.90 and 120.05", {"total": 469.95}, ""),
        ("A timer of 5 minutes", {"seconds": 300}, ""),
        ("June 5, 2024 or 2024年6月7日", {"from": "2024-06-05T09:00:00Z", "to": "2024/6/7"}, ""),
        ("On 3/4/2025", {"date": "2025-03-04"}, ""),
        ("Next Monday at 3pm", {"start": "2024-06-10T15:00:00"}, NOW),
        ("下周一下午", {"date": "2024-06-10"}, HEUTE),
        ("From June 18 for three nights", {"in": "2024-06-18", "out": "2024-06-21"}, NOW),
        ("6月18日去上海，住三晚", {"in": "2024-06-18", "out": "2024-06-21"}, HEUTE),
        ("Sales of May 2024", {"start": "2024-05-01", "end": "2024-05-31"}, ""),
        ("The past 7 days", {"start": "2024-05-29", "end": "2024-06-05"}, NOW),
        ("最近30天", {"start": "2024-05-06"}, HEUTE),
        ("Weather in Paris", {"city": "Paris", "zone": "Europe/Paris", "format": "application/json"}, ""),
    ],
)  # fmt: skip
def test_what_was_given_may_be_written_in_another_way(asked: str, arguments: dict[str, Any], system: str) -> None:
    found = check(user(asked), call("act", arguments), system=system)
    assert [(item.status, item.errors) for item in found] == [("valid", ())]


@pytest.mark.parametrize(
    ("asked", "arguments", "kind"),
    [
        ("Refund my order", {"order_id": "ORD-20931"}, "id"),
        ("Order 12345", {"order_id": "1234"}, "number"),
        ("Order ORD-20931", {"order_id": "ORD-20932"}, "id"),
        ("550e8400-e29b-41d4-a716-446655440000", {"id": "550e8400-e29b-41d4-a716-446655440001"}, "id"),
        ("The pricing page of acme.com", {"url": "https://acme.com/pricing"}, "url"),
        ("Visit acme.com", {"url": "https://acme.com.evil.io"}, "url"),
        ("Mail Bob", {"to": "bob@acme.com"}, "email"),
        ("Delete the log", {"files": [{"path": "/var/log/app/old.log"}]}, "path"),
        ("Tell Lee", {"user": "@lee_chen"}, "handle"),
        ("Transfer money", {"amount": 2500}, "number"),
        ("Book a room", {"date": "2024-07-19"}, "date"),
        ("给客户发邮件", {"body": "您的订单金额为1299.50元"}, "number"),
        ("更新客户资料", {"updates": {"CUST-88121": "x"}}, "id"),
    ],
)
def test_what_comes_from_nowhere_is_fabricated(asked: str, arguments: dict[str, Any], kind: str) -> None:
    (found,) = check(user(asked), call("act", arguments), system=NOW)
    assert found.status == "fabricated" and any(f": {kind} " in error for error in found.errors)


def test_errors_name_the_path_of_the_argument() -> None:
    (found,) = check(user("Mail them"), call("act", {"to": ["x", {"mail": "a@b.com"}]}))
    assert found.errors == ("to[1].mail: email 'a@b.com' comes from nowhere in the run",)


def test_only_earlier_results_are_a_source() -> None:
    listing = call("act", {}, json.dumps({"orders": [{"line": "a\nORD-20931"}]}))
    use = call("get_order", {"order_id": "ORD-20931"})
    assert [item.status for item in check(user("My order?"), listing, use)] == ["valid", "valid"]
    assert [item.status for item in check(user("My order?"), use, listing)] == ["fabricated", "valid"]


def test_a_result_that_echoes_what_was_made_up_is_no_source() -> None:
    made_up = call("get_order", {"order_id": "ORD-20931"}, "Order ORD-20931 was not found", failed=True)
    found = check(user("My order?"), made_up, call("cancel_order", {"id": "ORD-20931"}))
    assert [item.status for item in found] == ["fabricated", "fabricated"]


def test_the_model_is_no_source_unless_the_user_says_yes() -> None:
    ask = Turn(role="assistant", text="Shall I mail ann@example.com?")
    mail = call("act", {"to": "ann@example.com"})
    assert check(user("Mail Ann"), ask, mail)[0].status == "fabricated"
    assert check(user("Mail Ann"), ask, user("Yes, please."), mail)[0].status == "valid"
    assert check(user("Mail Ann"), ask, user("好的，发吧"), mail)[0].status == "valid"


def test_the_tool_itself_may_allow_a_value() -> None:
    allowed = ANY.model_copy(update={"allowed": ("https://api.acme.com/*", "ops@acme.com")})
    arguments = {"url": "https://api.acme.com/v2/x", "to": "ops@acme.com"}
    assert check(user("Go"), call("act", arguments), tools=(allowed,))[0].status == "valid"
    assert check(user("Go"), call("act", {"to": "ops@acme.com.io"}), tools=(allowed,))[0].status == "fabricated"
    assert (
        check(user("Order ORD-20931"), call("get_order", {"order_id": "ORD-20931", "detail": "v2-2048"}))[0].status
        == "valid"
    )
    assert (
        check(user("My order"), call("get_order", {"order_id": "ORD-55555"}))[0].status == "fabricated"
    )  # only an example


@pytest.mark.parametrize(
    ("tool", "arguments", "error"),
    [
        ("get_orders", {}, "there is no tool 'get_orders'"),
        ("get_order", '{"order_id": ', "the arguments are no JSON object"),
        ("get_order", {}, "arguments: 'order_id' is a required property"),
        ("get_order", {"order_id": 7}, "order_id: 7 is not of type 'string'"),
        ("get_order", {"order_id": "x", "detail": "long"}, "detail: 'long' is not one of ['short', 'v2-2048']"),
        ("get_order", {"order_id": "x", "urgent": True}, "urgent: no such argument"),
    ],
)
def test_a_call_must_fit_its_schema(tool: str, arguments: Any, error: str) -> None:
    (found,) = check(user("My order?"), call(tool, arguments))
    assert found.status == "invalid" and error in found.errors


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"}, {"properties": {"a": {"pattern": "("}}}, {"$ref": "https://example.com/schema.json"}, {"$ref": "#"},
        {"properties": {"a": {"$ref": "#/$defs/none"}}}, {"properties": 5},
    ],
)  # fmt: skip
def test_a_broken_schema_is_an_error_of_its_tool(schema: dict[str, Any]) -> None:
    (found,) = check(user("Go"), call("bad", {"a": "b"}), tools=(ToolSpec(name="bad", parameters=schema),))
    assert (
        found.status == "invalid" and len(found.errors) == 1 and found.errors[0].startswith("the JSON Schema of bad ")
    )


def test_errors_are_bounded() -> None:
    tool = ToolSpec(name="t", parameters={"properties": {"a": {"items": {"type": "integer"}}}})
    (found,) = check(user("Go"), call("t", {"a": ["x" * 1000] * 50}), tools=(tool,))
    assert len(found.errors) == 11 and max(map(len, found.errors)) < 300


def test_a_repeated_call_is_stale_only_where_nothing_changed() -> None:
    status = [call("get_weather", {"city": "Rome"}, result) for result in ("sun", "sun", "rain")]
    assert [item.status for item in check(user("Rome?"), *status)] == ["valid", "stale", "valid"]
    again = [call("get_weather", {"city": "Rome"}, "timeout", failed=True), status[0]]
    assert [item.status for item in check(user("Rome?"), *again)] == ["valid", "valid"]


def test_a_repeated_call_is_held_against_all_earlier_results_and_its_arguments_in_any_order() -> None:
    here, again = {"city": "Rome", "unit": "C"}, {"unit": "C", "city": "Rome"}
    given = [(here, None), (again, None), (here, "sun"), (again, "rain"), (here, "sun"), (again, None)]
    status = [item.status for item in check(user("Rome?"), *(call("get_weather", *one) for one in given))]
    assert status == ["valid", "valid", "valid", "valid", "stale", "stale"]


def test_many_calls_take_time_in_proportion() -> None:
    def work(count: int) -> int:
        digits = ["".join(chr(97 + int(digit)) for digit in str(number)) for number in range(1000, 1000 + count)]
        many = [call("act", {"q": word}, "ok") for word in digits]
        found: list[ToolCallValidation] = []
        taken = steps(lambda: found.extend(check(user("Look these up"), *many)))
        assert {item.status for item in found} == {"valid"} and len(found) == count
        return taken

    work(100)  # what is kept of a text is then there for both
    assert work(100) < 2.2 * work(50)  # and four times, where each call is compared with all before it


def test_many_entities_against_a_long_text_take_time_in_proportion() -> None:
    def line(n: int) -> str:
        return (
            f"ORD-{n} of user_{n} costs {n}.75 since 2024-{n % 12 + 1:02}-{n % 28 + 1:02}, call 138-{n}-{n + 7}, "
            f"mail u{n}@shop{n}.com, see https://shop{n}.com/item/{n} and /srv/data/{n}.csv"
        )

    def asked(n: int) -> list[Any]:
        mail, page, file = f"U{n}@shop{n}.com", f"shop{n}.com/item/{n}", f"/srv/data/{n}.csv"
        return [f"ord {n}", f"{n}.75", f"+86 138{n}{n + 7}", mail, page, file, f"CUST-{n}x"]

    def work(first: int, last: int) -> int:
        """The result has a line for each number, and a call asks for the seven entities of every tenth."""
        listing = call("act", {}, "\n".join(line(n) for n in range(first, last)))
        fetch = [call("act", {"of": asked(n)}) for n in range(first, last, 10)]
        found: list[ToolCallValidation] = []
        taken = steps(lambda: found.extend(check(user("Go"), listing, *fetch)))
        assert [item.errors for item in found[1:]] == [
            (f"of[6]: id 'CUST-{n}x' comes from nowhere in the run",) for n in range(first, last, 10)
        ]  # fmt: skip
        return taken

    work(1000, 1010)
    few, many = work(2000, 2050), work(3000, 3100)  # numbers of their own, since what was read is remembered
    assert many < 2.2 * few  # and four times, where each entity is compared with all that stands there


def test_many_calls_with_dates_and_results_that_grow_take_time_in_proportion() -> None:
    def work(count: int) -> int:
        days = [date(2030, 1, 1) + timedelta(days=20 * n) for n in range(count + 1)]
        later = [days[n] + timedelta(days=15 if n % 5 == 0 else 14) for n in range(count)]
        booked = [f"{days[n + 1]}: booked as number {n}" for n in range(count)]
        many = [call("act", {"day": later[n].isoformat()}, booked[n]) for n in range(count)]
        asked = user(f"{NOW} Book three nights, and again 14 days after each")
        found: list[ToolCallValidation] = []
        taken = steps(lambda: found.extend(check(asked, call("act", {}, str(days[0])), *many)))
        given = [n % 5 > 0 for n in range(count)]
        assert [item.status == "valid" for item in found[1:]] == given and given.count(False) > 0.15 * count
        return taken

    work(10)
    assert work(100) < 3 * work(50)  # and more each time, where all that follows is worked out anew for each call


@pytest.mark.parametrize(
    ("answer", "called", "tool"),
    [
        ("According to the weather API, it is 22 degrees.", "get_order", "get_weather"),
        ("根据天气查询结果，北京明天晴。", "get_order", "get_weather"),
        ("根据查询结果，订单已发货。", None, ""),
        ("Done! I've emailed Ann the report.", "get_order", "send_email"),
        ("我已经发送了邮件。", "get_order", "send_email"),
        ("邮件已发送给张三。", "get_weather", "send_email"),
        ("Your order has been cancelled.", "get_weather", "cancel_order"),
        ("已为您取消订单。", "get_order", "cancel_order"),
        ("The event is set, and I have refunded your payment.", "get_order", ""),
        ("The send_email tool returned success.", "get_order", "send_email"),
        ("I searched the web and found nothing.", "get_weather", "web_search"),
    ],
)
def test_a_claim_of_a_call_that_was_never_made(answer: str, called: str | None, tool: str) -> None:
    found = check(user("Please help"), *([call(called, {}, "x")] if called else []), answer=answer)
    claimed = [item for item in found if item.status == "never_called"]
    assert [item.tool for item in claimed] == [tool]


@pytest.mark.parametrize(
    ("answer", "called", "result"),
    [
        ("According to the weather API, it is 22 degrees.", "get_weather", "22"),
        ("I have sent the e-mail to Ann.", "send_email", "ok"),
        ("已为您取消订单。", "cancel_order", "ok"),
        ("Your order has been cancelled by the seller.", "get_order", '{"status": "cancelled"}'),
        ("订单已发货，预计明天送达。", "get_order", "shipped"),
        ("I've created a summary and added 12 and 30.", "get_order", "x"),
        ("Would you like me to confirm once I have sent it?", "get_order", "x"),
        ("I have not sent the e-mail yet. 邮件尚未发送。", "get_order", "x"),
        ("Here is a draft:\nHi Ann, I have sent the report.", "get_order", "x"),
        ("根据您提供的信息，您的订单已提交。", "get_weather", "x"),
        ("我为您整理了三条建议。", "get_order", "x"),
        ("According to the order, it ships on Monday.", "get_order", "x"),
    ],
)
def test_what_was_called_or_claims_no_call_is_fine(answer: str, called: str, result: str) -> None:
    found = check(user("Please help"), call(called, {}, result), answer=answer)
    assert [item for item in found if item.status == "never_called"] == []


def test_a_call_that_failed_has_done_nothing() -> None:
    failed = call("send_email", {}, "mailbox full", failed=True)
    assert [item.status for item in check(user("Hi"), failed, answer="I have sent the e-mail.")] == [
        "valid",
        "never_called",
    ]


def test_a_run_that_does_not_say_its_tools_is_not_passed() -> None:
    (found,) = check(user("Hi"), call("act", {}), tools=())
    assert found.status == "invalid" and "which tools were offered" in found.errors[0]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@settings(max_examples=40, deadline=None)
@given(st.text(), st.dictionaries(st.text(), JSON) | st.text(), st.text(), st.dictionaries(st.text(), JSON), st.text())
def test_nothing_makes_it_crash(asked: str, arguments: Any, result: str, schema: dict[str, Any], answer: str) -> None:
    tool = ToolSpec(name="t", parameters=schema)
    found = check(user(asked), call("t", arguments, result), call("t", arguments, result), answer=answer, tools=(tool,))
    assert len(found) >= 2
