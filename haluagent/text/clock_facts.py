"""How a time of day, or hours and minutes, may follow from those of a text: lines to read beside it, which by themselves decide
nothing.

Unlike `text.calendar_facts` this gives no line that is only near what is said: beside such lines a model that was not taught on
them took right times for wrong.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product

from haluagent.text.clocks import Clock, Lasting, find_clocks, find_lasting, new_clocks
from haluagent.text.messages import message
from haluagent.types import Language

MOST_SAID = 3  # times, and lengths, of a sentence
MOST_GIVEN = 24  # times, and lengths, of a text that are combined
MOST_TIMES = 24  # that something is repeated
HALF_DAY = 12 * 60


def clock_facts(said: str, known: str, language: Language) -> list[str]:
    """Return, for each time of day and each length in hours and minutes of a sentence that a text (`known`) does not have, how it
    follows from those that the text has, as a line: one length of time, or two, before or behind a time, some of what is
    repeated (every 20 minutes) behind it, the time between two, the sum or the difference of two lengths. Nothing for what
    does not follow."""
    clocks, lengths = new_clocks(said, known), find_lasting(said)
    if not (clocks or lengths):
        return []
    lasting = list({one.minutes: one for one in find_lasting(known)}.values())[:MOST_GIVEN]
    lengths = [one for one in lengths if one.minutes not in {other.minutes for other in lasting}]
    times = list({one.minutes: one for one in find_clocks(known)}.values())[:MOST_GIVEN] if clocks or lengths else []
    found = [next(_reached(clock, times, lasting), None) for clock in clocks[:MOST_SAID]]
    found += [next(_taken(one, times, lasting, language), None) for one in lengths[:MOST_SAID]]
    return list(dict.fromkeys(line for line in found if line is not None))


def _reached(clock: Clock, times: Sequence[Clock], lasting: Sequence[Lasting]) -> Iterator[str]:
    """Yield how a time lies before or behind others, those that take one length of time first."""
    again = [_again(part) for part in lasting if part.repeats]
    for steps in (*(_one(part) for part in lasting), *(_two(*pair) for pair in combinations(lasting, 2)), *again):
        for (minutes, written), start in product(steps, times):
            moved = start.minutes + minutes
            if moved.denominator == 1 and Clock(int(moved), start.twice, start.span, start.text).is_same(clock):
                yield f"{start.text}{written} = {clock.text}"


def _one(part: Lasting) -> list[tuple[Fraction, str]]:
    return [(part.minutes, f" + {part.text}"), (-part.minutes, f" - {part.text}")]


def _again(part: Lasting) -> list[tuple[Fraction, str]]:
    return [(times * part.minutes, f" + {times} × {part.text}") for times in range(2, MOST_TIMES + 1)]


def _two(one: Lasting, other: Lasting) -> list[tuple[Fraction, str]]:
    """Return both lengths on, both back, and the longer on and the shorter back."""
    short, long = sorted((one, other), key=lambda length: length.minutes)
    return [
        (one.minutes + other.minutes, f" + {one.text} + {other.text}"),
        (-one.minutes - other.minutes, f" - {one.text} - {other.text}"),
        (long.minutes - short.minutes, f" + {long.text} - {short.text}"),
    ]


def _taken(said: Lasting, times: Sequence[Clock], lasting: Sequence[Lasting], language: Language) -> Iterator[str]:
    """Yield between which times of day a length of time lies, and of which two lengths it is the sum or the difference."""
    for first, last in combinations(sorted(times, key=lambda time: time.span), 2):
        day = HALF_DAY if first.twice or last.twice else 2 * HALF_DAY
        if (last.minutes - first.minutes) % day == said.minutes:
            yield message("date.lies", language, start=first.text, end=last.text, length=said.text)
    for pair in combinations(lasting, 2):
        short, long = sorted(pair, key=lambda length: length.minutes)
        for sign, minutes in (("+", long.minutes + short.minutes), ("-", long.minutes - short.minutes)):
            if minutes == said.minutes:
                yield f"{long.text} {sign} {short.text} = {said.text}"
