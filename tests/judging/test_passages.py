"""What `match` is made of: the passage that a sentence is about, quotations, numbers and words."""

import pytest

from haluagent.judging.passages import best_windows, missing_numbers, passage, quoted
from haluagent.text.words import words

ELBE = "The Elbe rises in the Giant Mountains of the Czech Republic. It flows into the North Sea near Cuxhaven."
ELBE_ZH = "易北河发源于捷克的克尔科诺谢山。它在库克斯港附近流入北海。"


@pytest.mark.parametrize(
    ("claim", "text", "found"),
    [
        ("It flows into the North Sea near Cuxhaven!", ELBE, "It flows into the North Sea near Cuxhaven"),
        (" The Elbe rises in the Giant Mountains of the Czech Republic ", ELBE, ELBE.split(".")[0]),
        ("The Elbe rises in the Giant Mountains.", ELBE, None),  # a part of a clause may say something else
        ("易北河发源于捷克的克尔科诺谢山；", ELBE_ZH, "易北河发源于捷克的克尔科诺谢山"),
        ("The Elbe rises in Poland, in the north.", ELBE, None),
        (
            "The bridge was built in 1905.",
            "The bridge was built in 1905, 20 years ago.",
            "The bridge was built in 1905",
        ),
        (
            "The bridge was built in Rome.",
            "So,the bridge,The bridge was built in Rome,20",
            "The bridge was built in Rome",
        ),
        ("北京是中华人民共和国的首都。", "北京是中华人民共和国的首都，2010年", "北京是中华人民共和国的首都"),
        ("12 people live in this town.", "In 2010, 12 people live in this town.", "12 people live in this town"),
        ("North Sea", ELBE, None),  # too short to be said
        ("流入北海。", ELBE_ZH, None),
        ("", ELBE, None),
    ],
)
def test_quoted(claim: str, text: str, found: str | None) -> None:
    span = quoted(claim, text)
    assert (text[slice(*span)] if span else None) == found


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The bridge has a length of 12.", "The bridge has a length of 120 metres."),
        ("这座桥的总长度一共是12。", "这座桥的总长度一共是120米。"),
        ("The city has a population of 12.", "The city has a population of 12,500."),
        ("The city has a population of 12.", "The city has a population of 12.5 thousand."),
        ("500 people live in this town.", "12,500 people live in this town."),
        ("5 million people live in this town.", "3.5 million people live in this town."),
        ("这座城市的总人口一共是12。", "这座城市的总人口一共是12,500。"),
        ("这座城市的总人口一共是12。", "这座城市的总人口一共是12，500。"),
        ("Paris is big.", "Nobody says that Paris is big."),
    ],
)
def test_a_part_of_something_else_is_not_quoted(claim: str, text: str) -> None:
    assert quoted(claim, text) is None


def test_best_windows() -> None:
    text = "The sea is blue. The river is long. The sea and the river meet."
    assert best_windows(text, "river", 1, 100, len) == ([(0, len(text))], True)
    spans, whole = best_windows(text, "river sea", 1, 30, len)
    assert [text[slice(*span)].strip() for span in spans] == ["The sea and the river meet."] and not whole
    spans, whole = best_windows(text, "river", 2, 30, len)
    assert [text[slice(*span)].strip() for span in spans] == ["The river is long.", "The sea and the river meet."]
    assert best_windows(text, "", 3, 30, len)[1]


@pytest.mark.parametrize(
    ("text", "window", "query", "found"),
    [
        (ELBE, None, "North Sea", "It flows into the North Sea near Cuxhaven."),
        (ELBE, None, "the Giant Mountains", "The Elbe rises in the Giant Mountains of the Czech Republic."),
        (ELBE_ZH, None, "流入北海", "它在库克斯港附近流入北海。"),
        (ELBE, (0, 20), "North Sea", "The Elbe rises in th"),  # only inside the window
        ("---", None, "North Sea", "---"),
    ],
)
def test_passage(text: str, window: tuple[int, int] | None, query: str, found: str) -> None:
    assert text[slice(*passage(text, window or (0, len(text)), query))] == found


@pytest.mark.parametrize(
    ("claim", "text", "missing"),
    [
        ("It took 3 days and 12 nights.", "It took three days.", ["12"]),
        ("It took twenty days.", "It took 20 days.", []),
        ("It cost 1,200 dollars.", "It cost 1200 dollars.", []),
        ("占百分之二十，共三十个。", "占20%，共30个。", []),
        ("共有35人，分5组。", "共有三十五人。", ["5"]),
        ("It took long.", "", []),
        ("It closes at 7 p.m.", "Open 9:00-19:00", []),
        ("It closes at 8 p.m.", "Open 9:00-19:00", ["8"]),
        ("晚上七点二十分关门", "营业到19:20", []),
    ],
)
def test_missing_numbers(claim: str, text: str, missing: list[str]) -> None:
    assert missing_numbers(claim, text) == missing


def test_a_digit_of_another_number_is_not_the_number() -> None:
    assert missing_numbers("He had 5 sons.", "In 1950 he had 3 sons.") == ["5"]


def test_words() -> None:
    assert words("The River Elbe, it doesn't end at 3.5 km.") == {"river", "elbe", "doesn't", "end", "3.5", "km"}
    assert words("青海省的山脉") == {"青海", "海省", "山脉"}
    assert words("青海省的山脉") <= words("青海省山脉")  # function words part the runs
    assert words("山和海") == {"山", "海"}
    assert words("用Python写的2.5版") == {"用", "python", "写", "2.5", "版"}
    assert words("的了，。 the of") == words("") == frozenset()


def test_a_title_that_repeats_the_question_does_not_stand_before_the_fact() -> None:
    text = "Varn Point Lighthouse\n\nBuilding began in 1884, and the lamp was first lit in 1887. It is open in summer."
    claim, question = "It was first lit in 1912.", "What should I know of the lighthouse at Varn Point?"
    start, end = passage(text, (0, len(text)), claim, question)
    assert text[start:end] == "Building began in 1884, and the lamp was first lit in 1887."
    start, end = passage(text, (0, len(text)), "In 1912.", "When was the lamp first lit?")
    assert "1887" in text[start:end]
