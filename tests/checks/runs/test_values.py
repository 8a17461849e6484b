"""Stage 1 compares values by their kind, numbers by their role, and reads what is large in a bounded way."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from waiting import steps

from haluagent.checks.runs.answers.evidence import evidence_of
from haluagent.checks.runs.calls import sources as sources_module
from haluagent.checks.runs.calls.check import validate_calls
from haluagent.checks.runs.calls.claimed import claimed_calls
from haluagent.checks.runs.calls.entities import MAX_RUN, Leaf, entities, places
from haluagent.checks.runs.calls.roles import role_of, unit_of
from haluagent.checks.runs.records import AgentRun, ToolCallValidation, ToolSpec, ToolUse, Turn

LINES = (Path(__file__).parents[2] / "data" / "calls.jsonl").read_text("utf-8").splitlines()
CALLS: list[dict[str, Any]] = [json.loads(line) for line in LINES]
LOOK = ToolSpec(name="look", parameters={"type": "object"})


def judge(
    said: str, arguments: Any, *, tool: str = "act", system: str = "", results: Any = (), properties: Any = None
) -> ToolCallValidation:
    """Return the validation of the last call of a run; the results before it are those of another tool."""
    schema = {"type": "object"} | ({"properties": properties} if properties else {})
    calls = [ToolUse(id=f"r{number}", tool="look", arguments={}, result=text) for number, text in enumerate(results)]
    calls.append(ToolUse(id="c", tool=tool, arguments=arguments))
    turns = (Turn(role="user", text=said), *(Turn(role="assistant", calls=(call,)) for call in calls))
    tools = (ToolSpec(name=tool, parameters=schema), LOOK)
    return validate_calls(AgentRun(run_id="1", system=system, tools=tools, turns=turns, answer=""))[-1]


def of_line(line: dict[str, Any], *, invented: bool) -> str:
    arguments = line["arguments"] | (line["invented"] if invented else {})
    given = {name: line[name] for name in ("tool", "system", "results", "properties") if name in line}
    return judge(line["said"], arguments, **given).status


def test_there_are_many_calls_of_many_kinds_in_both_languages() -> None:
    chinese = [line for line in CALLS if any("\u4e00" <= letter <= "\u9fff" for letter in line["said"])]
    assert len(CALLS) >= 250 and len(chinese) >= 40 and len({line["kind"] for line in CALLS}) >= 20
    assert all(line["arguments"] | line["invented"] != line["arguments"] for line in CALLS)


def test_right_calls_pass() -> None:
    statuses = {line["said"]: of_line(line, invented=False) for line in CALLS}
    rejected = [said for said, status in statuses.items() if status not in ("valid", "unverified")]
    assert len(rejected) <= 0.03 * len(statuses), rejected
    assert sum(status == "valid" for status in statuses.values()) >= 0.8 * len(statuses)


def test_calls_with_an_invented_value_are_not_called_valid() -> None:
    statuses = {line["said"]: of_line(line, invented=True) for line in CALLS}
    passed = [said for said, status in statuses.items() if status == "valid"]
    assert len(passed) <= 0.05 * len(statuses), passed
    assert sum(status in ("fabricated", "invalid") for status in statuses.values()) >= 0.9 * len(statuses)


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("Mail rob@example.com", {"to": "ob@example.com"}),
        ("Mail andré.rob@example.com", {"to": "rob@example.com"}),
        ("Mail o'brien@example.com", {"to": "brien@example.com"}),
        ("Report help@bank.com.evil.org", {"to": "help@bank.com"}),
        ("Mail ann@fir.example", {"to": "ann@fir.example.org"}),
        ("Report help@bank.com.evil.org", {"url": "https://bank.com"}),
        ("Open shop.acme.com", {"url": "https://acme.com/login"}),
        ("Open acme.com", {"url": "https://acme.com@evil.io/"}),
        ("Open my_acme.com", {"url": "https://acme.com"}),
    ],
)
def test_an_address_is_given_whole_or_not_at_all(said: str, arguments: dict[str, Any]) -> None:
    assert judge(said, arguments).status == "fabricated"


@pytest.mark.parametrize(
    "said",
    ["Mail 'rob@example.com'.", "发给rob@example.com谢谢", "To: Rob <ROB@example.com>,", "mailto:rob@example.com"],
)
def test_an_address_may_stand_between_quotes_or_beside_words(said: str) -> None:
    assert judge(said, {"to": "rob@example.com"}).status == "valid"


@pytest.mark.parametrize(
    "value", ["SAVE50-2024", "WINTER99", "482913", 482913, "cancel('ORD-99999')", "https://evil.io/x"]
)
@pytest.mark.parametrize("name", ["code", "sql", "command", "pattern"])
def test_no_name_exempts_an_argument(name: str, value: Any) -> None:
    if value != "WINTER99" or name == "code":
        assert judge("Please do it", {name: value}).status == "fabricated"


def test_a_program_is_the_models_own_work_but_for_addresses_and_quoted_identifiers() -> None:
    assert judge("Plot it", {"code": "import math\nx = [math.sin(i / 40) for i in range(250)]"}).status == "unverified"
    assert judge("Plot it", {"script": "x = load('ORD-20931')"}).status == "fabricated"
    assert judge("Plot ORD-20931", {"script": "x = load('ORD-20931')"}).status == "valid"


@pytest.mark.parametrize("amount", [50, -250, 25, 1.25, -12.5, 125, 0.5, "50", "50 USD", "-250", 7])
def test_a_number_of_any_size_must_be_given_with_its_sign(amount: Any) -> None:
    assert judge("Refund 12.50", {"amount": amount}).status == "fabricated"


@pytest.mark.parametrize(
    ("said", "arguments", "results", "status"),
    [
        ("Refund order 4711, 12.50", {"amount": 4711}, (), "fabricated"),
        ("Refund order 4711, 12.50", {"order_id": 4711}, (), "valid"),
        ("Refund ORD-20931", {"amount": 20931}, (), "fabricated"),
        ("Refund ORD-20931", {"order_id": 20931}, (), "valid"),
        ("On 2026-05-17", {"guests": 17}, (), "fabricated"),
        ("The mugs are $9", {"quantity": 9}, (), "fabricated"),
        ("Ship 9 mugs", {"quantity": 9}, (), "valid"),
        ("Buy it", {"quantity": 41}, ('{"price": 41, "stock": 17}',), "fabricated"),
        ("Buy all", {"quantity": 17}, ('{"price": 41, "stock": 17}',), "valid"),
        ("Refund 12.50", {"order_number": 12.5}, (), "valid"),
        ("Refund $1250", {"order_id": 1250}, (), "fabricated"),
        ("Refund 1250 to 15000", {"amount": 9000}, (), "fabricated"),
    ],
)
def test_a_number_must_be_given_in_the_role_of_its_parameter(
    said: str, arguments: Any, results: Any, status: str
) -> None:
    assert judge(said, arguments, results=results).status == status


def test_the_error_says_that_a_number_is_given_for_something_else() -> None:
    assert judge("Refund ORD-20931", {"amount": 20931}).errors == (
        "amount: number '20931' is given for something else",
    )


def test_what_a_schema_gives_for_one_parameter_is_not_given_for_another() -> None:
    properties = {"limit": {"type": "integer", "default": 37}, "amount": {"type": "number", "description": "in cents"}}
    assert judge("Go", {"limit": 37}, properties=properties).status == "valid"
    assert judge("Go", {"amount": 37}, properties=properties).status == "fabricated"
    assert judge("Pay 4.20", {"amount": 420}, properties=properties).status == "valid"


@pytest.mark.parametrize(
    ("said", "tool", "arguments"),
    [
        ("Find it", "act", {"limit": 500, "page": 1, "radius": 5, "temperature": 0.7, "max_tokens": 1024}),
        ("Weather in Paris", "get_weather", {"days": 7}),
        ("Weather in Paris", "act", {"latitude": 48.8566, "longitude": 2.3522}),
        ("A table for my wife and me", "book_table", {"people": 2}),
        ("Show a few photos", "act", {"count": 4}),
        ("A timer of 5 minutes", "act", {"duration": 300}),
        ("Dinner at 8", "act", {"time": "20:00"}),
        ("Read tickets 100 through 105", "act", {"id": 103}),
        ("A flat for around 800", "act", {"max_price": 850}),
        ("Open the third tab", "act", {"index": 2}),
        ("Dinner on Christmas Day", "act", {"date": "2026-12-25"}),
        ("Write a poem to a file", "write_file", {"path": "poem.txt"}),
        ("Make it blue", "act", {"color": "#0000ff"}),
    ],
)
def test_what_cannot_be_judged_is_unverified(said: str, tool: str, arguments: dict[str, Any]) -> None:
    found = judge(said, arguments, tool=tool)
    assert found.status == "unverified" and all("cannot be verified" in error for error in found.errors)


def test_a_setting_that_is_no_usual_one_is_checked_as_any_other_number() -> None:
    assert judge("Find it", {"limit": 737}).status == "fabricated"
    assert judge("Weather in Paris", {"days": 7}, tool="book_trip").status == "fabricated"


@pytest.mark.parametrize("whole", [True, False])
def test_among_many_given_numbers_few_others_pass_by_chance(whole: bool) -> None:
    """Twenty numbers are given, and amounts of three digits, or with cents, are drawn."""
    draw = random.Random(7)
    passed = drawn = 0
    for _ in range(18):
        given = [
            draw.choice((draw.randint(1, 99), draw.randint(100, 999), draw.randint(1, 99999) / 100)) for _ in range(20)
        ]
        values: list[float] = (
            draw.sample(range(100, 1000), 40) if whole else [draw.randint(1, 99999) / 100 for _ in range(40)]
        )
        values = [value for value in values if value not in given]
        said = "Look at " + ", ".join(map(str, given)) + "."
        passed += len(values) - len(judge_all(said, values))
        drawn += len(values)
    assert drawn > 600 and passed <= 0.005 * drawn


def judge_all(said: str, values: list[float]) -> list[ToolCallValidation]:
    """Return the rejected calls among one for each value."""
    calls = tuple(ToolUse(id=str(number), tool="look", arguments={"amount": one}) for number, one in enumerate(values))
    turns = (Turn(role="user", text=said), Turn(role="assistant", calls=calls))
    found = validate_calls(AgentRun(run_id="1", tools=(LOOK,), turns=turns, answer=""))
    return [one for one in found if one.status == "fabricated"]


@pytest.mark.parametrize(("said", "total", "status"), [
    ("Items at 349.90 and 120.05", 469.95, "valid"),
    ("Items at 349, 120 and 99", 469, "unverified"),
    ("Items at 349, 120, 99, 80, 512, 77, 31", 469, "fabricated"),
    ("2 tickets at 18.50 and 1 at 9", 46, "unverified"),
])  # fmt: skip
def test_a_result_of_few_numbers_follows_and_one_of_many_may_be_chance(said: str, total: float, status: str) -> None:
    assert judge(said, {"total": total}).status == status


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("order_id", "identifier"), ("orderId", "identifier"), ("order_total", "money"), ("num_guests", "count"),
        ("number_of_rooms", "count"), ("max_results", "setting"), ("lat", "place"), ("note", ""), ("", ""), ("金额", "money"),
    ],
)  # fmt: skip
def test_the_last_word_of_a_name_tells_the_role(name: str, role: str) -> None:
    assert role_of(name) == role


def test_a_name_or_a_description_tells_the_unit() -> None:
    assert unit_of("delay_ms") == ("time", 1) and unit_of("durationSeconds") == ("time", 1000)
    assert unit_of("ttl", "The time to live in hours.") == ("time", 3_600_000) and unit_of("m") is None


HOSTILE = (
    "a.",
    "a-",
    "1.",
    "a",
    "((",
    ")",
    "\n",
    " ",
    "a@",
    "jan ",
    "1 ",
    "2024 ",
    "好.",
    "a/",
    "#a",
    "select ",
    "x(",
    "1-2-",
    "A1B2",
    "“",
    "draft ",
)


@pytest.mark.parametrize("part", HOSTILE)
def test_an_argument_is_read_in_a_bounded_way(part: str) -> None:
    """A pattern never sees a long run without a space, and the steps grow with the text, not with its square."""
    text = part * (8000 // len(part))
    assert max(map(len, re.findall(r"[\w.+@/:#~%&?=-]+", places(text)[1])), default=0) < MAX_RUN
    list(entities(Leaf("warm", "", "")))
    few, many = (steps(lambda size=size: judge("Go", {"q": text[:size]})) for size in (500, 2000))
    assert many < 6 * few


@pytest.mark.parametrize("part", ["“", "「", "draft ", "范文"])
def test_an_answer_is_read_in_proportion(part: str) -> None:
    run = AgentRun(run_id="1", turns=(Turn(role="user", text="Go"),), answer=part * 20_000)
    assert list(claimed_calls(run)) == []


def test_of_an_argument_that_is_too_long_the_report_says_so() -> None:
    found = judge("Go", {"data": "a." * 8000})
    assert found.status == "unverified" and "too long to be read whole" in found.errors[0]
    assert judge("Go", {"data": "word " * 30_000}).status == "unverified"


def test_a_large_result_is_read_to_a_bound_and_the_report_says_so() -> None:
    rows = ", ".join(
        f'{{"id": "ORD-{number}", "price": {number}.25, "day": "2026-0{number % 9 + 1}-11"}}'
        for number in range(1000, 80_000)
    )
    text = f"[{rows}]"
    assert len(text) > 4_000_000
    found = judge("Go", {"order_id": "ORD-1000"}, results=[text])
    assert found.status == "valid"
    found = judge("Go", {"order_id": "ORD-99999"}, results=[text])
    assert found.status == "unverified" and "only 200,000 characters were read" in found.errors[0]
    assert judge("Go", {"order_id": "ORD-99999"}, results=[text[:1000]]).status == "fabricated"


def test_a_large_result_is_cut_for_the_claims_too_and_its_call_says_so() -> None:
    text = json.dumps([{"id": number, "price": number * 1.25} for number in range(20_000)])
    calls = (
        ToolUse(id="c", tool="look", arguments={}, result=text),
        ToolUse(id="d", tool="look", arguments={}, result="21"),
    )
    run = AgentRun(run_id="1", tools=(LOOK,), turns=(Turn(role="assistant", calls=calls),), answer="")
    evidence = evidence_of(run)
    assert len(evidence.text) < 1.1 * sources_module.MAX_TEXT and evidence.text.endswith("21")
    assert [one.errors for one in validate_calls(run)] == [
        (f"result: only 200,000 of {len(text):,} characters were read",),
        (),
    ]


def test_the_texts_of_a_run_are_read_to_a_bound() -> None:
    sources = sources_module.Sources()
    for _ in range(10):
        sources.add("word " * 40_000)
    assert sources.cut and sum(len(piece.text) for piece in sources._pieces) <= 1.1 * sources_module.MAX_ALL


def test_unique_items_take_time_in_proportion() -> None:
    properties = {"items": {"type": "array", "uniqueItems": True}}

    def work(count: int) -> int:
        items = [{"name": "x", "of": [1, {"n": str(number)}]} for number in range(count)]
        return steps(lambda: judge("Go", {"items": items}, properties=properties))

    work(10)
    assert work(800) < 2.5 * work(400)  # and four times, where each is compared with all others


@pytest.mark.parametrize(
    ("items", "fits"),
    [
        ([1, True, "1", None, False, 0], True), ([1, 1.0], False), ([{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}], False),
        ([[1, 2], [2, 1]], True), ([{}, []], True), (["a", "a"], False),
    ],
)  # fmt: skip
def test_unique_items_are_told_as_json_tells_them(items: list[Any], fits: bool) -> None:
    found = judge("Go", {"items": items}, properties={"items": {"type": "array", "uniqueItems": True}})
    assert any("is there twice" in error for error in found.errors) is not fits


TODAY = "Current date: 2026-10-08 (Thursday)."


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("What's on my calendar this week?", {"start": "2026-10-05", "end": "2026-10-11"}),
        ("Archive everything older than a month", {"before": "2026-09-08"}),
        ("Within 72 hours", {"due": "2026-10-11"}),
        ("In 10 working days", {"date": "2026-10-22"}),
        ("半年前的邮件", {"date": "2026-04-08"}),
        ("从十月十五号住到十八号", {"start": "2026-10-15", "end": "2026-10-18"}),
        ("Renew it for a year", {"until": "2027-10-08"}),
        ("Passport X4820119, expires 04/2031", {"expiry": "2031-04-30"}),
        ("Papers of the last 3 years", {"year_from": 2023}),
        ("Card exp 11/29", {"exp": "2029-11"}),
        ("Delayed by 2h15", {"delay_minutes": 135}),
        ("Give it 2 gigs of memory", {"memory_mb": 2048}),
        ("I weigh 11 stone 4", {"weight_lb": 158}),
        ("退款吧，一共花了两百六十九块九", {"amount": 269.9}),
        ("Two grand for Ann", {"amount": 2000}),
        ("Set the oven to 350 Fahrenheit", {"temp_c": 177}),
        ("More than 100 units", {"min_units": 101}),
        ("Under 18s", {"max_age": 17}),
        ("Sales since January", {"min": 8}),
    ],
)
def test_what_the_texts_may_imply_but_is_not_worked_out_is_unverified(said: str, arguments: Any) -> None:
    assert judge(said, arguments, system=TODAY).status == "unverified"


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("What's on my calendar this week?", {"start": "2026-12-05"}),
        ("Archive everything older than a month", {"before": "2025-09-08"}),
        ("Flights on 21 November", {"date": "2026-11-30"}),
        ("Meeting on Friday", {"date": "2026-09-25"}),
        ("Report for September", {"month": "2026-06"}),
        ("Refund 12 kg", {"weight_g": 1200}),
        ("Freeze at -18 degrees", {"celsius": -25}),
        ("Tail web-03", {"host": "web-07"}),
        ("Restart node-12", {"node": "node-21"}),
        ("Show the place", {"place_id": "ChIJN1t_tDeuEmsR"}),
        ("Deploy v3.2.1", {"version": "3.2.2"}),
        ("Ping 110.0.0.7", {"host": "10.0.0.7"}),
    ],
)
def test_what_no_reading_of_the_texts_gives_is_invented(said: str, arguments: Any) -> None:
    assert judge(said, arguments, system=TODAY).status == "fabricated"


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("Deploy v3.2.1", {"version": "3.2.1"}),
        ("Upgrade to Python3.12.4", {"version": "3.12.4"}),
        ("升级到5.0.2版", {"version": "v5.0.2"}),
        ("Tail web-03", {"host": "web-03"}),
        ("A mid-20 look", {"style": "mid-20", "field_key": "maxRetriesPerHost"}),
        ("Vacation from 1 to 14 August 2026", {"start": "2026-08-01", "end": "2026-08-14"}),
        ("Book 3-5 March 2027", {"start": "2027-03-03", "end": "2027-03-05"}),
        ("Away June 1 to 15", {"start": "2027-06-01", "end": "2027-06-15"}),
        ("Report for September", {"month": "2026-09", "end": "2026-09-30"}),
        ("Charging stations within 5 miles", {"radius_km": 8.05}),
        ("Double the recipe: 150 g flour, 2 eggs", {"flour_g": 300, "eggs": 4}),
    ],
)
def test_a_version_a_name_and_a_plain_conversion_are_given(said: str, arguments: Any) -> None:
    assert judge(said, arguments, system=TODAY).status == "valid"


def test_only_the_words_of_the_user_leave_an_amount_or_a_day_open() -> None:
    results = ("Half of it within a month, or two grand",)
    assert judge("Pay Ann", {"amount": 735}, results=results, system=TODAY).status == "fabricated"
    assert judge("Go", {"date": "2026-11-17"}, results=results, system=TODAY).status == "fabricated"
