"""`talk_to_user`: the model says which information is missing for a check (after Relign's action of that name)."""

from haluagent.protocols import ToolContext
from haluagent.text.messages import message
from haluagent.tooling.definition import tool
from haluagent.tooling.tool import Demo
from haluagent.types import Sentence, ToolResult


@tool(
    description={
        "en": "says what the user would have to provide before a tool could check this",
        "zh": "说明需要用户提供什么信息才能核查",
    },
    demos=(
        Demo(
            language="en",
            question="When does my contract end?",
            response="It ends at the end of May. You can renew it.",
            thought="the contract is not given",
            call='talk_to_user(sentence=S1, missing="the text of the contract")',
            observation="to check this, it takes: the text of the contract",
        ),
        Demo(
            language="zh",
            question="我的合同什么时候到期？",
            response="五月底到期。可以续签。",
            thought="没有给出合同",
            call='talk_to_user(sentence=S1, missing="合同原文")',
            observation="核查这句话还需要：合同原文",
        ),
    ),
    system=True,
)
async def talk_to_user(context: ToolContext, sentence: Sentence, missing: str) -> ToolResult:
    """End in `unverified`, saying what is missing."""
    return ToolResult(
        observation=message("talk_to_user.missing", context.language, missing=missing), label="unverified"
    )
