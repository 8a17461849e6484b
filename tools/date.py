"""Dates: the days between two of them, and the weekday of one."""

import asyncio
import calendar
import re
from datetime import date as Day
from fractions import Fraction

from haluagent.errors import FormatError, ToolError
from haluagent.protocols import ToolContext
from haluagent.text.dates import Duration, FoundDate, find_dates, find_durations, find_weekdays, weekday_name
from haluagent.text.messages import message
from haluagent.text.numbers import show
from haluagent.tooling.definition import tool
from haluagent.tooling.tool import Demo
from haluagent.types import Evidence, Label, Sentence, Span, ToolResult

CONFIDENCE = 0.98

_BETWEEN = re.compile(
    r"多少[天日周]|几[天日周]|多少个?(?:星期|月)|几个?(?:星期|月)|相[差隔距]|间隔|天数|how many (?:days|weeks|months)|"
    r"how long|number of (?:days|weeks|months)|days (?:are there )?(?:between|from|passed|until)",
    re.IGNORECASE,
)


def _can_decide(context: ToolContext, sentence: Sentence) -> bool:
    if sentence.index == 0:  # only where no sentence states the days together with what they lie between
        alone = len(context.sentences) < 2 or not _BETWEEN.search(context.question)
        if alone or any(_can_decide(context, other) for other in context.sentences):
            return False
    try:
        own, asked = find_dates(sentence.text), find_dates(context.question)
        durations = find_durations(sentence.text)
    except ToolError:
        return sentence.index > 0  # a date that can be read in two ways: the tool says so
    if any(item.value is None for item in own) or ((own or asked) and find_weekdays(sentence.text)):
        return True
    if len(own) < 2 and not _BETWEEN.search(context.question):
        return False  # the question's dates are not about a length of time
    return len(own or asked) + (len(asked) if own else 0) >= 2 and bool(durations)


@tool(
    description={
        "en": "Check the number of days between two dates, or the weekday of a date. date(sentence=S1) reads the dates "
        "from S1 and the question; start and end name them if there are more.",
        "zh": "检查两个日期之间的天数，或某一天是星期几。date(sentence=S1) 从 S1 和题目中读取日期；"
        "日期较多时用 start、end 指明。",
    },
    demos=[
        Demo(
            language="en",
            question="How many days are there from March 3, 2020 to March 18, 2020?",
            response="There are 14 days.",
            thought="S1 states a number of days between the question's two dates.",
            call="date(sentence=S1)",
            observation="2020-03-03 → 2020-03-18: 15 days, but the response says 14 days",
        ),
        Demo(
            language="zh",
            question="2021年5月1日是星期几？",
            response="2021年5月1日是星期六。",
            thought="S1 说出了一个日期是星期几，可以用日历检查。",
            call="date(sentence=S1)",
            observation="2021-05-01 是星期六",
        ),
    ],
    when=_can_decide,
)
async def date(
    context: ToolContext, sentence: Sentence, start: str | None = None, end: str | None = None
) -> ToolResult:
    """Check the days, weeks or months between two dates that `sentence` states, or the weekday of a date.

    `start` and `end` must be written in the question, the response or the reference, else FormatError; without them
    the dates are read from the sentence, then from the question. Right is only the plain difference. Raises ToolError
    where dates are missing or can be read in two ways, or the sentence states nothing to compare with.
    """
    return await asyncio.to_thread(_check, context, sentence, start, end)


def _check(context: ToolContext, sentence: Sentence, start: str | None, end: str | None) -> ToolResult:
    own = find_dates(sentence.text)
    for item in own:
        if item.value is None:
            return _decided(
                context, sentence, message("date.impossible", context.language, date=item.text), item.span, False
            )
    weekdays = find_weekdays(sentence.text)
    durations = find_durations(sentence.text)
    if weekdays and not durations:
        return _check_weekday(context, sentence, own, weekdays[0], start)
    first, last = _dates(context, own, start, end)
    if not durations:
        fact = _fact(context, first, last, "days")
        raise ToolError(message("date.no_claim", context.language, fact=fact))
    return _check_duration(context, sentence, first, last, durations[-1])


