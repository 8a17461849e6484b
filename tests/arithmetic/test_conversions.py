"""Conversions between units: right, wrong, and what cannot be read in one way."""

import sys
from typing import Any

import pytest

from haluagent.arithmetic.conversions import find_conversions

RIGHT = [
    "100 °F is about 38 °C.",
    "37 °C (98.6 °F)",
    "-40 °C = -40 °F",
    "Water freezes at 0 °C, that is, 273.15 K.",
    "A marathon is 42.195 km, about 26.2 miles.",
    "The race is 26.2 miles (42.195 km) long.",
    "5 km (3 miles)",
    "1 mile is 1.609 km.",
    "1 inch = 2.54 cm",
    "1 kg = 2.2 lb",
    "a 6-foot (1.8 m) man",
    "8,848 m（29,029 ft）",
    "The country has 1.5 million km² (579,000 square miles).",
    "10 gallons (38 liters)",
    "10 gallons (45 litres)",
    "90 km/h = 25 m/s",
    "100 km/h is about 62 mph.",
    "2 hours = 120 minutes",
    "1 acre is 43,560 square feet.",
    "5公里约合3.1英里。",
    "华氏100度约为摄氏38度。",
    "38摄氏度约等于100华氏度。",
    "1斤等于500克。",
    "1公斤等于2斤，很好记。",
    "2小时等于120分钟。",
    "500毫升（0.5升）",
    "180磅（82公斤）",
    "100万平方米等于1平方公里。",
    "1英里约1.6公里。",
]
WRONG = [
    ("100 °F is about 42 °C.", "37.78 °C"),
    ("1 mile is 1.5 km.", "1.609 km"),
    ("1 inch = 2.45 cm", "2.54 cm"),
    ("10 gallons = 50 litres", "37.85 litres"),
    ("90 km/h = 20 m/s", "25 m/s"),
    ("10 km is about 7 miles.", "6.21 miles"),
    ("5公里约合4英里。", "3.11英里"),
    ("华氏100度约为摄氏42度。", "37.78摄氏度"),
    ("1公斤是3斤。", "2斤"),
    ("2小时等于100分钟。", "120分钟"),
]
OPEN = [
    "A marathon is 42.195 km, about 28 miles.",
    "5 km (10 miles)",
    "180磅（100公斤）",
    "A third of 2 hours is 40 minutes.",
    "Three times 10 km is 18.6 miles.",
    "12 bags of 250 g is 3 kg.",
    "6袋500克是3公斤。",
    "Two hours plus 30 minutes is 2.5 hours.",
    "On this map, 1 cm equals 2 km.",
    "比例尺：1厘米等于2公里。",
    "In the game, 1 minute is 1 hour.",
    "Bake at 375 °F (200 °C).",
    "2 lb (1 kg) of flour",
    "He ran 5 km, 10 miles and a marathon.",
    "10 m/s, or 40 km/h",
    "5 feet 10 inches is 178 cm.",
    "135 minutes is 2 hours 15 minutes.",
    "135 minutes is 2 hours, 15 minutes.",
    "5-10 km (3-6 miles)",
    "5 to 10 km (6.5 miles)",
    "The 5 km race is 3 miles longer than the other.",
    "It is wrong that 1 mile = 2 km.",
    "1 mile is not 2 km.",
    "If 1 mile = 2 km, then the town is near.",
    "并非1英里等于2公里。",
    "假设1英里等于2公里。",
    "an increase of 5 °C is 9 °F.",
    "1 mile is 2 km.",
    "About 40 °C is 100 °F.",
    "A working day is 8 hours, 5 days a week.",
    "8 oz (240 mL)",
    "It costs $5 (3 km).",
    "5 m/s and 3 km",
    "他跑了5公里，10英里和一个马拉松。",
]


@pytest.mark.parametrize("text", RIGHT)
def test_right_ones_hold(text: str) -> None:
    (found,) = find_conversions(text)
    assert found.holds
    assert text[slice(*found.span)].startswith(found.source) and text[slice(*found.span)].endswith(found.stated)


@pytest.mark.parametrize(("text", "computed"), WRONG)
def test_wrong_ones_do_not(text: str, computed: str) -> None:
    (found,) = find_conversions(text)
    assert (found.holds, found.computed) == (False, computed)


@pytest.mark.parametrize("text", OPEN)
def test_what_can_be_read_in_two_ways_is_left_out(text: str) -> None:
    assert find_conversions(text) == []


@pytest.mark.parametrize(
    "unit", ["1 km = ", "1 km, 1 mi (", "1", "1,111", "1 ", "about ", "不", "(", "5 m 3 ft 2 in, ", "摄氏1度"]
)
def test_the_work_grows_with_the_length(unit: str) -> None:
    def steps(text: str) -> int:
        count = 0

        def seen(frame: Any, event: str, argument: Any) -> None:
            nonlocal count
            count += 1

        sys.setprofile(seen)
        try:
            find_conversions(text)
        finally:
            sys.setprofile(None)
        return count

    steps(unit * 100)  # what is remembered is remembered
    short, long = steps(unit * 100), steps(unit * 400)
    assert long <= 4.5 * short + 50
