"""The length a question asks its answer to have: `请用30字描述`, `at least 200 words`, `between 50 and 80 words`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from haluagent.text.numerals import ENGLISH_NUMBER, HAN_NUMBER, read_english, read_han
from haluagent.types import Span

Unit = Literal["字", "words", "characters"]

TOLERANCE = Fraction(1, 10)
"""How far, relatively, a length stated as `about` may be off."""


@dataclass(frozen=True)
class Requirement:
    """A length from `minimum` to `maximum`, both included, None where there is no bound.

    `stated` are the numbers as the question writes them, `text` and `span` the place where it does.
    """

    unit: Unit
    minimum: int | None
    maximum: int | None
    stated: tuple[int, ...]
    text: str
    span: Span

    def allows(self, count: int) -> bool:
        return (self.minimum is None or count >= self.minimum) and (self.maximum is None or count <= self.maximum)


# What the words beside a number make of it: at most it, below it, at least it, above it, about it.
_BOUNDS = {
    "at most": [*"不超过 不多于 不大于 不高于 最多 至多 以内 之内 以下 内".split(),
       "no more than", "not more than", "at most", "up to", "within", "no longer than", "maximum of", "or less",
       "or fewer", "maximum", "max"],
    "below": [*"少于 小于 低于".split(), "under", "fewer than", "less than", "below"],
    "at least": [*"至少 最少 不少于 不低于 不小于 以上".split(),
       "no fewer than", "no less than", "at least", "minimum of", "or more", "minimum", "min"],
    "above": [*"超过 多于 大于".split(), "more than", "over"],
    "about": [*"左右 上下 大约 大概 约".split(), "about", "around", "approximately", "roughly", "nearly", "or so"],
}  # fmt: skip
_BOUND_OF = {phrase: bound for bound, phrases in _BOUNDS.items() for phrase in phrases}
_PHRASES = "|".join(sorted(map(re.escape, _BOUND_OF), key=len, reverse=True))

_DIGITS = r"[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,7}"
_HAN = re.compile(
    rf"(?P<before>{_PHRASES})?(?:为|在|是|用)?\s{{0,3}}(?<![0-9第.])(?P<low>{_DIGITS}|{HAN_NUMBER})\s{{0,3}}"
    rf"(?:个?字?\s{{0,3}}(?:-|–|~|～|到|至|—)\s{{0,3}}(?P<high>{_DIGITS}|{HAN_NUMBER}))?\s{{0,3}}(?P<counted>个)?\s{{0,3}}"
    rf"(?P<unit>汉字|字符|(?:英文)?单词|字(?![母节典画体幕迹眼段形经诀词])(?!成语))\s{{0,3}}(?P<after>{_PHRASES})?"
)
_ENGLISH = re.compile(
    rf"(?:\b(?P<before>{_PHRASES}|between|from|exactly|in|with|using|use|of|to)\s{{1,3}})?"
    rf"(?:(?:about|exactly|a|an|just|only)\s{{1,3}}){{0,4}}(?<![\w.$-])(?P<low>{_DIGITS}|{ENGLISH_NUMBER})"
    rf"(?:\s{{0,3}}(?:-|–|~|\bto\b|\band\b)\s{{0,3}}(?P<high>{_DIGITS}|{ENGLISH_NUMBER}))?"
    rf"[\s-]*(?P<unit>words?|characters?|chars?)\b\s{{0,3}}(?P<after>(?:{_PHRASES})\b)?",
    re.IGNORECASE,
)
_HAN_UNITS: dict[str, Unit] = {"字符": "characters", "单词": "words", "英文单词": "words"}
_ASKS_HOW_MANY = re.compile(r"多少|几[个字页分天小次]|how (?:many|much|long)", re.IGNORECASE)
_INSTRUCTS = re.compile(
    r"\b(?:write|describe|summar\w+|explain|compose|give|tell|introduce|review|draft|essay|story|paragraph|answer|reply|"
    r"article|poem|discuss|generate|create|limit|keep)\b",
    re.IGNORECASE,
)


def length_requirement(question: str) -> Requirement | None:
    """Return the length in 字, words or characters that the question asks for; None where it asks for none.

    Several bounds on the same unit (`不少于500字，不超过800字`) are one requirement.
    """
    if _ASKS_HOW_MANY.search(question):
        return None  # a problem about a text's length, not an instruction
    found: Requirement | None = None
    for item in _requirements(question):
        found = item if found is None else _both(found, item, question)
    return found


def _requirements(question: str) -> Iterator[Requirement]:
    for match in _HAN.finditer(question):
        low = _read(match["low"])
        if low is None or (low < 10 and not match["low"].isascii() and not match["counted"]):
            continue  # 三字经, 八字
        yield _requirement(match, _HAN_UNITS.get(match["unit"], "字"), low, question)
    instructs = _INSTRUCTS.search(question) is not None
    for match in _ENGLISH.finditer(question):
        low = _read(match["low"])
        if low is not None and (match["before"] or match["after"] or instructs):
            unit: Unit = "words" if match["unit"].lower().startswith("word") else "characters"
            yield _requirement(match, unit, low, question)


def _requirement(match: re.Match[str], unit: Unit, low: int, question: str) -> Requirement:
    high = _read(match["high"]) if match["high"] else None
    beside = [(match[name] or "").lower() for name in ("after", "before")]
    inside = "about" if re.search(r"\babout\b", match[0], re.IGNORECASE) else ""
    bound = next((_BOUND_OF[phrase] for phrase in beside if phrase in _BOUND_OF), inside)
    minimum, maximum = _range(bound, low, high)
    start = match.start() + len(match[0]) - len(match[0].lstrip())
    end = start + len(match[0].strip())
    return Requirement(
        unit, minimum, maximum, (low,) if high is None else (low, high), question[start:end], (start, end)
    )


def _range(bound: str, low: int, high: int | None) -> tuple[int | None, int | None]:
    if high is not None:
        return min(low, high), max(low, high)
    return {
        "at most": (None, low),
        "below": (None, low - 1),
        "at least": (low, None),
        "above": (low + 1, None),
        "about": (-int(-low * (1 - TOLERANCE) // 1), int(low * (1 + TOLERANCE))),
    }.get(bound, (low, low))


def _both(first: Requirement, second: Requirement, question: str) -> Requirement:
    """Return the two as one, where each bounds another side of the same unit; else the first."""
    ends = {first.minimum is None, second.minimum is None}, {first.maximum is None, second.maximum is None}
    if first.unit != second.unit or ends != ({True, False}, {True, False}):
        return first
    minimum = first.minimum if first.minimum is not None else second.minimum
    maximum = first.maximum if first.maximum is not None else second.maximum
    span = first.span[0], second.span[1]
    return Requirement(first.unit, minimum, maximum, first.stated + second.stated, question[slice(*span)], span)


def _read(text: str) -> int | None:
    if text[0].isdigit():
        return int(text.replace(",", ""))
    value = read_han(text) if not text.isascii() else read_english(text)
    return int(value) if value is not None and value.denominator == 1 else None
