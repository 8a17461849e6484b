"""What a sentence plainly says of dates: the weekday of one, the distance between two, a day that no calendar has.

Only what can be read in one way is read. In a copy of the text every date, length of time and weekday is one sign, and
what stands around these signs has to be words that add nothing: anything left over means that nothing is said plainly.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from typing import Literal

from haluagent.text.dates import find_dates, find_days, find_weekdays
from haluagent.text.instructions import prepared
from haluagent.text.numerals import ENGLISH_NUMBER, HAN_NUMBER, read_whole
from haluagent.text.places import covered
from haluagent.types import Span

Unit = Literal["days", "weeks", "months"]

_DATE, _LENGTH, _WEEKDAY = "\ue000", "\ue001", "\ue002"  # as many of them as the text has characters
_D, _N, _W = (rf"{sign}+" for sign in (_DATE, _LENGTH, _WEEKDAY))
FIRST_GREGORIAN, LAST = date(1582, 10, 15), date(2400, 1, 1)  # a later year is one of another calendar
MAX_LENGTH = 1000
"""Characters. What is said plainly is short."""


@dataclass(frozen=True)
class WeekdayClaim:
    """A date (`day`) said to be on a weekday (Monday is 0). `span` is what says so, `stated` the weekday in it."""

    day: date
    weekday: int
    span: Span
    stated: Span


@dataclass(frozen=True)
class DistanceClaim:
    """A length of time said to lie between two dates.

    `start` is None where the sentence leaves the two to the question. `inclusive`: counted with both days. `inner`: the
    days in between may be meant.
    """

    start: date | None
    end: date | None
    amount: int
    unit: Unit
    span: Span
    stated: Span
    inclusive: bool
    inner: bool


@dataclass(frozen=True)
class Between:
    """Two dates whose distance a question asks for, and the unit it names."""

    start: date
    end: date
    unit: Unit | None
    inclusive: bool
    inner: bool


@dataclass(frozen=True)
class _Amount:
    value: int
    unit: Unit
    span: Span


@dataclass(frozen=True)
class _Marked:
    """A text in which dates, lengths of time and weekdays are signs."""

    text: str
    dates: dict[Span, date]
    amounts: dict[Span, _Amount]
    weekdays: dict[Span, int]


# --- The signs --------------------------------------------------------------------------------------------------------

_NUMBER = rf"[0-9]{{1,3}}(?:,[0-9]{{3}})+|[0-9]{{1,6}}|{HAN_NUMBER}|{ENGLISH_NUMBER}"
_UNIT = r"天|日(?!期)|周(?![年岁])|星期|礼拜|个月|年|(?:days?|weeks?|months?|years?)\b"
_PART = rf"(?:{_NUMBER})[\s-]{{0,2}}(?:个(?!月)|(?:full|whole|calendar)\s)?\s?(?:{_UNIT})"
_ONE = re.compile(rf"(?P<number>{_NUMBER})\D*?(?P<unit>{_UNIT})", re.IGNORECASE)
_AMOUNT = re.compile(
    rf"(?<![A-Za-z0-9./第这那每前后-])(?<![0-9][,:])(?<!\bthe\s)(?<!\bthese\s)(?<!\bthose\s)(?<!\bboth\s)"
    rf"{_PART}(?:\s?(?:,\sand|,|and|又|零|加)?\s?{_PART}){{0,2}}(?![A-Za-z0-9])(?!\s(?:old|ago)\b)",
    re.IGNORECASE,
)
_UNITS = {
    "天": "days",
    "日": "days",
    "周": "weeks",
    "星期": "weeks",
    "礼拜": "weeks",
    "月": "months",
    "个月": "months",
    "年": "years",
}
_IN: dict[str, tuple[int, Unit]] = {
    "days": (1, "days"), "weeks": (7, "days"), "months": (1, "months"), "years": (12, "months")
}  # fmt: skip


def _mark(text: str, known: tuple[date, ...] = (), *, amounts: bool = True) -> _Marked:
    """Return the text with signs. A day without a year is a date where exactly one of `known` is that day."""
    plain = prepared(text).replace("*", " ")
    dates = {item.span: item.value for item in find_dates(plain) if item.value}
    for day in find_days(plain):
        same = [one for one in known if (one.month, one.day) == (day.month, day.day)]
        if day.year is None and len(same) == 1:
            dates[day.span] = same[0]
    dates = {_trimmed(plain, span): value for span, value in dates.items()}
    marked = covered(plain, dates, _DATE)
    weekdays = {span: number for number, span in find_weekdays(marked) if is_weekday(marked, span)}
    marked = covered(marked, weekdays, _WEEKDAY)
    lengths = {amount.span: amount for amount in _amounts(marked)} if amounts else {}
    return _Marked(covered(marked, lengths, _LENGTH), dates, lengths, weekdays)


def _trimmed(text: str, span: Span) -> Span:
    found = text[slice(*span)]
    return span[0] + len(found) - len(found.lstrip()), span[0] + len(found.rstrip())


def is_weekday(text: str, span: Span) -> bool:
    """Return whether what is named like a weekday is one, and no part of another word: 每周一, 周六十, Monday.com, Ruby Tuesday."""
    before, after = text[max(0, span[0] - 12) : span[0]], text[span[1] : span[1] + 2]
    if text[span[0]].isascii():
        word = re.search(r"([A-Z][\w'-]*)\s$", before)
        named = word and word[1].lower() not in _SMALL_WORDS
        return not (named or re.match(r"\.\w|'s|-\w", after))
    return not (
        re.search(r"[每当各逢\d一二三四五六七八九十几]$", before)
        or re.match("[一二三四五六七八九十百年岁月刊报末均期]", after)
    )


_SMALL_WORDS = frozenset(
    "a on by since until till the from this last next for after before starting beginning and through is was it that".split()
)


def _amounts(text: str) -> Iterator[_Amount]:
    """Yield the lengths of time: `15 days`, `2 weeks`, and weeks with days or years with months as one."""
    for match in _AMOUNT.finditer(text):
        parts = [(read_whole(part["number"]), _unit_of(part["unit"])) for part in _ONE.finditer(match[0])]
        if len(parts) == 1:
            ((value, unit),) = parts
            factor, base = (12, "months") if unit == "years" else (1, unit)
        else:
            value, factor = 0, 1
            bases = {_IN[unit][1] for _, unit in parts}
            base = bases.pop() if len(bases) == 1 else ""
            for number, unit in parts:
                value = None if number is None or value is None else value + number * _IN[unit][0]
        named: Unit | None = next((one for one in ("days", "weeks", "months") if one == base), None)
        years = re.fullmatch(r"[0-9〇零一二三四五六七八九]{4}年", match[0])  # 2020年
        if value is not None and named and not years:
            yield _Amount(value * factor, named, match.span())


def _unit_of(text: str) -> str:
    return _UNITS.get(text) or text.lower().rstrip("s") + "s"


# --- Weekdays ---------------------------------------------------------------------------------------------------------

_UNSURE = re.compile(
    r"\b(?:not|never|no|nor|neither|without|nobody|none|nothing|hardly|wrong|wrongly|false|falsely|incorrect|mistaken|mistakenly|instead|rather|if|unless|"
    r"whether|suppose|would|could|might|may have|maybe|perhaps|claimed|example|e\.g|such as|novel|film|movie|story|calendar|reads|"
    r"misprint\w*|lunar|julian|old style|o\.s|hebrew|"
    r"islamic)\b|n't\b|不|没|未|无|非|错|误|假如|如果|假设|若|要是|例如|比如|可能|也许|小说|电影|故事|写的|写着|其实|[农阴旧佛回藏]历|农曆|陰曆|儒略|夏历",
    re.IGNORECASE,
)
_UNSURE_ASKED = re.compile(
    r"\b(?:lunar|julian|old style|o\.s|hebrew|islamic)\b|[农阴旧佛回藏]历|农曆|陰曆|儒略|夏历", re.IGNORECASE
)
_SUBJECT = (
    r"(?:^|(?<=[,;:(。])|(?<=\bthat)|(?<=\band)|(?<=\bso)|(?<=\bbecause)|(?<=\bsince)|(?<=\bbut)|(?<=\bdate)|(?<=[知而故且则即])|"
    r"(?<=因为)|(?<=所以)|(?<=那么)|(?<=因此)|(?<=日期))\s*"
)
_ENDS = r"(?=\s*(?:$|[,.;!?)。]|and\b|but\b))"


def _patterns(*patterns: str) -> list[re.Pattern[str]]:
    return [re.compile(pattern, re.IGNORECASE) for pattern in patterns]


# The surest first: what one has read, the next cannot read in another way.
_SAID_IN_ENGLISH = _patterns(
    rf"{_SUBJECT}(?:the\s)?{_D}(?:\s(?:is|was|fell|falls|will\sbe|will\sfall|lands|landed)\s(?:on\s)?(?:a\s)?){_W}{_ENDS}",
    rf"{_D},\s?which\s(?:is|was|fell\son|falls\son)\s(?:a\s)?{_W}{_ENDS}",
    rf"{_D}\s?\((?:a\s)?{_W}\)",
    rf"(?:^|(?<=\bon))\s*{_D},\s(?:a\s)?{_W}{_ENDS}",
    rf"(?<!{_WEEKDAY}\sto\s)(?<!{_WEEKDAY}\sor\s)(?<!{_WEEKDAY}\sand\s)(?<![-/]){_W}(?:,?\s{{1,2}}(?:the\s)?){_D}",
)
_SAID_IN_CHINESE = _patterns(
    rf"{_SUBJECT}{_D}(?:那一?天|当天|这一?天|当日)?,?(?:是|为|正是|恰好是|正好是|刚好是|正值|恰逢|适逢)(?:一个)?{_W}(?![的、和及至到-])",
    rf"{_D}\s?\({_W}\)",
    rf"{_D}\s?[,]?\s?{_W}(?=[,。.;)]|$)|{_D}{_W}(?![、和及至到-])",
    rf"(?<![至到和及、或-]){_W}\s?(?:,|\()?{_D}",
)
_ASKS_WEEKDAY = re.compile(
    rf"^\W*(?:(?:on\s)?(?:what|which)\s(?:day\sof\sthe\sweek|weekday|day)\s(?:is|was|will|did|does|on)\s(?:it\s(?:on\s)?)?{_D}"
    rf"\s?(?:be|fall\son|fall|on)?|(?:请问)?{_D}(?:那一?天|当天|这一?天|当日)?(?:应该)?(?:是|为)?(?:星期|周|礼拜)几呢?)\W*$",
    re.IGNORECASE,
)
_PLAIN_WEEKDAY = re.compile(
    rf"^\W*(?:(?:so|the answer is|answer|it|that|that day|this day|the day|is|was|fell|falls|on|a|the|day)[\s,:]+){{0,6}}{_W}\W*$|"
    rf"^\W*(?:答案?|那一?天|当天|这一?天|该日|它|是|为|:|,){{0,5}}{_W}\W*$",
    re.IGNORECASE,
)


def weekday_claims(sentence: str, question: str, *, answers: bool, known: tuple[date, ...] = ()) -> list[WeekdayClaim]:
    """Return what the sentence says of the weekdays of dates. A day without a year is a date where exactly one of `known` is that
    day.

    `answers`: it may answer with nothing but a weekday where the question asks for that of its one date. Raises ToolError
    for a date that can be read in two ways.
    """
    if len(sentence) > MAX_LENGTH:
        return []
    marked = _mark(sentence, known, amounts=False)
    if not marked.weekdays or "?" in marked.text or _UNSURE.search(marked.text) or _UNSURE_ASKED.search(question):
        return []
    found: dict[Span, WeekdayClaim] = {}
    for pattern in _SAID_IN_ENGLISH if sentence[next(iter(marked.weekdays))[0]].isascii() else _SAID_IN_CHINESE:
        for match in pattern.finditer(marked.text):
            start = match.start() + len(match[0]) - len(match[0].lstrip())
            inside = (start, match.end())
            days = [(span, day) for span, day in marked.dates.items() if _within(span, inside)]
            names = [(span, day) for span, day in marked.weekdays.items() if _within(span, inside)]
            taken = any(claim.span[0] < inside[1] and inside[0] < claim.span[1] for claim in found.values())
            if len(days) == len(names) == 1 and not taken:
                found[names[0][0]] = WeekdayClaim(days[0][1], names[0][1], inside, names[0][0])
    if not found and answers and len(question) <= MAX_LENGTH and not marked.dates and _PLAIN_WEEKDAY.match(marked.text):
        asked = _mark(question, amounts=False)
        if len(asked.dates) == 1 and _ASKS_WEEKDAY.match(asked.text):
            ((stated, weekday),) = marked.weekdays.items()
            (day,) = asked.dates.values()
            found[stated] = WeekdayClaim(day, weekday, (0, len(sentence)), stated)
    if len(found) < len(marked.weekdays):
        return []  # Friday to Sunday, June 7 to 9: one stands for both
    return [claim for claim in found.values() if FIRST_GREGORIAN <= claim.day < LAST]


def _within(inner: Span, outer: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


# --- Distances --------------------------------------------------------------------------------------------------------

_BOTH_DAYS = re.compile(
    r"\b(?:inclusive(?:\sof\sboth\s(?:days|dates|ends))?|both\s(?:days|dates|ends)\s(?:included|inclusive|counted)|(?:including|"
    r"counting)\sboth\s(?:the\s)?(?:days|dates|ends)|including\s(?:the\s)?(?:first|start)\sand\s(?:the\s)?(?:last|end)\s(?:days?|"
    r"dates?))\b|(?<![不未])(?:包?[含括]首尾(?:两[天日])?(?:在内)?|首尾(?:两[天日])?(?:都|均|也)?(?:算|计|计入|包括|包含)(?:在内|入|上)?|"
    r"算上首尾(?:两[天日])?|两头都算)",
    re.IGNORECASE,
)
_SPECIAL = re.compile(
    r"\b(?:working|business|weekdays?|school|trading|inclusive|inclusively|includ\w+|exclu\w+|count\w*|both|weekends?|holidays?)\b|"
    r"工作日|交易日|上班|上学|首尾|两头|[包含括]|(?<!计)算|计入|不计|节假日|周末|休息|[农阴旧]历",
    re.IGNORECASE,
)
_FILLERS = re.compile(
    r"\b(?:the|this|our|your|their)\s[a-z-]+\slasts\b|[\u4e00-\u9fff]{0,4}(?:持续|历时|为期)|"
    r"\b(?:there|are|is|were|was|it's|its|it|that's|that|this|these|those|the|a|an|in|of|exactly|exact|precisely|total|"
    r"altogether|all|from|to|and|until|till|between|since|apart|days|weeks|months|number|length|difference|interval|period|"
    r"time|span|gap|distance|answer|final|correct|so|therefore|thus|hence|result|equals?|makes?|have|has|passed|pass|elapsed|"
    r"elapse|two|dates?|each|other|or|i\.e|which|means?|we|get|calendar|for|comes|amounts|separated?|by|them|lies?|long|how|many|"
    r"as of|today|left|remaining|remain|what|calculate|compute|find|please|tell|me|do|does|did|can|you|full|whole|"
    r"start|end|starting|ending)\b|"
    r"一共|总共|共计|总计|合计|共|有|是|为|相差|相隔|间隔|相距|距离?|离|差|隔|之间|中间|期间|之|经过|过|了|从|自|由|到|至|止|起|开始|和|与|"
    r"跟|同|所以|因此|故|那么|答案|答|它们|两者|二者|两个日期|这两个日期|两个日子|这两天|这段时间|这段|时间|天数|正好|恰好|刚好|即|也就是|就是|"
    r"请问|请|今天|今日|还|计算|求|算出|一下|多少|几|个|天|日|周|星期|月|的|呢|数|等于|日期|我们|可知|可得|得",
    re.IGNORECASE,
)
_ASKS_DISTANCE = re.compile(
    r"how many (?:full |whole |calendar )?(?P<unit>days|weeks|months)|number of (?P<of>days|weeks|months)|difference in "
    r"(?P<diff>days|weeks|months)|how long|(?:多少|几)个?(?P<han>天|日|周|星期|月)|天数|相差多久|间隔多久",
    re.IGNORECASE,
)
_CHOOSES = re.compile(r"\b(?:last|first|latter|former|earliest|latest)\b|[最前后][早晚]?|两", re.IGNORECASE)
_INNER = re.compile(r"中间|相隔|间隔|\bin between\b", re.IGNORECASE)
_SHIFTED = re.compile(
    rf"^\W*(?:so,?\s|therefore,?\s|所以,?|因此,?)?(?:"
    rf"{_D}\s(?:is|was|comes|came|falls|fell)\s(?:exactly\s)?{_N}\s(?P<after>after|before|later\sthan|earlier\sthan)\s{_D}|"
    rf"{_N}\s(?P<from>after|before|from)\s{_D}\s(?:is|was|will\sbe|falls\son)\s{_D}|"
    rf"{_D}比{_D}(?P<than>晚|早|迟)了?{_N}|"
    rf"{_D}(?:的|过|再过|往后|往前|之后|之前|后|前)?{_N}(?:之|以)?(?P<then>后|前)就?是{_D})\W*$",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[^;；。]+")


@lru_cache(maxsize=64)  # asked again for every sentence of a response
def distance_asked(question: str) -> Between | None:
    """Return the two dates whose distance the question asks for, and asks for nothing else."""
    if len(question) > MAX_LENGTH:
        return None
    inclusive = bool(_BOTH_DAYS.search(question))
    text = _BOTH_DAYS.sub(lambda match: " " * len(match[0]), question)
    marked = _mark(text)
    match = _ASKS_DISTANCE.search(marked.text)
    if not match or len(marked.dates) != 2 or _SPECIAL.search(marked.text) or not _adds_nothing(marked.text):
        return None
    start, end = (day for _, day in sorted(marked.dates.items()))
    named = match["unit"] or match["of"] or match["diff"] or _UNITS.get(match["han"] or "")
    unit: Unit | None = next((one for one in ("days", "weeks", "months") if one == (named or "").lower()), None)
    return Between(start, end, unit, inclusive, bool(_INNER.search(question)))


def chooses_dates(question: str) -> bool:
    """Return whether the question asks in a sentence of its own for the distance between two of more than two dates."""
    if len(question) > MAX_LENGTH or _counts_otherwise(question) or len(find_dates(question)) < 3:
        return False
    clauses = re.split(r"[.:;!?。：；！？]", question)
    return any(_ASKS_DISTANCE.search(clause) and _adds_nothing(_CHOOSES.sub(" ", clause)) for clause in clauses)


def _counts_otherwise(question: str) -> bool:
    """Return whether a question counts days in a way of its own: working days, or with or without the last."""
    return bool(_SPECIAL.search(_BOTH_DAYS.sub(" ", question)))


_COUNTED = re.compile(
    rf"(?:number of (?P<unit>days|weeks|months)\b|天数)[^0-9]*?(?:\b(?:is|was|equals)\s|[=:是为])\s?(?P<number>{_NUMBER})(?=[\s.。]*$)",
    re.IGNORECASE,
)


def names_a_length(text: str) -> bool:
    """Return whether a text names a length of time."""
    return _AMOUNT.search(text) is not None


def distance_claims(
    sentence: str, question: str, *, asked: Between | None, answers: bool, alone: bool = False
) -> list[DistanceClaim]:
    """Return the distances between two dates that the sentence states.

    `answers`: it may answer `asked` with nothing but a length of time, and where it stands `alone` with a number. Raises
    ToolError for a date that can be read in two ways.
    """
    if len(sentence) > MAX_LENGTH:
        return []
    inclusive = bool(_BOTH_DAYS.search(sentence)) or bool(_BOTH_DAYS.search(question))
    text = _BOTH_DAYS.sub(lambda match: " " * len(match[0]), sentence)
    marked = _mark(text, (asked.start, asked.end) if asked else ())
    if (
        not marked.amounts
        and (match := _COUNTED.search(marked.text))
        and (value := read_whole(match["number"])) is not None
    ):
        unit: Unit = "weeks" if match["unit"] == "weeks" else "months" if match["unit"] == "months" else "days"
        span = match.span("number")
        marked = replace(marked, text=covered(marked.text, [span], _LENGTH), amounts={span: _Amount(value, unit, span)})
    if "?" in marked.text or _SPECIAL.search(marked.text) or _counts_otherwise(question):
        return []
    inner = bool(_INNER.search(sentence))
    whole = (0, len(sentence))
    days = [day for _, day in sorted(marked.dates.items())]
    amounts = list(marked.amounts.values())
    if answers and alone and asked and asked.unit and (number := _bare_number(text)):
        return [_distance(None, None, _Amount(number[0], asked.unit, number[1]), whole, inclusive, inner)]
    if answers and not days and _adds_nothing(marked.text):
        return [_distance(None, None, one, whole, inclusive, inner) for one in amounts]
    if (match := _SHIFTED.match(marked.text)) and len(days) == 2 and len(amounts) == 1:
        word = match["after"] or match["from"] or match["than"] or match["then"]
        forward = word.lower().split()[0] in ("after", "from", "later", "晚", "迟", "后")
        first, second = days
        if match["after"] or match["than"]:  # the date that is shifted stands before the one it is counted from
            first, second = second, first
        if not forward:
            first, second = second, first
        return [_distance(first, second, amounts[0], whole, inclusive, inner)]
    return list(_plain_distances(marked, inclusive, inner))


def _plain_distances(marked: _Marked, inclusive: bool, inner: bool) -> Iterator[DistanceClaim]:
    """Yield the distances of the clauses that hold two dates, a length of time and nothing else."""
    for match in _CLAUSE.finditer(marked.text):
        place = match.span()
        days = [day for span, day in sorted(marked.dates.items()) if _within(span, place)]
        amounts = [one for span, one in sorted(marked.amounts.items()) if _within(span, place)]
        if len(days) == 2 and amounts and _adds_nothing(match[0]):
            for one in amounts:
                yield _distance(min(days), max(days), one, place, inclusive, inner)


def _distance(
    start: date | None, end: date | None, amount: _Amount, span: Span, inclusive: bool, inner: bool
) -> DistanceClaim:
    return DistanceClaim(start, end, amount.value, amount.unit, span, amount.span, inclusive, inner)


def _adds_nothing(text: str) -> bool:
    """Return whether a marked text has nothing but signs and words that add nothing to them."""
    return re.fullmatch(rf"[\s,.:;!?()=→。、{_DATE}{_LENGTH}-]*", _FILLERS.sub(" ", text)) is not None


def _bare_number(text: str) -> tuple[int, Span] | None:
    match = re.fullmatch(rf"\W*(?P<number>{_NUMBER})\W*", text, re.IGNORECASE)
    value = read_whole(match["number"]) if match else None
    return (value, match.span("number")) if match and value is not None else None


# --- Days that no calendar has ----------------------------------------------------------------------------------------

_NO_FACT = re.compile(
    r"error|invalid|reject|fail|exception|raise|parse|format|valid|imagin|fiction|joke|exist|存在|非法|无效|报错|异常|校验|解析|格式|虚构|虚拟|"
    r"如|输入|填|测试|\btest|\benter\b|\binput\b|\bhypothetical",
    re.IGNORECASE,
)
_BEFORE_DAY = re.compile(r"(?:\b(?:on|since|born|died)\s{1,2}(?:the\s)?|[于在自从])$", re.IGNORECASE)


def impossible_days(sentence: str, question: str) -> list[Span]:
    """Return the places of days that the calendar has not (February 30) where the sentence says that something was then."""
    if len(sentence) > MAX_LENGTH:
        return []
    plain = prepared(sentence).replace("*", " ")
    if "?" in plain or _UNSURE.search(plain) or _NO_FACT.search(plain) or _UNSURE_ASKED.search(question):
        return []
    found = []
    for item in find_dates(plain):
        start, end = _trimmed(plain, item.span)
        written = re.fullmatch(r".*[日号]|[0-9]{4}-[0-9]{2}-[0-9]{2}|.*[a-zA-Z].*", plain[start:end])
        year = re.search(r"[0-9]{4}", plain[start:end])
        modern = year is None or int(year[0]) > 1752  # Sweden had a February 30 in 1712
        stands = _BEFORE_DAY.search(plain[max(0, start - 12) : start]) and re.search(r"\w", plain[:start] + plain[end:])
        if item.value is None and written and modern and stands:
            found.append((start, end))
    return found
