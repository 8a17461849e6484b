"""The parts of a sentence, and the one that fails."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from scripted import Belief, believes

from haluagent.judging.parts import failing_part, parts
from haluagent.protocols import ToolContext


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (
            "The hotel has 1,200 rooms and a pool that opened in May.",
            ["The hotel has 1,200 rooms", " and a pool that opened in May"],
        ),
        (
            "It closes at nine, but the bar stays open until eleven.",
            ["It closes at nine", ", but the bar stays open until eleven"],
        ),
        ("酒店有三百间客房，游泳池五月开放，停车免费。", ["酒店有三百间客房", "，游泳池五月开放，停车免费"]),
        ("Guests pay, and then leave.", []),
        ("Breakfast is served in the garden.", []),
        ("", []),
        ("。", []),
    ],
)
def test_a_sentence_is_taken_apart_at_its_clauses(sentence: str, expected: list[str]) -> None:
    assert [sentence[slice(*span)] for span in parts(sentence)] == expected


def test_the_part_that_fails_is_the_one_without_which_the_rest_is_supported(
    scripted: Callable[..., Any], make_context: Callable[..., ToolContext]
) -> None:
    def belief(prompt: str) -> Belief:
        return "silent" if "free" in prompt.split("<claim>")[1] else "said"

    text = "The pool opens in May and parking costs 5 euros a day."
    response = "The pool opens in May and parking in the yard is free."
    context = make_context("", response, reference=text, model=scripted(choose=believes(belief)))
    (sentence,) = context.sentences
    found = asyncio.run(failing_part(context, sentence, text, "statement", 0.55))
    assert found is not None and found.text == "and parking in the yard is free" and found.rest > 0.55
    assert asyncio.run(failing_part(context, sentence, text, "statement", 1.0)) is None
