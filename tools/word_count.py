"""Length: check that a response is as long as its question asks."""

import re

from haluagent.errors import FormatError, ToolError
from haluagent.protocols import ToolContext
from haluagent.text.lengths import Requirement, Unit, length_requirement
from haluagent.text.messages import message
from haluagent.tooling.definition import tool
from haluagent.tooling.tool import Demo
from haluagent.types import Evidence, Label, Language, Sentence, ToolResult

CONFIDENCE = 0.99

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_WORD = re.compile(
    r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\W_\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+(?:['’.,-][^\W_\u4e00-\u9fff]+)*"
)


def count(text: str, unit: Unit) -> int:
    """Return how long `text` is in a unit. 字 and characters count all characters, punctuation included, but not white
    space at the ends; among words, a Chinese character counts as one and `don't` as one."""
    return len(_WORD.findall(text)) if unit == "words" else len(text.strip())


def _can_decide(context: ToolContext, sentence: Sentence) -> bool:
    whole = sentence.index == 0 or (sentence.index == 1 and len(context.sentences) == 1)
    return whole and length_requirement(context.question) is not None


@tool(
    description={
        "en": "Check the length the question asks for (50 words, 300 characters). word_count(sentence=S0) counts the "
        "whole response.",
        "zh": "检查题目要求的字数（如“用50字”）。word_count(sentence=S0) 统计整个回答的字数。",
    },
    demos=[
        Demo(
            language="en",
            question="Describe the sea in 5 words.",
            response="Deep blue water moves quietly tonight.",
            thought="The question asks for 5 words, so the whole response has to be counted.",
            call="word_count(sentence=S0)",
            observation="The response has 6 words (38 characters); required: 5 words. It does not fit.",
        ),
        Demo(
            language="zh",
            question="请用10字描述大海。",
            response="海水很蓝，望不到边际。",
            thought="题目要求 10 字，需要统计整个回答的字数。",
            call="word_count(sentence=S0)",
            observation="回答共 11 字（汉字 9 个，词 9 个）；要求 10 字：不符合。",
        ),
    ],
    when=_can_decide,
    obvious=lambda context, sentence: {"sentence": sentence.name},
)
async def word_count(context: ToolContext, sentence: Sentence, length: int | None = None) -> ToolResult:
    """Count the whole response and compare with the length the question asks for, in the question's unit.

    `length`, where given, must be a number of the question, else FormatError. `sentence` only says where the model
    looked: a length is always asked of the response as a whole. Raises ToolError where the question asks for none.
    """
    requirement = length_requirement(context.question)
    known = {
        *re.findall(r"\d+", context.question.replace(",", "")),
        *map(str, requirement.stated if requirement else ()),
    }
    if length is not None and str(length) not in known:
        raise FormatError(message("word_count.foreign", context.language, length=length))
    if requirement is None:
        raise ToolError(message("word_count.unasked", context.language))
    number = count(context.response, requirement.unit)
    fits = requirement.allows(number)
    observation = _observe(context, requirement, number, fits)
    evidence = (
        Evidence(source="word_count", text=observation, span=(0, len(context.response))),
        Evidence(source="question", text=requirement.text, span=requirement.span),
    )
    label: Label = "supported" if fits else "contradicted"
    return ToolResult(observation=observation, label=label, confidence=CONFIDENCE, evidence=evidence)


def _observe(context: ToolContext, requirement: Requirement, number: int, fits: bool) -> str:
    language = context.language
    if requirement.unit == "words":
        beside = message("word_count.count.characters", language, count=len(context.response))
    else:
        beside = message("word_count.count.words", language, count=count(context.response, "words"))
    han = len(_HAN.findall(context.response))
    if han or language == "zh":
        beside = message("word_count.with_han", language, other=beside, han=han)
    return message(
        "word_count.result",
        language,
        count=number,
        unit=message(f"word_count.unit.{requirement.unit}", language),
        beside=beside,
        needed=_range(language, requirement),
        verdict=message("word_count.fits" if fits else "word_count.does_not_fit", language),
    )


def _range(language: Language, requirement: Requirement) -> str:
    low, high = requirement.minimum, requirement.maximum
    if low == high:
        return str(low)
    if low is None:
        return message("word_count.at_most", language, high=high)
    if high is None:
        return message("word_count.at_least", language, low=low)
    return message("word_count.between", language, low=low, high=high)
