"""Terms of the local index: what makes two words the same, and what cannot happen to a query."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haluagent.search.index.terms import LONGEST, query_terms, strength, terms
from haluagent.text.stemmer import stem

STEMS = "act agre appl band bel compute con dig fall feud fin gas gener hiss hop log nat oper plan possib rat sens sky tan".split()
ENDINGS = (
    " s es ies sses ed eed ied ing ying y al ally ation ational ations ator ate ative ance anci bli ement ence enci ent er "
    "ful fulness ible iblement ic ical icate iciti ion ism ist iti ity ive iveness iviti ize izer ization izing less li logi "
    "ment ness ou ous ousli ousness tion tional ll lling zz zzed e ee y yed aliti alism alize alli entli eli biliti"
).split(" ")


def by_sqlite(words: list[str]) -> list[str]:
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5 (word, tokenize='porter ascii')")
        connection.execute("CREATE VIRTUAL TABLE stems USING fts5vocab (words, instance)")
        connection.executemany("INSERT INTO words (rowid, word) VALUES (?, ?)", enumerate(words))
        return [stem for (stem,) in connection.execute("SELECT term FROM stems ORDER BY doc")]


def test_the_stems_are_those_of_sqlite() -> None:
    """Another implementation of the same paper."""
    words = [first + ending for first in STEMS for ending in ENDINGS]
    assert list(map(stem, words)) == by_sqlite(words)
    assert stem("running") == stem("runs") == "run" and stem("nations") != stem("nation's")


@given(st.lists(st.text("aeioubdlnstz", min_size=5, max_size=12), min_size=1, max_size=50))
def test_so_are_those_of_words_that_are_none(words: list[str]) -> None:
    assert list(map(stem, words)) == by_sqlite(words)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The Nobel PRIZES", "the nobel prize"),
        ("Ｎｏｂｅｌ　１９０３", "Nobel 1903"),
        ("naïve café", "naive cafe"),
        ("O’Brien's don't", "OBriens dont"),
        ("1,234,567", "1234567"),
        ("GPT-4", "GPT 4"),
        ("中华\n  人民", "中华人民"),
        ("8月8日", "8 月 8 日"),
        ("ﬁne", "fine"),
        ("北京（Beijing）", "北京，beijing"),
    ],
)
def test_what_makes_no_difference(one: str, other: str) -> None:
    assert set(terms(one)) == set(terms(other))


def test_chinese_is_pairs_and_the_last_character_of_a_run() -> None:
    assert terms("中国人，好") == ["中国", "国人", "人", "好"]
    assert query_terms("中国人") == ["中国", "国人"]
    assert query_terms("好") == ["好"] and query_terms("好 中国") == ["中国"]


def test_a_character_joins_the_number_or_word_it_touches() -> None:
    assert "维生" in terms("维生素C") and "素c" in terms("维生素C") and "素c" not in terms("维生素，C")
    assert "a股" in terms("A股") and "8月" in terms("8月") and "8月" not in terms("8。月")


def test_function_words_are_weak() -> None:
    assert [strength(term) for term in ["what", "是谁", "的", "目的", "北京", "tower", "8月"]] == [0, 0, 0, 1, 2, 2, 2]


@given(st.text())
def test_terms_have_nothing_that_full_text_search_could_read(text: str) -> None:
    for term in terms(text):
        assert 0 < len(term) <= LONGEST + 1
        assert not any(character.isascii() and not character.isalnum() for character in term)
        assert not any(map(str.isspace, term))
    assert set(query_terms(text)) <= set(terms(text))


def test_time_grows_with_length_only() -> None:
    """Long runs of one kind, as in data that is no prose."""
    assert len(terms("x" * 1_000_000)) == 1 and len(terms("x1" * 100_000)) == 200_000
    assert len(terms("中" * 100_000)) == 100_000


def test_simplified_and_traditional_characters_are_one() -> None:
    assert terms("臺灣的首都") == terms("台湾的首都") == terms("台灣的首都")
    assert terms("頭髮與發展") == terms("头发与发展")
    assert terms("臺北", folded=False) != terms("台北", folded=False)
    assert query_terms("誰發現了鐳？") == query_terms("谁发现了镭？")
