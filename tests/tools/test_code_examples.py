"""Reading examples: what a text says of calls, and what cannot be read."""

import pytest

from haluagent.tools.code_interpreter.examples import calls
from haluagent.tools.code_interpreter.samples import given_values, samples
from haluagent.tools.code_interpreter.sessions import sessions

READ = {
    "f(1) == 2": ("value", "f(1)", "2"),
    "f(1)==2": ("value", "f(1)", "2"),
    "assert f(1) == 2, 'no'": ("value", "f(1)", "2"),
    "assert f(1)": ("value", "bool(f(1))", "True"),
    "assert not f(1)": ("value", "bool(f(1))", "False"),
    "assert abs(f(1) - 2) < 1e-6": ("assert", "assert abs(f(1) - 2) < 1e-06", ""),
    "f(1) -> 2": ("value", "f(1)", "2"),
    "f(1)-->2": ("value", "f(1)", "2"),
    "f(1) ➞ 2": ("value", "f(1)", "2"),
    "f(1) → 2": ("value", "f(1)", "2"),
    "f(1) => 2": ("value", "f(1)", "2"),
    "f(1) ==> 2": ("value", "f(1)", "2"),
    "f(1) = 2": ("value", "f(1)", "2"),
    "- f(1) returns 2": ("value", "f(1)", "2"),
    "* `f(1)` returns `2`": ("value", "f(1)", "2"),
    "1. f(1) should return 2.": ("value", "f(1)", "2"),
    "f(1) gives 2 because of this": ("value", "f(1)", "2"),
    "f(1) evaluates to 2, f(2) to 3": ("value", "f(1)", "2"),
    "f(1) is 2.5.": ("value", "f(1)", "2.5"),
    "f(1)返回2": ("value", "f(1)", "2"),
    "调用 f(1) 应该返回 2。": ("value", "f(1)", "2"),
    "f(1) 的返回值为 2": ("value", "f(1)", "2"),
    "f(1) 的结果是 2，因为": ("value", "f(1)", "2"),
    "f(1) 得到 2；": ("value", "f(1)", "2"),
    "f(1) 等于 2": ("value", "f(1)", "2"),
    "f(1)  # 2": ("either", "f(1)", "2"),
    "f(1)  # returns 2": ("value", "f(1)", "2"),
    "f(1) # => 'No' (too short)": ("value", "f(1)", "'No'"),
    "print(f(1))  # 2": ("either", "f(1)", "2"),
    "f(1) 输出 2": ("either", "f(1)", "2"),
    "f(1) prints 'x'": ("either", "f(1)", "'x'"),
    "f([]) 返回 []": ("value", "f([])", "[]"),
    "f('a)b', \"c(\") == 'd'": ("value", "f('a)b', \"c(\")", "'d'"),
    "f({'a': [1, (2, 3)]}) == {'b': None}": ("value", "f({'a': [1, (2, 3)]})", "{'b': None}"),
    "f(1,\n  2) == [3,\n 4]": ("value", "f(1,   2)", "[3, 4]"),
    "f(-1) == -2": ("value", "f(-1)", "-2"),
    "f(g(1)) == 2": ("value", "f(g(1))", "2"),
    "f(range(3)) == {1, 2}": ("value", "f(range(3))", "{1, 2}"),
    "f(x=1) == True": ("value", "f(x=1)", "True"),
    "f(1) raises ValueError": ("raises", "f(1)", "ValueError"),
    "f(1) should raise a `KeyError`.": ("raises", "f(1)", "KeyError"),
    "f(1) 会抛出 TypeError。": ("raises", "f(1)", "TypeError"),
}


@pytest.mark.parametrize("text", READ)
def test_an_example_that_is_read(text: str) -> None:
    example = calls(f"Write f.\n{text}\n", ["f"], ["g"])[0]
    assert (example.kind, example.source, example.wanted) == READ[text]
    assert f"Write f.\n{text}"[example.span[0] :].startswith(("f(", "assert"))


