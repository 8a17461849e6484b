"""What the calendar adds to the dates of a text: lines to read beside it, which by themselves decide nothing.

A sentence may name a weekday, a day or a length of time that the text does not have, because it follows from the text's dates.
Which of them it follows from is for a reader to say; here the likely ones are computed, from what stands in the text alone:
what a sentence says itself does not speak for it.
"""

import calendar
import re
from bisect import bisect
from collections.abc import Iterable
from datetime import date, timedelta
from fractions import Fraction
from itertools import combinations
from typing import Literal, NamedTuple

from haluagent.text.date_claims import is_weekday
from haluagent.text.dates import Day, calendar_day, find_days, find_weekdays, weekday_name
from haluagent.text.messages import message
from haluagent.text.numerals import ENGLISH_NUMBER, HAN_NUMBER, HAN_NUMERALS, read_english, read_han
from haluagent.text.places import covered
from haluagent.types import Language, Span

Unit = Literal["days", "weeks", "months", "years"]

MOST = 3  # lines for each weekday, day or length of a sentence
MOST_LINES = 9
MOST_DATES = 10  # dates and lengths that are combined
NEAR = 62  # days between what is said and what is computed: farther off it follows from something else
HALF_A_YEAR = 183  # days
FIRST = date(1753, 1, 1)  # before it a date may be a Julian one, even in England

# A year by itself: in 2024, May 2024, 2024年.
_YEAR = re.compile(
    r"(?:\b(?:in|of|since|from|by|until|year|season|winter|spring|summer|autumn|fall|January|February|March|April|May|June|July|August|"
    r"September|October|November|December),?\s)(?P<en>(?:1[6-9]|20)\d\d)(?!\d|[,.]\d|[-/]\d)|(?<!\d)(?P<zh>(?:1[6-9]|20)\d\d)\s?年",
    re.IGNORECASE,
)
_LENGTH = re.compile(
    rf"(?<![A-Za-z0-9_.,第几幾数數{HAN_NUMERALS}-])(?<!第\s)(?<!\band\sa\s)(?P<number>[0-9]{{1,5}}|{HAN_NUMBER}|半|{ENGLISH_NUMBER}|an?(?=\s))"
    r"(?P<half>\sand\sa\shalf)?[\s-]{0,2}(?:full|whole|calendar|整|[个個])?\s?"
    r"(?P<unit>天|日(?=[内內后後前间間游以])|[周週](?![年歲岁一二三四五六日末])|星期(?![一二三四五六日天])|[礼禮]拜(?![一二三四五六日天])|月(?!\d)|"
    r"年(?![代级級度])|[周週]?[岁歲]|[周週]年|[晚夜]|(?:day|night|week|fortnight|month|year|decade)s?\b)(?P<more>\sand\sa\shalf\b|半(?!天))?",
    re.IGNORECASE,
)
_BARE_DIGITS = re.compile(r"[一二两三四五六七八九]{2,}")  # 七八天: about so many
_YEAR_OF_A_CENTURY = re.compile(r"[7-9]\d")  # 95年出生
_ERA = re.compile(r"公元前?$|前$")
# What may stand before `a week` where it is a length, and not a rate.
_BEFORE_A = re.compile(
    r"(?:^|\b(?:in|for|after|within|than|about|almost|nearly|exactly|just|only|is|was|lasts?|lasted|takes?|took|and|by|over|under))\s*$",
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
    given = [*dated(known), *dated(before)][:MOST_DATES]
    days = dated(said, given)[:MOST_DATES]
    plain = covered(said, [one.span for one in _days(said)], " ")
    there = _lengths_of(known) + _lengths_of(before)
    found: list[str] = []
    own = [one.day for one in days if not one.is_new(given)]
    base = list(dict.fromkeys([*own, *(one.day for one in given)]))
    for new in (one.day for one in days if one.is_new(given)):
        found += _ends(new, base, there[:MOST_DATES], language)
    pairs = [pair for pair in combinations(base, 2) if len(own) < 2 or set(pair) <= set(own)]
    for length in lengths(plain)[:MOST_DATES]:
        if length.plain not in {one.plain for one in there}:
            found += _between(length, [pair for pair in pairs if not own or set(pair) & set(own)], language)
    named = {number for number, span in find_weekdays(plain) if is_weekday(plain, span)}
    if named and not named <= {number for number, _ in find_weekdays(f"{known} {before}")}:
        near = own or ([] if days else [one.day for one in dated(before)] or base)
        found += [_weekday(day, language) for day in near[:MOST]]
    return list(dict.fromkeys(found))[:MOST_LINES]


def names_time(text: str) -> bool:
    """Return whether a text names a day, a weekday or a length of time in days or more."""
    return bool(_days(text) or any(is_weekday(text, span) for _, span in find_weekdays(text)) or lengths(text))


def _days(text: str) -> list[Day]:
    """Return the days of a text. In English one without a year has a capital: `18 may vote` names none."""
    return [day for day in find_days(text) if day.year or not day.text.isascii() or re.search("[A-Z]", day.text)]


def dated(text: str, given: Iterable[Dated] = ()) -> list[Dated]:
    """Return the days of a text that have a year, each once, from `FIRST` on. One without a year has that of a day or a year in
    its sentence, else that of the same day among the `given` ones or elsewhere in the text, the last year before it, the
    first one after it, or that of the first of the given ones. Between two days of a sentence a new year may lie."""
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
            if near:
                year = _year_beside(day, near[1], near[2])
            else:
                year = same.get((day.month, day.day)) or next((one[1] for one in (*earlier, *later)), None)
                year = year or next((one.day.year for one in given), None)
        value = calendar_day(year, day.month, day.day) if year else None
        if value and value >= FIRST and value not in found:
            found[value] = Dated(value, day)
    return list(found.values())


def _year_beside(day: Day, year: int, other: Day | None) -> int:
    """Return the year of a day beside another in its sentence: from 22 December 2023 to 5 January."""
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
    for match in _LENGTH.finditer(text.replace("兩", "两")):
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
    if written in ("a", "an", "one") and not match["half"] and not _BEFORE_A.search(before):
        return None
    if written == "one" and sign == "day" and not before.strip():  # one day she will return
        return None
    if sign == "年" and (len(written) >= 4 or _YEAR_OF_A_CENTURY.fullmatch(written) or _ERA.search(before)):
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


def _is_day(one: date, other: date) -> bool:
    return (one.month, one.day) == (other.month, other.day)


def _ends(day: date, base: list[date], spans: list[Length], language: Language) -> list[str]:
    """Return the days that lie a length of time before or behind others, the nearest to `day` first."""
    results = []
    for start in base:
        for length in spans:
            for sign in (1, -1):
                if end := _moved(start, sign * length.number, length.unit):
                    results.append((abs((end - day).days), start, sign, length, end))
            first = _moved(start, length.number - 1, length.unit) if length.unit == "days" else None
            if first == day:
                results.append((0, start, 0, length, first))
    results = [one for one in results if one[0] <= NEAR or _is_day(one[4], day)]
    results.sort(key=lambda one: (one[0], one[2] < 0))
    lines = []
    for _, start, sign, length, end in results[:MOST]:
        key = "shifted" if sign else "nth"
        lines.append(
            message(
                f"date.{key}",
                language,
                start=written(start, language),
                sign="+" if sign > 0 else "-",
                length=_named(length.number, length.unit, language),
                count=length.number,
                end=written(end, language),
                weekday=weekday_name(end, language),
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
