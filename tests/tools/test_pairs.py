"""Pairs of a right and a wrong response: a wrong one is never supported, a right one never contradicted.

Pairs with a single reading (an explicit equation, date or length) have to be decided too.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from deterministic import found, label, verdict

FILE = Path(__file__).parents[1] / "data" / "pairs" / "pairs.jsonl"
PAIRS: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
CLASSES = sorted({(pair["class"], pair["language"]) for pair in PAIRS})
PLAIN = [pair for pair in PAIRS if pair["reading"] == "single"]


def decided(pair: dict[str, Any], side: str) -> str:
    """Return the verdict on a plain pair: that on its length where it is about one, since nothing else there is."""
    if pair["class"] != "B":
        return verdict(pair["question"], pair[side], pair["language"])
    return label(found(pair["question"], pair[side], pair["language"])[0])


def test_there_are_enough_of_them() -> None:
    both = [pair for pair in PAIRS if pair["right"] is not None and pair["wrong"] is not None]
    assert len(both) >= 600 and len(PLAIN) >= 200
    assert min(Counter((pair["class"], pair["language"]) for pair in both).values()) >= 60


@pytest.mark.parametrize(("kind", "language"), CLASSES)
def test_a_right_response_is_never_contradicted(kind: str, language: str) -> None:
    pairs = [pair for pair in PAIRS if (pair["class"], pair["language"]) == (kind, language) and pair["right"]]
    labels = {pair["id"]: verdict(pair["question"], pair["right"], pair["language"]) for pair in pairs}
    assert [name for name, one in labels.items() if one == "contradicted"] == []


@pytest.mark.parametrize(("kind", "language"), CLASSES)
def test_a_wrong_response_is_never_supported(kind: str, language: str) -> None:
    pairs = [pair for pair in PAIRS if (pair["class"], pair["language"]) == (kind, language) and pair["wrong"]]
    labels = {pair["id"]: verdict(pair["question"], pair["wrong"], pair["language"]) for pair in pairs}
    assert [name for name, one in labels.items() if one == "supported"] == []


@pytest.mark.parametrize("kind", sorted({pair["class"] for pair in PLAIN}))
@pytest.mark.parametrize(("side", "right"), [("right", "supported"), ("wrong", "contradicted")])
def test_plain_pairs_stay_decided(kind: str, side: str, right: str) -> None:
    pairs = [pair for pair in PLAIN if pair["class"] == kind and pair[side]]
    labels = {pair["id"]: decided(pair, side) for pair in pairs}
    open_ = [name for name, one in labels.items() if one != right]
    assert len(open_) <= 0.05 * len(pairs), open_
