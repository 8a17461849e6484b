"""The dates that texts give: those written in them, and those that follow from their words (`next Monday`, `three
nights`)."""

import re
import unicodedata
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from itertools import combinations
from string import ascii_letters, digits

from haluagent.text.dates import (
    LOOSE_MONTH,
    MONTH,
    MONTHS,
    calendar_day,
    date_places,
    find_weekdays,
    month_of,
    possible_dates,
    possible_days,
)
from haluagent.text.numbers import find_numbers
from haluagent.text.numerals import read_han
from haluagent.text.places import covered
from haluagent.types import Span

_MONTH_OF_YEAR = (
    re.compile(rf"\b{LOOSE_MONTH}\s+(?:of\s+)?(?P<year>(?:19|20)\d{{2}})\b", re.I),
    re.compile(r"(?P<year>(?:19|20)\d{2})\s*[年/-]\s*(?P<month>\d{1,2})(?!\d)"),
)
_MONTH_NAME = re.compile(rf"\b({'|'.join(MONTHS)})[a-z]*\b", re.I)
_NAMELESS = MONTH.replace("?P<name>", "?:")
_DAY_IN_MONTH = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_NAMELESS}(?![a-z])"
    rf"|\b{_NAMELESS}\s+\d{{1,2}}(?!\d)",
    re.I,
)
_TO = r"(?:st|nd|rd|th)?\s{0,3}(?:-|–|to|and|until|till|through)\s{0,3}"
_DAYS_OF_MONTH = (  # `3-5 March`, `June 1 to 15`: the day that stands apart from the month
    re.compile(rf"\b(?P<day>\d{{1,2}}){_TO}\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{MONTH}(?![a-z])", re.I),
    re.compile(rf"\b{MONTH}\s+\d{{1,2}}{_TO}(?P<day>\d{{1,2}})(?![\d:])", re.I),
)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d{2}(?!\d)")
_DAY_OF_MONTH = re.compile(r"\bthe (\d{1,2})(?:st|nd|rd|th)\b|(?<![月\d])\s?(\d{1,2})[号日]", re.I)
BESIDE = 4  # characters between a date and the weekday that it has
_NOW = re.compile(r"(?:today|current(?:ly)?|\bnow\b|this is|the date|it is|今天|今日|当前|现在|当天|日期)", re.I)
_DAYS = {
    0: r"today|tonight|this (?:morning|afternoon|evening)|今天|今日|今晚|今早", 1: r"tomorrow|明天|明日|明晚|明早",
    -1: r"yesterday|last night|昨天|昨日|昨晚", 2: r"day after tomorrow|后天",
    -2: r"day before yesterday|前天", 3: r"大后天", -3: r"大前天",
}  # fmt: skip
_LENGTH = re.compile(
    r"\s*(?:个|full |business |more |-)?\s*(?P<unit>天|晚|夜|day|night|周|星期|礼拜|week|(?<=个)月|month|年|year)", re.I
)
_LENGTH_UNIT = re.compile("天|晚|夜|周|星期|礼拜|月|年|day|night|week|month|year", re.I)
_HAN_LENGTH = re.compile(r"([一二两三四五六七八九十]{1,3})个?([晚夜天周年]|星期|礼拜|(?<=个)月)")
_UNITS = {
    **dict.fromkeys(("天", "晚", "夜", "day", "night"), 1), **dict.fromkeys(("周", "星期", "礼拜", "week"), 7),
}  # fmt: skip
_PERIODS = {
    12: r"week|month|quarter|year|weekend|周|星期|礼拜|月|季度|年|[qQ][1-4]", 3: r"quarter|季度|\bq[1-4]\b", 1: r"month|月",
}  # fmt: skip
_IN_WORDS = f"{ascii_letters}{digits}/.-"
# What a user may mean by a span of time that is not worked out here lies at most so many days from a given day.
_SPANS = tuple(
    (re.compile(wording, re.I), days)
    for wording, days in (
        (r"hour|小时", 7),
        (r"\b(?:working|business|week)[ -]?days?\b|工作日|[a-z]-day\b", 40),
        (r"week|周|星期|礼拜", 28),
        (r"month|个月|[上下本这当每]月|月[初底末中]|[上中下]旬", 75),
        (r"\bquarter|季度", 190),
        (r"year|semester|spring|summer|autumn|winter|holidays?\b|christmas|easter|valentine|halloween|thanksgiving"
         r"|\b(?:first|second|third|last) \w+day\b|\b(?:end|start|beginning|middle) of|mid-"
         r"|[今去明前后近每半]年|[一二三四五六七八九十](?:[年月号日]|个月)|年[初底末]|假期|节|元旦|国庆|端午|清明|五一|除夕", 400),
        (r"\bexp(?:\b|ir)|valid (?:un)?til|到期|有效期", 8000),
    )
)  # fmt: skip
NEAR = 50  # characters after a word for today in which its date is looked for
END = NEAR + 30  # characters of a text that are read again with the next one, in which a phrase may continue
PAIRS = 60  # days whose distances are looked at
BEFORE, AFTER = 7, 14  # days around today that `Friday` may mean
ANY_YEAR = range(2000, 2041)


