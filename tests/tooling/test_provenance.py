"""What a model writes into a call must come from a text that it was given."""

from typing import Any

import pytest

from haluagent import Demo, Sentence, ToolContext, ToolResult, tool
from haluagent.errors import FormatError
from haluagent.tooling.provenance import check_provenance
from haluagent.tools import default_registry
from haluagent.types import ToolCall

QUESTION = "Who wrote the report CVE-2021-44228, and when did the 12 labs publish “Open doors for all”?"
RESPONSE = (
    "Ann (ann@labs.example) wrote it on 9 December 2021; see https://labs.example/r?id=7. user_id is its key. 占20%。"
)


@tool(
    description={"en": "looks things up", "zh": "查找"},
    demos=[
        Demo(
            language=language,
            question="Who is the king of 1999?",
            response="It is Bo.",
            thought="to be looked up",
            call='lookup(sentence=S1, query="king 1999")',
            observation="no one",
        )
        for language in ("en", "zh")
    ],
)
async def lookup(
    context: ToolContext, sentence: Sentence, query: str, count: int = 5, rate: float | None = None
) -> ToolResult:
    return ToolResult(observation=query)


def check(make_context: Any, observations: tuple[str, ...] = (), **arguments: Any) -> None:
    context = make_context(QUESTION, RESPONSE, reference="The 《红楼梦》 sold 3,500 copies.")
    check_provenance(lookup, ToolCall(name="lookup", arguments={"sentence": "S1", **arguments}), context, observations)


@pytest.mark.parametrize(
    "query",
    [
        "who wrote the report",
        "cve-2021-44228 report author",
        "“open doors  for all” labs",
        "twelve labs 12",
        "report of 2021-12-09",
        "December 9, 2021",
        "https://labs.example/r?id=7",
        "https://labs.example/r?id=7.",
        "ann@labs.example",
        "user_id key",
        "《红楼梦》3500册",
        "20% 占比",
        "12km of road",
        "the 12th lab",
        "",
    ],
)
def test_what_comes_from_the_texts_passes(make_context: Any, query: str) -> None:
    check(make_context, query=query)


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("the report of 1998", "1998"),
        ("https://evil.example/x report", "https://evil.example/x"),
        ("https://labs.example/r?id=8", "https://labs.example/r?id=8"),
        ("CVE-2021-44229", "CVE-2021-44229"),
        ("bob@labs.example", "bob@labs.example"),
        ("“Closed doors for all” labs", "Closed doors for all"),
        ("《三国演义》的册数", "三国演义"),
        ("password_id", "password_id"),
        ("report of 2021-12-10", "10"),
        ("三千六百册", "三千六百"),
    ],
)
def test_what_the_model_made_up_is_refused_by_name(make_context: Any, query: str, part: str) -> None:
    with pytest.raises(FormatError, match="is in none of the texts") as error:
        check(make_context, query=query)
    assert part in str(error.value)


def test_an_earlier_observation_may_be_used(make_context: Any) -> None:
    with pytest.raises(FormatError):
        check(make_context, query="sold 4711")
    check(make_context, observations=("4711 were sold",), query="sold 4711")


@pytest.mark.parametrize("arguments", [{"count": 12}, {"rate": 0.2}, {"rate": None}])
def test_numbers_given_as_such_count_too(make_context: Any, arguments: dict[str, Any]) -> None:
    check(make_context, query="", **arguments)


def test_a_number_given_as_such_is_refused(make_context: Any) -> None:
    with pytest.raises(FormatError, match="77"):
        check(make_context, query="", count=77)


@pytest.mark.parametrize(
    ("formula", "passes"), [("12*60", True), ("12*61", False), ("(12+3500)/100", True), ("12*7.5", False)]
)
def test_a_formula_may_hold_common_constants(make_context: Any, formula: str, passes: bool) -> None:
    if passes:
        check(make_context, query=formula)
    else:
        with pytest.raises(FormatError):
            check(make_context, query=formula)


def test_what_a_system_tool_says_is_for_the_user(make_context: Any) -> None:
    registry = default_registry()
    call = ToolCall(name="talk_to_user", arguments={"sentence": "S1", "missing": "the 1998 report"})
    check_provenance(registry["talk_to_user"], call, make_context(QUESTION, RESPONSE), [])
