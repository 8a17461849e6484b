"""The dates that texts give: those written in them, and those that follow from their words (`next Monday`, `three nights`)."""

import calendar
import re
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from functools import lru_cache

from ..errors import ToolError
from ..tools._dates import find_dates, find_weekdays
from ..tools._numbers import find_numbers
from ..tools._numerals import read_han

_SLASHED = re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})/(\d{4})(?![\d/])")
_COMPACT = re.compile(r"(?<!\d)((?:19|20)\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?!\d)")
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = rf"(?P<name>{'|'.join(_MONTHS)})[a-z]*\.?"
_ENGLISH = (
    re.compile(rf"\b{_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s*,?\s+(?P<year>\d{{4}})\b", re.I),
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}\s*,?\s+(?P<year>\d{{4}})\b", re.I),
)
_NO_YEAR = (
    re.compile(rf"\b{_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d*[:.]\d)", re.I),
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}", re.I),
    re.compile(r"(?P<month>\d{1,2})\s*月\s*(?P<day>\d{1,2})\s*[日号]?"),
    re.compile(r"(?<![\d/.-])(?P<month>\d{1,2})[/-](?P<day>\d{1,2})(?![\d/.-])"),
)
_MONTH_OF_YEAR = (
    re.compile(rf"\b{_MONTH}\s+(?:of\s+)?(?P<year>(?:19|20)\d{{2}})\b", re.I),
    re.compile(r"(?P<year>(?:19|20)\d{2})\s*[年/-]\s*(?P<month>\d{1,2})(?!\d)"),
)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d{2}(?!\d)")
_NOW = re.compile(r"(?:today|current(?:ly)?|\bnow\b|this is|the date|it is|今天|今日|当前|现在|当天|日期)", re.I)
_DAYS = {
    0: r"today|tonight|this (?:morning|afternoon|evening)|今天|今日|今晚|今早", 1: r"tomorrow|明天|明日|明晚|明早",
    -1: r"yesterday|last night|昨天|昨日|昨晚", 2: r"day after tomorrow|后天",
    -2: r"day before yesterday|前天", 3: r"大后天", -3: r"大前天",
}  # fmt: skip
_LENGTH = re.compile(r"\s*(?:个|full |business |more |-)?\s*(?P<unit>天|晚|夜|day|night|周|星期|礼拜|week|(?<=个)月|month|年|year)", re.I)
_HAN_LENGTH = re.compile(r"([一二两三四五六七八九十]{1,3})个?([晚夜天周年]|星期|礼拜|(?<=个)月)")
_UNITS = {
    **dict.fromkeys(("天", "晚", "夜", "day", "night"), 1), **dict.fromkeys(("周", "星期", "礼拜", "week"), 7),
}  # fmt: skip
_PERIOD = re.compile(r"week|month|quarter|year|weekend|周|星期|礼拜|月|季度|年|[qQ][1-4]", re.I)
NEAR = 50  # characters after a word for today in which its date may stand
WEEKS = 14  # days around today that `Friday` may mean
MAX_ANCHORS = 500


@lru_cache(maxsize=1024)  # the texts of a run are read again at each of its calls
def written_dates(text: str) -> frozenset[date]:
    """The complete dates in a text; both readings of one that has two (3/4/2020)."""
    text = unicodedata.normalize("NFKC", text)
    found: set[date] = set()
    for first, second, year in _SLASHED.findall(text):
        found.update(_days((int(year), int(first), int(second)), (int(year), int(second), int(first))))
    for parts in _COMPACT.findall(text):
        found.update(_days(tuple(map(int, parts))))
    for pattern in _ENGLISH:  # read here: `find_dates` takes ten milliseconds for each
        for match in pattern.finditer(text):
            found.update(_days((int(match["year"]), _month(match), int(match["day"]))))
        text = pattern.sub(" ", text)
    try:
        return frozenset(found | {item.value for item in find_dates(_SLASHED.sub(" ", text)) if item.value})
    except ToolError:
        return frozenset(found)


