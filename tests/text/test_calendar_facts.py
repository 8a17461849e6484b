"""What the calendar adds to the dates of a text."""

import re
import time
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haluagent.text.calendar_facts import MOST_LINES, calendar_facts, dated, lengths, names_time
from haluagent.types import Language

LEASE = "The lease was signed on 14 March 2022 and began on 1 April 2022. It runs for 18 months; notice is two weeks."
CONTRACT = "合同于2022年3月14日签订，4月1日生效，为期18个月，须提前两周通知。"


@pytest.mark.parametrize(
    ("said", "known", "language", "lines"),
    [
        ("It was signed on a Tuesday.", LEASE, "en", ["14 March 2022 is a Monday", "1 April 2022 is a Friday"]),
        ("It was signed on Tuesday, 14 March 2022.", LEASE, "en", ["14 March 2022 is a Monday"]),
        ("合同是周二签订的。", CONTRACT, "zh", ["2022年3月14日 是星期一", "2022年4月1日 是星期五"]),
        ("合同是週二簽訂的。", CONTRACT, "zh", ["2022年3月14日 是星期一", "2022年4月1日 是星期五"]),
        ("It ends on 1 October 2023.", LEASE, "en", ["1 April 2022 + 18 months = 1 October 2023 (Sunday)"]),
        ("合同到2023年10月1日为止。", CONTRACT, "zh", ["2022年4月1日 + 18个月 = 2023年10月1日（星期日）"]),
        ("Between the two lay 17 days.", LEASE, "en", ["from 14 March 2022 to 1 April 2022: 18 days (19 with both days counted)"]),
        ("Signing and start were three weeks apart.", LEASE, "en", ["from 14 March 2022 to 1 April 2022: 18 days (2 weeks, 4 days)"]),
        (
            "She was 44 years old.", "Born on 9 May 1870, she died on 2 May 1915.", "en",
            ["from 9 May 1870 to 2 May 1915: 16428 days (44 years, 11 months, 23 days)"],
        ),
        ("她享年45岁。", "她生于1870年5月9日，卒于1915年5月2日。", "zh", ["从1870年5月9日到1915年5月2日：16428天（44年零11个月零23天）"]),
        ("The fifth day is 7 May 2024.", "It begins on 3 May 2024 and takes 5 days.", "en", [
            "3 May 2024 + 5 days = 8 May 2024 (Wednesday)", "with 3 May 2024 as the first day, the last of 5 days is 7 May 2024 (Tuesday)",
        ]),
        ("The last day is 4 January.", "The fair opens on 18 November 2023 and runs for 45 days.", "en",
         ["18 November 2023 + 45 days = 2 January 2024 (Tuesday)"]),
        ("It ends on 14 March 2024.", "Signed on 14 March 2023 for one year.", "en", ["14 March 2023 + 1 year = 14 March 2024 (Thursday)"]),
        ("It ends on 14 March 2026.", "Signed on 14 March 2023 for one year.", "en", ["14 March 2023 + 1 year = 14 March 2024 (Thursday)"]),
        ("It is due on 29 February 2024.", "Made on 31 January 2024, due in one month.", "en",
         ["31 January 2024 + 1 month = 29 February 2024 (Thursday)"]),
    ],
)  # fmt: skip
def test_what_the_text_lacks_is_worked_out(said: str, known: str, language: Language, lines: list[str]) -> None:
    found = calendar_facts(said, known, language)
    assert [line for line in found if line in lines] == lines, found


