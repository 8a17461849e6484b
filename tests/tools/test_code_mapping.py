"""From what a sandbox reports to a label: every outcome, with a sandbox that says what the test wants."""

import ast
import asyncio
import re
from collections.abc import Callable, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from haluagent.errors import SandboxError, ToolError
from haluagent.protocols import Execution, ToolContext
from haluagent.text.code_blocks import find
from haluagent.text.messages import message
from haluagent.tooling.registry import Registry
from haluagent.tools.code_interpreter.tool import MAX_BLOCKS, MAX_VERSIONS, code_interpreter
from haluagent.types import Language, ToolCall, ToolResult

ADD = "def add(a, b):\n    return a + b"
ASSERTED = f"{ADD}\n\nassert add(1, 2) == 3"


class Script:
    """Answers each run with what a function makes of the program, or with the next of a list. Where the results of a
    program are changed, its tests notice, unless they are `blind`."""

    name = "script"

    def __init__(self, answers: Callable[[str], Execution] | Sequence[Execution], blind: bool = False) -> None:
        self._blind = blind
        self._answers = answers if callable(answers) else iter(answers)
        self.programs: list[str] = []

    async def run(self, code: str, *, seconds: float = 10.0) -> Execution:
        if not self._blind and "_haluagent.way = ''" not in code:
            return Execution(outcome="exception", error="AssertionError")
        self.programs.append(code)
        return self._answers(code) if callable(self._answers) else next(self._answers)


def finished(code: str, passed: int = 0) -> Execution:
    """A program that ran to its end, with the marks it was to leave."""
    nonce = re.search(r"_haluagent\.nonce = '(\w+)'", code)
    assert nonce is not None
    return Execution(outcome="ok", stdout=f"[{nonce[1]} 0 {passed}]")


def failed(error: str, text: str, code: str, outcome: str = "exception") -> Execution:
    """A program that failed at the last line that holds a text."""
    lines = code.split("\n")
    number = max(index for index, line in enumerate(lines, 1) if text in line)
    traceback = (
        f'Traceback (most recent call last):\n  File "<code>", line {number}, in <module>\n    {text}\n{error}\n'
    )
    return Execution.model_validate({"outcome": outcome, "error": error, "traceback": traceback, "line": number})


@pytest.fixture
def interpret(scripted):
    def interpret(
        sandbox: Script | None, response: str, question: str = "Write the code.", language: Language = "en"
    ) -> ToolResult:
        context = ToolContext(
            question=question, response=response, language=language, sentences=(), model=scripted(), sandbox=sandbox
        )
        call = ToolCall(name="code_interpreter", arguments={"sentence": "S0"})
        return asyncio.run(Registry([code_interpreter]).call(call, context))

    return interpret


LIMITS = ("timeout", "memory", "output")


@pytest.mark.parametrize("outcome", LIMITS)
def test_a_limit_contradicts_only_where_something_is_tested(interpret, outcome: str) -> None:
    run = Execution.model_validate({"outcome": outcome})
    result = interpret(Script([run]), ASSERTED)
    assert (result.label, result.confidence) == ("contradicted", 0.7)
    assert result.observation == message(f"code.reason.{outcome}", "en", seconds=10)
    assert interpret(Script([run]), f"{ADD}\n\nprint(add(1, 2))").label == "unverified"


