"""Ordinary sentences, of which none is wrong: tools that ask no model contradict none of them.

They were written for this test, and belong to no published set; `quotations`, `negations` and `history` have wrong
statements that are denied and dates of other calendars.
"""

from pathlib import Path
from typing import get_args

import pytest
from deterministic import found, label

from haluagent.types import Language

FOLDER = Path(__file__).parents[1] / "data" / "benign"
KINDS = sorted((language, path.stem) for language in get_args(Language) for path in (FOLDER / language).glob("*.txt"))


def lines(language: str, kind: str) -> list[str]:
    return (FOLDER / language / f"{kind}.txt").read_text("utf-8").splitlines()


@pytest.mark.parametrize("language", get_args(Language))
def test_there_are_enough_of_them(language: str) -> None:
    counts = {kind: len(lines(language, kind)) for one, kind in KINDS if one == language}
    assert min(counts.values()) >= 100 and sum(counts.values()) >= 2000
    everything = [line.casefold() for kind in counts for line in lines(language, kind)]
    assert len(set(everything)) == len(everything) and all(line == line.strip() != "" for line in everything)


@pytest.mark.parametrize(("language", "kind"), KINDS)
def test_no_ordinary_sentence_is_contradicted(language: Language, kind: str) -> None:
    wrong = [
        line
        for line in lines(language, kind)
        if any(label(parts) == "contradicted" for parts in found("", line, language).values())
    ]
    assert wrong == []


@pytest.mark.parametrize("language", get_args(Language))
@pytest.mark.parametrize("kind", ["plain", "identifiers", "ranges", "scores", "quotations", "orders", "code"])
def test_what_tools_cannot_check_whole_is_not_supported(language: Language, kind: str) -> None:
    assert [
        line
        for line in lines(language, kind)
        if any(label(parts) == "supported" for index, parts in found("", line, language).items() if index)
    ] == []
