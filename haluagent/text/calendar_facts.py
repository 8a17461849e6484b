"""What the calendar adds to the dates of a text: lines to read beside it, which by themselves decide nothing.

A sentence may name a weekday, a day or a length of time that the text does not have, because it follows from the text's dates.
Which of them it follows from is for a reader to say; here the likely ones are computed, from what stands in the text alone:
what a sentence says itself does not speak for it.
"""

import calendar
import re
from bisect import bisect
from collections.abc import Iterable
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Literal, NamedTuple

from haluagent.text.date_claims import is_weekday
from haluagent.text.dates import (
    GREGORIAN_EVERYWHERE,
    GREGORIAN_IN_ENGLAND,
    Day,
    calendar_day,
    find_days,
    find_weekdays,
    weekday_name,
)
from haluagent.text.messages import message
from haluagent.text.numbers import numbers_named
from haluagent.text.numerals import ENGLISH_NUMBER, HAN_NUMBER, HAN_NUMERALS, read_english, read_han
from haluagent.text.places import covered
from haluagent.text.words import words
from haluagent.types import Language, Span

Unit = Literal["days", "weeks", "months", "years"]

MOST = 3  # lines for each weekday, day or length of a sentence
MOST_LINES = 9
MOST_DATES = 40  # dates and lengths of a text that are combined
MOST_SAID = 5  # days, and lengths, of a sentence
NEAR = 62  # days between what is said and what is computed: farther off it follows from something else
HALF_A_YEAR = 183  # days
NAMED_NEAR = 7  # days between a day and one that a text names by a weekday, or as yesterday
LEAP_YEAR = 2024
AROUND = 100  # characters around a day in which words of the sentence are looked for

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
# A year by itself: in 2024, May 2024, 2024年.
_YEAR = re.compile(
    rf"\b(?:in|since|from|until|year|season|winter|spring|summer|autumn|fall|{_MONTHS}),?\s(?P<en>(?:1[6-9]|20)\d\d)(?!\d|[,.]\d|[-/]\d)"
    r"(?!\s(?:people|euros|dollars|pounds|met(?:re|er)s|kilomet|tons|seats|copies|visitors|years|days))|"
    r"(?<!\d)(?P<zh>(?:1[6-9]|20)\d\d)\s?年(?!的?历史|的?歷史|[以之]?前|以[来來])",
    re.IGNORECASE,
)
_TWO_DIGITS = re.compile(r"(?<!\d)(\d\d)年$")  # 24年6月5日
_OTHER_CALENDAR = re.compile(r"(?:[农農阴陰旧舊夏]\s?[历曆]|\blunar|\bJulian)[^.;。；]{0,12}$", re.IGNORECASE)
_OTHER_STYLE = re.compile(r"\W{0,3}(?:Old Style|O\.\s?S\.|Julian|in the Julian|农历|農曆)", re.IGNORECASE)
_COUNTED = re.compile(r"\s*(?:%|percent\b|per cent\b|people\b)")
# 3-7 May, from 3 to 7 May; May 3-7, 5月3日至7日
_FROM = re.compile(r"(?<![\d.,])(\d{1,2})(?:st|nd|rd|th)?\s?(?:[-–—]|to|until|till|and)\s?$")
_TO = re.compile(r"\s?(?:[-–—~～]|至|到)\s?(\d{1,2})(?:[日号]|(?:st|nd|rd|th)?(?:,?\s(\d{4})\b)?)(?![\d:月./-])")
_LENGTH = re.compile(
    rf"(?<![A-Za-z0-9_.,/第几幾数數每隔至到–—～{HAN_NUMERALS}-])(?<!第\s)(?<!\band\sa\s)(?<!\bevery\s)(?<!\bor\s)(?<!\d\sto\s)(?P<number>[0-9]{{1,5}}|{HAN_NUMBER}|半|{ENGLISH_NUMBER}|an?(?=\s))"
    r"(?P<half>\sand\sa\shalf)?[\s-]{0,2}(?:full|whole|calendar|整|[个個])?\s?"
    r"(?P<unit>天(?!津)|日(?=[内內后後间間游以]|前(?!往))|[周週](?![年歲岁一二三四五六日末])|星期(?![一二三四五六日天])|[礼禮]拜(?![一二三四五六日天])|月(?!\d)|"
    r"年(?![代级級度])|[周週]?[岁歲]|[周週]年|[晚夜]|(?:day|night|week|fortnight|month|year|decade)s?\b)(?P<more>\sand\sa\shalf\b|半(?!天))?",
    re.IGNORECASE,
)
_RELATIVE = re.compile(
    r"\b(?:yesterday|today|tomorrow|overnight|(?:next|following|previous|same) (?:day|morning|evening|night)|day (?:before|after))\b|"
    r"[昨今明后後前次翌当當]\s?[日天晚晨]|早些时候",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\s?(?:[-–—~～至到]|to|until|till)\s?", re.IGNORECASE)
_BARE_DIGITS = re.compile(r"[一二两三四五六七八九]{2,}")  # 七八天: about so many
_YEAR_OF_A_CENTURY = re.compile(r"[7-9]\d")  # 95年出生
_ERA = re.compile(r"(?:公元前?|前|民国|民國|光绪|光緒|康熙|乾隆|昭和|平成|令和)$")
_THE_DAY = re.compile(r"[同后後有某这這那另当當]$")  # 同一天
# What may stand before `a week` where it is a length, and not a rate.
_BEFORE_A = re.compile(
    r"(?:^|\b(?:in|of|for|after|within|than|about|almost|nearly|exactly|just|only|is|was|lasts?|lasted|takes?|took|and|by|over|under))\s*$",
    re.IGNORECASE,
)
_UNITS: tuple[tuple[str, Unit, int], ...] = (
    ("天日晚夜dDnN", "days", 1),
    ("fF", "weeks", 2),
    ("星礼禮周週wW", "weeks", 1),
    ("月mM", "months", 1),
    ("年岁歲yY", "years", 1),
    ("C", "years", 10),
)
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？；;\n]")


