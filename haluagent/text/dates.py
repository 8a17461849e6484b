"""Calendar dates in Chinese and English text, and the days, weekdays and lengths of time stated beside them."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from haluagent.errors import ToolError
from haluagent.text.numbers import find_numbers
from haluagent.text.numerals import HAN_NUMERALS
from haluagent.text.places import Taken
from haluagent.types import Span

GREGORIAN_IN_ENGLAND = date(1753, 1, 1)
GREGORIAN_EVERYWHERE = date(1923, 3, 1)
"""Before this day a date may be a Julian one: Greece was the last to change."""

MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
MONTH = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\.?"
)
LOOSE_MONTH = rf"(?P<name>{'|'.join(MONTHS)})[a-z]*\.?"
"""A month that may be misspelt or in another language (`Febuary`, `janvier`); `decided` is read as one too."""

_HAN_DIGITS = dict(zip("〇零○一二三四五六七八九", "000123456789", strict=True))
_HAN_DAY = r"[0-9]{1,2}|[一二三四五六七八九十廿卅]{1,3}"
_IN_FIGURES = (
    re.compile(
        rf"(?P<year>[0-9]{{4}}|[〇零○一二三四五六七八九]{{4}})\s*年\s*"
        rf"(?P<month>{_HAN_DAY})\s*月\s*(?P<day>{_HAN_DAY})(?:\s*[日号]|(?![^\W_]))"
    ),
    # A time may follow (2020-03-01T10:00), but nothing that makes it a version, a number of a part or a quotient.
    re.compile(
        r"(?<![A-Za-z0-9_.-])(?P<year>[0-9]{4})(?P<mark>[-./])(?P<month>[0-9]{1,2})(?P=mark)(?P<day>[0-9]{1,2})(?![-./]?\d|[A-SU-Za-z_])"
    ),
)
_COMPACT = re.compile(r"(?<!\d)(?P<year>(?:19|20)\d{2})(?P<month>0[1-9]|1[0-2])(?P<day>0[1-9]|[12]\d|3[01])(?!\d)")
_SLASHED = re.compile(r"(?<![\d/])(?P<first>[0-9]{1,2})/(?P<second>[0-9]{1,2})/(?P<year>[0-9]{4})(?![\d/])")


def _english(month: str) -> tuple[re.Pattern[str], ...]:
    day = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
    return (
        re.compile(rf"\b{month}\s+{day}\s*,?\s+(?P<year>[0-9]{{4}})\b", re.IGNORECASE),
        re.compile(rf"\b{day}\s+(?:of\s+)?{month}\s*,?\s+(?P<year>[0-9]{{4}})\b", re.IGNORECASE),
    )


def _without_year(month: str) -> tuple[re.Pattern[str], ...]:
    day = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
    return (
        re.compile(
            r"(?<!\d)(?P<month>\d{1,2})\s*月\s*(?P<day>\d{1,2})(?!\d|\s*[万千百亿萬億名人元家个個件只%％])\s*[日号]?"
        ),
        re.compile(
            rf"(?<![{HAN_NUMERALS}])(?P<month>十?[一二三四五六七八九]|十)月(?P<day>[一二三四五六七八九十廿卅]{{1,3}})[日号]"
        ),
        # Not the number of an item of a list: 20 October.\n\n4. Allotments
        re.compile(rf"\b{month}(?!\s*\n\s*\d+[.)]\s)\s+{day}\b(?!\d*[:.]\d)", re.IGNORECASE),
        re.compile(rf"(?<![\da-z]){day}\s+(?:of\s+)?{month}(?![a-z])", re.IGNORECASE),
    )


_STRICT = (*_IN_FIGURES, *_english(MONTH))
_LOOSE = (*_IN_FIGURES, _COMPACT, *_english(LOOSE_MONTH))
_STRICT_DAYS = _without_year(MONTH)
_LOOSE_DAYS = (
    *_without_year(LOOSE_MONTH),
    re.compile(r"(?<![\d/.-])(?P<month>\d{1,2})[/-](?P<day>\d{1,2})(?![\d/.-])"),
)

_HAN_WEEKDAYS = "一二三四五六日"
_ENGLISH_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_WEEKDAY = re.compile(
    rf"(?:星期|[周週]|[礼禮]拜)([{_HAN_WEEKDAYS}天])|\b(?:{'|'.join(_ENGLISH_WEEKDAYS)})\b", re.IGNORECASE
)
_DURATION_UNIT = re.compile(
    r"\s*(?:个)?(?P<unit>天|日(?!期)|星期|周|礼拜|月|(?:calendar |full |whole )?days?\b|weeks?\b|months?\b)",
    re.IGNORECASE,
)
_UNIT_NAMES = {"天": "days", "日": "days", "星期": "weeks", "周": "weeks", "礼拜": "weeks", "月": "months"}


@dataclass(frozen=True)
class FoundDate:
    """A date in a text. `value` is None where there is no such day (2023-02-30)."""

    value: date | None
    span: Span
    text: str


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
        return calendar_day(self.year, self.month, self.day) if self.year else None


@dataclass(frozen=True)
class Duration:
    """A stated length of time: a number of `days`, `weeks` or `months`."""

    value: Fraction
    unit: str
    span: Span
    text: str


def find_dates(text: str) -> list[FoundDate]:
    """Return the complete dates of `text`, in order: year, month and day.

    Raises ToolError for one that can be read in two ways (3/4/2020).
    """
    found = []
    for span, readings in _complete(text, _STRICT):
        stated = text[slice(*span)].strip()
        if len(readings) > 1:
            (_, first, second), _ = readings
            raise ToolError(
                f"{stated} can be {MONTHS[first - 1].title()} {second} or {first} {MONTHS[second - 1].title()}; "
                "write the date as YYYY-MM-DD"
            )
        found.append(FoundDate(calendar_day(*readings[0]), span, stated))
    return sorted(found, key=lambda item: item.span)


def find_days(text: str) -> list[Day]:
    """Return the days of `text`, in order, with or without a year. One that can be read in two ways (3/4/2020) is none."""
    found, taken = [], Taken(len(text))
    for span, readings in _complete(text, _STRICT):
        if len(readings) == 1 and calendar_day(*readings[0]):
            found.append(Day(*readings[0], span, text[slice(*span)].strip()))
            taken.add(span)
    for pattern in _STRICT_DAYS:
        for match in pattern.finditer(text):
            month, day = month_of(match), _number(match["day"])
            if not taken.meets(match.span()) and 1 <= month <= 12 and 1 <= day <= 31:
                found.append(Day(None, month, day, match.span(), match[0].strip()))
                taken.add(match.span())
    return sorted(found, key=lambda one: one.span)


def possible_dates(text: str) -> frozenset[date]:
    """Return the complete dates that a text may give.

    Read generously, since what was given is no invention: both ways of 3/4/2020, 20200304, and misspelt months.
    """
    text = unicodedata.normalize("NFKC", text)
    return frozenset(
        day for _, readings in _complete(text, _LOOSE) for parts in readings if (day := calendar_day(*parts))
    )


def date_places(text: str) -> Iterator[Span]:
    """Yield in order where the dates stand that `possible_dates` reads, none inside another."""
    last = 0
    for start, end in sorted(span for span, _ in _complete(text, _LOOSE)):
        if start >= last:
            yield start, end
            last = end


def possible_days(text: str) -> Iterator[tuple[int, int]]:
    """Yield month and day of what may be a day without its year, read as generously as by `possible_dates`."""
    return ((month_of(match), _number(match["day"])) for pattern in _LOOSE_DAYS for match in pattern.finditer(text))


def find_weekdays(text: str) -> list[tuple[int, Span]]:
    """Return the weekdays named in `text`, Monday as 0."""
    days = []
    for match in _WEEKDAY.finditer(text):
        if match[1]:
            number = _HAN_WEEKDAYS.index(match[1].replace("天", "日"))
        else:
            number = next(i for i, name in enumerate(_ENGLISH_WEEKDAYS) if name.lower() == match[0].lower())
        days.append((number, match.span()))
    return days


def weekday_name(day: date, language: str) -> str:
    """Return the name of the weekday of `day`."""
    return f"星期{_HAN_WEEKDAYS[day.weekday()]}" if language == "zh" else _ENGLISH_WEEKDAYS[day.weekday()]


def find_durations(text: str) -> list[Duration]:
    """Return the lengths of time stated in `text`, dates left aside. A bare number that is all the text says is days."""
    dates, taken = find_dates(text), Taken(len(text))
    for item in dates:
        taken.add(item.span)
    numbers = [number for number in find_numbers(text) if not taken.meets(number.span)]
    found = []
    for number in numbers:
        match = _DURATION_UNIT.match(text, number.span[1])
        if match:
            unit = _UNIT_NAMES.get(match["unit"]) or match["unit"].lower().split()[-1].rstrip("s") + "s"
            span = (number.span[0], match.end())
            found.append(Duration(number.value, unit, span, text[slice(*span)]))
    if not found and len(numbers) == 1 and not dates and len(text.strip()) <= len(numbers[0].text) + 2:
        found = [Duration(numbers[0].value, "days", numbers[0].span, numbers[0].text)]
    return found


def _complete(text: str, patterns: tuple[re.Pattern[str], ...]) -> Iterator[tuple[Span, list[tuple[int, int, int]]]]:
    """Yield the place of each date with a year, and the ways to read it as year, month and day."""
    for pattern in patterns:
        for match in pattern.finditer(text):
            yield match.span(), [(_number(match["year"]), month_of(match), _number(match["day"]))]
    for match in _SLASHED.finditer(text):
        first, second, year = (int(match[name]) for name in ("first", "second", "year"))
        months_first = [(year, first, second)] if first <= 12 else []
        days_first = [(year, second, first)] if second <= 12 and first != second else []
        yield match.span(), months_first + days_first or [(year, first, second)]


def month_of(match: re.Match[str]) -> int:
    """Return the number of the month in the group `name` or `month` of a match."""
    parts = match.groupdict()
    return MONTHS.index(parts["name"][:3].lower()) + 1 if "name" in parts else _number(parts["month"])


def _number(text: str) -> int:
    if text.isdecimal():
        return int(text)
    text = text.replace("廿", "二十").replace("卅", "三十")
    if "十" not in text:
        return int("".join(_HAN_DIGITS[character] for character in text))
    tens, _, ones = text.partition("十")
    return 10 * int(_HAN_DIGITS.get(tens[:1], "1")) + int(_HAN_DIGITS.get(ones[:1], "0"))


def calendar_day(year: int, month: int, day: int) -> date | None:
    """Return that day, None where the calendar has none."""
    try:
        return date(year, month, day)
    except ValueError:
        return None