@pytest.mark.parametrize(
    "text",
    [
        "f(1) == x",
        "f(1) == 2 + x",
        "f(1) == 2 or 3",
        "f(n) == 2",
        "f(...) == 2",
        "f(1, ...) -> 2",
        "f(1) -> 3 - 1 = 2",
        "f(1) returns 3 elements",
        "f(1) returns true",
        "f(1) returns the sum",
        "f(1) returns True if it is odd",
        "f(1) returns 3 but should return 2",
        "f(1) 返回 3 而不是 2",
        "why does f(1) return 3?",
        "does f(1) return 3?",
        "f(1) prints 3, 2, 1",
        "f(1) 输出 3 和 2",
        "f(1) costs 1,000",
        "f(1) is 1,000",
        "f(1) is 50%",
        "2 * f(1) == 4",
        "not f(1) == 4",
        "self.f(1) == 4",
        "def f(x) -> 2",
        "g(f(1)) == 2",
        "f(1) != 2",
        "f(1) > 2",
        "f(1",
        "f(1) == [1",
        "f(1) == 'x",
        "f(unknown) == 1",
        "cf(1) == 1",
    ],
)
def test_what_cannot_be_read_is_left_out(text: str) -> None:
    assert calls(text, ["f"], ["g"]) == []


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("For example, f(1) is 2.", [True]),
        ("So `f(1)` gives `2`, and `f(2)` gives `3`. In Lua it differs.", [True, True]),
        ("In Lua, f(1) is 2. Calling f(2) gives 3.", [False, True]),
        ("f(1) is 2, said the old manual.", [False]),
        ("assert f(1) == 2\n- f(2) -> [1,\n  2]", [True, True]),
        ("调用f(1)的结果是2。在Lua里f(2)返回3。", [True, False]),
    ],
)
def test_whether_a_sentence_says_nothing_else(text: str, alone: list[bool]) -> None:
    assert [one.alone for one in calls(text, ["f"])] == alone


@pytest.mark.parametrize(
    ("text", "stress"),
    [
        ("f(1) should return 2", "should"),
        ("f(1) 的结果应为 2", "should"),
        ("assert f(1) == 2", "should"),
        ("an f with, for example, f(1) is 2", "should"),
        ("f(1) == 2", "=="),
        ("f(1) will return 2", ""),
        ("f(1) -> 2", ""),
    ],
)
def test_how_an_example_is_put(text: str, stress: str) -> None:
    assert [one.stress for one in calls(text, ["f"])] == [stress]


def test_every_value_that_is_told_of_a_call_is_read() -> None:
    assert [one.wanted for one in calls("f(1) is 2; f(1) is 3; f(1) is 2", ["f"])] == ["2", "3"]


def test_formulas_of_different_kinds_are_a_definition() -> None:
    assert calls("f(1) = 3\nf(2) = 5\nf(3) = [1, 2]", ["f"]) == []
    assert [one.wanted for one in calls("f(1) = 3, f(2) = 5\nf(3) == [1]", ["f"])] == ["[1]"]


def test_a_transcript_with_steps() -> None:
    text = """
    >>> s = Stack()
    >>> s.push(1)
    >>> s.pop()
    1
    >>> print(s)
    empty stack
    >>> s.pop()
    Traceback (most recent call last):
      ...
    IndexError: pop from an empty list
    >>> s
    Stack([])
    >>> for i in range(2):
    ...     s.push(i)
    >>> unknown(1)
    2
    """
    found = [(one.kind, one.source, one.wanted) for one in sessions(text, ["Stack"], [])]
    assert found == [
        ("run", "s = Stack()", ""),
        ("run", "s.push(1)", ""),
        ("value", "s.pop()", "1"),
        ("printed", "print(s)", "empty stack"),
        ("raises", "s.pop()", "IndexError"),
        ("shown", "s", "Stack([])"),
        ("run", "for i in range(2):\n    s.push(i)", ""),
    ]


def test_a_transcript_of_something_else_is_left_out() -> None:
    assert sessions(">>> 1 + 1\n2", ["f"], []) == []
    assert sessions(">>> f(1) == 2", ["f"], [])[0].wanted == "2"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Input: [1, 2]\nOutput: 3", [("[1, 2]", "3")]),
        ("**Input:** 5\n**Output:** 120", [("5", "120")]),
        ("Sample Input 1:\n```\n1 2\n3\n```\n\nSample Output 1:\n```\n6\n```", [("1 2\n3", "6")]),
        ("输入样例：\n5\n输出样例：\n25\n", [("5", "25")]),
        (
            "示例 1：\n输入：x = [1], k = 2\n输出：3\n解释：因为\n示例 2：\n输入：x = [], k = 0\n输出：0",
            [("x = [1], k = 2", "3"), ("x = [], k = 0", "0")],
        ),
        ("输入: 1，输出: 2", [("1", "2")]),
        ("The input is a list. The output: none", []),
        ("Input: 5", []),
    ],
)  # fmt: skip
def test_samples(text: str, found: list[tuple[str, str]]) -> None:
    assert [(sample.input, sample.output) for sample in samples(text)] == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('For num = "AB" the output should be 1.', ("num='AB'", "1")),
        ("When a = 1 and b = [2], the result is 3", ("a=1, b=[2]", "3")),
        ("当 n = 5 时，返回 120。", ("n=5", "120")),
        ("如果 n = 5，那么结果为 120", ("n=5", "120")),
        ("For n = 5 there are many", None),
        ("For n = k the output is 3", None),
    ],
)
def test_values_of_parameters(text: str, found: tuple[str, str] | None) -> None:
    assert [(sample.input, sample.output) for sample in given_values(text)] == ([found] if found else [])
