"""Deriving numbers and days from a run's results by arithmetic: rounding, sums, counts, days between dates.

A claim may state a number or a day that is in no result and still be a sound inference. Each one that an exact
calculation gives is written as a line below the results (`price 40 + 35 = 75`), where the model that judges the claim
can read it. Whether the claim uses it for the right thing is still the model's to judge.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import timedelta
from fractions import Fraction
from itertools import combinations, islice

from haluagent.arithmetic.derivations import from_two, gives
from haluagent.arithmetic.equations import find_equations
from haluagent.arithmetic.known import USUAL_CONSTANTS, foreign_numbers
from haluagent.checks.runs.answers.evidence import EvidenceText, Field
from haluagent.judging.passages import missing_numbers
from haluagent.text.clocks import Clock, find_clocks
from haluagent.text.dates import Day, find_days
from haluagent.text.numbers import Number, find_numbers, matches, rounds_to, show
from haluagent.text.units import conversions
from haluagent.types import Span

MOST = 60  # values of a result used in calculations: pairs of more would explain any number
PAIRS = 8
_ABOVE = re.compile(r"(?:over|more than|at least|above|exceed\w*|超过|多于|高于|不少于|至少|大于)\s*[$¥€£]?\s*$", re.I)
_BELOW = re.compile(r"(?:under|less than|at most|below|up to|不到|少于|低于|不超过|至多|小于)\s*[$¥€£]?\s*$", re.I)
_DAYS = re.compile(r"\s*[- ]?(?:天|日|晚|夜|days?\b|nights?\b)", re.I)
# A key that names a rate: annual_rate_percent, exchangeRate; not duration, iterations or generated.
_RATE = re.compile(
    r"(?<![A-Za-z])(?i:rate|ratio|pct|percent(?:age)?)s?(?![a-z])|(?<=[a-z])(?:Rate|Ratio|Pct|Percent(?:age)?)s?(?![a-z])|率|比例|百分"
)
_PERCENT = re.compile(r"percent|pct|百分", re.I)
_Value = tuple[Fraction, Field]
Note = tuple[str, tuple[Field, ...]]  # a line, and the values it is calculated from


class Derived:
    """The numbers and days that follow from a run's results.

    `user` holds the user's words, whose numbers may be used too.
    """

    def __init__(self, evidence: EvidenceText, user: str) -> None:
        self.text, self.user, self.counts = evidence.text, user, evidence.counts
        self.stated = find_numbers(evidence.text)
        self.days, self.clocks = find_days(evidence.text), find_clocks(evidence.text)
        self.asked_days, self.asked_clocks = find_days(user), find_clocks(user)
        self.factors = {n.value for n in find_numbers(user) if n.value.denominator == 1 and 1 < n.value <= 1000}
        dated = [when for day in (*self.days, *self.asked_days) if (when := day.date())][:PAIRS]
        self.factors |= {Fraction(abs((one - other).days)) for one, other in combinations(dated, 2) if one != other}
        self.columns: dict[str, list[_Value]] = defaultdict(list)
        # The values of a column in the rows where another column has the same text.
        self.groups: dict[tuple[str, str, str], list[_Value]] = defaultdict(list)
        self.rows: dict[tuple[str, ...], list[_Value]] = defaultdict(list)
        self.values: list[_Value] = []
        self.same: dict[str, Counter[str]] = defaultdict(Counter)
        for item in evidence.fields[:2000]:
            self.same[item.key][item.text] += 1
            numbers = find_numbers(item.text) if len(item.text) < 40 else []
            if (
                len(numbers) == 1
                and not find_days(item.text)
                and not re.search(r"[A-Za-z\u4e00-\u9fff]-?\d", item.text)
            ):
                value = (numbers[0].value, item)
                self.columns[item.key].append(value)
                self.rows[item.row].append(value)
                self.values.append(value)
        for key, column in self.columns.items():
            of_row = {item.row: (value, item) for value, item in column}
            for other in evidence.fields[:2000] if 2 < len(of_row) <= MOST else ():
                if other.key != key and other.row in of_row:
                    self.groups[key, other.key, other.text].append(of_row[other.row])

    def notes(self, claim: str) -> tuple[list[Note], list[str]]:
        """Return the lines that explain a claim's numbers and days, each with the values it is calculated from, and the
        claim's dates and times that neither the results nor the user give."""
        found: list[Note] = []
        invented: list[str] = []
        taken: list[Span] = []
        for day in find_days(claim):
            taken.append(day.span)
            line = self._day(day)
            found += [(line, ())] if line else []
            invented += [] if line is not None else [day.text]
        for clock in find_clocks(claim):
            taken.append(clock.span)
            line = self._clock(clock)
            found += [(line, ())] if line else []
            invented += [] if line is not None else [clock.text]
        missing = missing_numbers(claim, self.text)
        for number in find_numbers(claim):
            if number.text not in missing or any(a <= number.span[0] < b for a, b in taken):
                continue
            note = next(self._number(number, claim), None)
            found += [note] if note else []
        return found, invented

    def _day(self, day: Day) -> str | None:
        """Return "" if the results write the day so, a line if they write it otherwise or it follows, None if it is
        nowhere."""
        for other in (*self.days, *self.asked_days):
            if day.is_same(other):
                return f"{other.text} = {day.text}" if other.text != day.text else ""
        wanted = day.date()
        inside = [other.span for other in self.days]
        steps = {
            int(n.value)
            for n in self.stated
            if n.value.denominator == 1 and abs(n.value) <= 400 and not any(a <= n.span[0] < b for a, b in inside)
        }
        for other in self.days:
            start = other.date()
            for step in sorted(steps, key=abs) if start else ():
                for sign in (1, -1):
                    end = start + sign * timedelta(days=step) if start else None
                    if end and (end == wanted or (wanted is None and (end.month, end.day) == (day.month, day.day))):
                        return f"{other.text} {'+' if sign > 0 else '-'} {abs(step)} d = {day.text}"
        return "" if day.text in self.text else None

    def _clock(self, clock: Clock) -> str | None:
        for other in (*self.clocks, *self.asked_clocks):
            if clock.is_same(other):
                return f"{other.text} = {clock.text}" if other.text != clock.text else ""
        for other in self.clocks:
            for value, item in self.values[:MOST]:
                minutes = value * (60 if re.search(r"hour|小时", item.key, re.I) else 1)
                if (
                    minutes.denominator == 1
                    and (other.minutes + minutes - clock.minutes) % (720 if clock.twice else 1440) == 0
                ):
                    return f"{other.text} + {item.key} {item.text} = {clock.text}"
        if re.search(r"\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?(?:Z|\+00:00)", self.text) or not self.clocks:
            return ""  # it may be in another time zone, or a duration
        return None

    def _number(self, number: Number, claim: str) -> Iterator[Note]:
        """Yield the ways in which a number follows, the plainest first."""
        yield from self._restated(number, claim)
        yield from self._counted(number)
        yield from self._converted(number, claim)
        yield from self._of_columns(number)
        yield from self._of_rows(number)
        yield from self._of_rates(number)
        yield from self._of_days(number, claim)
        for equation in find_equations(claim):
            operands = foreign_numbers(equation.computed, [self.text, self.user], USUAL_CONSTANTS)
            if equation.holds and not operands and number.text in equation.stated:
                yield f"{equation.computed} = {equation.stated}", ()

    def _restated(self, number: Number, claim: str) -> Iterator[Note]:
        before = claim[max(0, number.span[0] - 20) : number.span[0]]
        for value, item in self.values:
            if gives(value, number) or (number.approximate and rounds_to(value, number.value, _places(number))):
                yield f"{item.key} {item.text} ≈ {number.text}", (item,)
            elif re.search(rf"(?<!\d){re.escape(number.text.rstrip(' %'))}(?!\d)", item.key):  # p95_ms
                yield f"{item.key} {item.text} ({number.text})", (item,)
            elif _ABOVE.search(before) and number.value <= value <= 2 * abs(number.value):
                yield f"{item.key} {item.text} > {number.text}", (item,)
            elif _BELOW.search(before) and number.value / 2 <= value <= number.value:
                yield f"{item.key} {item.text} < {number.text}", (item,)
        for other in self.stated:
            if matches(other.value, number):
                yield f"{other.text} ≈ {number.text}", ()
        for said in find_numbers(self.user):
            if said.value == number.value:
                yield f"asked for: {self.user[said.span[0] : said.span[1] + 8].split(chr(10))[0]} ({number.text})", ()

    def _counted(self, number: Number) -> Iterator[Note]:
        for name, count in self.counts:
            if count == number.value:
                yield f"{name}: {number.text} entries", ()
        for key, texts in self.same.items():
            for text, count in texts.items():
                if count == number.value and count > 1:
                    yield f"{key} {text}: {number.text} times", ()

    def _converted(self, number: Number, claim: str) -> Iterator[Note]:
        after = claim[number.span[1] : number.span[1] + 12]
        for value, item in self.values:
            for factor in conversions(item.key, after):
                if matches(value / factor, number):
                    yield (
                        f"{item.key} {item.text} = {number.text}{after.split(' ')[0] if after[:1] != ' ' else ''}",
                        (item,),
                    )

    def _of_columns(self, number: Number) -> Iterator[Note]:
        grouped = [(f"{key} ({text})", column) for (key, _, text), column in self.groups.items()]
        for key, column in (*self.columns.items(), *grouped):
            if not 2 <= len(column) <= MOST:
                continue
            items = tuple(item for _, item in column)
            total = sum((value for value, _ in column), Fraction(0))
            listed = " + ".join(item.text for item in items[:PAIRS]) + (" + …" if len(items) > PAIRS else "")
            if gives(total, number):
                yield f"{key} {listed} = {number.text}", items
            if gives(total / len(column), number):
                yield f"{key} ({listed}) / {len(column)} = {number.text}", items
            for one, other in combinations(column[:PAIRS], 2):
                yield from _pair(one, other, number)

    def _of_rows(self, number: Number) -> Iterator[Note]:
        for row in self.rows.values():
            for one, other in combinations(row[:PAIRS], 2):
                yield from _pair(one, other, number)
                if matches(one[0] * other[0], number):
                    yield _line(one, "×", other, number)
            if 2 < len(row) <= PAIRS and any(
                matches(sum((v for v, _ in part), Fraction(0)), number) for part in _runs(row)
            ):
                yield (
                    f"{' + '.join(f'{item.key} {item.text}' for _, item in row)} : {number.text}",
                    tuple(i for _, i in row),
                )
        for value, item in self.values[:MOST]:
            for factor in self.factors:
                if matches(value * factor, number):
                    yield f"{item.key} {item.text} × {show(factor)} = {number.text}", (item,)

    def _of_rates(self, number: Number) -> Iterator[Note]:
        """Yield a rate of the results applied to an amount of theirs or of the user's: an exchange rate, interest, a discount."""
        said = [(one.value, one.text, ()) for one in find_numbers(self.user)[:MOST]]
        amounts = [*((value, f"{item.key} {item.text}", (item,)) for value, item in self.values[:MOST]), *said]
        for rate, item in (one for one in self.values[:MOST] if _RATE.search(one[1].key)):
            share = rate / 100 if _PERCENT.search(item.key) and "%" not in item.text else rate
            for amount, shown, items in amounts:
                if item not in items and matches(amount * share, number):
                    yield f"{shown} × {item.key} {item.text} = {number.text}", (*items, item)

    def _of_days(self, number: Number, claim: str) -> Iterator[Note]:
        if not _DAYS.match(claim, number.span[1]):
            return
        dated = [(day, when) for day in (*self.days, *self.asked_days) if (when := day.date())]
        for (one, first), (other, second) in islice(combinations(dated, 2), MOST * PAIRS):
            if abs((second - first).days) == number.value:
                yield f"{one.text} … {other.text}: {number.text} d", ()


def _runs(row: Sequence[_Value]) -> Iterator[Sequence[_Value]]:
    """Yield the runs of three or more neighbouring values."""
    return (row[a:b] for a in range(len(row)) for b in range(a + 3, len(row) + 1))


def _pair(one: _Value, other: _Value, number: Number) -> Iterator[Note]:
    both = (one, other)
    for first, sign, second in from_two(one[0], other[0], number):
        if sign == "→":
            items = (both[first][1], both[second][1])
            yield f"{items[0].key} {items[1].text} → {items[0].text}: {number.text}", items
        else:
            yield _line(both[first], sign, both[second], number)


def _line(one: _Value, sign: str, other: _Value, number: Number) -> Note:
    return f"{one[1].key} {one[1].text} {sign} {other[1].key} {other[1].text} = {number.text}", (one[1], other[1])


def _places(number: Number) -> int:
    """Return the decimals of a number that is said to be approximate: the zeros at its end are not meant."""
    zeros, value = 0, number.value
    while number.decimals is not None and number.decimals <= 0 and value and (value / 10).denominator == 1:
        zeros, value = zeros + 1, value / 10
    return -zeros or number.decimals or 0
