"""Days and times of day as people write them, in parts: 5 March, 3月5日, 2:30 pm, 下午2点半."""

import re
from dataclasses import dataclass
from datetime import date

from ..errors import ToolError
from ..tools._dates import find_dates
from ..types import Span

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_PARTIAL = [
    re.compile(r"(?<!\d)(?P<number>\d{1,2})\s*月\s*(?P<day>\d{1,2})\s*[日号]?"),
    re.compile(rf"\b{_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)", re.I),
    re.compile(rf"(?<!\d)(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?![a-z])", re.I),
]
_CLOCK = re.compile(
    r"(?<![\d:.-])(?P<hour>[01]?\d|2[0-3])[:：](?P<minute>[0-5]\d)(?::[0-5]\d)?(?:\.\d+)?(?![\d:])\s*(?P<half>[ap]\.?m\b)?"
    r"|(?<![\d:.-])(?P<plain>1[0-2]|[1-9])\s*(?P<am>[ap]\.?m\b)",
    re.I,
)
_HAN_CLOCK = re.compile(
    r"(?P<half>凌晨|早上|上午|中午|下午|傍晚|晚上|晚)?\s*(?P<hour>[01]?\d|2[0-3])\s*(?:[点时](?!间)(?P<part>半|(?:\d{1,2})分?)?|[:：](?P<minute>[0-5]\d))"
)
_LATE = ("下午", "傍晚", "晚上", "晚")


@dataclass(frozen=True)
class Day:
    """A day; `year` is None where the text gives none."""

    year: int | None
    month: int
    day: int
    span: Span
    text: str

    def is_same(self, other: "Day") -> bool:
        years = {self.year, other.year} - {None}
        return (self.month, self.day) == (other.month, other.day) and len(years) < 2

    def date(self) -> date | None:
        try:
            return date(self.year, self.month, self.day) if self.year else None
        except ValueError:
            return None


@dataclass(frozen=True)
class Clock:
    """A time of day in minutes; `twice` where it may be before noon or after it."""

    minutes: int
    twice: bool
    span: Span
    text: str

    def is_same(self, other: "Clock") -> bool:
        ambiguous = self.twice or other.twice
        return (self.minutes - other.minutes) % (720 if ambiguous else 1440) == 0


def find_days(text: str) -> list[Day]:
    """The days of a text, in order. A date that can be read in two ways (3/4/2020) is none."""
    try:
        found = [
            Day(item.value.year, item.value.month, item.value.day, item.span, item.text)
            for item in find_dates(text)
            if item.value
        ]
    except ToolError:
        found = []
    for pattern in _PARTIAL:
        for match in pattern.finditer(text):
            if any(day.span[0] < match.end() and match.start() < day.span[1] for day in found):
                continue
            parts = match.groupdict()
            month = int(parts["number"]) if "number" in parts else _MONTHS.index(parts["month"].lower()) + 1
            if 1 <= month <= 12 and 1 <= int(parts["day"]) <= 31:
                found.append(Day(None, month, int(parts["day"]), match.span(), match[0].strip()))
    return sorted(found, key=lambda day: day.span)


def find_clocks(text: str) -> list[Clock]:
    """The times of day of a text, in order."""
    found: list[Clock] = []
    masked = re.sub(r"(?<=\d)T(?=\d\d:)", " ", text)  # 2025-03-05T14:30
    masked = re.sub(r"(?<=:\d\d)(?:\.\d+)?[+-]\d\d:\d\d", lambda zone: " " * len(zone[0]), masked)
    for match in _HAN_CLOCK.finditer(masked):
        hour, part, half = int(match["hour"]), match["part"], match["half"]
        minute = 30 if part == "半" else int(match["minute"] or (part or "0").rstrip("分"))
        if minute > 59 or (match["minute"] is not None and not half):
            continue  # without 上午 or 下午 the other pattern reads 14:30
        late = half in _LATE or (half == "中午" and hour < 3)
        hour += 12 * (late and hour < 12)
        found.append(Clock(hour * 60 + minute, not half and 0 < hour <= 12, match.span(), match[0].strip()))
    for match in _CLOCK.finditer(masked):
        if any(clock.span[0] < match.end() and match.start() < clock.span[1] for clock in found):
            continue
        half = (match["half"] or match["am"] or "").lower()
        hour = int(match["hour"] or match["plain"])
        if half:
            hour = hour % 12 + 12 * half.startswith("p")
        written = match["hour"] or ""
        twice = not half and 0 < hour <= 12 and not written.startswith("0")
        found.append(Clock(hour * 60 + int(match["minute"] or 0), twice, match.span(), match[0].strip()))
    return sorted(found, key=lambda clock: clock.span)
