"""Whatever stands in a text, reading it takes time in proportion to its length.

Steps of Python are counted. What a regular expression does is one step, so those get runs so long that anything but
linear time would take hours: the limit of a test ends it.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from heavy import POWERS, SINES
from waiting import steps

from haluagent.arithmetic.conversions import find_conversions
from haluagent.arithmetic.equations import find_equations
from haluagent.arithmetic.identities import identical
from haluagent.arithmetic.known import calculated_numbers
from haluagent.arithmetic.notation import tokenize
from haluagent.arithmetic.results import final_answer, stated_results
from haluagent.arithmetic.syntax import syntax
from haluagent.arithmetic.unknowns import assigned
from haluagent.errors import FormatError, ToolError
from haluagent.judging.agreement import says
from haluagent.judging.instructions import speaks_to_reader
from haluagent.judging.passages import missing_numbers, quoted
from haluagent.prompts import fence
from haluagent.search.documents.html import read_html
from haluagent.search.documents.passages import split as passages
from haluagent.search.index.terms import terms
from haluagent.text import (
    clocks,
    code_blocks,
    date_claims,
    dates,
    language,
    lengths,
    numbers,
    refusals,
    segment,
    windows,
    words,
)
from haluagent.text.courtesies import courtesy
from haluagent.tooling import turn_format
from haluagent.tooling.coverage import left_open, open_parts
from haluagent.types import CheckedPart, Sentence

CLAIM = "the capital of France is a large city"

READERS: dict[str, Callable[[str], Any]] = {
    "find_numbers": numbers.find_numbers,
    "find_dates": dates.find_dates,
    "find_days": dates.find_days,
    "find_durations": dates.find_durations,
    "find_weekdays": dates.find_weekdays,
    "possible_dates": dates.possible_dates,
    "find_clocks": clocks.find_clocks,
    "length_requirement": lengths.length_requirement,
    "code_blocks": code_blocks.find,
    "split": segment.split,
    "language": lambda text: language.own_prose(text),
    "refusal": lambda text: refusals.refusal(text, text),
    "words": words.words,
    "windows": lambda text: windows.windows(text, 10, lambda piece: (len(piece) + 3) // 4),
    "tokenize": tokenize,
    "find_equations": find_equations,
    "stated_results": stated_results,
    "final_answer": final_answer,
    "assigned": assigned,
    "calculated_numbers": calculated_numbers,
    "quoted": lambda text: quoted(CLAIM, text),
    "missing_numbers": lambda text: missing_numbers("2 of 3", text),
    "says": lambda text: says(text, CLAIM),
    "open_parts": lambda text: open_parts(Sentence(index=1, text=text, span=(0, len(text))), [(0, len(text) // 2)]),
    "passages": passages,
    "terms": terms,
    "find_conversions": find_conversions,
    "unsaid": refusals.unsaid,
    "courtesy": courtesy,
    "weekday_claims": lambda text: date_claims.weekday_claims(text, text, answers=True),
    "distance_claims": lambda text: date_claims.distance_claims(text, text, asked=None, answers=True),
    "fence": fence,
    "speaks_to_reader": speaks_to_reader,
}

RUNS = [
    " ", "\n", " \n", "1", "1.", "1,", "1,000", ".", "..", "(", "((1", "()", "[1]", "{", "<", "`", "``` ", "```\n", "*", "**a", "#",
    "# ", "|", "a", "a ", "a.", "Dr. ", '"', "'", "“", "“a”", "「", "《", "=", "1=", "1 + ", "= ", "x = 1, ", "-", "- ", "1-",
    "1/2 ", "(1/2)", "^2", "²", "√", "π", "%", "\\frac{", "\\boxed{", '\\"', "$", "一", "二十五", "万", "三分之", "点", "半", "周一",
    "1月", "1月2日", "2020-", "2020-01-01 ", "1/1/2020 ", "Jan 1, ", "January 1, 2020 ", "Monday ", "1 day ", "5 km + 3 m ", "one ",
    "half ", "about ", "50 words ", "10字", "不超过", "http://a.b/", "QUJD", "a@b.", "12:30 ", "…", "> ", ">>> ", "1. ", "def f(): ",
    "不知道", "I don't know ", "1 000 ", "又", "1!", "\u200b", "½", "a,b,", "is ", "不等于", "\0",
    "_", "a_", "目前现在", "5 km = 5000 m while ", "<|", "[A_", "Q: ",
]  # fmt: skip


@pytest.mark.parametrize("name", sorted(READERS.keys() - {"calculated_numbers", "missing_numbers"}))  # by find_numbers
def test_steps_grow_with_the_length(name: str) -> None:
    def counted(run: str, size: int) -> int:
        return steps(lambda: read(name, f"{name} {run * (size // len(run))}"))

    for run in RUNS:
        few, many = counted(run, 200), counted(run, 800)
        assert many < 7 * few + 5000, run


@pytest.mark.parametrize("name", sorted(READERS))
def test_long_runs_are_read(name: str) -> None:
    for run in RUNS:
        read(name, "x " + run * (20_000 // len(run)))


def read(name: str, text: str) -> None:
    with suppress(ToolError):  # that is an answer too
        READERS[name](text)


def test_dots_and_digits_without_end_make_no_equation() -> None:
    assert find_equations("1." * 16_000 + " = 2") == []


def test_a_turn_without_end_is_refused() -> None:
    for text in ("ACTION: " + "A" * 40_000, "ACTION: " * 5000, "a(b=" * 10_000, 'a(b="' * 10_000):
        with pytest.raises(FormatError, match="write a shorter one"):
            turn_format.parse(text)


@pytest.mark.parametrize(
    "run", ["A", "ACTION: ", "a(b=", 'a(b="', "a(", "OBSERVATION: ", '", ', "\\", " ", "( ", "行为："]
)
def test_a_turn_takes_steps_in_proportion_to_its_length(run: str) -> None:
    def parse(size: int) -> None:
        with suppress(FormatError):
            turn_format.parse("ACTION: " + run * (size // len(run)))

    few, many = steps(lambda: parse(1200)), steps(lambda: parse(4800))
    assert many < 7 * few + 5000


@pytest.mark.parametrize("run", [" ", "\n", "<", "<a ", "<!--", "<?", "&", "<p>", "<a x='", "</", "<![CDATA["])
def test_a_page_of_one_run_is_read(run: str) -> None:
    pytest.importorskip("bs4")
    title, text = read_html(f"<p>{run * (400_000 // len(run))}</p><p>the end</p>".encode())
    assert title == ""


def test_a_page_with_much_white_space_keeps_its_text() -> None:
    pytest.importorskip("bs4")
    assert read_html(b"<p>one" + b" " * 400_000 + b"two</p>") == ("", "one two")


def test_products_of_powers_take_no_algebra() -> None:
    def check(equations: list[str]) -> None:
        for equation in equations:
            left, right = equation.replace("^", "**").split(" = ")
            assert identical(syntax(left), syntax(right), (left, right)) is left.startswith("(x+1)*")
            other = f"({right})*(x+3)/(x+3)*1"
            assert identical(syntax(right), syntax(other), (right, other))

    equations = POWERS.split("; ")
    assert steps(lambda: check(equations)) < 10 * steps(lambda: check(equations[:15]))
    assert identical(syntax("sin(x)"), syntax("sin(x)"), ("sin(x)", "sin(x)")) is None
    assert all(
        equation.holds is not False for equation in find_equations(SINES.partition(";")[0].replace("sin(x)", "y"))
    )


def test_open_parts_of_many_checks_are_compared_in_order() -> None:
    def parts(count: int) -> list[CheckedPart]:
        spans = tuple((4 * n, 4 * n + 3) for n in range(count))
        moved = tuple((4 * n + 1, 4 * n + 4) for n in range(count))
        return [
            CheckedPart(tool="t", label="supported", confidence=0.9, evidence=(), open=one) for one in (spans, moved)
        ]

    assert left_open(parts(3)) == ((1, 3), (5, 7), (9, 11))
    few, many = parts(100), parts(400)
    assert steps(lambda: left_open(many)) < 6 * steps(lambda: left_open(few))
