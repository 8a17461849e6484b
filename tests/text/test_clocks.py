"""Times of day in running text."""

import pytest

from haluagent.text.clocks import find_clocks


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
