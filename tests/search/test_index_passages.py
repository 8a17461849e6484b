"""Passages: where a text is cut, and that nothing of it is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haluagent.search.documents.passages import LARGEST, OVERLAP, REST, sentences, split, width

ENGLISH = "The tower of number {} was built by Dr. Smith in the year 18{}. "
CHINESE = "第{}座塔由王先生在18{}年建成，它的高度是{}米。"


def english(count: int) -> str:
    return "".join(ENGLISH.format(number, number) for number in range(10, 10 + count)).strip()


def chinese(count: int) -> str:
    return "".join(CHINESE.format(number, number, number) for number in range(10, 10 + count))


@pytest.mark.parametrize(("text", "low", "high"), [(english(80), 600, 900), (chinese(80), 300, 600)])
def test_passages_have_the_size_and_end_with_sentences(text: str, low: int, high: int) -> None:
    spans = split(text)
    assert len(spans) > 4
    for start, end in spans[:-1]:
        assert low <= end - start <= high
    for start, end in spans:
        assert text[end - 1] in ".。" and not text[start:end].startswith("Smith")


def test_neighbours_share_a_sentence() -> None:
    text = english(40)
    for (_, end), (start, _) in zip(split(text), split(text)[1:], strict=False):
        assert 0 < end - start <= OVERLAP
        assert text[start:end].startswith("The tower") and text[start:end].count("Dr.") == 1


def test_a_paragraph_begins_a_passage_where_the_one_before_has_enough() -> None:
    for between in ("\n\n", "\n", "\n \n\n"):
        text = english(11) + between + english(11)
        assert [text[slice(*span)] for span in split(text)] == [english(11), english(11)]
    wrapped = english(22).replace("in the", "in\nthe")
    assert split(wrapped)[0][1] > len(english(11))
    short = f"{english(2)}\n\n{english(2)}"
    assert split(short) == [(0, len(short))]


def test_a_heading_goes_with_what_follows() -> None:
    text = f"# One\n{english(6)}\n# Two\n{english(6)}"
    assert [text[start : start + 5] for start, _ in split(text)] == ["# One", "# Two"]


def test_what_is_left_over_stays_with_the_passage_before() -> None:
    text = f"{english(13)}\n\nThe end."
    assert split(text) == [(0, len(text))]
    assert len(english(13)) > LARGEST - 100 and len("The end.") < REST


@pytest.mark.parametrize(
    "text", ["x" * 5000, "中" * 5000, "一，" * 3000, "word " * 3000, "“a. " * 5000, "\n\n" * 5000 + "x"]
)
def test_text_without_sentences_is_cut_all_the_same(text: str) -> None:
    spans = split(text)
    assert all(width(text[start:end]) <= LARGEST + REST for start, end in spans)
    assert sum(end - start for start, end in spans) >= 0.9 * len(text.replace("\n", "").strip())


@pytest.mark.parametrize("text", ["", " \n\t ", "\n"])
def test_nothing_gives_nothing(text: str) -> None:
    assert split(text) == [] == sentences(text)


PIECES = st.sampled_from(
    [*"。！？；.!?;,，“”\"'（）()#\n \t", "\n\n", "Dr. Smith", "中文" * 30, "word " * 20, "x" * 700, "1.5", "\u3000"]
)


@given(st.lists(PIECES | st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=60).map("".join))
def test_every_character_is_in_a_passage(text: str) -> None:
    for spans in (split(text), sentences(text)):
        held: set[int] = set()
        before = (0, 0)
        for start, end in spans:
            assert start < end and before[0] <= start and before[1] < end or before == (0, 0)
            assert text[start:end] == text[start:end].strip() and width(text[start:end]) <= LARGEST + REST
            held.update(range(start, end))
            before = (start, end)
        assert all(place in held for place, character in enumerate(text) if not character.isspace())