class GivenDates:
    """The dates that texts give, or that follow from them and from today.

    Today is a date beside a word that says so, or the result of a clock. From today follow relative days and weekdays
    near it; from any date, those as many days, weeks, months or years away as the texts say; from a month, a quarter or
    a year, its first day, its last one, and the day after. A day without a year is in one of the years that the texts
    name, or in any if they name none.

    Each text is read once. What follows from it is not stored but found backwards from the day asked for.
    """

    def __init__(self) -> None:
        self._unread: list[tuple[str, bool]] = []
        self._end = ""
        self._written: set[date] = set()
        self._yearless: set[tuple[int, int]] = set()  # month and day
        self._years: set[int] = set()
        self._today: set[date] = set()
        self._around: set[date] = set()  # the days around today
        self._years_around: set[int] = set()
        self._months_around: set[int] = set()  # months are counted from the year 0
        self._days_of_months: set[int] = set()
        self._steps: set[int] = set()  # days from today
        self._weekdays: set[int] = set()
        self._days_on: set[int] = set()  # days between one date and another
        self._months_on: set[int] = set()
        self._months: set[int] = set()
        self._month_names: set[int] = set()
        self._periods: set[int] = set()  # the lengths, in months, of the periods mentioned
        self._in_order: list[date] | None = []  # those written
        self._reach = 0  # days

    def add(self, text: str, *, clock: bool = False, said: bool = False) -> None:
        """Add a text; that of a `clock` says what day it is, and what is `said` is the user's."""
        self._unread.append((text, clock))
        if said:
            self._reach = max([self._reach, *(days for wording, days in _SPANS if wording.search(text))])

    def has(self, day: date) -> bool:
        """Return whether the texts give a day."""
        self._read_all()
        return self._is_said(day) or any(map(self._is_said, self._moved(day))) or self._is_turn(day)

    def apart(self, days: int) -> bool:
        """Return whether two days that the texts give are so many days apart, or one more if both are counted."""
        self._read_all()
        leap = {day for month, number in self._yearless if (day := calendar_day(2000, month, number))}
        given = [*self._written, *leap][:PAIRS]
        lone = sorted(self._days_of_months)
        return any(abs((one - other).days) in (days, days - 1) for one, other in combinations(given, 2)) or any(
            other - one == days for one, other in combinations(lone, 2)
        )

    def may_mean(self, days: Iterable[date]) -> bool:
        """Return whether the user names a span of time, and one of the days is not too far from a given one for it."""
        self._read_all()
        if not self._reach:
            return False
        if self._in_order is None:
            self._in_order = sorted(self._written)
        given = self._in_order
        return not given or any(
            abs((day - one).days) <= self._reach
            for day in days for at in [bisect(given, day)] for one in given[max(0, at - 1) : at + 1]
        )  # fmt: skip

    def is_near(self, year: int) -> bool:
        """Return whether a year is that of today, or the one before or after it, or one in a span that the user names."""
        self._read_all()
        return (
            year in self._years_around
            or self.may_mean(day for month in (1, 12) if (day := calendar_day(year, month, 1)))
            or any(abs(year - one.year) * 12 in self._months_on for one in self._today)
        )

    def years_since(self, year: int) -> Iterator[int]:
        """Yield how many years ago a year may have been: the age of who was born then."""
        self._read_all()
        return (years for today in self._today for years in (today.year - year, today.year - year - 1) if years > 1)

    def _read_all(self) -> None:
        for text, clock in self._unread:
            self._read(text, clock)
        self._unread.clear()

    def _read(self, text: str, clock: bool) -> None:
        self._in_order = None
        written = possible_dates(text)
        self._written |= written
        if clock:
            self._add_today(written)
        for number, unit in _lengths(text):
            if unit in _UNITS:
                self._days_on |= {number * _UNITS[unit], number * _UNITS[unit] - 1}  # the past 7 days may include today
            else:
                self._months_on.add(number * (12 if unit in ("年", "year") else 1))
        text = f"{self._end}\n{unicodedata.normalize('NFKC', text)}"
        self._end = text[-END:].lstrip(_IN_WORDS)
        self._add_today(_today(text))
        self._years.update(map(int, _YEAR.findall(text)))
        self._yearless.update(possible_days(text))
        self._yearless.update(
            (MONTHS.index(match["name"][:3].lower()) + 1, int(match["day"]))
            for pattern in _DAYS_OF_MONTH for match in pattern.finditer(text)
        )  # fmt: skip
        self._steps.update(step for step, wording in _DAYS.items() if re.search(wording, text, re.I))
        dates = list(date_places(text))
        alone = _without_days(text, dates)
        self._weekdays.update(number for number, span in find_weekdays(text) if not _is_beside(span, dates, text))
        self._days_of_months.update(int(one or other) for one, other in _DAY_OF_MONTH.findall(text))
        if re.search(r"weekend|周末", text, re.I):
            self._weekdays |= {4, 5, 6, 0}
        self._months.update(
            int(match["year"]) * 12 + month_of(match) - 1
            for pattern in _MONTH_OF_YEAR for match in pattern.finditer(alone) if 1 <= month_of(match) <= 12
        )  # fmt: skip
        self._month_names.update(MONTHS.index(name.lower()) + 1 for name in _MONTH_NAME.findall(alone))
        self._month_names.update(int(month) for month in re.findall(r"(?<!\d)(\d{1,2})\s*月(?!\s*\d)", text))
        self._periods.update(length for length, wording in _PERIODS.items() if re.search(wording, text, re.I))

    def _add_today(self, days: Iterable[date]) -> None:
        for day in days:
            self._written.add(day)
            self._today.add(day)
            self._around.update(other for step in range(-BEFORE, AFTER + 1) for other in _shifted(day, step))
            self._years_around.update(range(day.year - 1, day.year + 2))
            self._months_around.update(range(_count(day) - 1, _count(day) + 2))

    def _is_said(self, day: date) -> bool:
        """Return whether a day is written, with or without its year, or lies the stated number of days from today, or
        is a weekday near it."""
        if day in self._written or (day in self._around and day.weekday() in self._weekdays):
            return True
        if (day.month, day.day) in self._yearless and (
            day.year in self._years or day.year in (self._years_around or self._years or ANY_YEAR)
        ):
            return True
        if day.day in self._days_of_months and (
            _count(day) in self._months_around or any(_count(day) - _count(one) in (0, 1) for one in self._written)
        ):
            return True
        return any(other in self._today for step in self._steps for other in _shifted(day, -step))

    def _moved(self, day: date) -> Iterator[date]:
        """Yield the days as far before or after a day as the texts say."""
        for sign in (-1, 1):
            for days in self._days_on:
                yield from _shifted(day, sign * days)
            for months in self._months_on:
                year, month = divmod(_count(day) + sign * months, 12)
                if moved := calendar_day(year, month + 1, day.day):
                    yield moved

    def _is_turn(self, day: date) -> bool:
        """Return whether a period begins or ends on a day, or ended the day before."""
        turns = [_count(first) for first in (day, *_shifted(day, 1)) if first.day == 1]
        return any(
            self._is_period(month, length) for turn in turns for length in _PERIODS for month in (turn, turn - length)
        )

    def _is_period(self, first: int, length: int) -> bool:
        """Return whether the texts mention the period that begins with month `first` and is `length` months long."""
        year, month = divmod(first, 12)
        if length == 1 and (first in self._months or (year in self._years and month + 1 in self._month_names)):
            return True
        if length not in self._periods:
            return False
        if length == 1:
            return first in self._months_around
        return month % length == 0 and (year in self._years or year in self._years_around)


