"""`match`: a sentence judged against a text by scored choice, with the place in the text that decides it.

One token is evaluated for a judgement. The paper's `match` asks GPT-4 whether a sentence is irrelevant to or at odds
with its context; here the served model is asked, and reflection asks again in the opposite wording.
"""

from typing import Literal

from ..errors import ToolError
from ..prompts import render
from ..protocols import ToolContext
from ..registry import Demo, tool
from ..segment import split
from ..tokens import windows
from ..types import Evidence, Label, MemoryEntry, Sentence, Span, ToolResult

from ._calibration import Wording, probability
from ._words import words

Where = Literal["question", "response", "reference"]

WINDOWS = 3  # of a longer reference, the windows that share most with the sentence are read
WINDOW_TOKENS = 1000
SUPPORTED, CONTRADICTED = 0.5, 0.5  # probabilities of being supported; between them nothing is decided
CLEAR = 0.15  # a question or a response seldom contradicts a sentence, so only a clear judgement counts

_OBSERVATION = {
    "en": {
        "supported": "the {where} supports this ({p:.0%})",
        "contradicted": "the {where} does not support this ({p:.0%})",
        None: "the {where} does not decide this ({p:.0%})",
        "absent": "the reference says nothing about this",
    },
    "zh": {
        "supported": "{where}支持这句话（{p:.0%}）",
        "contradicted": "{where}不支持这句话（{p:.0%}）",
        None: "{where}不足以判定这句话（{p:.0%}）",
        "absent": "参考资料没有提到这件事",
    },
}
_WHERE = {
    "en": {"question": "question", "response": "rest of the response", "reference": "reference"},
    "zh": {"question": "问题", "response": "回复的其余部分", "reference": "参考资料"},
}


def _can_match(context: ToolContext, sentence: Sentence) -> bool:
    """There is a reference, or another sentence that this one could contradict."""
    return sentence.index > 0 and (context.reference is not None or len(context.sentences) > 1)


@tool(
    description={
        "en": 'compares a statement of fact with a text: context="reference" where a reference is given, '
        'context="question" or context="response" to find a contradiction with them',
        "zh": '把一句陈述与文本比较：有参考资料时用 context="reference"；'
        '要找与问题或回复其他部分的矛盾时用 context="question" 或 context="response"',
    },
    demos=(
        Demo(
            language="en",
            question="Where does the river Elbe rise?",
            response="The Elbe rises in Poland.",
            reference="The Elbe rises in the Giant Mountains of the Czech Republic.",
            thought="a fact that the reference can decide",
            call='match(sentence=S1, context="reference")',
            observation="the reference does not support this (4%)",
        ),
        Demo(
            language="zh",
            question="易北河发源于哪里？",
            response="易北河发源于波兰。",
            reference="易北河发源于捷克的克尔科诺谢山。",
            thought="这是事实，参考资料能判定",
            call='match(sentence=S1, context="reference")',
            observation="参考资料不支持这句话（4%）",
        ),
    ),
    when=_can_match,
)
async def match(tool_context: ToolContext, sentence: Sentence, context: Where) -> ToolResult:
    """Judge `sentence` against the reference, the question, or the other sentences of the response.

    A reference can support or contradict. The question and the response can only contradict: that a sentence
    fits them does not make it true. Raises ToolError where there is no such text.
    """
    return await judge(tool_context, sentence, context)


async def judge(context: ToolContext, sentence: Sentence, where: Where, turned: bool = False) -> ToolResult:
    """One judgement; `turned` asks in the opposite wording."""
    if where == "reference":
        return await _judge_reference(context, sentence, turned)
    if where == "question":
        text, place = context.question, (0, len(context.question))
    else:
        text, place = _others(context, sentence)
    if not text.strip():
        raise ToolError(f"there is no {where} to compare with")
    fits = await _ask(context, sentence, text, "context", turned=False)
    label: Label | None = "contradicted" if fits <= CLEAR else None
    return _result(context, sentence, label, where, fits, place)


