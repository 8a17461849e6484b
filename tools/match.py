"""`match`: a sentence judged against a text by scored choice, with the place in the text that decides it.

The paper's `match` asks GPT-4 whether a sentence is irrelevant to or at odds with its context. Here the served model
is asked, twice, with the options exchanged; a judgement costs two generated tokens for each window that is read.
"""

from typing import Literal

from ..errors import ToolError
from ..prompts import conversation
from ..protocols import ToolContext
from ..registry import Demo, tool
from ..tokens import clip
from ..types import Evidence, Label, Language, Sentence, Span, ToolResult
from ._calibration import UNCALIBRATED, Judgement, Wording, agreed, judgement
from ._passages import best_windows, missing_numbers, passage, quoted
from ._words import words

Where = Literal["question", "response", "reference"]

WINDOWS = 3  # of a longer reference, the windows that share most with the sentence are read
WINDOW_TOKENS = 1000
SUPPORTED, CONTRADICTED = 0.55, 0.45  # probabilities of being supported; between them nothing is decided
CLEAR = 0.1  # a question or a response seldom contradicts a sentence, so only a clear judgement counts
QUOTED = 0.95
# A bare answer, completed to a sentence, is judged better as a statement in English, and as an answer in Chinese.
ANSWER_ASKED_AS: dict[Language, Wording] = {"en": "statement", "zh": "answer"}
ANSWER_TOKENS = 30
NUMBER_MISSING = 0.25  # the most that a sentence is supported by a text that lacks one of its numbers

