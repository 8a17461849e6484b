"""The numbers that texts give, each with its role, and what follows from them: conversions, and sums of a few.

A role is what a number is: an amount of money, an identifier, a part of a date, a percentage, a measure, or plain.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Set
from fractions import Fraction
from itertools import islice, permutations
from math import floor
from typing import Literal

from haluagent.checks.runs.calls.entities import places
from haluagent.checks.runs.calls.roles import NOT_FOR, UNITS, role_of, unit_after, unit_named, unit_of
from haluagent.text.numbers import Number, find_numbers, rounds_to
from haluagent.text.numerals import HAN_NUMBER, read_han

Role = Literal["money", "identifier", "date", "percent", "measure", "plain"]
Judgement = Literal["given", "unclear", "invented"]

_ONE_UNIT = re.compile(
    r"\b(?:an?|one|per|each|every|next|this|last|past|the)\s+(?P<latin>second|minute|hour|day|night|week|fortnight|month|quarter|year)\b"
    r"|\b(?P<ly>hour|dai|week|month|year)ly\b|\b(?P<today>today|tonight|tomorrow)|[本上下每这一]个?(?P<han>小时|天|周|星期|月|季度|年)",
    re.I,
)
_MONEY_BEFORE = re.compile(r"(?:[$€£¥￥]|\b(?:usd|eur|cny|rmb|gbp|jpy|hkd|us))\s*-?$", re.I)
_MONEY_AFTER = re.compile(
    r"\s*(?:[$€£¥￥元块]|(?:usd|eur|cny|rmb|gbp|jpy|hkd|dollars?|euros?|bucks|yuan|pounds?|cents?)\b)", re.I
)
_NUMBERED = re.compile(
    r"(?:#|№|\b(?:no|nr|id|number)\b\.?\s*(?:is\s*)?[:=]?\s*[\"']?|[^\W\d_](?:编号|单号|号码)\s*[:：为是#]?\s*)$", re.I
)
_NOUN_OF_ID = re.compile(
    r"(?:\b(?:order|invoice|ticket|case|account|reference|issue|booking|customer|user|card)|订单|工单|发票|账户|客户)\s*[:：]?\s*$",
    re.I,
)
_NEGATIVE_BEFORE = re.compile(
    r"(?:minus|negative|零下|负|亏损|西经|南纬|\b(?:loss|down|drop|lower|reduc\w+|decreas\w+|spent|spend|expense|debit|withdr\w+|paid)\b[^.\n\d]{0,12}"
    r"|支出|扣[除减]?|减少|下降|降低|花了?)[^\d.\n]{0,8}$", re.I,
)  # fmt: skip
_NEGATIVE_AFTER = re.compile(r"\s*(?:°|º|degrees?)?\s*(?:[WS]\b|west\b|south\b|(?:[CF]\s+)?below\b)")
_FIELD = re.compile(r"\"([^\"\\]{1,60})\"\s*:\s*\"?[^\d\"\[{]{0,4}$")
_SHORT = re.compile(r"(?<![\w.])(\d{1,9}(?:\.\d{1,4})?)\s?([km])\b", re.I)
_COMMA = re.compile(r"(?<![\w.,])(\d{1,3}(?:\.\d{3}){0,3}|\d{1,9}),(\d{1,2})(?![\d,])")
_OFF = re.compile(r"([一二三四五六七八九]{1,2}|\d(?:\.\d)?)折")
_ORDINAL = re.compile(r"\b(\d{1,6})(?:st|nd|rd|th)\b|第\s*(\d{1,6})", re.I)
_COUNTED = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "once": 1, "single": 1, "an": 1, "a": 1, "twice": 2, "double": 2,
    "both": 2, "pair": 2, "couple": 2, "triple": 3, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "twelve": 12,
}  # fmt: skip
_COUNTING = re.compile(rf"\b(?:{'|'.join(_COUNTED)})\b", re.I)
_PARTS = {"third": 3, "quarter": 4, "fifth": 5, "eighth": 8, "tenth": 10}
_FRACTION = re.compile(rf"\b(?:(an?|one|two|three|four)[ -])?({'|'.join(_PARTS)})s?\b(?(1)|(?=\s+off?\s+\d))", re.I)
_WHOLES = {"halves": 2, "thirds": 3, "quarters": 4, "fifths": 5}
_MANY_PARTS = re.compile(rf"\b(?:{'|'.join(_WHOLES)})\b", re.I)
_TIMES = {
    Fraction(2): re.compile(r"\b(?:doubl\w+|twice)\b|[两二]倍|翻倍|翻番", re.I),
    Fraction(3): re.compile(r"\btripl\w+|三倍", re.I),
    Fraction(1, 2): re.compile(r"\bhal(?:f|ve\w*)\b|一半", re.I),
}
_PERCENT = re.compile(r"\s*per\s?cent\b", re.I)
_TO = re.compile(r"\s*(?:-|–|~|to|through|till|until|到|至)\s*")
WIDTH = 20  # of a range of small numbers; that of others is at most its lower end
GAP = 12  # characters between the ends of a range
_COMPUTED = re.compile(r"total|sum$|average|mean$|总|合计", re.I)
OPERANDS = 6  # the most that a total may be of
_MINUTES = re.compile(r"(?<![\d:])(\d{1,2}):([0-5]\d)(?::([0-5]\d))?(?![\d:])")
_INDEX = re.compile(r"(?:index|idx|position|offset|row|column)$", re.I)
_LONG_UNITS = (
    (
        re.compile(
            r"(\d{1,3})\s*(?:h|hrs?|hours?|个?小时)\s*(?:and\s*)?(\d{1,2})\s*(?:m|mins?|minutes?|分钟?)\b", re.I
        ),
        "time",
        3_600_000,
        60_000,
    ),
    (
        re.compile(r"(\d{1,2})\s*(?:'|ft|feet|foot)\s*(\d{1,2})\s*(?:\"|in|inch|inches)?(?![\d.])", re.I),
        "length",
        Fraction("304.8"),
        Fraction("25.4"),
    ),
)
_HAN = re.compile(HAN_NUMBER)
_VAGUE = re.compile(
    r"\b(?:few|several|some|recent|recently|coming|upcoming|latest|nearby|family|couple)\b|几|一些|近期|最近|附近|全家",
    re.I,
)
# What may change an amount in a way that is not worked out.
_IN_WORDS = re.compile(
    r"\b(?:halve\w*|grand|gigs?|half an? \w+|quarters? of|quarter hour|and a (?:half|quarter|third)|round(?:ed)? (?:up|down)"
    r"|(?:two|three|four|five|six|seven|eight|nine|ten)-(?:day|night|week|month|year))\b|[半斤两刻毛]",
    re.I,
)
_AND_SMALLER = re.compile(r"[\s-]*[^\W\d_]{1,12}\s?(?:and\s)?(?:\d|[一二三四五六七八九半]|[a-z]+ty\b|half)", re.I)
_BOUND = re.compile(r"(?:^|[_.$-])(?:min|max|above|below|over|under|least|most|[lg]te?)(?:[_.-]|$)", re.I)
_CALENDAR = re.compile(r"year|month|day|week|quarter|date|time|hour|exp|[年月日]", re.I)
_LISTED = re.compile(r"\band\b|[、和与跟]", re.I)
_DIGITS = re.compile(r"\d{1,30}")
_CONVERTED = sorted({unit for unit in UNITS.values() if unit[0] in ("time", "money", "data")})
_MILE = Fraction("1.609344")
_SCALES: dict[str, Callable[[Fraction], tuple[Fraction, Fraction]]] = {
    "temperature": lambda one: ((one - 32) * 5 / 9, one * 9 / 5 + 32),
    "speed": lambda one: (one * _MILE, one / _MILE),
}
"""What a number is in the other unit of a dimension that has two."""
SURE, LIKELY = Fraction(6, 1000), Fraction(20, 1000)
"""The share of all numbers of its length up to which what follows in one step is given, or may be."""
FINE = 200  # numbers with many decimals that another may be rounded from
MOST = 60  # numbers that are calculated with
FEW = 12  # the most that a few may be


class GivenNumbers:
    """The numbers of texts. Each text is read once, when it is needed."""

    def __init__(self) -> None:
        self._roles: defaultdict[Fraction, set[Role]] = defaultdict(set)
        self._measures: defaultdict[str, set[Fraction]] = defaultdict(set)  # in the smallest unit of the dimension
        self._shares: set[Fraction] = set()  # percentages and fractions, with what is left or comes to it
        self._totals: set[Fraction] = set()
        self._usable: set[Fraction] = set()
        self._fine: defaultdict[int, set[Fraction]] = defaultdict(set)  # those with decimals, by their whole part
        self._made: tuple[Set[Fraction], ...] | None = None
        self._ranges: list[tuple[Fraction, Fraction]] = []
        self._approximate: list[Fraction] = []
        self.vague = False
        self.listed = False
        self.in_words = False
        self._quantities: defaultdict[str, set[tuple[Fraction, Fraction]]] = defaultdict(set)  # with their units' sizes

    def read(self, text: str) -> None:
        """Add the numbers of a text."""
        self._made = None
        self.listed |= _LISTED.search(text) is not None
        for first, second, third in _MINUTES.findall(text):  # a length of time, in minutes or in hours
            for size in (60_000, 3_600_000):
                self._measures["time"].add(
                    Fraction(int(first) * size + int(second) * size // 60 + int(third or 0) * size // 3600)
                )
        found, rest = places(text)
        for kind, (start, end) in found:
            for digits in _DIGITS.findall(text[start:end]):
                if kind in ("date", "time"):
                    self._roles[Fraction(digits)].add("date")
                elif kind in ("id", "phone", "url", "path", "handle", "email"):
                    self._roles[Fraction(digits)].add("identifier")
        columns: defaultdict[str, list[Fraction]] = defaultdict(list)
        last: Number | None = None
        for number in find_numbers(rest):
            name = self._number(rest, number)
            columns[name].append(number.value)
            self._approximate += [number.value] if number.approximate else []
            if last and _TO.fullmatch(rest[last.span[1] : number.span[0]][:GAP]):
                one, other = abs(last.value), abs(number.value)
                low, high = (one, other) if one < other else (other, one)
                self._ranges += [(low, high)] if high - low <= max(low, Fraction(WIDTH)) else []
            last = number
        self._totals.update(sum(values, Fraction(0)) for values in columns.values() if len(values) > 1)
        self._words(rest)

    def _number(self, text: str, number: Number) -> str:
        """Add a number, and return the name of its field or of its role."""
        start, end = number.span
        before, after = text[max(0, start - 70) : start], text[end : end + 16]
        field = _FIELD.search(before)
        role, named = self._role(number, before, after, field[1] if field else "")
        values = {number.value}
        if number.decimals is None:
            values |= {Fraction(number.value.numerator), Fraction(number.value.denominator)}
        if number.is_percent:
            values |= {number.value * 100, 1 - number.value, 1 + number.value}
        if (
            re.search(r"(?:^|[\s(:：，])-$", before[-2:])
            or _NEGATIVE_BEFORE.search(before[-24:])
            or _NEGATIVE_AFTER.match(after)
        ):
            values |= {-value for value in values}
        for value in values:
            self._roles[value].add(role)
            if value.denominator > 100:
                self._fine[floor(value)].add(value)
        if not number.is_percent and _PERCENT.match(after):
            self._add_share(abs(number.value) / 100)
        if number.is_percent or number.decimals is None:
            self._add_share(abs(number.value))
        elif role != "identifier":
            self._usable.add(abs(number.value))
        unit = ("money", Fraction(100)) if role == "money" else None
        unit = unit_after(after) or (unit_of(field[1]) if field else None) or unit
        if unit or role == "plain":
            dimension, size = unit or ("amount", Fraction(100))
            self._measures[dimension].add(number.value * size)
        if unit:
            smaller = unit[1] if _AND_SMALLER.match(after) else Fraction(0)
            self._quantities[unit[0]].add((number.value * unit[1], smaller))
        return named

    def _role(self, number: Number, before: str, after: str, field: str) -> tuple[Role, str]:
        whole = number.value.denominator == 1 and number.decimals == 0
        used = role_of(field)
        if _MONEY_BEFORE.search(before) or _MONEY_AFTER.match(after):
            return "money", field or "money"
        if number.is_percent:
            return "percent", field or "percent"
        if whole and (
            used == "identifier"
            or _NUMBERED.search(before[-24:])
            or (
                number.value >= 1000
                and _NOUN_OF_ID.search(before[-24:])
                and not re.match(r"\s+[a-z]+s\b|[个件份条]", after, re.I)
            )
            or after.startswith("号")
        ):
            return "identifier", field or "identifier"
        if used == "money":
            return "money", field
        return ("measure" if unit_after(after) else "plain"), field or "plain"

    def _words(self, text: str) -> None:
        """Add what find_numbers leaves out since it may be none: ordinals, `a`, `twice`, 两晚, `1.5k`, `12,50`, 八折."""
        also: set[Fraction] = {Fraction(_COUNTED[word.lower()]) for word in _COUNTING.findall(text)}
        also.update(Fraction(one or other) for one, other in _ORDINAL.findall(text))
        also.update(
            Fraction(digits) * {"k": 1000, "m": 10**6}[letter.lower()] for digits, letter in _SHORT.findall(text)
        )
        also.update(Fraction(f"{whole.replace('.', '')}.{part}") for whole, part in _COMMA.findall(text))
        for match in _HAN.finditer(text):
            value = read_han(match[0])
            if value is not None:
                also.add(value)
                if unit := unit_after(text[match.end() : match.end() + 16]):
                    self._measures[unit[0]].add(value * unit[1])
        for share in (_digit(digits) / (100 if len(digits) == 2 else 10) for digits in _OFF.findall(text)):
            also.update((share, 1 - share, 100 * (1 - share)))
            self._add_share(1 - share)
        for count, part in _FRACTION.findall(text):
            self._add_share(Fraction(_COUNTED.get(count.lower(), 1), _PARTS[part.lower()]))
        also.update(Fraction(_WHOLES[word.lower()]) for word in _MANY_PARTS.findall(text))
        self._shares.update(times for times, wording in _TIMES.items() if wording.search(text))
        for pattern, dimension, large, small in _LONG_UNITS:
            self._measures[dimension].update(
                Fraction(int(one) * large + int(other) * small) for one, other in pattern.findall(text)
            )
        for value in also:
            self._roles[value].add("plain")
        for match in _ONE_UNIT.finditer(text):
            word = (
                match["latin"]
                or match["han"]
                or {"dai": "day"}.get((match["ly"] or "day").lower(), match["ly"] or "day")
            )
            if unit := unit_named(word.lower()):
                self._measures[unit[0]].add(unit[1])

    def hear(self, text: str) -> None:
        """Note which amounts the words of a user leave open."""
        self.vague |= _VAGUE.search(text) is not None
        self.in_words |= _IN_WORDS.search(text) is not None

    def states(self, value: Fraction) -> bool:
        """Return whether a number is there, in whatever role."""
        return value in self._roles

    def _add_share(self, share: Fraction) -> None:
        self._shares.update((share, abs(1 - share), 1 + share))

    def judge(self, number: Number, name: str, unit: tuple[str, Fraction] | None, *, text: bool) -> Judgement:
        """Return whether a number is given for a parameter of this name and unit; one in a `text` has any role and sign."""
        value, role = number.value, role_of(name)
        refused = NOT_FOR.get(role, frozenset())
        readings = {value, abs(value)} if text else {value}
        if number.is_percent:
            readings |= {one * 100 for one in readings}
        if not text and not role and self._roles.get(value) == {"date"} and not _CALENDAR.search(name):
            return "unclear"
        if any((roles := self._roles.get(one)) and (text or not roles <= refused) for one in readings):
            return "given"
        if unit and self._measured(value, number.decimals, *unit):
            return "given"
        decimals = number.decimals or 0
        fine = [one for whole in (-1, 0, 1) for one in self._fine.get(floor(value) + whole, ())]
        if decimals >= 2 and any(rounds_to(one, value, decimals) for one in fine[:FINE]):
            return "given"
        if (
            value > 0
            and not unit
            and value not in self._roles
            and any(value * size in self._measures[name] for name, size in _CONVERTED)
        ):
            return "unclear"
        if -value in self._roles and value > 0:
            return "unclear"
        return self._follows(value, decimals)

    def _measured(self, value: Fraction, decimals: int | None, dimension: str, size: Fraction) -> bool:
        given = self._measures[dimension] | (self._measures["amount"] if dimension == "money" else set())
        if value * size in given or (dimension == "data" and value * size * 1024 / 1000 in given):
            return True
        return bool(decimals) and len(given) <= MOST and any(rounds_to(one / size, value, decimals) for one in given)

    def _follows(self, value: Fraction, decimals: int) -> Judgement:
        """Return whether a number is the sum, difference, product or quotient of two given ones, or the total of some.

        The more such results there are, the likelier some other number is among them by chance: only if they are few
        beside all the numbers of that length, it is given, or unclear.
        """
        usable = self._usable
        length = max(900, 9 * 10 ** (len(str(int(abs(value) * 10 ** max(0, decimals)))) - 1))
        sure = SURE * length if value.denominator != 1 or abs(value) >= 100 else 0
        pairs = len(usable) * (len(usable) - 1)
        results = 0
        for kind, count in enumerate((len(self._shares) * len(usable), len(self._totals), pairs, 3 * pairs // 2)):
            results += count
            if results > LIKELY * length or len(usable) > MOST:
                return "invented"
            if value in self._results()[kind]:
                return "given" if results <= sure or kind == 0 else "unclear"
        return "invented"

    def _results(self) -> tuple[Set[Fraction], ...]:
        """Return the shares of given numbers, the totals, the sums and differences, and the products and quotients;
        amounts of money are also rounded."""
        if self._made is None:
            sums: set[Fraction] = set()
            products: set[Fraction] = set()
            for one, other in permutations(self._usable, 2):
                sums.update((one + other, one - other))
                products.add(one * other)
                products.update((one / other,) if other else ())
            shares = {one * share for one in self._usable for share in self._shares}
            positive = {one for one in sums if one > 0}
            self._made = _with_cents(shares), self._totals, positive, _with_cents(products)
        return self._made

    def _leaves_open(self, value: Fraction, unit: tuple[str, Fraction]) -> bool:
        """Return whether a number with a unit may be meant: the texts give no such measure that can be converted, or
        one that is the same but for its rounding, or but for smaller units after it (`1h30`)."""
        dimension, size = unit
        if dimension in _SCALES:
            return any(
                abs(value - made) * 50 <= max(abs(made), Fraction(30))
                for one in islice(self._roles, MOST)
                for made in _SCALES[dimension](one)
            )
        given = self._quantities[dimension]
        return (bool(self._roles) and not given and dimension != "money") or any(
            one <= value * size < one + of or (dimension != "money" and abs(value * size - one) * 50 <= abs(one))
            for one, of in islice(given, MOST)
        )

    def is_near(self, value: Fraction, name: str, unit: tuple[str, Fraction] | None) -> bool:
        """Return whether the texts leave a number open.

        It lies in a given range, or near one that is said to be approximate; it is a total of a few in a way that is
        not worked out here; it counts from 0 what they count from 1; or it is small, and they name people or things
        without counting them.
        """
        if any(low <= value <= high for low, high in self._ranges[:MOST]):
            return True
        if any(abs(value - one) * 4 <= abs(one) for one in self._approximate[:MOST]):
            return True
        if _COMPUTED.search(name) and 2 < len(self._usable) <= OPERANDS:
            return True
        role = role_of(name)
        unit = unit or (("money", Fraction(100)) if role == "money" else None)
        if unit and (self.in_words or self._leaves_open(value, unit)):
            return True
        if _BOUND.search(name) and {value - 1, value + 1} & self._roles.keys():
            return True
        if _INDEX.search(name) and value + 1 in self._roles:
            return True
        few = value.denominator == 1 and 0 < value <= FEW and role not in ("money", "identifier")
        return few and (self.vague or (self.listed and role == "count"))


def _with_cents(values: Set[Fraction]) -> Set[Fraction]:
    return values | {Fraction(rounding(one * 100), 100) for one in values for rounding in (round, floor)}


def _digit(text: str) -> Fraction:
    return Fraction(text) if text[0].isdigit() else read_han(text) or Fraction(0)