class Length(NamedTuple):
    """A length of time in one unit."""

    number: int
    unit: Unit
    span: Span

    @property
    def days(self) -> float:
        """Return how many days that is, on average."""
        return self.number * {"days": 1, "weeks": 7, "months": 30.44, "years": 365.25}[self.unit]

    @property
    def plain(self) -> tuple[int, str]:
        """Return it in days or months: two weeks are 14 days."""
        if self.unit in ("days", "weeks"):
            return self.number * (7 if self.unit == "weeks" else 1), "days"
        return self.number * (12 if self.unit == "years" else 1), "months"


class Dated(NamedTuple):
    """A day of a text, with the year that it has or that the text gives it, as it is written."""

    day: date
    written: Day

    def is_new(self, others: Iterable["Dated"]) -> bool:
        """Return whether it is none of the others; without a year of its own, whether no other is that day of a year."""
        return not any(
            self.day == other.day
            if self.written.year
            else (self.day.month, self.day.day) == (other.day.month, other.day.day)
            for other in others
        )


def calendar_facts(said: str, known: str, language: Language, before: str = "") -> list[str]:
    """Return lines on the weekdays, days and lengths of time of a sentence that a text (`known`) does not have, computed from
    the text's dates and lengths of time: those nearest to what is said, `MOST` for each and `MOST_LINES` in all. What stands
    `before` the sentence belongs to the text; where the sentence names a weekday and no day, its days count first. Empty
    where nothing is missing, or nothing is there to compute it from."""
    if not names_time(said):
        return []
    of_text = dated(known)
    given = [*of_text, *dated(before, of_text)]
    days = dated(said, given)[:MOST_SAID]
    plain = covered(said, [one.span for one in _days(said)], " ")
    there = _lengths_of(known)
    found: list[str] = []
    own = [one.day for one in given if any(not day.is_new([one]) for day in days)]
    base = list(dict.fromkeys([*own, *(one.day for one in given)]))[:MOST_DATES]
    for new in (one for one in days if one.is_new(given)):
        found += _ends(new, base, [*there, *_lengths_of(before)][:MOST_DATES], language)
    pairs = [pair for pair in combinations(base, 2) if len(own) < 2 or set(pair) <= set(own)]
    for length in lengths(plain)[:MOST_SAID]:
        if length.plain not in {one.plain for one in there}:
            found += _between(length, [pair for pair in pairs if not own or set(pair) & set(own)], language)
    if _weekdays(plain) - _weekdays(known):
        near = own or ([] if days else [one.day for one in dated(before, of_text)] or _likely(said, known, of_text))
        found += [_weekday(day, language) for day in [day for day in near if day >= GREGORIAN_EVERYWHERE][:MOST]]
    return list(dict.fromkeys(found))[:MOST_LINES]


