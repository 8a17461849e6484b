"""The code interpreter: runs the Python in a response in a sandbox, with its tests and with the question's examples."""

import asyncio

from haluagent.errors import NoSandbox
from haluagent.protocols import ToolContext
from haluagent.sandbox.choose import advice
from haluagent.text.code_blocks import find
from haluagent.text.messages import message
from haluagent.tooling.definition import tool
from haluagent.tooling.tool import Demo
from haluagent.tools.code_interpreter.examples import calls
from haluagent.tools.code_interpreter.given import completed, context_parts, needed
from haluagent.tools.code_interpreter.output import is_output
from haluagent.tools.code_interpreter.parts import is_excerpt, make_part, returns_outside
from haluagent.tools.code_interpreter.plan import Plan, make_plan
from haluagent.tools.code_interpreter.report import combined, report
from haluagent.tools.code_interpreter.run import run_plan
from haluagent.tools.code_interpreter.versions import versions
from haluagent.types import Sentence, Span, ToolResult

MAX_BLOCKS = 50
MAX_VERSIONS = 8

__all__ = ["code_interpreter"]


def _has_code(context: ToolContext, sentence: Sentence) -> bool:
    return sentence.index == 0 and any(block.python for block in find(context.response))


def _covers(context: ToolContext) -> list[Span]:
    """Return where the code stands, transcripts of it, what it is said to print, and the sentences that only give
    examples of its calls."""
    spans: list[Span] = []
    end = None
    for block in find(context.response):
        said = end is not None and is_output(block, context.response[end : block.span[0]])
        if block.language in ("python", "pycon") or said:
            spans.append(block.span)
        end = block.span[1] if block.python else None
    return [*spans, *_example_sentences(context)]


def _example_sentences(context: ToolContext) -> list[Span]:
    """Return the sentences that say no more than what calls of the code return: For example, fib(10) returns 55."""
    blocks = find(context.response)
    parts = [make_part(block) for block in blocks if block.python]
    names = [name for part in parts for name in (*part.functions, *part.classes)]
    found = []
    for sentence in context.sentences:
        if not sentence.index or any(one.span[0] <= sentence.span[0] < one.span[1] for one in blocks):
            continue
        examples = calls(sentence.text, names)
        if examples and all(example.alone for example in examples):
            found.append(sentence.span)
    return found


@tool(
    description={
        "en": "Run the Python code of the response in a sandbox, with its tests and with the examples of the question. "
        "code_interpreter(sentence=S0) checks the whole response.",
        "zh": "在沙箱中运行回答里的 Python 代码，连同其中的测试和题目中的例子。code_interpreter(sentence=S0) 检查整个回答。",
    },
    demos=[
        Demo(
            language="en",
            question="Write a function is_even(n). is_even(3) == False",
            response="def is_even(n):\n    return n % 2 == 1",
            thought="The response is Python code, so it can be run with the question's example.",
            call="code_interpreter(sentence=S0)",
            observation="an example of the question fails: `is_even(3) == False`; it returned True",
        ),
        Demo(
            language="zh",
            question="写一个函数 square(n)，返回 n 的平方，例如 square(3) 返回 9。",
            response="def square(n):\n    return n * n",
            thought="回答是 Python 代码，可以连同题目中的例子一起运行。",
            call="code_interpreter(sentence=S0)",
            observation="代码已运行，题目中的 1 个例子均通过",
        ),
    ],
    when=_has_code,
    covers=_covers,
    obvious=lambda context, sentence: {"sentence": sentence.name},
    plausible=lambda context, sentence: "`" in context.question + context.response,
)
async def code_interpreter(context: ToolContext, sentence: Sentence) -> ToolResult:
    """Run the code of the whole response; `sentence` only says where the model looked.

    Supported where something tested the code and all of it passed; contradicted where it cannot be compiled, fails, or
    does not do what a test, the question or the response says; else unverified, with the reason. The evidence is the
    traceback, at the line of the response that failed. Raises SandboxError where the sandbox failed.
    """
    blocks = find(context.response)
    if not any(block.python for block in blocks):
        languages = sorted({block.language for block in blocks if block.language})
        return _unverified(
            message("code.other_language", context.language, language=", ".join(languages))
            if languages
            else message("code.no_code", context.language)
        )
    if context.sandbox is None:
        return _unverified(advice(context.language))
    if sum(block.python for block in blocks) > MAX_BLOCKS:
        return _unverified(message("code.too_much", context.language, count=MAX_BLOCKS))
    plans = await asyncio.to_thread(_plans, context)  # a long text takes a second
    if len(plans) > MAX_VERSIONS:
        return _unverified(message("code.too_many_versions", context.language, count=MAX_VERSIONS))
    reports = []
    for plan in plans:
        try:
            reports.append(report(context, plan, await run_plan(plan, context, context.sandbox)))
        except NoSandbox:
            return _unverified(advice(context.language))
        if reports[-1].label == "contradicted":
            break
    return combined(context, reports, len(plans)) if plans else _unverified(message("code.excerpt", context.language))


def _unverified(reason: str) -> ToolResult:
    return ToolResult(observation=reason, label="unverified")


def _plans(context: ToolContext) -> list[Plan]:
    """Return a plan for each version of the code that the response offers; none where it has only excerpts."""
    blocks = find(context.response)
    given = context_parts(context.question)
    parts = []
    for part in (make_part(block) for block in blocks if block.python):
        whole = completed(part, given) if returns_outside(part) else None
        if whole or not is_excerpt(part):
            parts.append(whole or part)
    found = versions(parts, context.response, context.question)
    plans = []
    for program in found.programs:
        beside = needed(program, given)
        whole_program = [beside, *program] if beside else program
        plans.append(make_plan(whole_program, found.rivals, given, context.question, context.response, blocks))
    return plans