def test_a_limit_of_the_program_leaves_its_passed_examples_undecided(interpret) -> None:
    def answers(code: str) -> Execution:
        return finished(code, 1) if "_haluagent.value(" in code else Execution(outcome="timeout")

    result = interpret(Script(answers), f"{ADD}\n\nwhile True:\n    pass", "add(1, 2) == 3")
    assert result.label == "unverified"
    assert "limit of 10 s" in result.observation and "1 example of the question passed" in result.observation


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("EOFError: EOF when reading a line", "reads input"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'x'", "uses files"),
        ("PermissionError: [Errno 13] Permission denied: '/x'", "uses files"),
        ("OSError: [Errno 30] Read-only file system: 'x'", "uses files"),
        ("socket.gaierror: [Errno -3] Temporary failure in name resolution", "uses the network"),
        ("urllib.error.URLError: <urlopen error [Errno 101] Network is unreachable>", "uses the network"),
        ("OSError: [Errno 101] Network is unreachable", "uses the network"),
        ("ConnectionRefusedError: [Errno 111] Connection refused", "uses the network"),
        ("RuntimeError: can't start new thread", "something of the system"),
        ("_tkinter.TclError: no display name", "something of the system"),
    ],
)
def test_what_the_sandbox_lacks_is_not_the_fault_of_the_code(interpret, error: str, said: str) -> None:
    script = Script(lambda code: failed(error, "assert add(1, 2) == 3", code))
    result = interpret(script, ASSERTED)
    assert result.label == "unverified"
    assert said in result.observation and error.split(":")[0] in result.observation


def test_a_missing_package_is_named_and_nothing_more_is_run(interpret) -> None:
    script = Script(lambda code: failed("numpy", "import numpy", code, "missing_package"))
    result = interpret(script, f"import numpy\n\n{ADD}", "add(1, 2) == 3")
    assert (result.label, result.observation) == ("unverified", "it needs numpy, which the sandbox does not have")
    assert len(script.programs) == 1


def test_assertions_that_were_not_reached_are_not_made_up_for_by_those_before(interpret) -> None:
    def answers(code: str) -> Execution:
        return finished(code, 1).model_copy(
            update=failed("EOFError: EOF when reading a line", "input()", code).model_dump(exclude={"stdout"})
        )

    response = f"{ASSERTED}\nx = input()\nassert add(0, 0) == 1"
    assert interpret(Script(answers), response).label == "unverified"


def test_ended_early(interpret) -> None:
    assert interpret(Script([Execution(outcome="killed")]), ASSERTED).label == "unverified"


def test_the_evidence_is_the_traceback_at_the_line_of_the_response(interpret) -> None:
    response = f"好的：\n```python\n{ADD}\n\n\nassert add(1, 2) == 4\n```"
    script = Script(lambda code: failed("AssertionError", "assert add(1, 2) == 4; _haluagent.ran()", code))
    (evidence,) = interpret(script, response).evidence
    assert evidence.span is not None
    assert response[slice(*evidence.span)] == "assert add(1, 2) == 4"
    assert evidence.source == "code_interpreter"
    assert evidence.text == (
        'Traceback (most recent call last):\n  File "<response>", line 7, in <module>\n    assert add(1, 2) == 4\nAssertionError'
    )


def test_a_traceback_is_clipped(interpret) -> None:
    script = Script(lambda code: failed("ValueError: " + "x" * 5000, "assert add(1, 2) == 3", code))
    result = interpret(script, ASSERTED)
    assert len(result.evidence[0].text) < 1600 and len(result.observation) < 400


def test_output_without_marks_shows_no_test(interpret) -> None:
    """Where the output was clipped, or a program swallowed the marks, nothing is known to have run."""
    assert interpret(Script(lambda code: Execution(outcome="ok", stdout="1 2 3")), ASSERTED).label == "unverified"


def test_marks_of_another_program_do_not_count(interpret) -> None:
    response = f"{ASSERTED}\nprint('[0123456789abcdef 0 9]')"
    script = Script(lambda code: Execution(outcome="ok", stdout="[0123456789abcdef 0 9]"))
    assert interpret(script, response).label == "unverified"


def test_question_and_response_are_run_apart(interpret) -> None:
    script = Script(lambda code: finished(code, 1))
    result = interpret(script, ASSERTED, "add(2, 2) == 4")
    program, examples = script.programs
    assert "assert add(1, 2) == 3" in program and "add(2, 2)" not in program
    assert "assert" not in examples.split("\n", 1)[1] and "_haluagent.value(add(2, 2), 4)" in examples
    assert (result.label, result.confidence) == ("supported", 0.9)
    assert [evidence.source for evidence in result.evidence] == ["code_interpreter", "question"]