async def second_look(context: ToolContext, entry: MemoryEntry) -> ToolResult | None:
    """The label of a judgement after both wordings have been heard; None where there is nothing to ask again."""
    sources = {evidence.source for evidence in entry.evidence}
    if "reference" not in sources or context.reference is None:
        return None
    first = entry.confidence if entry.label == "supported" else 1 - entry.confidence
    result = await judge(context, entry.sentence, "reference", turned=True)
    second = result.confidence if result.label == "supported" else 1 - result.confidence
    both = (first + second) / 2
    return result.model_copy(update={"label": _label(both), "confidence": max(both, 1 - both)})


async def _judge_reference(context: ToolContext, sentence: Sentence, turned: bool) -> ToolResult:
    """Every window that is read may support; the best of them must speak for a contradiction."""
    reference = context.reference
    if reference is None:
        raise ToolError("no reference was given; use another context or another tool")
    spans = _best_windows(context, reference, f"{context.question} {sentence.claim}")
    best, place = -1.0, spans[0]
    for span in spans:
        supported = await _ask(context, sentence, reference[slice(*span)], "reference", turned)
        if supported > best:
            best, place = supported, span
    label = _label(best)
    if label == "contradicted" and not words(f"{sentence.claim} {context.question}") & words(reference):
        return ToolResult(observation=_OBSERVATION[context.language]["absent"], read=tuple(spans))
    result = _result(context, sentence, label, "reference", best, place)
    return result.model_copy(update={"read": tuple(spans)})


def _label(supported: float) -> Label | None:
    if supported > SUPPORTED:
        return "supported"
    return "contradicted" if supported < CONTRADICTED else None


async def _ask(context: ToolContext, sentence: Sentence, text: str, wording: Wording, turned: bool) -> float:
    """The calibrated probability that the text supports (or fits) the sentence."""
    prompt = render(
        "match",
        context.language,
        context=wording,
        evidence=text,
        question=context.question,
        claim=sentence.claim,
        turned=turned,
    )
    choice = await context.model.choose([{"role": "user", "content": prompt}], ["A", "B"])
    return probability(choice.probabilities["B" if turned else "A"], wording, context.language, turned)


def _others(context: ToolContext, sentence: Sentence) -> tuple[str, Span]:
    """The response before the sentence, or after it where it is the first, and where that stands."""
    start, end = sentence.span
    place = (0, start) if context.response[:start].strip() else (end, len(context.response))
    return context.response[slice(*place)], place


def _best_windows(context: ToolContext, reference: str, query: str) -> list[Span]:
    """The windows of the reference that share most words with the query, in the order of the text."""
    spans = windows(reference, WINDOW_TOKENS, context.model.count_tokens)
    wanted = words(query)
    ranked = sorted(spans, key=lambda span: -len(wanted & words(reference[slice(*span)])))
    return sorted(ranked[:WINDOWS])


def _result(
    context: ToolContext, sentence: Sentence, label: Label | None, where: Where, supported: float, place: Span
) -> ToolResult:
    language = context.language
    observation = _OBSERVATION[language][label].format(where=_WHERE[language][where], p=supported)
    if label is None:
        return ToolResult(observation=observation)
    source = {"reference": context.reference or "", "question": context.question, "response": context.response}[where]
    span = passage(source, place, f"{sentence.claim} {context.question}")
    evidence = Evidence(source=where, text=source[slice(*span)], span=span, score=supported)
    return ToolResult(
        observation=observation, label=label, confidence=max(supported, 1 - supported), evidence=(evidence,)
    )


def passage(text: str, window: Span, query: str) -> Span:
    """The sentence inside `window` that shares most words with the query: where a reader should look."""
    start, end = window
    wanted = words(query)
    best = max(split(text[start:end]), key=lambda item: len(wanted & words(item.text)), default=None)
    return (start + best.span[0], start + best.span[1]) if best else window
