"""Where the numbers, times and days of a claim come from that a text does not have."""

import pytest

from haluagent.judging.traced import trace_numbers
from haluagent.types import Language

LETTER = "He was admitted on 28 February 2024 and discharged on 9 March 2024. A check is due 6 weeks after discharge."
VISIT = "A visit costs 60 euros and begins at 14:20. It takes 40 minutes."


@pytest.mark.parametrize(
    ("claim", "text", "language", "missing", "lines", "by_chance"),
    [
        ("Three visits cost 180 euros.", VISIT, "en", ("Three",), ("60 × Three = 180",), True),
        ("Just over two hundred came.", "4 halls: 214 came, 0.02 of the town.", "en", (), ("4 / 0.02 = two hundred",), False),
        ("A visit ends at 15:00.", VISIT, "en", (), ("14:20 + 40 minutes = 15:00",), False),
        ("A visit ends at 16:35.", VISIT, "en", ("16:35",), (), False),
        ("A visit begins at 2:20 pm.", VISIT, "en", (), (), False),
        ("The check is due on 4 May 2024.", LETTER, "en", ("4 May 2024",), (), False),
        ("The check is due on 20 April 2024.", LETTER, "en", (), ("9 March 2024 + 6 weeks = 20 April 2024 (Saturday)",), True),
        ("He stayed for 19 nights.", LETTER, "en", ("19",), (), False),  # and 28 - 9 is none of it
        ("He was born in 1951, so he is 73.", "Born on 3 May 1951, he was admitted in June 2024.", "en", (), ("2024 - 1951 = 73",), True),
        ("全程135分钟。", "07:48开，10:03到。", "zh", (), ("从07:48到10:03：135分钟",), False),
        ("雨是7月8日下的。", "【7月9日讯】昨日暴雨。", "zh", (), (), False),
        ("The letter goes out by 20 October.", "To write by 20 October.\n\n4. Allotments.", "en", (), (), False),
        ("It takes an hour and a half.", "It takes 90 minutes.", "en", (), (), False),
        ("全程2小时15分钟。", "全程135分钟。", "zh", (), (), False),
        ("会议在10月3日举行。", "会议在10月1日、3日举行。", "zh", (), (), False),
        ("You can come on 5 May.", "Open 3–7 May.", "en", (), (), False),
        ("You can come on 8 May.", "Open 3–7 May 2024.", "en", ("8 May",), (), False),
        ("5月6日可以参观。", "5月4日至8日开放。", "zh", (), (), False),
        ("It is on 3 May.", "It is on 3.5.2024.", "en", (), (), False),
        ("It is on 9 September.", "It is on the ninth of September.", "en", (), (), False),
        ("In May 12 volunteers came.", "There were 12 volunteers in May.", "en", (), (), False),
        ("The market is on 11 May.", "The market is on the Saturday after 9 May.", "en", (), (), False),
    ],
)  # fmt: skip
def test_what_a_text_does_not_have(
    claim: str, text: str, language: Language, missing: tuple[str, ...], lines: tuple[str, ...], by_chance: bool
) -> None:
    assert trace_numbers(claim, text, language) == (missing, lines, by_chance)