def test_own_tests_alone_support_less(interpret) -> None:
    result = interpret(Script(lambda code: finished(code, 7)), ASSERTED)
    assert (result.label, result.confidence) == ("supported", 0.75)
    assert result.observation == "the code ran, and 7 assertions of the response passed"


@pytest.mark.parametrize("outcome", ["ok", "timeout", "memory", "exception"])
def test_tests_that_notice_no_change_support_nothing(interpret, outcome: str) -> None:
    """Only an assertion that fails is a test that has noticed; each way of changing is tried once, at a short limit."""
    ways = []

    def answer(code: str) -> Execution:
        ways.append(re.findall(r"_haluagent\.way = '(\w*)'", code)[0])
        changed = Execution.model_validate({"outcome": outcome, "error": "TypeError: x" * (outcome == "exception")})
        return finished(code, 1) if not ways[-1] else changed

    result = interpret(Script(answer, blind=True), ASSERTED)
    assert (result.label, result.observation) == ("unverified", message("code.blind", "en"))
    assert ways == ["", "other", "longer", "effects"]


def test_an_example_that_decides_nothing_is_left_out_where_it_fails(interpret) -> None:
    response = f"```python\n{ADD}\n```\nFor example, add(1, 2) returns 3.\nIn Lua, add('1', 2) returns 3."
    lua = "_haluagent.value(add('1', 2), 3)"
    script = Script(lambda code: failed("TypeError: x", lua, code) if lua in code else finished(code, 1))
    result = interpret(script, response)
    assert (result.label, len(script.programs)) == ("supported", 3)
    assert "add(1, 2)" in script.programs[2] and lua not in script.programs[2]


def test_only_what_was_asked_for_is_changed(interpret) -> None:
    changed = []

    def answer(code: str) -> Execution:
        changed.append(re.findall(r"@_haluagent.changed\ndef (\w+)", code))
        return finished(code, 1)

    helper = "def near(a, b):\n    return abs(a - b) < 1"
    response = f"{ADD}\n\n{helper}\n\nassert near(add(1, 2), 3)"
    interpret(Script(answer, blind=True), response, question="Write add.")
    interpret(Script(answer, blind=True), response)
    assert changed == [[], *[["add"]] * 3, [], *[["add", "near"]] * 3]


def test_a_failure_of_the_sandbox_is_none_of_the_code(interpret) -> None:
    def broken(code: str) -> Execution:
        raise SandboxError("the disk is full")

    with pytest.raises(ToolError, match="the disk is full"):
        interpret(Script(broken), ASSERTED)


@pytest.mark.parametrize(("language", "said"), [("en", "haluagent sandbox status"), ("zh", "没有可以运行代码的沙箱")])
def test_without_a_sandbox_it_says_how_to_get_one(interpret, language: Language, said: str) -> None:
    result = interpret(None, ASSERTED, language=language)
    assert result.label == "unverified" and said in result.observation


@pytest.mark.parametrize(
    ("response", "said"),
    [
        ("No code here.", "no Python code"),
        ("```java\nclass A {}\n```", "the code is java; only Python is run"),
        ("```python\ndef add(a, b):\n    ...\n```", "an excerpt"),
        ("```python\nx = 1\n```\n" * (MAX_BLOCKS + 1), f"more than {MAX_BLOCKS} pieces"),
        (
            "".join(f"```python\ndef f():\n    return {n}\n```\n" for n in range(MAX_VERSIONS + 1)),
            f"more than {MAX_VERSIONS} v",
        ),
    ],
)
def test_nothing_is_run_where_there_is_nothing_to_run(interpret, response: str, said: str) -> None:
    script = Script([])
    result = interpret(script, response)
    assert result.label == "unverified" and said in result.observation and script.programs == []