@pytest.mark.parametrize(
    ("said", "known", "language"),
    [
        ("It began on 1 April 2022 and runs for 18 months.", LEASE, "en"),
        ("It was signed on 14 March.", LEASE, "en"),
        ("Notice has to be given 14 days ahead.", LEASE, "en"),  # two weeks
        ("It runs for a year and a half.", "It runs for 18 months.", "en"),  # nothing to compute it from
        ("It was founded on 3 June 1950.", LEASE, "en"),  # far from everything that follows
        ("You may cancel.", LEASE, "en"),
        ("须提前14天通知。", CONTRACT, "zh"),
        ("The shop is open on Mondays.", "The shop is open on Mondays. It opened on 3 May 2021.", "en"),
        ("", LEASE, "en"),
        ("Residents over 18 may vote; up to 10 may enter.", LEASE, "en"),
        ("公司5月1500名员工，3月20万人参加。", CONTRACT, "zh"),
        ("课程每周三次。", CONTRACT, "zh"),
        ("They came on a Black Friday.", LEASE, "en"),
        ("It ended on a Friday.", "", "en"),
    ],
)
def test_nothing_is_added_where_nothing_is_missing_or_follows(said: str, known: str, language: Language) -> None:
    assert calendar_facts(said, known, language) == []


def test_a_sentence_does_not_speak_for_itself() -> None:
    """What is new in it stands in no line, unless it follows from the text."""
    for said in (
        "The new phase began on 7 August 2023 and lasted 45 days, until 21 September 2023.",
        "The lease ran 470 days until 28 June 2023.",
    ):
        lines = " ".join(calendar_facts(said, LEASE, "en"))
        assert not re.search("7 August|45 days|21 September|470 days|28 June", lines)


def test_the_sentence_before_says_which_day_is_meant() -> None:
    before = "Notice was given on 5 June 2023."
    assert calendar_facts("That was a Monday.", LEASE, "en", before) == ["5 June 2023 is a Monday"]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("On 3 May 2024, then on 7 June, and on 2 January 2025.", ["2024-05-03", "2024-06-07", "2025-01-02"]),
        ("Ordered 7 June, paid 9 June 2024.", ["2024-06-07", "2024-06-09"]),
        ("2023年冬天的事：12月5日开始", ["2023-12-05"]),
        ("3 May and 3 May 2019", ["2019-05-03"]),
        ("3 May", []),
        ("30 February 2024", []),
        ("It starts on 22 December 2023 and ends on 5 January.", ["2023-12-22", "2024-01-05"]),
        ("It runs from December 22 to January 5, 2024.", ["2023-12-22", "2024-01-05"]),
        (
            "Report of December 2023. The strike began on 4 January and ended on 20 January 2024.",
            ["2024-01-04", "2024-01-20"],
        ),
        ("It was founded on 5 May 2019. In 2024, its festival opens on 5 May.", ["2019-05-05", "2024-05-05"]),
        ("Season 2024. All 1900 seats for $1950 were sold out for the opening on 5 May.", ["2024-05-05"]),
        ("14 October 1066", []),  # by another calendar
        ("五月三日，2024年", ["2024-05-03"]),
        ("It began on 28 December 2023. It ended on 5 January.", ["2023-12-28", "2024-01-05"]),
        ("The fair is open 3–7 May 2024.", ["2024-05-03", "2024-05-07"]),
        ("from 3 to 7 May 2024", ["2024-05-03", "2024-05-07"]),
        ("May 3-7, 2024", ["2024-05-03", "2024-05-07"]),
        ("2024年5月3日至7日", ["2024-05-03", "2024-05-07"]),
        ("24年6月5日，2020年5月3日", ["2024-06-05", "2020-05-03"]),
        ("Pushkin was born on 26 May 1799 (Old Style).", []),
        ("2024年农历五月五日", []),
        ("A crowd of 1800 people came on 5 May.", []),
        ("这座有2000年历史的古城5月3日开放。", []),
        ("It fell by June 30 percent in 2020.", []),
    ],
)
def test_a_day_without_a_year_has_that_of_its_text(text: str, days: list[str]) -> None:
    assert [one.day.isoformat() for one in dated(text)] == days


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("15 days", [(15, "days")]),
        ("two weeks and a month", [(2, "weeks"), (1, "months")]),
        ("a 5-day pass for a six-month-old", [(5, "days"), (6, "months")]),
        ("a fortnight", [(2, "weeks")]),
        ("18 years old", [(18, "years")]),
        ("三个月零五天", [(3, "months"), (5, "days")]),
        ("兩個月後", [(2, "months")]),
        ("满77周岁", [(77, "years")]),
        ("建馆五十周年", [(50, "years")]),
        ("每周三次，第3天，5月，2023年", []),
        ("version 3.5 days? 24/7, retention-90-days, COVID_19 days", []),
        ("第十一天，第 3 天，第二十一个月，几十天，数十年", []),
        ("七八天，两三年，三四个月", []),  # about so many
        ("80年代，95年出生，公元前221年，三年级，500日元，15日电，展览3日开幕", []),
        ("三日内，十日后", [(3, "days"), (10, "days")]),
        ("seven days a week, twice a year, 3% a year, 90 euros a night", [(7, "days")]),
        ("One day he hopes to return.", []),
        ("in a week, after a month", [(1, "weeks"), (1, "months")]),
        ("half a year", [(6, "months")]),
        ("半年后", [(6, "months")]),
        ("one and a half years", [(18, "months")]),
        ("a year and a half", [(18, "months")]),
        ("for a year and a half", [(18, "months")]),
        ("一年半", [(18, "months")]),
        ("三个半月", []),
        ("two decades", [(20, "years")]),
        ("99999 years", [(99999, "years")]),
        ("周三晚，同一天，最后一天，他08年毕业，民国38年，他5日前往", []),
        ("every two weeks, 每三年", []),
        ("10–12 days", []),
        ("with a term of one year", [(1, "years")]),
    ],
)
def test_lengths_of_time(text: str, found: list[tuple[int, str]]) -> None:
    assert [(one.number, one.unit) for one in lengths(text)] == found


