"""Days in running text: what is one, with a year or without, and what only looks like one."""

from datetime import date

import pytest

from haluagent.text.dates import find_days, possible_dates, possible_days


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("March 5: meeting at March 6, 9:30", [(None, 3, 5), (None, 3, 6)]),
        ("March 5:30", []),
        ("3/4/2020 and March 5, 2021", [(2021, 3, 5)]),
        ("３月５日", [(None, 3, 5)]),
        ("2021-02-30 and 2月30日", [(None, 2, 30)]),
        ("Sales decreased 15 percent, and we marked 3 as done", []),
    ],
)
def test_days(text: str, days: list[tuple[int | None, int, int]]) -> None:
    assert [(day.year, day.month, day.day) for day in find_days(text)] == days


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("3/4/2020", {date(2020, 3, 4), date(2020, 4, 3)}),
        ("20240305", {date(2024, 3, 5)}),
        ("Febuary 3, 2024 or 5 janvier 2024", {date(2024, 2, 3), date(2024, 1, 5)}),
        ("2021-02-30", set()),
    ],
)
def test_what_was_given_is_read_generously(text: str, dates: set[date]) -> None:
    assert possible_dates(text) == dates


def test_days_without_a_year_may_be_written_with_a_slash() -> None:
    assert {(3, 5), (2, 3)} <= set(possible_days("3/5, Febuary 3"))


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("May 3 at 19:00\nMay 10 at 19:00\nMay 17 at 19:30\nMay 24", [3, 10, 17, 24]),
        ("Cllr Bhatt is to write by 20 October.\n\n4. Allotments", [20]),
        ("It was on October\n20.", [20]),
    ],
)
def test_days_at_the_ends_of_lines(text: str, days: list[int]) -> None:
    assert [one.day for one in find_days(text)] == days
