"""`get_answer`: ends a branch that has nothing to check, and ends a single transcript."""

from typing import Literal

from haluagent.protocols import ToolContext
from haluagent.text.messages import message
from haluagent.tooling.definition import tool
from haluagent.tooling.tool import Demo
from haluagent.types import Sentence, ToolResult


@tool(
    description={
        "en": 'ends the check of a sentence that needs no tool: label="no_claim" for a greeting, an announcement of '
        'what comes next or an opinion; label="unverified" where no tool can decide',
        "zh": '结束对一句话的核查：问候、引出下文的话或个人感受用 label="no_claim"；没有工具能判定时用 label="unverified"',
    },
    demos=(
        Demo(
            language="en",
            question="How do I boil an egg?",
            response="Great question, let's go through it step by step.",
            thought="this only announces what follows, it states nothing",
            call='get_answer(sentence=S1, label="no_claim")',
            observation="asserts nothing that could be checked",
        ),
        Demo(
            language="zh",
            question="怎样煮鸡蛋？",
            response="好的，下面一步一步来说明。",
            thought="只是引出下文，没有断言",
            call='get_answer(sentence=S1, label="no_claim")',
            observation="没有可核查的断言",
        ),
    ),
    system=True,
)
async def get_answer(
    context: ToolContext,
    sentence: Sentence | None = None,
    label: Literal["no_claim", "unverified"] | None = None,
) -> ToolResult:
    """Label a sentence that no tool decides. It can never be `supported` or `contradicted`."""
    return ToolResult(observation=message(f"get_answer.{label or 'finished'}", context.language), label=label)