def given_dates(texts: Iterable[str], clocks: Iterable[str] = ()) -> set[date]:
    """Every date that the texts give, or that follows from them and from today.

    Today is a date beside a word that says so, or the result of a clock. From today follow relative days and weekdays near it;
    from any date, one so many days, weeks, months or years on as the texts say; from a month, a quarter or a year, its first
    day, its last one, and the day after. A day without a year is of the years that the texts name, or of any where they name none.
    """
    texts = list(texts)
    text = unicodedata.normalize("NFKC", "\n".join(texts))
    today = _today(text) | {day for clock in clocks for day in written_dates(clock)}
    found = {day for one in texts for day in written_dates(one)} | today
    years = {int(year) for year in _YEAR.findall(text)}
    near = {day.year + step for day in today for step in (-1, 0, 1)} or years or set(range(2000, 2041))
    for pattern in _NO_YEAR:
        for match in pattern.finditer(text):
            found.update(_days(*((year, _month(match), int(match["day"])) for year in near | years)))
    found.update(_relative(text, today))
    anchors = sorted(found)[:MAX_ANCHORS]
    found.update(other for one in texts for length in _lengths(one) for day in anchors for other in _moved(day, length))
    return found | _periods(text, today, years)


def _month(match: re.Match[str]) -> int:
    parts = match.groupdict()
    return int(parts["month"]) if parts.get("month") else _MONTHS.index(parts["name"].lower()) + 1


def _days(*parts: tuple[int, ...]) -> Iterator[date]:
    for year, month, day in parts:
        if 1 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]:
            yield date(year, month, day)


def _today(text: str) -> set[date]:
    return {day for match in _NOW.finditer(text) for day in written_dates(text[match.end() : match.end() + NEAR])}


def _relative(text: str, today: set[date]) -> Iterator[date]:
    weekdays = {number for number, _ in find_weekdays(text)} if today else set()
    if re.search(r"weekend|周末", text, re.I):
        weekdays |= {4, 5, 6, 0}
    for day in today:
        for step, wording in _DAYS.items():
            if re.search(wording, text, re.I):
                yield from _shifted(day, step)
        for step in range(-WEEKS, WEEKS + 1):
            for other in _shifted(day, step):
                if other.weekday() in weekdays:
                    yield other


def _lengths(text: str) -> set[tuple[int, str]]:
    found = set()
    for number in find_numbers(text):
        match = _LENGTH.match(text, number.span[1])
        if match and number.value.denominator == 1 and 0 < number.value <= 400:
            found.add((int(number.value), match["unit"].lower()))
    for numeral, unit in _HAN_LENGTH.findall(text):
        if (value := read_han(numeral)) is not None:
            found.add((int(value), unit))
    if re.search(r"\ba (?:week|fortnight)\b|一周|next week|last week|上周|下周", text, re.I):
        found.add((1, "week"))
    return found


def _moved(day: date, length: tuple[int, str]) -> Iterator[date]:
    number, unit = length
    for sign in (-1, 1):
        if unit in _UNITS:
            for less in (0, 1):  # the past 7 days may count today
                yield from _shifted(day, sign * (number * _UNITS[unit] - less))
        else:
            months = day.year * 12 + day.month - 1 + sign * number * (12 if unit in ("年", "year") else 1)
            yield from _days((months // 12, months % 12 + 1, day.day))


def _shifted(day: date, days: int) -> Iterator[date]:
    try:
        yield day + timedelta(days=days)
    except OverflowError:
        return


def _periods(text: str, today: set[date], years: set[int]) -> set[date]:
    """The first days, the last days and the days after of the months, quarters and years that the text speaks of."""
    starts = {(int(m["year"]), _month(m), 1) for pattern in _MONTH_OF_YEAR for m in pattern.finditer(text) if _month(m) in range(1, 13)}
    named = {_MONTHS.index(name.lower()) + 1 for name in re.findall(rf"\b({'|'.join(_MONTHS)})[a-z]*\b", text, re.I)}
    named |= {int(month) for month in re.findall(r"(?<!\d)(\d{1,2})\s*月(?!\s*\d)", text) if 1 <= int(month) <= 12}
    starts |= {(year, month, 1) for year in years for month in named}
    if _PERIOD.search(text):
        around = years | {day.year + step for day in today for step in (-1, 0, 1)}
        starts |= {(year, 1, 12) for year in around}
        if re.search(r"quarter|季度|\bq[1-4]\b", text, re.I):
            starts |= {(year, month, 3) for year in around for month in (1, 4, 7, 10)}
        if re.search(r"month|月", text, re.I):
            turns = {day.year * 12 + day.month - 1 + step for day in today for step in (-1, 0, 1)}
            starts |= {(turn // 12, turn % 12 + 1, 1) for turn in turns}
    found: set[date] = set()
    for year, month, length in starts:
        after = year * 12 + month - 1 + length
        for day in _days((year, month, 1), (after // 12, after % 12 + 1, 1)):
            found.update((day, *_shifted(day, -1)))
    return found
