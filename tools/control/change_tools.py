"""`change_tools`: the model says that none of the tools can check a sentence (after Relign's action of that name)."""

from haluagent.protocols import ToolContext
from haluagent.text.messages import message
from haluagent.tooling.definition import tool
from haluagent.tooling.tool import Demo
from haluagent.types import Sentence, ToolResult


@tool(
    description={
        "en": "says that none of the tools can check this kind of statement, and why",
        "zh": "说明没有工具能核查这类断言，并给出原因",
    },
    demos=(
        Demo(
            language="en",
            question="How does this melody sound?",
            response="It is played in D minor. It sounds sad.",
            thought="the melody would have to be heard",
            call='change_tools(sentence=S1, reason="no tool can listen to music")',
            observation="no tool fits: no tool can listen to music",
        ),
        Demo(
            language="zh",
            question="这段旋律听起来怎么样？",
            response="它是D小调的。听起来很忧伤。",
            thought="需要听到这段旋律才能判断",
            call='change_tools(sentence=S1, reason="没有能听音乐的工具")',
            observation="没有合适的工具：没有能听音乐的工具",
        ),
    ),
    system=True,
)
async def change_tools(context: ToolContext, sentence: Sentence, reason: str) -> ToolResult:
    """End in `unverified` with the model's reason."""
    return ToolResult(observation=message("change_tools.no_tool", context.language, reason=reason), label="unverified")
