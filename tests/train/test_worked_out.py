"""Figures that follow from a text: the calculations that are taught are right, and the verdicts read them."""

import re
from collections import Counter

from haluagent.arithmetic.derivations import gives
from haluagent.arithmetic.expressions import evaluate
from haluagent.corpora import packaged
from haluagent.text.numbers import find_numbers
from haluagent.tools.calculator.figures import computed, figures
from haluagent.train.trajectories import worked_out

ROWS = packaged.rows("haluagent.train.trajectories", "figures.jsonl")


def test_every_formula_gives_the_figure_of_the_right_twin_and_not_that_of_the_wrong_one() -> None:
    wrong, agreed, checked = [], 0, 0
    for row in ROWS:
        for one, other in zip(row["claims"][::2], row["claims"][1::2], strict=True):
            assert {one["label"], other["label"]} == {"supported", "contradicted"}
            right, false = (one, other) if one["label"] == "supported" else (other, one)
            if not one["formula"]:
                continue
            value = evaluate(one["formula"]).number
            said = {
                side["label"]: any(gives(value, number) for number in find_numbers(side["claim"]))
                for side in (right, false)
            }
            if said["contradicted"] and not said["supported"]:
                wrong.append((row["id"], right["claim"]))
            agreed += said["supported"] and not said["contradicted"]
            checked += 1
    assert not wrong
    assert agreed > 0.75 * checked, "the others are written in words, or in another unit"


def test_the_calculator_takes_every_calculation_that_is_taught() -> None:
    made = [one for one in worked_out.make(1) if one.calls[0].prompt == "figure"]
    assert len(made) > 300
    for one in made:
        (figure, *_) = figures(one.response, one.reference, one.question)
        assert any(
            computed(one.calls[0].reply, own, f"{one.reference} {one.question}")
            for own in figures(one.response, one.reference, one.question)
        ), (figure, one.calls[0].reply)


def test_calculations_and_verdicts_are_made_of_both_sides_and_languages() -> None:
    made = worked_out.make(1)
    counts = Counter((one.calls[0].prompt, one.language, one.gold) for one in made)
    assert {prompt for prompt, _, _ in counts} == {"figure", "verdict"}
    assert min(counts.values()) > 30
    assert [one.id for one in worked_out.make(1)] == [one.id for one in made], "the same for the same seed"
    assert not {one.group for one in made} & {one.group for one in worked_out.make(1, held=True)}


def test_a_calculation_beside_the_text_gives_no_label_away() -> None:
    """Right and wrong sentences have one equally often."""
    share = {}
    for gold in (True, False):
        own = [one for one in worked_out.make(1) if one.calls[0].prompt == "verdict" and one.gold is gold]
        read = [one.calls[0].messages[-1].content.split("</reference>")[0].rstrip().splitlines()[-1] for one in own]
        share[gold] = sum(bool(re.search(r"\d\)* = \S+$", line)) for line in read) / len(read)
    assert abs(share[True] - share[False]) < 0.12 and min(share.values()) > 0.3
