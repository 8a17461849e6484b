"""RefChecker's figures: rates by response, agreement with gold labels."""

from typing import Any

import pytest

from haluagent.checks.claims.metrics import agreement, mean_rates, pearson, spearman

E, N, C = "Entailment", "Neutral", "Contradiction"


def test_rates_are_averaged_over_responses_and_no_claims_are_an_abstention() -> None:
    responses: Any = [[E, E, E, C], [N], [], [E, None]]
    assert mean_rates(responses) == {E: (0.75 + 0.5) / 4, N: 0.25, C: 0.25 / 4, "Abstain": 0.25}
    with pytest.raises(ValueError, match="no responses"):
        mean_rates([])


def test_agreement_with_gold_labels() -> None:
    labels: Any = [[E, N, C], [E, E], [], [None]]
    gold: Any = [[E, C, C], [N, E], [], [E]]
    found = agreement(labels, gold)
    assert found.accuracy == 3 / 6
    assert found.fact_f1 == 2 * 2 / (3 + 3)  # of three said and three true, two are both
    assert found.nonfact_f1 == 2 * 2 / (2 + 3)
    assert found.pearson["Abstain"] == found.spearman["Abstain"] == pytest.approx(1.0)
    assert found.pearson[C] == pytest.approx(1.0) and found.spearman[E] == pytest.approx(0.1054, abs=1e-4)
    with pytest.raises(ValueError, match="not of the same claims"):
        agreement([[E]], [[E, E]])


def test_without_claims_there_is_nothing_to_agree_on() -> None:
    found = agreement([[], []], [[], []])
    assert (found.accuracy, found.fact_f1, found.nonfact_f1) == (None, None, None)
    assert set(found.pearson.values()) == set(found.spearman.values()) == {None}


def test_correlations_are_those_of_scipy() -> None:
    one, other = [0.0, 0.5, 0.5, 1.0, 0.25, 0.5], [0.1, 0.5, 0.4, 0.5, 0.0, 0.9]
    # scipy.stats.pearsonr and spearmanr, 1.17
    assert pearson(one, other) == pytest.approx(0.559908763) and spearman(one, other) == pytest.approx(0.7084472692)
    assert pearson(one, [1.0] * 6) is None and spearman([0.3], [0.4]) is None