def _weekdays(text: str) -> set[int]:
    return {number for number, span in find_weekdays(text) if is_weekday(text, span)}


def _likely(said: str, text: str, given: list[Dated]) -> list[date]:
    """Return the days beside which a text has most words of a sentence first."""
    wanted = words(said)

    def shared(one: Dated) -> int:
        start, end = one.written.span
        return len(wanted & words(text[max(0, start - AROUND) : end + AROUND]))

    return [one.day for one in sorted(given[:MOST_DATES], key=shared, reverse=True)]


def names_time(text: str) -> bool:
    """Return whether a text names a day, a weekday or a length of time in days or more."""
    return bool(_days(text) or _weekdays(text) or lengths(text))


def _days(text: str) -> list[Day]:
    """Return the days of a text, also those that begin or end a range. In English one without a year has a capital: `18 may vote`
    names none. Those of another calendar are left out."""
    found: list[Day] = []
    for day in find_days(text):
        start, end = day.span
        before, behind = text[max(0, start - 24) : start], text[end : end + 24]
        bare = not day.year and day.text.isascii()
        if bare and (not re.search("[A-Z]", day.text) or _COUNTED.match(behind)):
            continue
        if _OTHER_CALENDAR.search(before) or _OTHER_STYLE.match(behind):
            continue
        if not day.year and (short := _TWO_DIGITS.search(before)):
            day = replace(day, year=int(short[1]) + (2000 if int(short[1]) < 50 else 1900))
        if day.text[0].isdigit() and day.text.isascii() and (first := _FROM.search(before)):
            place = (start - len(before) + first.start(1), start - len(before) + first.end(1))
            found.append(replace(day, day=int(first[1]), span=place, text=first[1]))
        last = _TO.match(behind) if not day.text[0].isdigit() or not day.text.isascii() else None
        if last:
            day = replace(day, year=day.year or (int(last[2]) if last[2] else None))
            found += [day, replace(day, day=int(last[1]), span=(end + last.start(1), end + last.end(1)), text=last[1])]
        else:
            found.append(day)
    return found


def new_days(said: str, known: str) -> list[Day]:
    """Return the days of a sentence that a text does not have, unless it has their number beside its own days, in digits or in words:
    dates are written in too many ways to look for more. It has those inside a range (3–7 May). Where it speaks of yesterday
    or of weekdays, a day within a week of one of its own may be meant."""
    days = _days(said)
    there = _days(known) if days else []
    days = [day for day in days if not any(day.is_same(one) for one in there)]
    numbers = numbers_named(covered(known, [one.span for one in there], " ")) if days else frozenset()
    near = NAMED_NEAR if days and (find_weekdays(known) or _RELATIVE.search(known)) else 0
    ranges = [pair for pair in pairwise(there) if _RANGE.fullmatch(known[pair[0].span[1] : pair[1].span[0]])]
    return [
        day
        for day in days
        if day.day not in numbers
        and not any(_apart(day, one) <= near for one in there)
        and not any(_apart(first, day) + _apart(day, last) == _apart(first, last) for first, last in ranges)
    ]


def _apart(one: Day, other: Day) -> int:
    """Return how many days of a leap year lie between two days, of whatever years."""
    days = [calendar_day(LEAP_YEAR, day.month, day.day) for day in (one, other)]
    apart = abs((days[0] - days[1]).days) if days[0] and days[1] else 366
    return min(apart, 366 - apart)


