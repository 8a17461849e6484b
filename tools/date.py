"""Dates: the days between two of them, the weekday of one, and what the calendar adds to those of a text."""

import asyncio
import calendar
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date as Day
from datetime import timedelta
from fractions import Fraction

from haluagent.errors import FormatError, ToolError
from haluagent.judging.comparison import given_about
from haluagent.protocols import ToolContext
from haluagent.text.calendar_facts import calendar_facts, dated, names_time
from haluagent.text.date_claims import (
    Between,
    DistanceClaim,
    Unit,
    WeekdayClaim,
    chooses_dates,
    distance_asked,
    distance_claims,
    impossible_days,
    names_a_length,
    weekday_claims,
)
from haluagent.text.dates import (
    GREGORIAN_EVERYWHERE,
    GREGORIAN_IN_ENGLAND,
    FoundDate,
    find_dates,
    find_weekdays,
    weekday_name,
)
from haluagent.text.messages import message
from haluagent.text.numbers import show
from haluagent.tooling.coverage import open_parts
from haluagent.tooling.definition import tool
from haluagent.tooling.tool import Demo
from haluagent.types import Evidence, Label, Sentence, Span, ToolResult

CONFIDENCE = 0.98
TAKEN_UP = 3  # sentences before one whose dates it may take up
STEPS = 8


def _can_decide(context: ToolContext, sentence: Sentence) -> bool:
    if sentence.index == 0:
        return False
    try:
        return bool(_findings(context, sentence, None)) or _may_name(context, sentence)
    except ToolError:
        return False  # a date that can be read in two ways