def _decided(context: ToolContext, sentence: Sentence, text: str, span: Span, right: bool) -> ToolResult:
    place = (span[0] + sentence.span[0], span[1] + sentence.span[0])
    evidence = Evidence(source="date", text=text, span=place)
    label: Label = "supported" if right else "contradicted"
    return ToolResult(observation=text, label=label, confidence=CONFIDENCE, evidence=(evidence,))


def _check_weekday(
    context: ToolContext, sentence: Sentence, own: list[FoundDate], stated: tuple[int, Span], start: str | None
) -> ToolResult:
    days = [_given(context, start)] if start else [item.value for item in own or find_dates(context.question)]
    day = days[0] if days else None
    if day is None:
        raise ToolError(message("date.no_dates", context.language))
    number, span = stated
    fact = message("date.weekday", context.language, date=day.isoformat(), name=weekday_name(day, context.language))
    right = day.weekday() == number
    text = fact if right else message("date.says", context.language, fact=fact, stated=sentence.text[slice(*span)])
    return _decided(context, sentence, text, span, right)


def _check_duration(context: ToolContext, sentence: Sentence, first: Day, last: Day, stated: Duration) -> ToolResult:
    right = stated.value == _between(first, last, stated.unit)
    text = _fact(context, first, last, stated.unit)
    if not right:
        text = message("date.says", context.language, fact=text, stated=stated.text)
        if stated.unit == "days" and stated.value == abs((last - first).days) + 1:
            text += message("date.inclusive", context.language, stated=stated.text)
    return _decided(context, sentence, text, stated.span, right)


def _fact(context: ToolContext, first: Day, last: Day, unit: str) -> str:
    value, name = _between(first, last, unit), message(f"date.unit.{unit}", context.language)
    if value is None:
        unit, value = "days", Fraction(abs((last - first).days))
        name = message(f"date.unit.{unit}", context.language)
    if context.language == "en" and value == 1:
        name = name.rstrip("s")
    return message(
        "date.between", context.language, start=first.isoformat(), end=last.isoformat(), count=show(value), unit=name
    )


def _between(first: Day, last: Day, unit: str) -> Fraction | None:
    """Return the difference in days, weeks or months (None where it is no whole number of months)."""
    first, last = sorted((first, last))
    days = Fraction((last - first).days)
    if unit == "days":
        return days
    if unit == "weeks":
        return days / 7
    months = 12 * (last.year - first.year) + last.month - first.month
    length = calendar.monthrange(last.year, last.month)[1]
    return Fraction(months) if last.day == min(first.day, length) else None


def _dates(context: ToolContext, own: list[FoundDate], start: str | None, end: str | None) -> tuple[Day, Day]:
    asked = [item.value for item in find_dates(context.question)]
    read = [item.value for item in own]
    for day in asked if len(read) < 2 else ():
        if day not in read or len(asked) + len(read) < 3:
            read.append(day)
    known = [day for day in read if day is not None]
    if len(read) != len(known) and not (start and end):
        raise ToolError(message("date.no_dates", context.language))
    first = _given(context, start) if start else (known[0] if known else None)
    rest = [day for day in known if day != first] or known[1:]
    last = _given(context, end) if end else (rest[-1] if rest else None)
    if first is None or last is None:
        raise ToolError(message("date.no_dates", context.language))
    return first, last


def _given(context: ToolContext, text: str) -> Day:
    """Return the date that the model gave. Raises ToolError where it is none, FormatError where no text of the
    detection has it."""
    found = find_dates(text)
    if len(found) != 1:
        raise ToolError(message("date.unread", context.language, text=text[:40]))
    day = found[0].value
    if day is None:
        raise ToolError(message("date.impossible", context.language, date=found[0].text))
    texts = (context.question, context.response, context.reference or "")
    known = {item.value for source in texts for item in _quiet(source)}
    if day not in known and text.strip() not in context.question + context.response:
        raise FormatError(message("date.foreign", context.language, text=text[:40]))
    return day


def _quiet(text: str) -> list[FoundDate]:
    """Return the dates of a text, none where one of them can be read in two ways: then only its exact wording
    counts."""
    try:
        return find_dates(text)
    except ToolError:
        return []
