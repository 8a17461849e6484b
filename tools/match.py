"""`match`: a sentence judged against a text by scored choice, with the place in the text that decides it.

The paper's `match` asks GPT-4 whether a sentence is irrelevant to or at odds with its context. Here the served model
is asked, twice, with the options exchanged; a judgement costs two generated tokens.
"""

import re
from typing import Literal

from ..errors import ToolError
from ..prompts import conversation
from ..protocols import ToolContext
from ..registry import Demo, tool
from ..segment import split
from ..tokens import clip, windows
from ..types import Evidence, Label, Sentence, Span, ToolResult
from ._calibration import Wording, calibrated, log_odds
from ._numbers import find_numbers
from ._words import words

Where = Literal["question", "response", "reference"]

WINDOWS = 3  # of a longer reference, the windows that share most with the sentence are read
WINDOW_TOKENS = 1000
SUPPORTED, CONTRADICTED = 0.55, 0.45  # probabilities of being supported; between them nothing is decided
CLEAR = 0.1  # a question or a response seldom contradicts a sentence, so only a clear judgement counts
QUOTED_WORDS, QUOTED_HAN = 5, 8  # what is shorter may stand in a text without being said by it
QUOTED = 0.95
NUMBER_MISSING = 0.25  # the most that a sentence is supported by a text that lacks one of its numbers

_OBSERVATION = {
    "en": {
        "supported": "the {where} supports this ({p:.0%})",
        "contradicted": "the {where} does not support this ({p:.0%})",
        None: "the {where} does not decide this ({p:.0%})",
        "absent": "the reference says nothing about this",
        "quoted": "the reference says this word for word",
        "number": "; {numbers} is not in it",
    },
    "zh": {
        "supported": "{where}支持这句话（{p:.0%}）",
        "contradicted": "{where}不支持这句话（{p:.0%}）",
        None: "{where}不足以判定这句话（{p:.0%}）",
        "absent": "参考资料没有提到这件事",
        "quoted": "参考资料原文就是这样写的",
        "number": "；其中没有 {numbers}",
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
    general=True,
)
async def match(tool_context: ToolContext, sentence: Sentence, context: Where) -> ToolResult:
    """Judge `sentence` against the reference, the question, or the response before it.

    A reference can support or contradict. The question and the response can only contradict: that a sentence
    fits them does not make it true. Raises ToolError where there is no such text.
    """
    if context == "reference":
        return await judge(tool_context, sentence)
    if context == "question":
        text, place = tool_context.question, (0, len(tool_context.question))
    else:
        text, place = _rest(tool_context, sentence)
    if not text.strip():
        raise ToolError(f"there is no {context} to compare with")
    fits = await _ask(tool_context, sentence, text, "consistency")
    return _result(tool_context, sentence, "contradicted" if fits <= CLEAR else None, context, fits, place)


async def judge(context: ToolContext, sentence: Sentence) -> ToolResult:
    """A sentence against the reference: any window that is read may support it, and all must speak against it.

    What stands in it word for word needs no judgement. A bare answer is judged as the answer to the question, one
    sentence of several as a statement.
    Raises ToolError where there is no reference.
    """
    reference = context.reference
    if reference is None:
        raise ToolError("no reference was given; use another context or another tool")
    if span := quoted(sentence.text, reference):
        evidence = Evidence(source="reference", text=reference[slice(*span)], span=span, score=QUOTED)
        observation = _OBSERVATION[context.language]["quoted"]
        return ToolResult(
            observation=observation, label="supported", confidence=QUOTED, evidence=(evidence,), read=(span,)
        )
    wording: Wording = "answer" if len(context.sentences) == 1 else "statement"
    spans = _best_windows(context, reference, f"{context.question} {sentence.claim}")
    judged = [(await _ask(context, sentence, reference[slice(*span)], wording), span) for span in spans]
    supported, place = max(judged)
    if missing := missing_numbers(sentence.claim, f"{reference} {context.question}"):
        supported = min(supported, NUMBER_MISSING)
    label: Label | None = None
    if supported > SUPPORTED:
        label = "supported"
    elif supported < CONTRADICTED:
        label = "contradicted"
        about = f"{context.question} {sentence.claim}" if wording == "answer" else sentence.claim
        if not words(about) & words(reference):
            return ToolResult(observation=_OBSERVATION[context.language]["absent"], read=tuple(spans))
    result = _result(context, sentence, label, "reference", supported, place)
    note = _OBSERVATION[context.language]["number"].format(numbers=", ".join(missing)) if missing else ""
    return result.model_copy(update={"read": tuple(spans), "observation": result.observation + note})


def missing_numbers(claim: str, text: str) -> list[str]:
    """The numbers of a claim that a text does not have, as they are written in the claim."""
    known = {number.value for number in find_numbers(text)}
    return [
        number.text
        for number in find_numbers(claim)
        if number.value not in known and not re.search(rf"(?<![\d.]){re.escape(number.text)}(?!\.?\d)", text)
    ]


def quoted(claim: str, text: str) -> Span | None:
    """Where a text holds a claim word for word as a clause of its own; None for a claim of a few words.

    Inside a longer clause the same words may be denied or mean something else: "Nobody says that Paris is big".
    """
    core = claim.strip().rstrip("。.！!；;")
    if len(core.split()) < QUOTED_WORDS and len(re.findall(r"[\u3400-\u9fff]", core)) < QUOTED_HAN:
        return None
    found = re.search(rf"(?:^|[。.！!？?；;，,：:\n])\s*({re.escape(core)})(?=\s*(?:$|[。！!？?；;，,\n]|\.(?!\d)))", text)
    return found.span(1) if found else None


async def _ask(context: ToolContext, sentence: Sentence, text: str, wording: Wording) -> float:
    """The calibrated probability that the text supports the sentence, or that both can be true."""
    odds = 0.0
    for turned in (False, True):
        messages = conversation(
            "match",
            context.language,
            wording=wording,
            evidence=text,
            question=clip(context.question, WINDOW_TOKENS, context.model.count_tokens)[0],
            claim=clip(sentence.claim, WINDOW_TOKENS, context.model.count_tokens)[0],
            turned=turned,
        )
        choice = await context.model.choose(messages, ["A", "B"])
        odds += log_odds(choice.probabilities["B" if turned else "A"]) / 2
    return calibrated(odds, wording, context.language, words(sentence.claim) <= words(text))


def _rest(context: ToolContext, sentence: Sentence) -> tuple[str, Span]:
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
