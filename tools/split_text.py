"""`split_text`: the sentences of the response. The first thing every detection does."""

from ..protocols import ToolContext
from ..registry import tool
from ..types import ToolResult


@tool(
    description={
        "en": "cuts the response into sentences S1, S2, … that are checked one by one",
        "zh": "把回复切成句子 S1、S2……，以便逐句核查",
    },
    demos=(),
    system=True,
)
async def split_text(context: ToolContext) -> ToolResult:
    """The sentences of the response, one line each; they were cut without a model, by `haluagent.segment.split`."""
    return ToolResult(observation="\n".join(f"[{item.name}] {item.text}" for item in context.sentences))
