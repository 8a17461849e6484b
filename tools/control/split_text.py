"""`split_text`: the sentences of the response. The first thing every detection does."""

import asyncio

from haluagent.protocols import ToolContext
from haluagent.text.segment import split
from haluagent.tooling.definition import tool
from haluagent.tooling.tool import Demo
from haluagent.types import Segmentation


@tool(
    description={
        "en": "cuts the response into sentences S1, S2, … that are checked one by one",
        "zh": "把回复切成句子 S1、S2……，以便逐句核查",
    },
    demos=(
        Demo(
            language="en",
            question="Which rivers meet in Passau?",
            response="The Inn and the Ilz join the Danube there. It is called the city of three rivers.",
            thought="the response is not split yet",
            call="split_text()",
            observation="[S1] The Inn and the Ilz join the Danube there.\n[S2] It is called the city of three rivers.",
        ),
        Demo(
            language="zh",
            question="哪些河流在重庆交汇？",
            response="嘉陵江在重庆汇入长江。重庆因此被称为江城。",
            thought="回复还没有切分",
            call="split_text()",
            observation="[S1] 嘉陵江在重庆汇入长江。\n[S2] 重庆因此被称为江城。",
        ),
    ),
    system=True,
)
async def split_text(context: ToolContext) -> Segmentation:
    """Cut the response into sentences, without a model. Those that are cut already stay as they are."""
    # A long text takes seconds.
    sentences = tuple(context.sentences) or await asyncio.to_thread(split, context.response)
    observation = "\n".join(f"[{item.name}] {item.text}" for item in sentences)
    return Segmentation(observation=observation, sentences=sentences)
