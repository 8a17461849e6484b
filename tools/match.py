"""`match`: compare a sentence with the reference, the question, or the rest of the response."""

from typing import Any, Literal

from haluagent.errors import ToolError
from haluagent.judging.comparison import CLEAR, derived, judge, result_of
from haluagent.judging.judge import WINDOW_TOKENS, TextSource, ask
from haluagent.judging.passages import best_windows
from haluagent.protocols import ToolContext
from haluagent.tooling.definition import tool
from haluagent.tooling.tool import Demo
from haluagent.types import Label, Sentence, ToolResult

Where = Literal["question", "response", "reference"]


def _can_match(context: ToolContext, sentence: Sentence) -> bool:
    """Return whether there is a reference, facts that follow from the question or the response, or another sentence that this
    one could contradict."""
    return sentence.index > 0 and (context.reference is not None or bool(context.facts) or len(context.sentences) > 1)


def _the_only_text(context: ToolContext, sentence: Sentence) -> dict[str, Any] | None:
    """Choose the reference for a response of one sentence, which has nothing else to be compared with, and the text that facts
    follow from: the reference, or else what stands before the sentence."""
    if not context.facts and (context.reference is None or len(context.sentences) > 1):
        return None
    before = "response" if sentence.index > 1 else "question"
    return {"sentence": sentence.name, "context": before if context.reference is None else "reference"}


@tool(
    description={
        "en": 'compares a statement of fact with a text: context="reference" where a reference is given, else '
        'context="question" or context="response" to find a contradiction',
        "zh": '把一句事实陈述与文本比较：给出了参考资料时用 context="reference"，'
        '否则用 context="question" 或 context="response" 找矛盾',
    },
    demos=(
        Demo(
            language="en",
            question="Where does the river Elbe rise?",
            response="The Elbe rises in Poland.",
            reference="The Elbe rises in the Giant Mountains of the Czech Republic.",
            thought="a fact that the reference can decide",
            call='match(sentence=S1, context="reference")',
            observation="the reference does not support this (1%); asked anew, it gives: Czech Republic",
        ),
        Demo(
            language="zh",
            question="易北河发源于哪里？",
            response="易北河发源于波兰。",
            reference="易北河发源于捷克的克尔科诺谢山。",
            thought="这是事实，参考资料能判定",
            call='match(sentence=S1, context="reference")',
            observation="参考资料不支持这句话（0%）；只看资料重新作答得到：捷克的克尔科诺谢山",
        ),
    ),
    when=_can_match,
    general=True,
    obvious=_the_only_text,
)
async def match(tool_context: ToolContext, sentence: Sentence, context: Where) -> ToolResult:
    """Judge `sentence` against the reference, the question, or the response before it.

    A reference can support or contradict. The question and the response can only contradict: that a sentence
    fits them does not make it true. Only with facts that a tool has computed from them can they support it too. Of a long
    one, the window that shares most words with the sentence is read. Raises ToolError where there is no such text.
    """
    if context == "reference":
        return await judge(tool_context, sentence)
    if tool_context.facts and tool_context.reference is None:
        return await derived(tool_context, sentence)
    source = TextSource("question", tool_context.question) if context == "question" else _rest(tool_context, sentence)
    if not source.text.strip():
        raise ToolError(f"there is no {context} to compare with")
    (window,), _ = best_windows(source.text, sentence.claim, 1, WINDOW_TOKENS, tool_context.model.count_tokens)
    fits = await ask(tool_context, sentence, source.text[slice(*window)], "consistency")
    label: Label | None = "contradicted" if fits.calibrated and fits.supported <= CLEAR else None
    return result_of(tool_context, sentence, label, source, fits.supported, window)


def _rest(context: ToolContext, sentence: Sentence) -> TextSource:
    """Return the response before the sentence, or after it where it is the first."""
    start, end = sentence.span
    if context.response[:start].strip():
        return TextSource("response", context.response[:start])
    return TextSource("response", context.response[end:], offset=end)
