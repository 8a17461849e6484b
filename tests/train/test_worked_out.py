"""Figures that follow from a text: the calculations that are taught are right, and the verdicts read them."""

import re
from collections import Counter

from haluagent.corpora import packaged
from haluagent.text.calendar_facts import calendar_facts
from haluagent.text.dates import find_days
from haluagent.text.numbers import find_numbers
from haluagent.tools.calculator.calculation import worked_out
from haluagent.tools.calculator.figures import figures
from haluagent.train.trajectories.worked_out import make as made_of

ROWS = packaged.rows("haluagent.train.trajectories", "figures.jsonl")


def test_every_calculation_gives_the_figure_of_the_right_twin_and_no_other() -> None:
    """As the calculator sees it, for the one figure in which the twins differ."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for row in ROWS:
        for one, other in zip(row["claims"][::2], row["claims"][1::2], strict=True):
            assert {one["label"], other["label"]} == {"supported", "contradicted"}
            for own, twin in ((one, other), (other, one)):
                values = {number.value for number in find_numbers(twin["claim"])}
                wanted = [n for n in figures(own["claim"], row["text"], row["question"]) if n.value not in values]
                for kind in ("formula", "slip") if len(wanted) == 1 and own["formula"] else ():
                    known = f"{row['text']} {row['question']}"
                    line = worked_out(own[kind], wanted[0], own["claim"], known, own["language"])
                    result = "none" if line is None else "same" if line.same else "other"
                    seen[kind, own["label"], result] += 1
    assert seen["formula", "supported", "same"] > 500
    assert seen["formula", "supported", "other"] == seen["formula", "contradicted", "same"] == 0
    assert seen["slip", "supported", "same"] == 0, "a wrong calculation gives another figure"
    assert seen["slip", "contradicted", "same"] > 100, "it may be the wrong twin's"


def test_the_calculator_takes_every_calculation_that_is_taught() -> None:
    made = [one for one in made_of(1) if one.calls[0].prompt == "figure"]
    assert len(made) > 800
    for one in made:
        known = f"{one.reference} {one.question}"
        lines = [
            worked_out(one.calls[0].reply, own, one.response, known, one.language)
            for own in figures(one.response, one.reference, one.question)
        ]
        assert any(lines), one.calls[0].reply


def test_calculations_and_verdicts_are_made_of_both_sides_and_languages() -> None:
    made = made_of(1)
    counts = Counter((one.calls[0].prompt, one.language, one.gold) for one in made)
    assert {prompt for prompt, _, _ in counts} == {"figure", "verdict"}
    assert min(counts.values()) > 30
    assert [one.id for one in made_of(1)] == [one.id for one in made], "the same for the same seed"
    assert not {one.group for one in made} & {one.group for one in made_of(1, held=True)}


def test_a_calculation_beside_the_text_gives_no_label_away() -> None:
    """Right and wrong sentences have one equally often."""
    share = {}
    for gold in (True, False):
        made = [one for one in made_of(1) if one.source == "figures"]
        own = [one for one in made if one.calls[0].prompt == "verdict" and one.gold is gold]
        read = [one.calls[0].messages[-1].content.split("</reference>")[0].rstrip().splitlines()[-1] for one in own]
        share[gold] = sum(
            bool(re.search(r" = \S+(?:; something|, as stated|，与所写的)", line)) for line in read
        ) / len(read)
    assert abs(share[True] - share[False]) < 0.12 and min(share.values()) > 0.3


def test_what_the_calendar_adds_gives_no_label_away() -> None:
    """Right and wrong sentences have lines equally often, and the day that is said stands in those of many wrong ones."""
    some, hit = {}, {}
    rows = packaged.rows("haluagent.train.trajectories", "days.jsonl")
    for label in ("supported", "contradicted"):
        found = [
            (one["claim"], calendar_facts(one["claim"], f"{row['question']}\n{row['text']}", row["language"]))
            for row in rows
            for one in row["claims"]
            if one["label"] == label
        ]
        some[label] = sum(bool(lines) for _, lines in found) / len(found)
        ends = [(claim, " ".join(re.findall(r"= (.+)", "\n".join(lines)))) for claim, lines in found if lines]
        hit[label] = sum(
            any(one.is_same(other) for one in find_days(claim) for other in find_days(end)) for claim, end in ends
        ) / len(ends)
    assert abs(some["supported"] - some["contradicted"]) < 0.05 and min(some.values()) > 0.6
    assert abs(hit["supported"] - hit["contradicted"]) < 0.1 and min(hit.values()) > 0.2


def test_every_pair_of_days_is_a_right_and_a_wrong_twin() -> None:
    rows = packaged.rows("haluagent.train.trajectories", "days.jsonl")
    assert len(rows) > 90 and {row["language"] for row in rows} == {"en", "zh"}
    for row in rows:
        for one, other in zip(row["claims"][::2], row["claims"][1::2], strict=True):
            assert {one["label"], other["label"]} == {"supported", "contradicted"}
            assert abs(len(one["claim"]) - len(other["claim"])) < 0.3 * len(one["claim"]) + 6
