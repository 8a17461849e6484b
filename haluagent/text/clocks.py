"""Times of day in Chinese and English text (2:30 pm, half past two, 下午2点半), and hours and minutes that something takes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from haluagent.text.normalize import TRADITIONAL
from haluagent.text.numbers import find_numbers, numbers_named
from haluagent.text.numerals import ENGLISH_NUMBER, HAN_NUMERALS, read_english, read_han
from haluagent.text.places import Taken, covered
from haluagent.types import Span

_CLOCK = re.compile(
    r"(?<![\d:.])(?P<hour>[01]?\d|2[0-3])[:：](?P<minute>[0-5]\d)(?::[0-5]\d)?(?:\.\d+)?(?![\d:])\s*(?P<half>[ap]\.?m\b)?"
    r"|(?<![\d:.-])(?P<plain>1[0-2]|[1-9])\s*(?P<am>[ap]\.?m\b)",
    re.I,
)
_HAN_CLOCK = re.compile(
    r"(?:(?P<half>凌晨|早上|上午|中午|下午|傍晚|晚上|晚)\s*)?(?P<hour>[01]?\d|2[0-3])\s*(?:[点时](?!间)(?P<part>半|(?:\d{1,2})分?)?|[:：](?P<minute>[0-5]\d))"
)
_HAN_HOUR = r"二十[一二三]?|十[一二三四五六七八九]?|[一二两三四五六七八九]"
_HAN_MINUTE = r"[零〇][一二三四五六七八九]|[二三四五]?十[一二三四五六七八九]?"  # 六点二分 may be a score
_HAN_WORDS = re.compile(
    rf"(?:(?P<half>凌晨|早上|上午|中午|下午|傍晚|晚上|晚)(?P<hour>{_HAN_HOUR})点(?P<part>半|一刻|三刻|(?:{_HAN_MINUTE})分?)?"
    rf"|(?<![二十])(?P<alone>{_HAN_HOUR})点(?P<rest>半|一刻|三刻|钟|整|(?:{_HAN_MINUTE})分(?!之)))"
)
_PARTS = {"半": 30, "一刻": 15, "三刻": 45}
_HOURS = "one two three four five six seven eight nine ten eleven twelve".split()
_ENGLISH = re.compile(
    rf"\b(?:(?P<part>half past|(?:a )?quarter past|(?:a )?quarter to) (?P<hour>{'|'.join(_HOURS)}|1[0-2]|[1-9])\b"
    rf"|(?P<alone>{'|'.join(_HOURS)}|1[0-2]|[1-9]) o['’]clock)"
    r"(?P<half> (?:in the morning|in the afternoon|in the evening|at night))?",
    re.I,
)
# Hours and a half, and one hour where it is no rate: two and a half hours, 一个半小时; for an hour, takes an hour and a half.
_HOURS_IN_WORDS = re.compile(
    rf"\b(?P<number>\d{{1,3}}|{ENGLISH_NUMBER})\sand\sa\shalf\shours?\b|(?<!第)(?P<han>[{HAN_NUMERALS}\d]{{1,3}})[个個]半(?:小[时時]|[钟鐘][头頭])|"
    r"\b(?:for|after|takes?|lasts?|took|lasted|about|within|than|of|in|is)\s(?P<hour>an\shour\b(?P<half>\sand\sa\shalf\b)?)",
    re.IGNORECASE,
)
_EVERY = re.compile(r"(?:\bevery|\beach|每隔?|intervals of)\s*$", re.IGNORECASE)
_TWELVE = re.compile(r"\b(?:noon|midday|midnight)\b|正午|中午|午夜|零[点點]", re.IGNORECASE)
_QUARTERS = re.compile(r"\b(?:half|quarter)\b|[半刻]", re.IGNORECASE)
_ZONE = re.compile(r"((?:\dT\d\d:\d\d(?::\d\d)?|:\d\d:\d\d)(?:\.\d+)?)([+-]\d\d:\d\d)")  # and not 9:00-20:00
_SIMPLIFIED = str.maketrans(TRADITIONAL)
_LATE = ("下午", "傍晚", "晚上", "晚")
# What stands behind a number, and between the two numbers of a duration.
HOURS = r"[\s-]*(?:an\s)?(?:hours?\b|hrs?\b|h\b|[个個]?半?小[时時])"
MINUTES = r"[\s-]*(?:minutes?\b|mins?\b|m\b|分)"
AND = r"[钟鐘]?(?:,?\s*and|,|零|又)?\s*"
_LASTS_HOURS, _BEHIND_HOURS, _JOINED = (
    re.compile(one, re.IGNORECASE) for one in (HOURS, rf"{MINUTES}[钟鐘]?(?!\d)", AND)
)
_LASTS_MINUTES = re.compile(
    r"[\s-]*(?:minutes?\b|mins?\b|分[钟鐘])", re.IGNORECASE
)  # m and 分 may be metres and points


@dataclass(frozen=True)
class Clock:
    """A time of day in minutes; `twice` if it may be before or after noon."""

    minutes: int
    twice: bool
    span: Span
    text: str

    def is_same(self, other: "Clock") -> bool:
        ambiguous = self.twice or other.twice
        return (self.minutes - other.minutes) % (720 if ambiguous else 1440) == 0


def find_clocks(text: str) -> list[Clock]:
    """Return the times of day of `text`, in order."""
    return list(_find_clocks(text))


@lru_cache(maxsize=64)  # the reference is read again for each sentence
def _find_clocks(text: str) -> tuple[Clock, ...]:
    found: list[Clock] = []
    masked = text.translate(_SIMPLIFIED)
    masked = _ZONE.sub(lambda zone: zone[1] + " " * len(zone[2]), masked)
    masked = re.sub(r"(?<=\d)T(?=\d\d:)", " ", masked)  # 2025-03-05T14:30
    for match in _HAN_CLOCK.finditer(masked):
        hour, part, half = int(match["hour"]), match["part"], match["half"]
        minute = 30 if part == "半" else int(match["minute"] or (part or "0").rstrip("分"))
        if minute > 59 or (match["minute"] is not None and not half):
            continue  # without 上午 or 下午 the other pattern reads 14:30
        late = half in _LATE or (half == "中午" and hour < 3)
        hour += 12 * (late and hour < 12)
        found.append(Clock(hour * 60 + minute, not half and 0 < hour <= 12, match.span(), match[0].strip()))
    found += [*_han_words(masked), *_english_words(masked)]
    taken = Taken(len(text))
    for clock in found:
        taken.add(clock.span)
    for match in _CLOCK.finditer(masked):
        if taken.meets(match.span()):
            continue
        half = (match["half"] or match["am"] or "").lower()
        hour = int(match["hour"] or match["plain"])
        if half:
            hour = hour % 12 + 12 * half.startswith("p")
        written = match["hour"] or ""
        twice = not half and 0 < hour <= 12 and not written.startswith("0")
        found.append(Clock(hour * 60 + int(match["minute"] or 0), twice, match.span(), match[0].strip()))
    found = [replace(clock, text=text[slice(*clock.span)].strip()) for clock in found]
    return tuple(sorted(found, key=lambda clock: clock.span))


def new_clocks(said: str, known: str) -> list[Clock]:
    """Return the times of day of a sentence that a text does not have, in whatever form: 9.30, 0930 hours, 9h30, from 9 to 5. A time of
    which the text names both the hour and the minutes, somewhere, is none of them: it may be written in too many ways."""
    new = find_clocks(said)
    there = find_clocks(known) if new else []
    new = [clock for clock in new if not any(clock.is_same(one) for one in there)]
    rest = covered(known, [one.span for one in there], " ") if new else ""
    return [clock for clock in new if not _is_named(clock, rest)]


def _is_named(clock: Clock, text: str) -> bool:
    numbers = {part for number in numbers_named(text) for part in (number, *_written_together(number))}
    hour, minute = divmod(clock.minutes, 60)
    hours = {hour, hour % 12, hour % 12 + 12}
    if not hours & numbers and not (hour % 12 == 0 and _TWELVE.search(text)):
        return False
    return not minute or minute in numbers or (minute % 15 == 0 and _QUARTERS.search(text) is not None)


def _written_together(number: int) -> tuple[int, ...]:
    """Return hour and minutes of 930 or 1830."""
    return divmod(number, 100) if 100 <= number < 2400 and number % 100 < 60 else ()


def _han_words(text: str) -> Iterator[Clock]:
    """Yield the times that Han numerals name: 晚上十一点半, 三点钟. Without a part of the day 三点 may be three points."""
    for match in _HAN_WORDS.finditer(text):
        hour, half = int(read_han(match["hour"] or match["alone"]) or 0), match["half"]
        part = (match["part"] or match["rest"] or "").rstrip("分钟整")
        late = half in _LATE or (half == "中午" and hour < 3)
        minutes = (hour + 12 * (late and hour < 12)) * 60 + (_PARTS.get(part) or int(read_han(part) or 0))
        yield Clock(minutes, not half and hour <= 12, match.span(), match[0])


def _english_words(text: str) -> Iterator[Clock]:
    """Yield the times written in English words: half past eleven, a quarter to ten at night, four o'clock."""
    for match in _ENGLISH.finditer(text):
        word, part, half = (match["hour"] or match["alone"]).lower(), (match["part"] or "").lower(), match["half"]
        hour = int(word) if word.isdigit() else _HOURS.index(word) + 1
        hour = hour % 12 + 12 * (half is not None and "morning" not in half)
        minutes = hour * 60 + (0 if not part else 30 if part == "half past" else 15 if part.endswith("past") else -15)
        yield Clock(minutes % 1440, half is None, match.span(), match[0])


