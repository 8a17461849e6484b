"""Length: check that a response is as long as its question asks."""

import re

from haluagent.errors import FormatError, ToolError
from haluagent.protocols import ToolContext
from haluagent.text.courtesies import courtesy
from haluagent.text.lengths import Requirement, Unit, length_requirement
from haluagent.text.messages import message
from haluagent.text.segment import split
from haluagent.tooling.definition import tool
from haluagent.tooling.tool import Demo
from haluagent.types import Evidence, Label, Language, Sentence, ToolResult

CONFIDENCE = 0.99

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_WORD = re.compile(
    r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\W_\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+(?:['’.,-][^\W_\u4e00-\u9fff]+)*"
)
_LETTER = re.compile(r"[^\W_]")
_LENGTH_UNIT = re.compile(
    r"\b(?:words?|characters?|letters?|sentences?|lines?|paragraphs?)\b|"
    r"[\d一二两兩三四五六七八九十百千几幾每]\s*[个個]?[汉漢]?(?:[字词詞句行]|段(?![时時]))|字[数數]",
    re.IGNORECASE,
)
_QUOTATION = re.compile(r"“([^“”\n]{1,400})”|「([^「」\n]{1,400})」|『([^『』\n]{1,400})』|\"([^\"\n]{1,400})\"")
QUOTATIONS = 2  # of a response, those whose length is counted
SHORTEST = 8  # characters of a quotation that is counted
_HYPHEN = re.compile(r"[-‐‑–—/]")
_OPENING = re.compile(r"\A\s*[^\n]{1,120}(?:[:：]\**\s*\n|\n\s*\n)|\A\s*(?:#{1,6} |\*\*)[^\n]{1,80}\n")
_CLOSING = re.compile(
    r"\s*[(（*_\[]*[^\n()（）]{0,24}(?<!\d)\d{1,5}\s?(?:words?|characters?|个?字)?[^\n()（）]{0,6}[)）*_\]]*\s*\Z",
    re.IGNORECASE,
)


def count(text: str, unit: Unit) -> int:
    """Return how long `text` is in a unit. 字 and characters count all characters, punctuation included, but not white
    space at the ends; among words, a Chinese character counts as one and `don't` as one."""
    return len(_WORD.findall(text)) if unit == "words" else len(text.strip())


def other_counts(text: str, unit: Unit) -> set[int]:
    """Return what others count: no punctuation, no white space, Latin words as one 字, hyphenated words as two."""
    if unit == "words":
        return {sum(bool(_LETTER.search(word)) for word in text.split()), count(_HYPHEN.sub(" ", text), "words")}
    unspaced = len("".join(text.split()))
    return {unspaced} if unit == "characters" else {unspaced, len(_LETTER.findall(text)), count(text, "words")}


def _can_decide(context: ToolContext, sentence: Sentence) -> bool:
    return sentence.index == 0 and length_requirement(context.question) is not None


@tool(
    description={
        "en": "Check the length the question asks for (50 words, 300 characters). word_count(sentence=S0) counts the "
        "whole response; word_count(sentence=S1) says how long S1, its quotations and the response are.",
        "zh": "检查题目要求的字数（如“用50字”）。word_count(sentence=S0) 统计整个回答的字数；"
        "word_count(sentence=S1) 给出 S1、其中引文和整个回答的长度。",
    },
    demos=[
        Demo(
            language="en",
            question="Describe the sea in 5 words.",
            response="Deep blue water moves quietly under a pale moon.",
            thought="The question asks for 5 words, so the whole response has to be counted.",
            call="word_count(sentence=S0)",
            observation="The response has 9 words (48 characters); required: 4 to 6 words. It does not fit.",
        ),
        Demo(
            language="zh",
            question="请用10字描述大海。",
            response="海水很蓝，望不到边际，浪花一层接一层。",
            thought="题目要求 10 字，需要统计整个回答的字数。",
            call="word_count(sentence=S0)",
            observation="回答共 19 字（汉字 16 个，词 16 个）；要求 9 到 11 字：不符合。",
        ),
    ],
    when=_can_decide,
    plausible=lambda context, sentence: _LENGTH_UNIT.search(f"{context.question} {sentence.text}") is not None,
    obvious=lambda context, sentence: {"sentence": sentence.name},
)
async def word_count(context: ToolContext, sentence: Sentence, length: int | None = None) -> ToolResult:
    """Count the whole response and compare with the length the question asks for, in the question's unit.

    `length`, where given, must be a number of the question, else FormatError. A length that fits only by another usual
    way of counting (without punctuation, hyphenated words as two, without a title or an opening line) gets no label.
    Of a sentence it decides nothing: how long it is, what it quotes and the whole response, are facts for `match` to read.
    Raises ToolError where the question asks for no length of the response as a whole (S0).
    """
    if sentence.index:
        lines = _counted(context, sentence)
        return ToolResult(observation="; ".join(lines), facts=lines)
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
    label: Label | None = "supported"
    if not requirement.allows(number):
        label = None if _fits_otherwise(context.response, requirement) else "contradicted"
    observation = _observe(context, requirement, number, label)
    evidence = (
        Evidence(source="word_count", text=observation, span=(0, len(context.response))),
        Evidence(source="question", text=requirement.text, span=requirement.span),
    )
    return ToolResult(observation=observation, label=label, confidence=CONFIDENCE, evidence=evidence)


def _counted(context: ToolContext, sentence: Sentence) -> tuple[str, ...]:
    """Return lines on how long the response is, and a sentence of it, and the quotations in them."""
    texts = [(message("word_count.response", context.language), context.response), (sentence.name, sentence.text)]
    quoted = (next(filter(None, match.groups())) for match in _QUOTATION.finditer(context.response))
    texts += [(f"“{_shortened(text)}”", text) for text in quoted if len(text) >= SHORTEST][:QUOTATIONS]
    return tuple(
        message(
            "word_count.counted",
            context.language,
            text=name,
            words=count(text, "words"),
            characters=count(text, "characters"),
            bare=len(_LETTER.findall(text)),
            sentences=len(split(text)),
        )
        for name, text in texts
    )


def _shortened(text: str) -> str:
    """Return a text by its beginning."""
    return text if len(text) <= 24 else text[:24] + "…"


def _fits_otherwise(response: str, requirement: Requirement) -> bool:
    """Return whether a response has its length by another usual way of counting, or without its frame."""
    bare = without_frame(response)
    counts = {count(bare, requirement.unit)}.union(*(other_counts(one, requirement.unit) for one in (response, bare)))
    return any(map(requirement.allows, counts))


def without_frame(text: str) -> str:
    """Return a response without what stands around its text: a title or an opening line (`Here is a description:`), a note of
    its own length (`(30 words)`, `字数：30`), and a courtesy at the end."""
    *lines, last = text.strip().split("\n")
    if lines and courtesy(last):
        text = "\n".join(lines)
    text = _OPENING.sub("", text, count=1)
    bracket = re.search(r"[(（][^()（）\n]{1,40}[)）]\s*\Z|\n[^\n]{1,40}\Z", text.rstrip())
    return text[: bracket.start()] if bracket and _CLOSING.fullmatch(bracket[0]) else text


def _observe(context: ToolContext, requirement: Requirement, number: int, label: Label | None) -> str:
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
        verdict=message(f"word_count.verdict.{label or 'open'}", language),
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
