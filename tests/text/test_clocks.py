"""Times of day in running text."""

import pytest

from haluagent.text.clocks import find_clocks, find_lasting, new_clocks


@pytest.mark.parametrize(
    ("text", "minutes", "said"),
    [
        ("六点二十分开车", 380, "六点二十分"),
        ("早上六點二十分那班", 380, "早上六點二十分"),
        ("晚上十点零五分", 1325, "晚上十点零五分"),
        ("晚上十点〇五分", 1325, "晚上十点〇五分"),
        ("下午两点四十", 880, "下午两点四十"),
        ("二十三点四十分", 1420, "二十三点四十分"),
        ("十二点三十五分", 755, "十二点三十五分"),
        ("三点一刻", 195, "三点一刻"),
        ("凌晨三点", 180, "凌晨三点"),
        ("half past two in the afternoon", 870, "half past two in the afternoon"),
        ("at 2:30 pm", 870, "2:30 pm"),
    ],
)
def test_a_time_of_day(text: str, minutes: int, said: str) -> None:
    assert [(clock.minutes, clock.text) for clock in find_clocks(text)] == [(minutes, said)]


@pytest.mark.parametrize(
    "text", ["得了六点二分", "六点五个百分点", "三点二分之一", "九点二十分之一", "三点建议", "a ratio of 3:2"]
)
def test_what_is_no_time_of_day(text: str) -> None:
    assert find_clocks(text) == []


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("It takes 1 hour 25 minutes, then 20 minutes.", [85, 20]),
        ("two hours and ten minutes", [130]),
        ("2.5 hours, or half an hour less", [150, 30]),
        ("两小时十五分钟，或2个半小时", [135, 150]),
        ("需要35分钟，3小时", [35, 180]),
        ("two and a half hours", [150]),
        ("It takes an hour, and for an hour and a half nothing moves.", [60, 90]),
        ("60 km an hour", []),
        ("全程一个半小时，慢车兩個半小時", [90, 150]),
        ("The record is 1:30 hours.", []),
        ("第一个半小时", [30]),
        ("He scored 3 points on 5 days, 20 % more.", []),
        ("比分是26比19", []),
    ],
)
def test_hours_and_minutes_that_something_takes(text: str, minutes: list[int]) -> None:
    found = find_lasting(text)
    assert [one.minutes for one in found] == minutes
    assert all(text[slice(*one.span)] == one.text for one in found)


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("The song is 4:15 long.", "It lasts 4 minutes and 15 seconds."),
        ("比分是3:10。", "比分是3比10。"),
        ("It opens at 9:30.", "Open 9.30 to 17.30."),
        ("It closes at 5 pm.", "Open from 9 to 5."),
        ("It starts at 18:30.", "Assembly is at 1830 hours."),
        ("It starts at 12:00.", "It starts at noon."),
        ("It leaves at 7:15 pm.", "départ 19h15"),
        ("下午四点开始。", "16:00开始。"),
    ],
)
def test_a_time_that_a_text_has_in_another_form(said: str, known: str) -> None:
    assert new_clocks(said, known) == []


def test_a_time_that_a_text_does_not_have() -> None:
    assert [one.text for one in new_clocks("From 9:40 to 17:30.", "Open 9.30 to 17.30, call 940555.")] == ["9:40"]
    assert [one.text for one in new_clocks("At 4 pm and 16:45.", "It takes 16 hours and 2.45 euros.")] == []
    assert [one.text for one in new_clocks("At 4 pm and 16:45.", "It takes 6 hours.")] == ["4 pm", "16:45"]