@tool(
    description={
        "en": "Check the number of days between two dates, the weekday of a date, or a day, an age or a time that follows from "
        "dates. date(sentence=S1) reads the dates from S1, the question and the reference; start and end name two of the "
        "question's if there are more.",
        "zh": "检查两个日期之间的天数、某一天是星期几，或由日期推出的某一天、年龄、期限。date(sentence=S1) 从 S1、题目和参考资料中"
        "读取日期；题目中日期较多时用 start、end 指明。",
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
    adds=lambda context, sentence: bool(_facts(context, sentence)),
    plausible=lambda context, sentence: sentence.index > 0 and names_time(sentence.claim),
)
async def date(
    context: ToolContext, sentence: Sentence, start: str | None = None, end: str | None = None
) -> ToolResult:
    """Check the days, weeks or months between two dates that `sentence` states, or the weekday of a date.

    Decides only what the sentence says plainly: the weekday beside one date, the length of time between exactly two, the
    question's own where it asks for nothing else, and days that no calendar has. The parts that say anything else are
    left open. An inclusive count, and a weekday by the Julian calendar, get no label.
    A weekday, a day or a length of time that follows from the dates of the reference or the question is worked out, as facts
    for `match` to read (`text.calendar_facts`).
    `start` and `end` must be written in the question, the response or the reference, else FormatError; they choose two
    dates of a question with more. Raises ToolError where nothing can be decided.
    """
    findings, facts = await asyncio.to_thread(_look, context, sentence, start, end)
    if findings:
        found = await asyncio.to_thread(_decided, context, sentence, findings)
        return found.model_copy(update={"facts": tuple(facts)}) if found.open else found
    return ToolResult(observation="; ".join(facts), facts=tuple(facts))


@dataclass(frozen=True)
class _Finding:
    """What the calendar says of one claim. `checked` is the place of the claim, `stated` that of the disputed words."""

    label: Label | None
    text: str
    checked: Span
    stated: Span


def _look(
    context: ToolContext, sentence: Sentence, start: str | None, end: str | None
) -> tuple[list[_Finding], list[str]]:
    """Return what the calendar says of the sentence's claims, and the lines that it adds. Raises ToolError where there is
    neither."""
    named = None
    if start and end and _may_name(context, sentence):
        named = Between(_given(context, start), _given(context, end), "days", False, False)
    findings, facts = _findings(context, sentence, named), _facts(context, sentence)
    if findings or facts:
        return findings, facts
    find_dates(sentence.text)  # says which date can be read in two ways
    if _may_name(context, sentence):
        raise ToolError(message("date.no_dates", context.language))
    raise ToolError(message("date.no_claim", context.language))


def _facts(context: ToolContext, sentence: Sentence) -> list[str]:
    """Return what the calendar adds to the dates of the question and of the part of the reference that is about the sentence, or,
    without a reference, of what the response says before."""
    if sentence.index == 0 or not names_time(sentence.claim):
        return []
    if context.reference is None:
        return calendar_facts(sentence.claim, context.question, context.language, _before(context, sentence))
    return calendar_facts(sentence.claim, given_about(context, sentence), context.language)


def _before(context: ToolContext, sentence: Sentence) -> str:
    """Return the sentences of the response before this one that it may take up."""
    return " ".join(other.text for other in context.sentences[: sentence.index - 1][-TAKEN_UP:])


def _decided(context: ToolContext, sentence: Sentence, findings: Sequence[_Finding]) -> ToolResult:
    """Return the label that the findings give."""
    labels = {finding.label for finding in findings}
    label: Label | None = "supported" if labels == {"supported"} else None
    told = findings
    if "contradicted" in labels:
        label, told = "contradicted", [finding for finding in findings if finding.label == "contradicted"]
    offset = sentence.span[0]
    evidence = tuple(
        Evidence(source="date", text=item.text, span=(item.stated[0] + offset, item.stated[1] + offset))
        for item in told
    )
    checked = [item.checked for item in findings]
    left = (
        open_parts(sentence, checked, "" if find_dates(context.question) else context.question)
        if label == "supported"
        else ()
    )
    if left != (sentence.span,):  # then nothing of it answers the question
        left = tuple(_without(left, checked, sentence))
    text = "; ".join(dict.fromkeys(item.text for item in told))
    return ToolResult(observation=text, label=label, confidence=CONFIDENCE, evidence=evidence, open=left)


def _without(spans: Iterable[Span], checked: Sequence[Span], sentence: Sentence) -> Iterator[Span]:
    """Yield the parts of spans of the response that hold words and lie outside of what was checked in the sentence."""
    for start, end in spans:
        offset = sentence.span[0]
        for first, last in (*sorted(checked), (end, end)):
            stop = min(first + offset, end)
            part = sentence.text[max(0, start - offset) : max(0, stop - offset)]
            if any(character.isalnum() for character in part):
                begin = start + len(part) - len(part.lstrip())
                yield begin, begin + len(part.strip())
            start = max(start, last + offset)


def _findings(context: ToolContext, sentence: Sentence, named: Between | None) -> list[_Finding]:
    """Return what the calendar says of the sentence's claims."""
    text, question = sentence.text, context.question
    findings = [
        _Finding("contradicted", message("date.impossible", context.language, date=text[slice(*span)]), span, span)
        for span in impossible_days(text, question)
    ]
    alone = sentence.index == 1
    known = _known(context) if find_weekdays(text) else ()  # the reference is read only where it counts
    claims_of_weekdays = weekday_claims(text, question, answers=alone, known=known)
    findings += [_weekday(context, text, claim) for claim in claims_of_weekdays]
    asked = named or distance_asked(question)
    ending = asked is not None and _is_the_answer(context, sentence)
    claims = distance_claims(text, question, asked=asked, answers=ending, alone=len(context.sentences) == 1)
    distances = [_distance(context, text, claim, asked) for claim in claims]
    if len(distances) > 1 and any(finding.label != "supported" for finding in distances):
        return findings  # one of them may be about something else: seven weeks are 49 days
    return findings + distances


def _known(context: ToolContext) -> tuple[Day, ...]:
    """Return the days of the question and the reference that can be of one year only: they say it, or name no other year."""
    given = dated(f"{context.question}\n{context.reference or ''}")
    one_year = len({one.day.year for one in given}) == 1
    return tuple({one.day for one in given if one_year or one.written.year})


def _is_the_answer(context: ToolContext, sentence: Sentence) -> bool:
    """Return whether a bare length of time in that sentence is the answer, and no step to it: in the last sentence, or in
    the first where no other of a few names one."""
    others = context.sentences[1:]
    if sentence.index == len(context.sentences):
        return True
    return sentence.index == 1 and len(others) < STEPS and not any(names_a_length(other.text) for other in others)


def _may_name(context: ToolContext, sentence: Sentence) -> bool:
    """Return whether the sentence answers with a length of time, and the question has more dates to choose two from."""
    if not chooses_dates(context.question):
        return False
    any_two = Between(Day.min, Day.max, "days", False, False)
    return any(
        claim.start is None for claim in distance_claims(sentence.text, context.question, asked=any_two, answers=True)
    )


def _weekday(context: ToolContext, sentence: str, claim: WeekdayClaim) -> _Finding:
    day, language = claim.day, context.language
    text = message("date.weekday", language, date=day.isoformat(), name=weekday_name(day, language))
    label: Label | None = "supported"
    if day.weekday() != claim.weekday:
        text = message("date.says", language, fact=text, stated=sentence[slice(*claim.stated)])
        label = None if _may_be_julian(day, claim.weekday) else "contradicted"
    return _Finding(label, text, claim.span, claim.stated)


def _may_be_julian(day: Day, weekday: int) -> bool:
    """Return whether a date may be one of the Julian calendar, in which it is on that weekday.

    Before 1753 even the year may begin in March. Read as a Julian one, the date is `behind` days later.
    """
    year = day.year - (day.month < 3)
    behind = year // 100 - year // 400 - 2
    return day < GREGORIAN_IN_ENGLAND or (day < GREGORIAN_EVERYWHERE and (day + timedelta(behind)).weekday() == weekday)


def _distance(context: ToolContext, sentence: str, claim: DistanceClaim, asked: Between | None) -> _Finding:
    own = Between(claim.start, claim.end, claim.unit, False, False) if claim.start and claim.end else None
    between = own or asked
    if between is None:
        raise ToolError(message("date.no_dates", context.language))
    first, last = between.start, between.end
    turned = own is not None and first > last
    inclusive = claim.inclusive or (asked is not None and asked.inclusive)
    inner = claim.inner or (asked is not None and asked.inner)
    text = _fact(context, first, last, claim.unit, inclusive)
    stated = sentence[slice(*claim.stated)]
    label = _compare(first, last, claim, inclusive, inner) if not turned else "contradicted"
    if label != "supported":
        text = message("date.says", context.language, fact=text, stated=stated)
    if label is None and not inclusive and claim.unit == "days" and claim.amount == abs((last - first).days) + 1:
        text += message("date.inclusive", context.language, stated=stated)
    return _Finding(label, text, claim.span, claim.stated)


def _compare(first: Day, last: Day, claim: DistanceClaim, inclusive: bool, inner: bool) -> Label | None:
    """Return the label of a stated distance; None where it holds by another way of counting that is in use."""
    right = _between(first, last, claim.unit, inclusive)
    if right is None:
        return None
    if claim.amount == right:
        return "supported"
    if inclusive:
        return "contradicted"
    others = {Fraction(1)} if claim.unit == "months" else {Fraction(1, 7 if claim.unit == "weeks" else 1)}
    near = claim.amount - right in others or (inner and claim.amount == right - 1)
    rounded = claim.unit == "weeks" and abs(claim.amount - right) < 1
    return None if near or rounded else "contradicted"


def _fact(context: ToolContext, first: Day, last: Day, unit: Unit, inclusive: bool) -> str:
    value = _between(first, last, unit, inclusive)
    if value is None:
        unit, value = "days", Fraction(abs((last - first).days) + inclusive)
    name = message(f"date.unit.{unit}", context.language)
    if context.language == "en" and value == 1:
        name = name.rstrip("s")
    return message(
        "date.between", context.language, start=first.isoformat(), end=last.isoformat(), count=show(value), unit=name
    )


def _between(first: Day, last: Day, unit: Unit, inclusive: bool) -> Fraction | None:
    """Return the difference in days, weeks or months (None where it is no whole number of months)."""
    first, last = sorted((first, last))
    days = Fraction((last - first).days + inclusive)
    if unit == "days":
        return days
    if unit == "weeks":
        return days / 7
    if inclusive:
        return None
    months = 12 * (last.year - first.year) + last.month - first.month
    length = calendar.monthrange(last.year, last.month)[1]
    return Fraction(months) if last.day == min(first.day, length) else None


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
