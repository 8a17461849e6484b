"""Probabilities of answers from top tokens, and answers read from written text."""

import math

import pytest

from haluagent.models.scoring import choice_probabilities, match_choice


def test_choice_probabilities_come_from_all_beginnings() -> None:
    top = [{"token": token, "logprob": math.log(p)} for token, p in
           {"YES": 0.4, " YES": 0.1, "Y": 0.1, "NO": 0.2, "yes": 0.1, "": 0.05, "\n": 0.05}.items()]  # fmt: skip
    found = choice_probabilities(top, ["YES", "NO"])
    assert found is not None
    assert found["YES"] == pytest.approx(0.75) and found["NO"] == pytest.approx(0.25)


def test_a_beginning_of_two_choices_counts_for_neither() -> None:
    top = [{"token": "un", "logprob": -0.1}, {"token": "unre", "logprob": -3.0}]
    assert choice_probabilities(top, ["unrelated", "unknown"]) == {"unrelated": 1.0, "unknown": 0.0}
    assert choice_probabilities(top[:1], ["unrelated", "unknown"]) is None


def test_part_of_a_chinese_character_is_told_by_its_bytes() -> None:
    top = [{"token": "\ufffd", "bytes": list("支".encode()[:2]), "logprob": -0.1}]
    assert choice_probabilities(top, ["支持", "矛盾"]) == {"支持": 1.0, "矛盾": 0.0}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("YES.", "YES"), (" **no**", "NO"), ("“支持”", "支持"), ("支持，因为", "支持"), ("Nothing", None),
        ("不支持", None), ("I say YES", None), ("", None), ("NOT SURE", None),
    ],
)  # fmt: skip
def test_a_written_answer_is_read_from_its_beginning(text: str, expected: str | None) -> None:
    assert match_choice(text, ["YES", "NO", "支持"]) == expected