def dated(text: str, given: Iterable[Dated] = ()) -> list[Dated]:
    """Return the days of a text that have a year, each once, from `GREGORIAN_IN_ENGLAND` on. One without a year has that of a day
    or a year in its sentence, else that of the same day among the `given` ones or elsewhere in the text, the last year before
    it, the first one after it, or that of the first of the given ones. Between two days of a sentence a new year may lie."""
    days = _days(text)
    full = [day for day in days if day.year]
    bare = covered(text, [day.span for day in days], " ")
    years = sorted(
        [(day.span[0], day.year or 0, day) for day in full]
        + [(match.start(), int(match["en"] or match["zh"]), None) for match in _YEAR.finditer(bare)],
        key=lambda one: one[0],
    )
    places = [start for start, _, _ in years]
    ends = [match.start() for match in _SENTENCE_END.finditer(text)]
    same = {(one.month, one.day): one.year for one in reversed(full)}
    given = list(given)
    same |= {(one.day.month, one.day.day): one.day.year for one in given}
    found: dict[date, Dated] = {}
    for day in days:
        year = day.year
        if not year:
            place = bisect(places, day.span[0])
            earlier, later = years[place - 1 : place] if place else [], years[place : place + 1]
            inside = [one for one in (*earlier, *later) if bisect(ends, one[0]) == bisect(ends, day.span[0])]
            near = next((one for one in inside if one[2]), next(iter(inside), None))
            known = same.get((day.month, day.day))
            near = near or next(iter((*earlier, *later)) if known is None else iter(()), None)
            year = _year_beside(day, near[1], near[2]) if near else known or next((one.day.year for one in given), None)
        value = calendar_day(year, day.month, day.day) if year else None
        if value and value >= GREGORIAN_IN_ENGLAND and value not in found:
            found[value] = Dated(value, day)
    return list(found.values())


def _year_beside(day: Day, year: int, other: Day | None) -> int:
    """Return the year of a day beside another: from 22 December 2023 to 5 January."""
    one = calendar_day(year, day.month, day.day)
    two = other and other.date()
    if other is None or not one or not two:
        return year
    if day.span > other.span and (two - one).days > HALF_A_YEAR:
        return year + 1
    return year - 1 if day.span < other.span and (one - two).days > HALF_A_YEAR else year


def _lengths_of(text: str) -> list[Length]:
    return lengths(covered(text, [day.span for day in _days(text)], " "))


def lengths(text: str) -> list[Length]:
    """Return the lengths of time in days, weeks, months or years that a text names, ages among them, each once."""
    found: dict[tuple[int, str], Length] = {}
    plain = covered(text.replace("兩", "两"), [span for _, span in find_weekdays(text)], " ")
    for match in _LENGTH.finditer(plain):
        if length := _length(match):
            found.setdefault(length.plain, length)
    return list(found.values())


def _length(match: re.Match[str]) -> Length | None:
    """Return what a match names; None for a rate, an era, the month of a year, about so many, or a part of a day."""
    written, sign, before = (
        match["number"].lower(),
        match["unit"],
        match.string[max(0, match.start() - 12) : match.start()],
    )
    letter = "年" if sign[0] in "周週" and len(sign) > 1 else "C" if sign[:6].lower() == "decade" else sign[0]
    unit, times = next((unit, times) for letters, unit, times in _UNITS if letter in letters)
    if (sign == "月" and not re.search("[个個]", match[0])) or _BARE_DIGITS.fullmatch(written):
        return None
    if written in ("a", "an") and not match["half"] and not _BEFORE_A.search(before):
        return None
    if (written == "one" and sign == "day" and not before.strip()) or (written == "一" and _THE_DAY.search(before)):
        return None  # one day she will return
    if sign == "年" and (
        written[0] == "0" or len(written) >= 4 or _YEAR_OF_A_CENTURY.fullmatch(written) or _ERA.search(before)
    ):
        return None
    number = _number(written)
    if number is None or not number:
        return None
    number = (number + Fraction(bool(match["half"] or match["more"]), 2)) * times
    if unit == "years" and number.denominator == 2:
        number, unit = number * 12, "months"
    return Length(int(number), unit, match.span()) if number.denominator == 1 else None


def _number(written: str) -> Fraction | None:
    if written.isdecimal():
        return Fraction(written)
    if written in ("a", "an"):
        return Fraction(1)
    if written == "半" or written.startswith("half"):
        return Fraction(1, 2)
    return read_english(written) if written.isascii() else read_han(written)