@dataclass(frozen=True)
class Lasting:
    """Hours and minutes that something takes, in minutes; `repeats` where they lie between what happens again and again."""

    minutes: Fraction
    span: Span
    text: str
    repeats: bool = False


def find_lasting(text: str) -> list[Lasting]:
    """Return the hours and minutes of `text`, each of `1 hour 25 minutes` as one, in order."""
    return list(_find_lasting(text))


@lru_cache(maxsize=64)
def _find_lasting(text: str) -> tuple[Lasting, ...]:
    found: list[Lasting] = []
    times = Taken(len(text))
    for clock in find_clocks(text):
        times.add(clock.span)
    for match in _HOURS_IN_WORDS.finditer(text):
        span = match.span("hour") if match["hour"] else match.span()
        times.add(span)
        hours = Fraction(1) if match["hour"] else _hours(match["number"] or match["han"])
        half = bool(match["half"]) or not match["hour"]
        found.append(Lasting(60 * hours + 30 * half, span, text[slice(*span)]))
    numbers, behind = find_numbers(text), 0
    for place, number in enumerate(numbers):
        start, end = number.span
        if start < behind or number.is_percent or times.meets(number.span):
            continue
        minutes: Fraction | None = None
        if unit := _LASTS_HOURS.match(text, end):
            minutes, behind = number.value * 60 + 30 * ("半" in unit[0]), unit.end()
            for small in numbers[place + 1 : place + 2]:
                ends = _BEHIND_HOURS.match(text, small.span[1])
                if ends and _JOINED.fullmatch(text, behind, small.span[0]):
                    minutes, behind = minutes + small.value, ends.end()
        elif unit := _LASTS_MINUTES.match(text, end):
            minutes, behind = number.value, unit.end()
        if minutes is not None:
            found.append(Lasting(minutes, (start, behind), text[start:behind]))
    found = [
        replace(one, repeats=_EVERY.search(text, max(0, one.span[0] - 12), one.span[0]) is not None) for one in found
    ]
    return tuple(sorted(found, key=lambda one: one.span))


def _hours(written: str) -> Fraction:
    """Read the hours before a half: 1, two, 三."""
    if written.isdecimal():
        return Fraction(written)
    value = read_english(written.lower()) if written.isascii() else read_han(written.replace("兩", "两"))
    return Fraction(value or 0)
