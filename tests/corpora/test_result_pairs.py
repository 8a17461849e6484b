"""Pairs of a claim and what a tool returned, pairs about tool calls, and the curves that are fitted to them."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from haluagent.corpora import tool_pairs
from haluagent.corpora.result_pairs import make
from haluagent.judging.judge import wording_of
from haluagent.judging.passages import missing_numbers
from haluagent.models.calibration import EMBEDDED, Calibration, MatchCurve
from haluagent.protocols import ToolContext


def test_half_of_the_claims_of_every_result_are_wrong() -> None:
    pairs = make()
    count = Counter((pair.group, pair.wrong) for pair in pairs)
    assert all(count[group, True] == count[group, False] >= 4 for group, _ in count)
    assert {pair.half for pair in pairs} == {0, 1}
    assert len({pair.id for pair in pairs}) == len(pairs) == len({(pair.group, pair.claim) for pair in pairs})
    assert make() == pairs and make(seed=1) != pairs


def test_neither_length_nor_missing_numbers_tell_right_from_wrong() -> None:
    pairs = make()
    right, wrong = ([pair for pair in pairs if pair.wrong is value] for value in (False, True))
    longer = sum(len(two[1].claim) > len(two[0].claim) for two in zip(right, wrong, strict=True))
    shorter = sum(len(two[1].claim) < len(two[0].claim) for two in zip(right, wrong, strict=True))
    assert abs(longer - shorter) < 0.1 * len(right)
    assert sum(bool(missing_numbers(pair.claim, pair.reference)) for pair in wrong) < 0.4 * len(wrong)
    assert [pair.claim for pair in right if missing_numbers(pair.claim, pair.reference)] == []


def test_half_of_the_questions_about_calls_are_to_be_answered_with_no() -> None:
    pairs = tool_pairs.make()
    count = Counter((pair.use, pair.language, pair.wrong) for pair in pairs)
    assert set(count.values()) == {10} and len(count) == 8
    assert len({pair.id for pair in pairs}) == len(pairs)
    assert all(
        one.claim != other.claim and one.reference == other.reference
        for one, other in zip(pairs[::2], pairs[1::2], strict=True)
    )


def test_statements_about_results_have_curves_of_their_own(make_context: Callable[..., ToolContext]) -> None:
    context = make_context("Q?", "It is so.", reference="state: so")
    assert wording_of(context) == "answer"
    assert wording_of(replace(context, results=True)) == "results"


def test_a_calibration_without_them_reads_results_as_they_are() -> None:
    statements = {key: curve.model_dump() for key, curve in EMBEDDED.match.items() if not key.startswith("results")}
    assert Calibration.model_validate({"match": statements}).curve("results", "zh") == MatchCurve(lean=0.0, slope=1.0)
    given = EMBEDDED.model_dump()
    given["match"] |= {"results:en": {"lean": 1.0, "slope": 2.0}}
    assert Calibration.model_validate(given).curve("results", "en") == MatchCurve(lean=1.0, slope=2.0)