def _ends(new: Dated, base: list[date], spans: list[Length], language: Language) -> list[str]:
    """Return the days that lie a length of time before or behind others, the nearest to a day first; of the nearest one behind,
    also the last day of that time where the first is counted. A day without a year may be one of the year before or after."""
    years = (0,) if new.written.year else (0, -1, 1)
    wanted = [day for year in years if (day := calendar_day(new.day.year + year, new.day.month, new.day.day))]
    results = []
    for start in base:
        for length in spans:
            for sign in (1, -1):
                if end := _moved(start, sign * length.number, length.unit):
                    off = min(abs((end - day).days) for day in wanted)
                    if off <= NEAR or (end.month, end.day) == (new.day.month, new.day.day):
                        results.append((off, sign < 0, start, length, end))
    results.sort(key=lambda one: one[:2])
    lines = []
    for place, (_, back, start, length, end) in enumerate(results[:MOST]):
        values = {"start": written(start, language), "length": _named(length.number, length.unit, language)}
        lines.append(
            message(
                "date.shifted", language, **values, sign="-" if back else "+", end=written(end, language),
                weekday=weekday_name(end, language),
            )
        )  # fmt: skip
        if place == 0 and not back:
            last = end - timedelta(days=1)
            lines.append(
                message(
                    "date.nth", language, **values, end=written(last, language), weekday=weekday_name(last, language)
                )
            )
    return lines


def _moved(start: date, count: int, unit: Unit) -> date | None:
    """Return the day that lies so far from another; the last of a month that is too short. None beyond the calendar."""
    try:
        if unit in ("days", "weeks"):
            return start + timedelta(days=count * (7 if unit == "weeks" else 1))
        months = start.year * 12 + start.month - 1 + count * (12 if unit == "years" else 1)
        year, month = divmod(months, 12)
        return date(year, month + 1, min(start.day, calendar.monthrange(year, month + 1)[1]))
    except (ValueError, OverflowError):
        return None


def _between(length: Length, pairs: list[tuple[date, date]], language: Language) -> list[str]:
    """Return the times between pairs of days, those nearest to a length first."""
    timed = [(abs(abs((one - other).days) - length.days), min(one, other), max(one, other)) for one, other in pairs]
    near = sorted(pair for pair in timed if pair[0] <= max(NEAR, length.days / 2))
    return [_time_between(first, last, length.unit, language) for _, first, last in near[:MOST]]


def _time_between(first: date, last: date, unit: Unit, language: Language) -> str:
    """Return a line with the time between two days: in days, also with both counted where days are asked for, and in larger units
    where it is a week or a month or more."""
    days = (last - first).days
    parts: list[tuple[int, Unit]] = []
    if unit == "weeks" and days >= 7:
        parts = [(days // 7, "weeks"), (days % 7, "days")]
    elif unit != "days" or days > NEAR:
        months = 12 * (last.year - first.year) + last.month - first.month
        while (moved := _moved(first, months, "months")) and moved > last:
            months -= 1
        rest = (last - (moved or last)).days
        parts = [(months // 12, "years"), (months % 12, "months"), (rest, "days")] if months else []
    joined = message("date.and", language).join(_named(count, name, language) for count, name in parts if count)
    both = message("date.both", language, count=days + 1) if unit == "days" and days <= NEAR else ""
    length = _named(days, "days", language) + (message("date.or", language, length=joined) if joined else both)
    return message("date.lies", language, start=written(first, language), end=written(last, language), length=length)


def _weekday(day: date, language: Language) -> str:
    return message("date.weekday", language, date=written(day, language), name=weekday_name(day, language))


def written(day: date, language: Language) -> str:
    """Write a date as the language does: 5 May 2024, 2024年5月5日."""
    if language == "zh":
        return f"{day.year}年{day.month}月{day.day}日"
    return f"{day.day} {calendar.month_name[day.month]} {day.year}"


def _named(count: int, unit: Unit, language: Language) -> str:
    name = message(f"date.unit.{unit}", language)
    if language == "en":
        return f"{count} {name.rstrip('s') if count == 1 else name}"
    return f"{count}{name}"
