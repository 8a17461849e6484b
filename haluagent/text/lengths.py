"""The length a question asks its answer to have: `请用30字描述`, `at least 200 words`, `between 50 and 80 words`.

A length is `[bound] number [to number] unit [bound]`, once or as two ends. It is a request only where
`haluagent.text.instructions` finds that what stands around it asks for writing of that length and leaves nothing over.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from haluagent.text import instructions
from haluagent.text.numerals import ENGLISH_NUMBER, HAN_NUMBER, read_whole
from haluagent.types import Language, Span

Unit = Literal["字", "words", "characters"]
Bound = Literal["at most", "below", "at least", "above", "about", "exactly", "between"]

TOLERANCE = Fraction(1, 10)
"""How far, relatively, a length may be off that is stated as `about`, or without a bound."""

MAX_SENTENCE = 600
"""Characters. A longer sentence is a text to work on, and no instruction."""

MAX_LENGTHS = 8
"""Lengths in a question. With more it is a text about lengths."""


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


@dataclass(frozen=True)
class _Length:
    """A length in a sentence. `bound` is None where nothing beside the number says how it is meant."""

    unit: Unit | None
    bound: Bound | None
    low: int
    high: int | None
    span: Span
    spelt: bool  # in Han numerals without 个, as in 十字路口

    def range(self) -> tuple[int | None, int | None]:
        low, high = self.low, self.high
        if high is not None:
            return min(low, high), max(low, high)
        about = max(1, math.floor(low * (1 - TOLERANCE))), math.ceil(low * (1 + TOLERANCE))
        ranges: dict[Bound | None, tuple[int | None, int | None]] = {
            "at most": (None, low),
            "below": (None, low - 1),
            "at least": (low, None),
            "above": (low + 1, None),
            "exactly": (low, low),
        }
        return ranges.get(self.bound, about)


_NOT = (
    r"(?:(?:(?:do|does|should|must|may|can|shall)(?:\s{1,3}not|n't)|cannot|never|not|no|without)\s{1,3}"
    r"(?:(?:be|write|use|have|contain|go)\s{1,3})?)"
)
_MORE = r"(?:more than|over|longer than|greater than|exceed(?:ing)?)"
_LESS = r"(?:less than|fewer than|under|below|shorter than)"
_HAN_NOT = r"(?:(?:不得|不要|不能|不可以?|不应该?|不应当|不许|不准|请勿|切勿|勿|别)(?:写|用)?|不)"
_HAN_MORE = r"(?:超过|多于|大于|高于|超出|长于)"
_HAN_LESS = r"(?:少于|小于|低于|短于)"
_LIMIT = (
    r"(?:an? )?(?:(?:word|character|length) )?limit(?: of| is|:)|limited to|"
    r"(?:limit|restrict|confine|cap|keep) (?:it|this|(?:your|the) (?:answer|response|reply|essay|summary|text)) (?:to|at)"
)

# What the words before and after a number make of it.
_BEFORE: dict[Language, dict[Bound, str]] = {
    "en": {
        "at most": rf"{_NOT}{_MORE}|at (?:the )?most|up to|within|(?:an? )?max(?:imum|\.)?(?: length)?(?: of|:)?|≤|<=|"
        rf"{_LIMIT}",
        "at least": rf"{_NOT}{_LESS}|at (?:the )?least|(?:an? )?min(?:imum|\.)?(?: length)?(?: of|:)?|≥|>=",
        "above": rf"{_MORE}|>",
        "below": rf"{_LESS}|<",
        "about": r"about|around|approximately|approx\.?|roughly|nearly|some|~|≈",
        "exactly": r"exactly|precisely",
        "between": r"between|from",
    },
    "zh": {
        "at most": rf"{_HAN_NOT}{_HAN_MORE}|最多|至多|顶多|(?:上限|限制?)(?:为|在|是|:)?|≤|<=",
        "at least": rf"{_HAN_NOT}{_HAN_LESS}|至少|最少|起码|下限为?|≥|>=",
        "above": rf"{_HAN_MORE}|>",
        "below": rf"{_HAN_LESS}|不到|不足|<",
        "about": r"大约|大概|差不多|约|~|≈",
        "exactly": r"正好|恰好|刚好|整整",
    },
}
_ALONE = r"(?!\.?(?: length)?(?: of)?:?\s{0,3}[0-9])"  # not the bound of a second number
_AFTER: dict[Language, dict[Bound, str]] = {
    "en": {
        "at most": rf"or (?:less|fewer|under|shorter)\b|max(?:imum)?\b{_ALONE}|at most\b{_ALONE}|limit\b",
        "at least": rf"or (?:more|longer)\b|min(?:imum)?\b{_ALONE}|at least\b{_ALONE}",
        "about": r"or so\b|approximately\b",
        "exactly": r"exactly\b",
    },
    "zh": {"at most": r"以内|之内|内|以下|为限", "at least": r"以上", "about": r"左右|上下", "exactly": r"整"},
}
# A bound may hold the verb or the preposition that leads to the length: don't write more than, within, 不要用超过.
_LEAD: dict[Language, re.Pattern[str]] = {
    "en": re.compile(r"(?:do not|don't|never)\s+(write|use)\b|within\b", re.IGNORECASE),
    "zh": re.compile(r"[^\d]{0,6}?(用)"),
}
_JOINED: dict[Language, re.Pattern[str]] = {
    "en": re.compile(r"\s*(?:,|;|and|but|, (?:and|but))\s*", re.IGNORECASE),
    "zh": re.compile(r"\s*(?:[,;、]|[,;、]?(?:且|并且|而且|而|又|但|同时|和|并|也|到)也?)?\s*"),
}

_DIGITS = r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]{1,7}(?![0-9])"
_UNITS: dict[Language, dict[str, Unit]] = {
    "en": {r"words?\b": "words", r"characters?\b|chars?\b": "characters"},
    "zh": {"汉字": "字", "字符": "characters", "英文单词|英语单词|单词": "words", "字": "字"},
}


def _choice(named: dict[str, str] | dict[str, Unit] | dict[Bound, str], *, keys: bool = False) -> str:
    return "|".join(named if keys else named.values())


_LENGTHS: dict[Language, re.Pattern[str]] = {
    "en": re.compile(
        rf"(?:(?<![A-Za-z])(?P<before>{_choice(_BEFORE['en'])})\s{{0,3}}(?:(?:an?|the)\s{{1,3}})?)?(?<![\w.$'-])"
        rf"(?P<low>{_DIGITS}|(?:a )?{ENGLISH_NUMBER})(?:\s{{0,3}}(?P<to>-|~|\bto\b|\band\b)\s{{0,3}}"
        rf"(?P<high>{_DIGITS}|{ENGLISH_NUMBER}))?(?P<counted>)"
        rf"(?:[\s-]{{1,3}}(?P<unit>{_choice(_UNITS['en'], keys=True)}))?(?:[\s,-]{{1,3}}(?P<after>{_choice(_AFTER['en'])}))?",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        rf"(?:(?P<before>{_choice(_BEFORE['zh'])})(?:为|在|是|写|用)?\s{{0,3}}|(?<![几数多好]))(?<![0-9第.])"
        rf"(?P<low>{_DIGITS}|{HAN_NUMBER})(?:个?(?:字|汉字)?\s{{0,3}}(?P<to>-|~|到|至)\s{{0,3}}"
        rf"(?P<high>{_DIGITS}|{HAN_NUMBER}))?\s{{0,3}}(?P<counted>个?)\s{{0,3}}"
        rf"(?P<unit>{_choice(_UNITS['zh'], keys=True)})?\s{{0,3}}(?P<after>{_choice(_AFTER['zh'])})?"
    ),
}  # fmt: skip
_LANGUAGES: tuple[Language, ...] = ("en", "zh")
_ANY_UNIT = re.compile("|".join(_choice(_UNITS[language], keys=True) for language in ("en", "zh")), re.IGNORECASE)
_COUNTS_TEXT = re.compile(  # a problem about a text's length
    r"多少个?[字页]|几个?[字页]|几分钟|多久|多长时间|how (?:many|much) (?:words|characters|letters|pages|lines)|"
    r"how long (?:does|do|will|would|did) it",
    re.IGNORECASE,
)


@lru_cache(maxsize=64)  # asked again for every sentence of a response
def length_requirement(question: str) -> Requirement | None:
    """Return the length in 字, words or characters that the question asks of its answer.

    None where it does not surely ask for one, or asks for several that are not the two ends of one
    (`不少于500字，不超过800字` is one).
    """
    if not _ANY_UNIT.search(question) or _COUNTS_TEXT.search(question):
        return None
    found: Requirement | None = None
    for length in _requests(question):
        minimum, maximum = length.range()
        stated = (length.low,) if length.high is None else (length.low, length.high)
        item = Requirement(length.unit or "words", minimum, maximum, stated, question[slice(*length.span)], length.span)
        both = item if found is None else _both(found, item, question)
        if both is None:
            return None
        found = both
    return found


def _both(first: Requirement, second: Requirement, question: str) -> Requirement | None:
    """Return the two as one: where they are the same, or each bounds another side of the same unit."""
    if (first.unit, first.minimum, first.maximum) == (second.unit, second.minimum, second.maximum):
        return first
    ends = {first.minimum is None, second.minimum is None}, {first.maximum is None, second.maximum is None}
    if first.unit != second.unit or ends != ({True, False}, {True, False}):
        return None
    minimum = first.minimum if first.minimum is not None else second.minimum
    maximum = first.maximum if first.maximum is not None else second.maximum
    if minimum is None or maximum is None or minimum > maximum:
        return None
    span = min(first.span[0], second.span[0]), max(first.span[1], second.span[1])
    return Requirement(first.unit, minimum, maximum, first.stated + second.stated, question[slice(*span)], span)


def _requests(question: str) -> list[_Length]:
    """Return the lengths that the question asks for: those around which an instruction leaves nothing over."""
    text = instructions.prepared(question)
    found: list[_Length] = []
    seen = 0
    for language in _LANGUAGES:
        before = ""
        for start, sentence in instructions.sentences(text):
            if len(sentence) > MAX_SENTENCE:
                continue
            groups = list(_groups(sentence, language))
            seen += len(groups)
            if seen > MAX_LENGTHS:
                return []
            for group in groups:
                first, last = group[0], group[-1]
                lead = _LEAD[language].match(sentence, *first.span)
                request = instructions.Request(
                    before=before,
                    left=sentence[: first.span[0]] + (f" {lead[1] or 'in'}" if lead else ""),
                    right=sentence[last.span[1] :],
                    bounded=first.bound is not None or first.high is not None,
                    unit=last.unit or "words",
                    number=first.low,
                    spelt=first.spelt,
                )
                if instructions.asks(request, language):
                    found += [
                        replace(one, unit=last.unit, span=(one.span[0] + start, one.span[1] + start)) for one in group
                    ]
                    if instructions.goes_on(text[start + last.span[1] :], language):
                        return []  # a second task: the length is that of a part
            before = sentence
    return found


def _groups(sentence: str, language: Language) -> Iterator[list[_Length]]:
    """Yield the lengths of a sentence, each alone or as the two ends that are joined by no more than an `and`."""
    waiting: _Length | None = None
    for length in _lengths(sentence, language):
        joined = waiting is not None and _JOINED[language].fullmatch(sentence[waiting.span[1] : length.span[0]])
        if waiting and joined and waiting.bound and length.bound and (waiting.unit or length.unit):
            unit = waiting.unit or length.unit
            yield [replace(waiting, unit=unit), replace(length, unit=length.unit or unit)]
            waiting = None
            continue
        if waiting and waiting.unit:
            yield [waiting]
        waiting = length
    if waiting and waiting.unit:
        yield [waiting]


def _lengths(sentence: str, language: Language) -> Iterator[_Length]:
    """Yield what may be a length: numbers with a unit, a bound, or both."""
    for match in _LENGTHS[language].finditer(sentence):
        low, high = read_whole(match["low"]), read_whole(match["high"]) if match["high"] else None
        bounds = {
            _bound_of(match[name], table[language]) for name, table in (("before", _BEFORE), ("after", _AFTER))
            if match[name]
        }  # fmt: skip
        between = "between" in bounds
        if between:
            bounds.discard("between")
        in_order = (match["to"] or "").lower() != "and" or between
        whole = low is not None and (match["high"] is None or high is not None) and in_order
        if not whole or len(bounds) > 1 or (between and high is None) or (bounds and high is not None):
            continue
        if not match["unit"] and not bounds:
            continue
        unit = next(
            (unit for name, unit in _UNITS[language].items() if re.fullmatch(name, match["unit"] or "", re.I)), None
        )
        spelt = language == "zh" and not match["low"].isascii() and not match["counted"]
        end = match.end() - (len(match[0]) - len(match[0].rstrip()))
        yield _Length(unit, next(iter(bounds), None), low or 0, high, (match.start(), end), spelt)


def _bound_of(mark: str, named: dict[Bound, str]) -> Bound | None:
    return next((bound for bound, pattern in named.items() if re.fullmatch(pattern, mark, re.IGNORECASE)), None)
