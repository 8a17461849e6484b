"""Training items about what a program decides: lengths, dates and code. Their gold labels are computed or executed, not
assumed."""

import random
import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

from haluagent.corpora.passages import Passage
from haluagent.text.dates import weekday_name
from haluagent.train.trajectories.lessons import Lesson
from haluagent.train.trajectories.records import Alteration
from haluagent.types import Language

_LENGTH: dict[Language, tuple[str, ...]] = {
    "zh": ("请用{n}字介绍下面这个主题：{about}。", "写一段{n}字左右的短文，主题是{about}。"),
    "en": ("Write about {about} in {n} words.", "Describe {about} in exactly {n} words."),
}
_BETWEEN: dict[Language, str] = {
    "zh": "从{a}到{b}一共有多少天？", "en": "How many days are there from {a} to {b}?",
}  # fmt: skip
_DAYS: dict[Language, tuple[str, ...]] = {
    "zh": ("{n}天", "一共有{n}天。", "从{a}到{b}有{n}天。"),
    "en": ("{n} days", "There are {n} days.", "From {a} to {b} there are {n} days."),
}  # fmt: skip
_WEEKDAY: dict[Language, tuple[str, str]] = {
    "zh": ("{a}是星期几？", "{a}是{name}。"), "en": ("What day of the week is {a}?", "{a} is a {name}."),
}  # fmt: skip
_MONTHS = "January February March April May June July August September October November December".split()
_MUTATIONS = (
    (" + ", " - "),
    (" < ", " > "),
    (" == ", " != "),
    ("True", "False"),
    ("[0]", "[-1]"),
    (" and ", " or "),
    ("max(", "min("),
)


def lengths(passage: Passage, chance: random.Random) -> Iterator[Lesson]:
    """Yield a text of the passage's words with the requested length, and one far from it."""
    language = passage.language
    units = list(re.sub(r"\s", "", passage.text)) if language == "zh" else passage.text.split()
    gap = "" if language == "zh" else " "
    n = chance.choice([30, 50, 60, 80])
    if len(units) < n or not passage.asked:
        return
    about = passage.asked[0].question.rstrip("？?")
    question = chance.choice(_LENGTH[language]).format(n=n, about=about)
    short = max(5, n // chance.choice((2, 3)))
    for wrong, size in ((False, n), (True, short)):
        text = gap.join(units[:size]).rstrip("，,、；;")
        change = Alteration(kind="length", before=str(n), after=str(short)) if wrong else None
        yield _lesson(f"{passage.name}:length", passage.name, "length", language, question, text, change)


def dates(number: int, language: Language, chance: random.Random) -> Iterator[Lesson]:
    """Yield a question on the days between two dates, or on the weekday of a date, with a right answer and a wrong
    one."""
    first = date(1950, 1, 1) + timedelta(days=chance.randrange(30000))
    days = chance.randrange(3, 200)
    a, b = (_written(day, language) for day in (first, first + timedelta(days=days)))
    name, group = f"dates:{language}:{number}", f"dates:{language}:{number}"
    if number % 3:
        form = chance.choice(_DAYS[language])
        other = days + chance.choice((-2, -1, 1, 2, 10, 30))
        for wrong, n in ((False, days), (True, max(1, other))):
            change = Alteration(kind="number", before=str(days), after=str(n)) if wrong else None
            question = _BETWEEN[language].format(a=a, b=b)
            yield _lesson(name, group, "date", language, question, form.format(a=a, b=b, n=n), change)
        return
    asked, form = _WEEKDAY[language]
    right, other_name = (weekday_name(first + timedelta(days=shift), language) for shift in (0, chance.randrange(1, 7)))
    for wrong, weekday in ((False, right), (True, other_name)):
        change = Alteration(kind="weekday", before=right, after=weekday) if wrong else None
        yield _lesson(name, group, "date", language, asked.format(a=a), form.format(a=a, name=weekday), change)


def code(row: dict[str, Any], chance: random.Random) -> Iterator[Lesson]:
    """Yield a solution of a HumanEval problem, and the same solution with a mutation. Only pairs that the examples tell
    apart are kept later."""
    right = row["prompt"] + row["canonical_solution"]
    found = [(old, new) for old, new in _MUTATIONS if old in row["canonical_solution"]]
    question = f"Complete this Python function.\n\n{row['prompt']}"
    name = row["task_id"].replace("/", ":").lower()
    if not found:
        return
    old, new = chance.choice(found)
    wrong = row["prompt"] + row["canonical_solution"].replace(old, new, 1)
    for text, change in ((right, None), (wrong, Alteration(kind="mutation", before=old.strip(), after=new.strip()))):
        yield _lesson(name, name, "code", "en", question, f"```python\n{text}```", change)


def _lesson(
    name: str, group: str, kind: Any, language: Language, question: str, text: str, change: Alteration | None
) -> Lesson:
    return Lesson(
        id=f"{name}:{'wrong' if change else 'right'}",
        group=group,
        source=group.partition(":")[0],
        kind=kind,
        language=language,
        question=question,
        response=text,
        gold=change is not None,
        change=change,
    )


def _written(day: date, language: Language) -> str:
    if language == "zh":
        return f"{day.year}年{day.month}月{day.day}日"
    return f"{_MONTHS[day.month - 1]} {day.day}, {day.year}"
