"""Sentences are verbatim, in order, and nothing that says something is lost."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haluagent.text.segment import LINE_PREFIX, split


def texts(text: str) -> list[str]:
    return [sentence.text for sentence in split(text)]


@pytest.mark.parametrize("text", ["", " \n\t", "---", "***\n\n", "|---|---|", "```\n```"])
def test_nothing_to_check(text: str) -> None:
    assert split(text) == ()


@pytest.mark.parametrize(
    "sentence",
    [
        "Pi is about 3.14 and e is 2.718.",
        "It costs $5.00 or US$6.50 a piece.",
        "Dr. Smith met Mr. Jones, e.g. in the U.S. Army.",
        "J. K. Rowling wrote it.",
        "The result of Wang et al. is in Vol. 3, pp. 5-6.",
        "It came in at No. 5 on the list.",
        "See Eq. (5) for the proof.",
        "Version 1.2.3 of java.lang.String is at https://example.com/a.b?c=d.",
        "Wait... what did he say?",
        "Yahoo! is a company.",
        "x = 3. y = 4. z = 7",
        "E = mc^2. F = ma.",
        "| 1. Paris. | The capital. Yes. |",
        "今天很好……明天再说。",
        "《你好，李焕英！》是一部电影。",
        "“真的吗？”她问。",
        "他（是谁？不知道。）走了。",
        "圆周率约为3.14，版本v1.2.3。",
        "他是Dr. Wang。",
        "由J. K. Rowling写的。",
        "**1. Title** is bold.",
        "A. Paris",
        "69",
        "(3)",
        "1.",
        "(2) + (3) = 5",
        "1、2和3都是质数",
        "Use `a. B` here.",
    ],
)
def test_stays_whole(sentence: str) -> None:
    assert texts(sentence) == [sentence]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I paid $5.00. It was $6 before.", ["I paid $5.00.", "It was $6 before."]),
        ("He said “no.” Then he left.", ["He said “no.”", "Then he left."]),
        ('He said "no." Then he left.', ['He said "no."', "Then he left."]),
        ("**Yes.** It is so.", ["**Yes.**", "It is so."]),
        ("The capital is Paris.[1] Berlin is in Germany.[2]", ["The capital is Paris.[1]", "Berlin is in Germany.[2]"]),
        ("他说：“你好。”然后走了。", ["他说：“你好。”", "然后走了。"]),
        ("“好！”“不好！”", ["“好！”", "“不好！”"]),
        ("好！真的吗？是；不是。", ["好！", "真的吗？", "是；", "不是。"]),
        ("首都是巴黎。[1]德国的是柏林。", ["首都是巴黎。[1]", "德国的是柏林。"]),
        ("他来了.他走了.", ["他来了.", "他走了."]),
        ("他用Python 3.11。It works. 好。Next one.", ["他用Python 3.11。", "It works.", "好。", "Next one."]),
        ("嗯…… 好吧", ["嗯……", "好吧"]),
        ("One is here. 2. Two is here.", ["One is here.", "2. Two is here."]),
        ("first line\r\nsecond line\n\nthird", ["first line", "second line", "third"]),
    ],
)
def test_splits(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- one. Two here.\n* three\n• four", ["one.", "Two here.", "three", "four"]),
        ("1. one\n2) two\n(3) three\n10. ten", ["one", "two", "three", "ten"]),
        ("（1）北京\n一、概述\n（二）内容\n1、苹果\n2.香蕉\n①梨", ["北京", "概述", "内容", "苹果", "香蕉", "梨"]),
        ("# Title\n## 1. Part\n> quoted. Again.\n- [x] done", ["Title", "Part", "quoted.", "Again.", "done"]),
        ("  - a\n    - b", ["a", "b"]),
        ("10.5 is a number", ["10.5 is a number"]),
        ("一、二年级都来了", ["一、二年级都来了"]),
    ],
)
def test_list_markers_are_left_out(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_code_is_one_unit() -> None:
    code = "```py\nx = 1. \n\nprint('a. B')\n```"
    assert texts(f"Here it is:\n{code}\nDone. Bye.") == ["Here it is:", code, "Done.", "Bye."]
    assert texts("~~~\nopen. And\nnever closed.") == ["~~~\nopen. And\nnever closed."]
    nested = "````\n```\na\n```\n````"
    assert texts(nested) == [nested]


def test_displayed_formula_is_one_unit() -> None:
    assert texts("So:\n$$\na = b\n$$\nThen.") == ["So:", "$$\na = b\n$$", "Then."]
    assert texts("\\[\nnever closed. True.") == ["never closed.", "True."]


def test_table_row_is_one_unit() -> None:
    assert texts("| a | b |\n|---|---|\n| 1. x. | B. c |") == ["| a | b |", "| 1. x. | B. c |"]


def test_a_long_quotation_is_split() -> None:
    first, second = "“The first sentence has many words in it.", "The second sentence has as many words in it.”"
    assert texts(f"{first} {second}") == [first, second]


def test_lone_surrogates_are_kept() -> None:
    assert texts("bad \ud800 one. Two.") == ["bad \ud800 one.", "Two."]


def test_a_long_line_takes_linear_time() -> None:
    assert len(split("好。" * 20_000)) == 20_000
    assert len(split("**好。**" * 10_000)) == 10_000


# fmt: off
FRAGMENTS = [
    "Paris", "3.14", "Dr.", "U.S.", "e.g.", "$5.00", "北京", "。", "！", "？”", "“", "”", "（",
    "）", "《", "》", "；", "……", ".", "!", "?", "...", "\"", "'", "(", ")", "**", "*", "_",
    "`", "```", "~~~", "$$", "\\[", "|", "-", "1.", "（1）", "一、", "#", ">", "=", "[1]", ":",
    "：", "😀", "https://a.b/c?d=e", " ", "\n", "\r\n", "\u3000", "\u2028", "\ud800",
]
# fmt: on


@settings(deadline=None)
@given(st.one_of(st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join), st.text()))
def test_spans_are_verbatim_and_lose_nothing(text: str) -> None:
    sentences = split(text)
    assert [sentence.index for sentence in sentences] == list(range(1, len(sentences) + 1))
    covered, end = set(), 0
    for sentence in sentences:
        assert end <= sentence.span[0] < sentence.span[1] <= len(text)
        assert sentence.text == text[slice(*sentence.span)] == sentence.text.strip()
        assert any(map(str.isalnum, sentence.text))
        covered |= set(range(*sentence.span))
        end = sentence.span[1]
    start = 0
    for line in text.splitlines(keepends=True):
        prefix = LINE_PREFIX.match(line)
        after_marker = start + (prefix.end() if prefix else 0)
        lost = [at for at in range(after_marker, start + len(line)) if text[at].isalnum() and at not in covered]
        assert not lost
        start += len(line)


@settings(deadline=None)
@given(st.text())
def test_a_marker_is_short(line: str) -> None:
    prefix = LINE_PREFIX.match(line)
    assert prefix and len(re.sub(r"\W", "", prefix[0])) <= 4
