"""Run a plan in the sandbox: the code as it stands, then its definitions with the tests that it does not run itself; and
where they pass, the same with changed results, to see whether the tests notice."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from haluagent.protocols import Sandbox, ToolContext
from haluagent.tools.code_interpreter.changes import WAYS, Change
from haluagent.tools.code_interpreter.examples import CallExample
from haluagent.tools.code_interpreter.output import MAX_GAP, agrees
from haluagent.tools.code_interpreter.parts import CodePart
from haluagent.tools.code_interpreter.plan import Plan, Tests
from haluagent.tools.code_interpreter.program import Program
from haluagent.tools.code_interpreter.samples import InputSample
from haluagent.tools.code_interpreter.verdict import LIMITS, WRONG, CodeFinding, judge

SECONDS = 10.0
SECONDS_CHANGED = 3.0
MAX_EXPECTED = 5  # exceptions that a program shows on purpose

_HAPPENS = re.compile(
    r"^(?!.*(?:\bif\b|\bwhen\b|如果|若|当)).*(?:raise|throw|result|produce|output|get|cause|抛出|引发|报错|出现|产生|得到)"
    r"|^\w*Error\b",
    re.I,
)
_SAID_TO_FAIL = re.compile(r"#.*(?:\braises?\b|\berror\b|\bexception\b|\bfails?\b|报错|抛出|异常|出错)", re.I)


@dataclass(frozen=True)
class Result:
    """The result of one run: of the program as it stands, of the response's `own` tests, of those `given` in the
    question, of one of its `sample` inputs, or of an output that is `stated`. `wanted` and `real` are outputs that
    differ. `tests` are those that ran beside the program. `shown` are statements that raise on purpose, `raised` is how
    many of them show an exception of the code, and `blind` how many of its tests would pass whatever the code returned:
    those are not among the `passed`."""

    of: Literal["program", "own", "given", "sample", "stated"]
    finding: CodeFinding
    passed: int = 0
    example: CallExample | None = None
    given: str = ""
    wanted: str = ""
    real: str = ""
    tests: Tests | None = None
    shown: tuple[ast.stmt, ...] = ()
    raised: int = 0
    blind: int = 0


async def run_plan(plan: Plan, context: ToolContext, sandbox: Sandbox) -> list[Result]:
    """Run everything in a plan and return the results. Raises SandboxError."""
    results = await _run_all(plan, context, sandbox)
    if any(result.finding.cause in WRONG for result in results):
        return results
    return [await _noticing(plan, result, sandbox) for result in results]


async def _run_all(plan: Plan, context: ToolContext, sandbox: Sandbox) -> list[Result]:
    results = await _run_program(plan, context, sandbox)
    if results[0].finding.cause in ("syntax", "other_python", "missing"):  # so would the others
        return results
    if plan.given.lines:
        results.append(await _run_tests(plan, plan.given, "given", context, sandbox))
    for sample in plan.samples:
        results.append(await _run_sample(plan, sample, context, sandbox))
        if results[-1].finding.cause != "ok":
            return results
    if plan.own.lines and results[-1].finding.cause not in LIMITS:
        results.append(await _run_tests(plan, plan.own, "own", context, sandbox))
    return results


async def _run_program(plan: Plan, context: ToolContext, sandbox: Sandbox) -> list[Result]:
    shown: list[ast.stmt] = []  # statements that are there to show an exception
    raised = 0  # those that raise what no test raises: an assertion said to fail shows nothing about the code
    while True:
        program = plan.program(shown)
        execution = await sandbox.run(program.code, seconds=SECONDS)
        finding = judge(execution, program, plan.parts, context, plan.has_tests)
        failed = _statement(plan, program, finding.first) if finding.cause in ("error", "test") else None
        if failed is None or len(shown) >= MAX_EXPECTED or not _is_expected(*failed, finding.detail, context.response):
            break
        shown.append(failed[1])
        raised += finding.cause == "error"
    passed = program.passed(execution.stdout) + raised
    return [
        Result("program", finding, passed, shown=tuple(shown), raised=raised),
        *_compare_output(plan, program, execution.stdout),
    ]


def _statement(plan: Plan, program: Program, number: int | None) -> tuple[CodePart, ast.stmt] | None:
    """Return the statement of a module, or of its main block, that a line of the program belongs to."""
    place = program.place(number)
    for part in plan.parts if place else ():
        for line, span in enumerate((line.span for line in part.lines), 1):
            if span == place:
                nodes = [node for node in part.tree.body if node.lineno <= line <= (node.end_lineno or 0)]
                while nodes and isinstance(nodes[-1], ast.If):
                    nodes = [node for node in nodes[-1].body if node.lineno <= line <= (node.end_lineno or 0)]
                return (part, nodes[-1]) if nodes else None
    return None


def _is_expected(part: CodePart, node: ast.stmt, error: str, response: str) -> bool:
    """Return whether the response says itself that a statement raises this: in a comment beside it, or after the
    code."""
    name = error.partition(":")[0].rpartition(".")[2]
    lines = [line.text for line in part.lines[max(0, node.lineno - 2) : (node.end_lineno or node.lineno) + 1]]
    comments = " ".join(found[0] for line in lines if (found := re.search("#.*", line)))
    beside = bool(_SAID_TO_FAIL.search(part.lines[(node.end_lineno or node.lineno) - 1].text))
    after = re.split(r"[.。\n]", response[part.block[1] : part.block[1] + MAX_GAP]) if part.block else []
    told = any(name in sentence and _HAPPENS.search(sentence) for sentence in after)
    return beside or told or name in comments


def _compare_output(plan: Plan, program: Program, stdout: str) -> Iterator[Result]:
    for stated in plan.stated:
        output = program.output(stdout, plan.place(stated))
        agreed = agrees(stated, output) if output is not None else None
        if output is not None and agreed is not None:
            finding = CodeFinding("ok" if agreed else "test", span=stated.span)
            yield Result("stated", finding, int(agreed), wanted=stated.text, real=output.strip())


async def _run_tests(
    plan: Plan, tests: Tests, of: Literal["own", "given"], context: ToolContext, sandbox: Sandbox
) -> Result:
    program = tests.program(plan.parts)
    execution = await sandbox.run(program.code, seconds=SECONDS)
    finding = judge(execution, program, plan.parts, context, tested=True)
    if finding.cause != "ok" and (deciding := tests.deciding()) != tests:
        return await _run_tests(plan, deciding, of, context, sandbox)
    return Result(of, finding, program.passed(execution.stdout), tests.example(program, finding.first), tests=tests)


async def _noticing(plan: Plan, result: Result, sandbox: Sandbox) -> Result:
    """Return a result without those of its tests that pass whatever the code returns: `assert callable(f)`, a TestCase
    without an assertion. A test has noticed where its assertion fails; another error may be anything's."""
    blind = result.passed - result.raised
    if result.of not in ("program", "own", "given") or not blind:
        return result
    for way in WAYS:
        change = Change(way, plan.asked)
        tests = result.tests
        program = tests.program(plan.parts, change) if tests else plan.program(result.shown, change)
        execution = await sandbox.run(program.code, seconds=SECONDS_CHANGED)
        if execution.outcome == "exception" and execution.error.startswith("AssertionError"):
            return result
    return replace(result, passed=result.raised, blind=blind)


async def _run_sample(plan: Plan, sample: InputSample, context: ToolContext, sandbox: Sandbox) -> Result:
    program = plan.with_input(sample)
    execution = await sandbox.run(program.code, seconds=SECONDS)
    finding = judge(execution, program, plan.parts, context, tested=True)
    output = program.output(execution.stdout) or ""
    if finding.cause != "ok":
        return Result("sample", finding, given=sample.input)
    if output.split() == sample.output.split():
        return Result("sample", finding, 1)
    if _in_order(sample.output.split(), output.split()):  # with words around it, which the question may or may not mind
        return Result("sample", finding)
    return Result("sample", CodeFinding("test"), given=sample.input, wanted=sample.output, real=output.strip())


def _in_order(wanted: Sequence[str], real: Sequence[str]) -> bool:
    rest = iter(real)
    return all(any(word in other for other in rest) for word in wanted)
