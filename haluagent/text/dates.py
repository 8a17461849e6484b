"""Calendar dates in Chinese and English text, and the days, weekdays and lengths of time stated beside them."""

import re
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from haluagent.errors import ToolError
from haluagent.text.numbers import find_numbers
from haluagent.types import Span

_HAN_DIGITS = dict(zip("〇零○一二三四五六七八九", "000123456789", strict=True))
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\.?"
)
_HAN_DAY = r"[0-9]{1,2}|[一二三四五六七八九十廿卅]{1,3}"
_CHINESE = re.compile(
    rf"(?P<year>[0-9]{{4}}|[〇零○一二三四五六七八九]{{4}})\s*年\s*"
    rf"(?P<month>{_HAN_DAY})\s*月\s*(?P<day>{_HAN_DAY})\s*[日号]?"
)
_NUMERIC = re.compile(
    r"(?<![\d.])(?P<year>[0-9]{4})\s?([-./])\s?(?P<month>[0-9]{1,2})\s?\2\s?(?P<day>[0-9]{1,2})(?!\d)"
)
_ENGLISH = re.compile(
    rf"\b{_MONTH}\s+[0-9]{{1,2}}(?:st|nd|rd|th)?\s*,?\s+[0-9]{{4}}\b|"
    rf"\b[0-9]{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}\s*,?\s+[0-9]{{4}}\b",
    re.IGNORECASE,
)
_SLASHED = re.compile(r"(?<![\d/])(?P<first>[0-9]{1,2})/(?P<second>[0-9]{1,2})/(?P<year>[0-9]{4})(?![\d/])")

_HAN_WEEKDAYS = "一二三四五六日"
_ENGLISH_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_WEEKDAY = re.compile(rf"(?:星期|周|礼拜)([{_HAN_WEEKDAYS}天])|\b(?:{'|'.join(_ENGLISH_WEEKDAYS)})\b", re.IGNORECASE)
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
class Duration:
    """A stated length of time: a number of `days`, `weeks` or `months`."""

    value: Fraction
    unit: str
    span: Span
    text: str


def find_dates(text: str) -> list[FoundDate]:
    """The complete dates of `text`, in order: year, month and day.

    Raises ToolError for one that can be read in two ways (3/4/2020).
    """
    found = []
    for pattern in (_CHINESE, _NUMERIC):
        for match in pattern.finditer(text):
            parts = [_number(match[name]) for name in ("year", "month", "day")]
            found.append(FoundDate(_day(*parts), match.span(), match[0].strip()))
    for match in _ENGLISH.finditer(text):
        found.append(FoundDate(_english(match[0]), match.span(), match[0]))
    for match in _SLASHED.finditer(text):
        found.append(FoundDate(_slashed(match), match.span(), match[0]))
    return sorted(found, key=lambda item: item.span)


def find_weekdays(text: str) -> list[tuple[int, Span]]:
    """The weekdays named in `text`, Monday as 0."""
    days = []
    for match in _WEEKDAY.finditer(text):
        if match[1]:
            number = _HAN_WEEKDAYS.index(match[1].replace("天", "日"))
        else:
            number = next(i for i, name in enumerate(_ENGLISH_WEEKDAYS) if name.lower() == match[0].lower())
        days.append((number, match.span()))
    return days


def weekday_name(day: date, language: str) -> str:
    return f"星期{_HAN_WEEKDAYS[day.weekday()]}" if language == "zh" else _ENGLISH_WEEKDAYS[day.weekday()]


def find_durations(text: str) -> list[Duration]:
    """The lengths of time stated in `text`, dates left aside. A bare number that is all the text says is days."""
    dates = [item.span for item in find_dates(text)]
    numbers = [
        number for number in find_numbers(text)
        if not any(start < number.span[1] and number.span[0] < end for start, end in dates)
    ]  # fmt: skip
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


def _number(text: str) -> int:
    if text.isascii():
        return int(text)
    text = text.replace("廿", "二十").replace("卅", "三十")
    if "十" not in text:
        return int("".join(_HAN_DIGITS[character] for character in text))
    tens, _, ones = text.partition("十")
    return 10 * int(_HAN_DIGITS.get(tens[:1], "1")) + int(_HAN_DIGITS.get(ones[:1], "0"))


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _english(text: str) -> date | None:
    import dateparser  # takes a third of a second to load, and only English dates need it

    plain = re.sub(r"(?<=\d)(?:st|nd|rd|th)|\bof\b|\.", " ", text, flags=re.IGNORECASE)
    settings = {"STRICT_PARSING": True, "PARSERS": ["absolute-time"], "REQUIRE_PARTS": ["day", "month", "year"]}
    parsed = dateparser.parse(" ".join(plain.split()), languages=["en"], settings=settings)
    return parsed.date() if parsed else None


def _slashed(match: re.Match[str]) -> date | None:
    first, second, year = (int(match[name]) for name in ("first", "second", "year"))
    if first <= 12 and second <= 12 and first != second:
        raise ToolError(
            f"{match[0]} can be {_MONTHS[first - 1].title()} {second} or {first} {_MONTHS[second - 1].title()}; "
            "write the date as YYYY-MM-DD"
        )
    month, day = (second, first) if first > 12 else (first, second)
    return _day(year, month, day)