def _is_beside(span: Span, dates: Sequence[Span], text: str) -> bool:
    """Return whether a weekday only says what day a date is; the dates are in order."""
    after = bisect(dates, span)
    between = [text[end : span[0]] for _, end in dates[max(0, after - 1) : after]]
    between += [text[span[1] : start] for start, _ in dates[after : after + 1]]
    return any(len(gap) <= BESIDE and not gap.strip(" ,(，（") for gap in between)


def _without_days(text: str, dates: Sequence[Span]) -> str:
    """Return a text without the days in it, so that the months in the rest stand alone."""
    return covered(text, [*dates, *(match.span() for match in _DAY_IN_MONTH.finditer(text))], " ")


def _today(text: str) -> set[date]:
    return {day for match in _NOW.finditer(text) for day in possible_dates(text[match.end() : match.end() + NEAR])}


def _lengths(text: str) -> set[tuple[int, str]]:
    found = set()
    for number in find_numbers(text) if _LENGTH_UNIT.search(text) else ():
        match = _LENGTH.match(text, number.span[1])
        if match and number.value.denominator == 1 and 0 < number.value <= 400:
            found.add((int(number.value), match["unit"].lower()))
    for numeral, unit in _HAN_LENGTH.findall(text):
        if (value := read_han(numeral)) is not None:
            found.add((int(value), unit))
    if re.search(r"\bfortnight\b|半个月", text, re.I):
        found.update(((14, "day"), (15, "day")))
    if re.search(r"\ba week\b|一周|next week|last week|上周|下周", text, re.I):
        found.add((1, "week"))
    return found


def _shifted(day: date, days: int) -> Iterator[date]:
    try:
        yield day + timedelta(days=days)
    except OverflowError:
        return


def _count(day: date) -> int:
    """Return a day's month, counted from the year 0."""
    return day.year * 12 + day.month - 1