def test_what_looks_like_one_for_the_calendar() -> None:
    assert all(map(names_time, ["on 3 May", "a Monday", "aged 5 years", "5月3日", "周三", "三天"]))
    assert not any(map(names_time, ["It may rain.", "5 metres", "no number", "五米", "Version 3.5"]))


_days = st.dates(date(1760, 1, 1), date(2300, 1, 1))


@given(_days, st.integers(1, 400))
def test_the_lines_agree_with_the_calendar(start: date, length: int) -> None:
    end = start + timedelta(days=length)
    known = f"It begins on {start.day} {start:%B} {start.year} and lasts {length} days."
    found = calendar_facts(f"It ends on {end.day} {end:%B} {end.year}.", known, "en")
    assert f"{length} day" in found[0] and f"= {end.day} {end:%B} {end.year} ({end:%A})" in " ".join(found)
    known = f"From {start.day} {start:%B} {start.year} to {end.day} {end:%B} {end.year}."
    (line,) = calendar_facts(f"That is {length} days.", known, "en")
    assert f": {length} day" in line


def test_many_dates_are_bounded() -> None:
    text = " ".join(f"{1 + n % 28} May {1900 + n % 100}, {n} days." for n in range(3000))
    found = calendar_facts("It ends on Monday, 9 July 1950, after 77 weeks.", text, "en")
    assert len(found) <= MOST_LINES
    assert all(re.search(r"\d", line) for line in found)
    assert len(calendar_facts(text, text, "en")) <= MOST_LINES


@pytest.mark.parametrize(
    "part", ["1 days 2 weeks ", "3 May 2020, 4 June ", "2024 in May ", "第3天三个半月 ", "a week and a half "]
)
def test_long_texts_take_linear_time(part: str) -> None:
    """As a ratio of CPU time, of the best of three each: machines are noisy."""

    def spent(text: str) -> float:
        times = []
        for _ in range(3):
            began = time.thread_time()
            calendar_facts("It ends on Monday, 9 July 1950, after 77 weeks.", text, "en")
            times.append(time.thread_time() - began)
        return min(times)

    assert spent(part * 8000) < 60 * spent(part * 500), "16 times as long; with its square it would be 256 times"