_OBSERVATION = {
    "en": {
        "supported": "the {where} supports this ({p:.0%})",
        "contradicted": "the {where} does not support this ({p:.0%})",
        None: "the {where} does not decide this ({p:.0%})",
        "absent": "the reference says nothing about this",
        "quoted": "the reference says this word for word",
        "anew": "; asked anew, it gives: {answer}",
        "number": "; {numbers} is not in it",
        "unread": "; about {share:.0%} of it was read",
    },
    "zh": {
        "supported": "{where}支持这句话（{p:.0%}）",
        "contradicted": "{where}不支持这句话（{p:.0%}）",
        None: "{where}不足以判定这句话（{p:.0%}）",
        "absent": "参考资料没有提到这件事",
        "quoted": "参考资料原文就是这样写的",
        "anew": "；只看资料重新作答得到：{answer}",
        "number": "；其中没有 {numbers}",
        "unread": "；只读了其中约 {share:.0%}",
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
    fits them does not make it true. Of a long one, the window that shares most words with the sentence is read.
    Raises ToolError where there is no such text.
    """
    if context == "reference":
        return await judge(tool_context, sentence)
    if context == "question":
        text, place = tool_context.question, (0, len(tool_context.question))
    else:
        text, place = _rest(tool_context, sentence)
    if not text.strip():
        raise ToolError(f"there is no {context} to compare with")
    ((start, end),), _ = best_windows(text, sentence.claim, 1, WINDOW_TOKENS, tool_context.model.count_tokens)
    fits = await _ask(tool_context, sentence, text[start:end], "consistency")
    label: Label | None = "contradicted" if fits.calibrated and fits.supported <= CLEAR else None
    return _result(tool_context, sentence, label, context, fits.supported, (place[0] + start, place[0] + end))


async def judge(context: ToolContext, sentence: Sentence) -> ToolResult:
    """A sentence against the reference: any window that is read may support it, and all must speak against it.

    At most `WINDOWS` windows are read, those that share most words with the sentence. What was not read may still
    support it, so "contradicted" is only said of a reference that was read whole.
    What stands in it word for word needs no judgement. A bare answer is judged as the answer to the question, and
    compared with what the model answers anew; one sentence of several is judged as a statement.
    Raises ToolError where there is no reference.
    """
    reference = context.reference
    if reference is None:
        raise ToolError("no reference was given; use another context or another tool")
    texts = _OBSERVATION[context.language]
    if span := quoted(sentence.text, reference):
        evidence = Evidence(source="reference", text=reference[slice(*span)], span=span, score=QUOTED)
        return ToolResult(
            observation=texts["quoted"], label="supported", confidence=QUOTED, evidence=(evidence,), read=((0, len(reference)),)
        )
    wording: Wording = "answer" if len(context.sentences) == 1 else "statement"
    about = f"{context.question} {sentence.claim}"
    spans, whole = best_windows(reference, about, WINDOWS, WINDOW_TOKENS, context.model.count_tokens)
    judged = [(await _ask(context, sentence, reference[slice(*span)], wording), span) for span in spans]
    best, place = max(judged)
    supported, anew = best.supported, ""
    if wording == "answer" and best.calibrated and not best.silent:
        anew = await _answer_anew(context, reference[slice(*place)])
        supported = agreed(supported, agreement(anew, sentence.text, context.question), context.language)
    missing = missing_numbers(sentence.claim, f"{reference} {context.question}")
    if missing and not best.silent:
        supported = min(supported, NUMBER_MISSING if best.calibrated else 1 - UNCALIBRATED)
    label: Label | None = None
    if supported > SUPPORTED:
        label = "supported"
    elif supported < CONTRADICTED:
        if not words(about if wording == "answer" else sentence.claim) & words(reference):
            return ToolResult(observation=texts["absent"], read=tuple(spans))
        if whole and not any(one.silent for one, _ in judged):
            label = "contradicted"
    result = _result(context, sentence, label, "reference", supported, place)
    note = texts["anew"].format(answer=anew) if anew else ""
    note += texts["number"].format(numbers=", ".join(missing)) if missing else ""
    if label is None and not whole:
        share = sum(end - start for start, end in spans) / len(reference)
        note += texts["unread"].format(share=min(max(share, 0.01), 0.99))  # neither none of it nor all
    return result.model_copy(update={"read": tuple(spans), "observation": result.observation + note})


async def _answer_anew(context: ToolContext, text: str) -> str:
    """What the model answers from the reference without seeing the response."""
    count = context.model.count_tokens
    messages = conversation(
        "answer", context.language, evidence=text, question=clip(context.question, WINDOW_TOKENS, count)[0]
    )
    generation = await context.model.generate(messages, stop=["\n"], max_tokens=ANSWER_TOKENS)
    return generation.text.strip()


def agreement(one: str, other: str, question: str) -> float | None:
    """The F1 in [0, 1] of the words of two answers, apart from those of the question (as in SQuAD's evaluation); None
    where one of them has no words."""
    asked = words(question)
    first, second = ((found - asked) or found for found in (words(one), words(other)))
    return 2 * len(first & second) / (len(first) + len(second)) if first and second else None


async def _ask(context: ToolContext, sentence: Sentence, text: str, wording: Wording) -> Judgement:
    """Whether the text supports the sentence, or whether both can be true, asked with the options in both orders."""
    count = context.model.count_tokens
    yes: list[float] = []
    scored = True
    for turned in (False, True):
        messages = conversation(
            "match",
            context.language,
            wording=ANSWER_ASKED_AS[context.language] if wording == "answer" else wording,
            evidence=text,
            question=clip(context.question, WINDOW_TOKENS, count)[0],
            claim=clip(sentence.claim, WINDOW_TOKENS, count)[0],
            turned=turned,
        )
        choice = await context.model.choose(messages, ["A", "B"])
        yes.append(choice.probabilities["B" if turned else "A"])
        scored = scored and choice.calibrated
    familiar = words(sentence.claim) <= words(text)
    return judgement(yes[0], yes[1], wording, context.language, familiar=familiar, scored=scored)


def _rest(context: ToolContext, sentence: Sentence) -> tuple[str, Span]:
    """The response before the sentence, or after it where it is the first, and where that stands."""
    start, end = sentence.span
    place = (0, start) if context.response[:start].strip() else (end, len(context.response))
    return context.response[slice(*place)], place


def _result(
    context: ToolContext, sentence: Sentence, label: Label | None, where: Where, supported: float, place: Span
) -> ToolResult:
    language = context.language
    observation = _OBSERVATION[language][label].format(where=_WHERE[language][where], p=supported)
    if label is None:
        return ToolResult(observation=observation)
    source = {"reference": context.reference or "", "question": context.question, "response": context.response}[where]
    query = sentence.claim if where == "question" else f"{sentence.claim} {context.question}"
    span = passage(source, place, query)
    evidence = Evidence(source=where, text=source[slice(*span)], span=span, score=supported)
    return ToolResult(
        observation=observation, label=label, confidence=max(supported, 1 - supported), evidence=(evidence,)
    )
