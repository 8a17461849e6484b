"""What follows from the times of day of a text."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haluagent.text.clock_facts import MOST_SAID, clock_facts
from haluagent.types import Language

BOATS = "Boats leave at 10:50 and 14:20. It takes 1 hour 25 minutes, the later boat 25 minutes longer."
TRAIN = "列车07:48开，10:03到，停车4分钟。"


@pytest.mark.parametrize(
    ("said", "known", "language", "line"),
    [
        ("It arrives at 16:10.", BOATS, "en", "14:20 + 1 hour 25 minutes + 25 minutes = 16:10"),
        ("It arrives at 15:45.", BOATS, "en", "14:20 + 1 hour 25 minutes = 15:45"),
        ("It arrives at a quarter to four.", BOATS, "en", "14:20 + 1 hour 25 minutes = a quarter to four"),
        ("They meet at 9:25.", BOATS, "en", "10:50 - 1 hour 25 minutes = 9:25"),
        ("Between the two lie 210 minutes.", BOATS, "en", "from 10:50 to 14:20: 210 minutes"),
        ("Between the two lie 3.5 hours.", BOATS, "en", "from 10:50 to 14:20: 3.5 hours"),
        ("The later boat takes 110 minutes.", BOATS, "en", "1 hour 25 minutes + 25 minutes = 110 minutes"),
        ("It lasts 2 hours and 28 minutes.", "From 22:48 to 01:16.", "en", "from 22:48 to 01:16: 2 hours and 28 minutes"),
        ("The shift ends at 5:30 am.", "It begins at 9:30 pm and takes 8 hours.", "en", "9:30 pm + 8 hours = 5:30 am"),
        ("She hands over at 5:10.", "It begins at 9:30 pm and takes 8 hours; 20 minutes before the end she hands over.", "en",
         "9:30 pm + 8 hours - 20 minutes = 5:10"),
        ("One leaves at 9:45.", "Buses leave every 15 minutes from 9:00.", "en", "9:00 + 3 × 15 minutes = 9:45"),
        ("15:30到达。", "14:00开，全程一个半小时。", "zh", "14:00 + 一个半小时 = 15:30"),
        ("全程135分钟。", TRAIN, "zh", "从07:48到10:03：135分钟"),
        ("列车10:07开出。", TRAIN, "zh", "10:03 + 4分钟 = 10:07"),
    ],
)  # fmt: skip
def test_what_the_text_lacks_is_worked_out(said: str, known: str, language: Language, line: str) -> None:
    assert clock_facts(said, known, language) == [line]


@pytest.mark.parametrize(
    "said",
    [
        "The later boat leaves at 2:20 pm.",
        "It takes 85 minutes.",
        "It takes 1 hour 25 minutes.",
        "It arrives at 15:40.",
        "Between the two lie 200 minutes.",
        "It has 92 seats and 3 decks.",
        "",
    ],
)
def test_nothing_is_added_where_nothing_is_missing_or_follows(said: str) -> None:
    assert clock_facts(said, BOATS, "en") == []


def test_points_and_metres_last_no_time() -> None:
    assert clock_facts("他们一共得了83分。", "14:30开球，林卓得到27分，赵屹31分。", "zh") == []
    assert clock_facts("Leave at 16:55.", "The last bus leaves at 18:20. The hut lies at 1,875 m.", "en") == []


@given(st.integers(0, 1439), st.integers(25, 59))  # no hour of a day
def test_the_lines_agree_with_the_clock(start: int, length: int) -> None:
    begin, end = (f"{str(timedelta(minutes=minutes % 1440)).zfill(8)[:5]}" for minutes in (start, start + length))
    (line,) = clock_facts(f"It ends at {end}.", f"It begins at {begin} and takes {length} minutes.", "en")[:1]
    assert line == f"{begin} + {length} minutes = {end}"


def test_many_times_are_bounded() -> None:
    text = " ".join(f"From {n % 24:02}:{n % 60:02} it takes {n} minutes." for n in range(1, 3000))
    assert len(clock_facts("It ends at 23:59 and takes 9 hours 17 minutes.", text, "en")) <= 2 * MOST_SAID