def test_the_tool_is_offered_for_code_and_the_whole_response(make_context) -> None:
    context = make_context("Write add.", f"Here:\n```python\n{ADD}\n```")
    assert code_interpreter.when(context, context.sentence(0))
    assert not code_interpreter.when(context, context.sentence(1))
    other = make_context("Say hello.", "```js\nconsole.log(1)\n```")
    assert not code_interpreter.when(other, other.sentence(0))


@pytest.mark.parametrize(
    ("sentence", "covered"),
    [
        ("For example, add(1, 2) returns 3.", True),
        ("So `add(1, 2)` gives 3, and `add(0, 0)` is 0.", True),
        ("例如 add(1, 2) 返回 3。", True),
        ("add(1, 2) returns 3, and the capital of France is Berlin.", False),
        ("In Berlin, add(1, 2) returns 3.", False),
        ("add(1, 2) returns the sum.", False),
        ("例如 add(1, 2) 返回 3，法国的首都是柏林。", False),
    ],
)
def test_a_sentence_that_only_gives_examples_is_part_of_the_code(make_context, sentence: str, covered: bool) -> None:
    context = make_context("Write add.", f"```python\n{ADD}\n```\n{sentence}")
    place = context.response.index(sentence)
    assert ((place, len(context.response)) in code_interpreter.covers(context)) is covered


def test_code_and_its_output_claim_nothing_by_themselves(make_context) -> None:
    blocks = [
        f"```python\n{ADD}\nprint(add(1, 2))\n```",
        "```\n3\n```",
        "```\n>>> add(1, 2)\n3\n```",
        "```\na text\n```",
    ]
    response = f"Addition is commutative.\n{blocks[0]}\nOutput:\n{blocks[1]}\nSo:\n{blocks[2]}\nNotes:\n{blocks[3]}"
    context = make_context("Write add.", response)
    assert [response[slice(*span)] for span in code_interpreter.covers(context)] == blocks[:3]


PIECES = [
    "```python\n", "```\n", "```", "> ", "- ", "\n", "...\n", "\ud800", '"""\n', "'''", "x = (\n", ")\n", "@f\n",
    "def f(a, b=1):\n", "    return a\n", "class Solution:\n", "    def f(self, a):\n", "        return a; assert a\n",
    "def check(candidate):\n", "    assert candidate(1) == 2\n", "class T(unittest.TestCase):\n", "    def test_f(self): pass\n",
    "assert f(1) == 2\n", "assert f('，') == '\"'  # 好\n", "print(f(1))  # 2\n", "f(1)\n", "x: int = 1; y = 2\n",
    ">>> f(1)\n2\n", ">>> x = f(1)\n", "Traceback (most recent call last):\n", "ValueError: no\n", "f(1) == 2", " -> 3\n",
    "输出：2\n", "Output:\n", "Input: a = 1\n", "Output: 2\n", " 返回 [1]\n", "try:\n", "except Exception:\n", "    pass\n",
    "from __future__ import annotations\n", "unittest.main()\n", "if __name__ == '__main__':\n", "    sys.exit(f(1))\n",
]  # fmt: skip


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(question=st.lists(st.sampled_from(PIECES), max_size=8), response=st.lists(st.sampled_from(PIECES), max_size=25))
def test_whatever_a_text_is_it_is_read(interpret, question: list[str], response: list[str]) -> None:
    """Nothing fails on the way to the sandbox, and what is added to a program leaves it one that can be parsed."""

    def answers(code: str) -> Execution:
        if all(block.language != "python" or parses(block.code) for block in find("".join(response))):
            ast.parse(code)
        return finished(code, 1)

    result = interpret(Script(answers), "".join(response) or "nothing", "".join(question))
    assert result.label in ("supported", "unverified", "contradicted")


def parses(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError):
        return False
    return True
