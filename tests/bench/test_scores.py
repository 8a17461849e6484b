"""The figures of a benchmark: against hand-made cases, against scikit-learn, and intervals that hold the truth."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics
from waiting import steps

from haluagent.bench.rows import ClaimRow, Row
from haluagent.bench.scoring import baselines
from haluagent.bench.scoring.baselines import (
    ALWAYS_NO,
    ALWAYS_YES,
    LENGTH,
    LengthRule,
    best_length,
    cross_validated,
    fitted,
    trivial,
)
from haluagent.bench.scoring.scores import RESAMPLES, auroc, of_claims, of_responses, scores
from haluagent.types import Label

NAMES = ("accuracy", "precision", "recall", "f1", "balanced", "coverage", "accuracy_covered", "by_score", "auroc")


def row(number: int = 0, wrong: bool = True, verdict: bool | None = True, score: float = 0.9, length: int = 10) -> Row:
    return Row(
        dataset="d",
        id=str(number),
        method="haluagent",
        language="en",
        wrong=wrong,
        verdict=verdict,
        score=score,
        length=length,
    )


def test_scores_by_hand() -> None:
    """Three hallucinations: one found, one missed, one open. Two right texts: one seen as right, one flagged."""
    result = scores([True, True, True, False, False], [True, False, None, False, True], [0.9, 0.2, 0.5, 0.2, 0.8])
    assert result.n == 5
    assert result.hallucinations == pytest.approx(3 / 5)
    assert result.accuracy == pytest.approx(2 / 5)
    assert result.precision == pytest.approx(1 / 2)
    assert result.recall == pytest.approx(1 / 3)
    assert result.f1 == pytest.approx(2 * 1 / (2 + 3))
    assert result.balanced == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert result.coverage == pytest.approx(4 / 5)
    assert result.accuracy_covered == pytest.approx(2 / 4)
    assert result.by_score == pytest.approx(2 / 5)
    assert result.auroc == pytest.approx((2 + 0.5 + 1) / 6)
    # Bins: 0.9 | 0.2, 0.2 | 0.5 | 0.8, each the distance of its mean score from its share of hallucinations.
    assert result.calibration_error == pytest.approx((0.1 + 2 * abs(0.2 - 0.5) + 0.5 + 0.8) / 5)


def test_an_open_right_text_costs_accuracy_and_balance_but_not_f1() -> None:
    closed = scores([True, False, False], [True, False, False])
    left_open = scores([True, False, False], [True, None, False])
    assert (left_open.f1, left_open.precision) == (closed.f1, closed.precision) == (1.0, 1.0)
    assert left_open.accuracy == pytest.approx(2 / 3)
    assert left_open.balanced == pytest.approx((1 + 1 / 2) / 2)


def test_calibration_bins_are_closed_on_the_left_and_one_is_in_the_last() -> None:
    assert scores([True, False], [None, None], [0.8, 0.9]).calibration_error == pytest.approx((0.2 + 0.9) / 2)
    assert scores([True, False], [None, None], [0.9, 1.0]).calibration_error == pytest.approx(abs(0.95 - 0.5))


def test_figures_of_nothing_are_none() -> None:
    nothing = scores([], [], [])
    assert nothing.n == 0 and {getattr(nothing, name) for name in (*NAMES, "calibration_error")} == {None}
    silent = scores([True, False], [None, None])
    assert (silent.precision, silent.accuracy_covered, silent.auroc, silent.f1) == (None, None, None, 0.0)
    one_class = scores([True, True], [True, None], [0.5, 0.7])
    assert (one_class.balanced, one_class.auroc, one_class.recall) == (None, None, 0.5)
    assert "balanced" not in one_class.intervals


def test_lists_of_different_lengths_are_an_error() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        scores([True], [], [0.5])
    with pytest.raises(ValueError, match="differ in length"):
        auroc([True], [])


def test_auroc_takes_any_numbers() -> None:
    assert auroc([True, False, True, False], [40.0, -3.0, -7.5, -12.25]) == 0.75
    assert auroc([True, True], [1.0, 2.0]) == auroc([], []) == 0.5


JUDGED = st.lists(
    st.tuples(
        st.booleans(), st.sampled_from([True, False, None]), st.sampled_from([0.0, 0.3, 0.5, 1.0]) | st.floats(0, 1)
    ),
    max_size=40,
)


@settings(deadline=None)  # scikit-learn takes its time at first
@given(JUDGED)
def test_scores_are_those_of_scikit_learn(judged: list[tuple[bool, bool | None, float]]) -> None:
    """For scikit-learn an open item has the verdict that is wrong for it, but it was not flagged."""
    gold, verdicts, ranks = ([one[i] for one in judged] for i in range(3))
    result = scores(gold, verdicts, ranks, resamples=0)  # type: ignore[arg-type]
    flagged = [verdict is True for verdict in verdicts]
    against = [not label if verdict is None else verdict for label, verdict in zip(gold, verdicts, strict=True)]
    if gold:
        assert result.accuracy == pytest.approx(metrics.accuracy_score(gold, against))
    if any(flagged):
        assert result.precision == pytest.approx(metrics.precision_score(gold, flagged))
    if any(gold):
        assert result.recall == pytest.approx(metrics.recall_score(gold, flagged))
        assert result.f1 == pytest.approx(metrics.f1_score(gold, flagged))
    if len(set(gold)) == 2:
        assert result.balanced == pytest.approx(metrics.balanced_accuracy_score(gold, against))
        assert result.auroc == pytest.approx(metrics.roc_auc_score(gold, ranks))


# Intervals -------------------------------------------------------------------------------------------------------


def test_intervals_are_repeatable_and_lie_around_the_figure() -> None:
    source = random.Random(3)
    gold = [source.random() < 0.4 for _ in range(120)]
    verdicts = [source.choice([label, label, not label, None]) for label in gold]
    ranks = [source.random() for _ in gold]
    first, second = (scores(gold, verdicts, ranks, seed=4) for _ in range(2))
    assert first == second != scores(gold, verdicts, ranks, seed=5)
    for name in NAMES:
        low, high = first.intervals[name]
        assert low < getattr(first, name) < high


def test_an_interval_is_that_of_plain_resampling() -> None:
    """The vectorised resamples against a loop that draws items and scores them anew."""
    source = random.Random(5)
    gold = [source.random() < 0.5 for _ in range(60)]
    verdicts = [label if source.random() < 0.7 else None for label in gold]
    ranks = [round(source.random(), 1) for _ in gold]
    found = scores(gold, verdicts, ranks, resamples=2000).intervals
    values: dict[str, list[float]] = {name: [] for name in ("accuracy", "balanced", "f1", "auroc", "calibration_error")}
    for _ in range(2000):
        drawn = source.choices(range(60), k=60)
        again = scores([gold[i] for i in drawn], [verdicts[i] for i in drawn], [ranks[i] for i in drawn], resamples=0)
        for name, own in values.items():
            own.append(getattr(again, name))
    for name, own in values.items():
        own.sort()
        assert found[name] == pytest.approx((own[50], own[1949]), abs=0.03)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """A detector that is right on 70 % of what it sees: 95 % of its intervals hold that, give or take chance."""
    source = random.Random(11)
    held = 0
    for trial in range(200):
        gold = [source.random() < 0.5 for _ in range(80)]
        verdicts = [label if source.random() < 0.7 else not label for label in gold]
        low, high = scores(gold, verdicts, resamples=400, seed=trial).intervals["accuracy"]
        held += low <= 0.7 <= high
    assert 0.89 <= held / 200 <= 0.99


def test_sentences_of_a_response_are_resampled_together() -> None:
    """Twenty sentences that are all alike in each of ten responses are ten observations, not two hundred."""
    gold = [True] * 200
    verdicts = [response % 2 == 0 for response in range(10) for _ in range(20)]
    clusters = [response for response in range(10) for _ in range(20)]
    alone, together = (scores(gold, verdicts, clusters=given).intervals["accuracy"] for given in (None, clusters))
    assert together[1] - together[0] > 3 * (alone[1] - alone[0])


def test_an_interval_takes_no_loop_over_the_items_of_each_sample() -> None:
    """The samples are drawn and counted by numpy; a report of many sets takes seconds for it."""
    source = random.Random(1)

    def work(items: int) -> int:
        gold = [source.random() < 0.5 for _ in range(items)]
        ranks = [source.random() for _ in gold]
        return steps(lambda: scores(gold, gold, ranks))

    work(10)
    assert work(1000) - work(100) < 900 * RESAMPLES / 10


# Rows ------------------------------------------------------------------------------------------------------------


def test_of_responses_takes_gold_verdict_and_score() -> None:
    result = of_responses([row(1, True, True, 0.9), row(2, False, None, 0.7), row(3, False, False, 0.1)])
    assert (result.n, result.coverage, result.auroc) == (3, pytest.approx(2 / 3), 1.0)


def test_of_claims_takes_the_sentences_with_a_gold_label() -> None:
    said: list[tuple[bool | None, Label]] = [
        (True, "contradicted"), (False, "supported"), (True, "unverified"), (False, "no_claim"), (None, "contradicted"),
    ]  # fmt: skip
    claims = tuple(ClaimRow(wrong=wrong, label=label, score=0.5) for wrong, label in said)
    result = of_claims([row().model_copy(update={"claims": claims})])
    assert result is not None
    assert (result.n, result.accuracy, result.coverage) == (4, 0.5, 0.5)
    assert of_claims([row()]) is None


# What needs no model ---------------------------------------------------------------------------------------------


def test_always_yes_and_always_no() -> None:
    found = trivial([row(i, wrong=i < 3) for i in range(4)])
    assert (found[ALWAYS_YES].accuracy, found[ALWAYS_YES].balanced, found[ALWAYS_YES].recall) == (0.75, 0.5, 1.0)
    assert (found[ALWAYS_NO].accuracy, found[ALWAYS_NO].balanced, found[ALWAYS_NO].f1) == (0.25, 0.5, 0.0)
    assert found[ALWAYS_YES].auroc is found[ALWAYS_YES].calibration_error is None  # a fixed answer ranks nothing


@pytest.mark.parametrize("longer", [True, False])
def test_a_length_that_gives_the_label_away_is_found(longer: bool) -> None:
    rows = [row(i, wrong=(i >= 20) is longer, length=10 + i) for i in range(40)]
    best = best_length(rows)
    assert best is not None and best.scores.accuracy == 1.0
    assert (best.rule.threshold, best.rule.longer) == (29, longer)
    assert str(best.rule) == f"{'longer than' if longer else 'at most'} 29 characters"
    result = trivial(rows)[LENGTH]
    assert result.n == 40 and result.accuracy is not None and result.accuracy > 0.95


def test_the_fitted_rule_is_the_best_of_all_by_balanced_accuracy() -> None:
    source = random.Random(2)
    for _ in range(30):
        lengths = [source.randrange(12) for _ in range(15)]
        gold = [True, False] + [source.random() < 0.5 for _ in range(13)]

        def balanced(rule: LengthRule, gold: list[bool] = gold, lengths: list[int] = lengths) -> float:
            return float(metrics.balanced_accuracy_score(gold, [rule(length) for length in lengths]))

        every = [LengthRule(threshold=t, longer=longer) for t in range(12) for longer in (True, False)]
        assert balanced(fitted(gold, lengths)) == pytest.approx(max(map(balanced, every)))


def test_a_length_that_says_nothing_is_worth_nothing() -> None:
    """Chosen on its own items a rule always looks better than it is; cross-validated it is near one half, not below."""
    source = random.Random(8)
    inside, outside = [], []
    for _ in range(40):
        rows = [row(i, wrong=source.random() < 0.5, length=source.randrange(500)) for i in range(50)]
        best = best_length(rows)
        assert best is not None
        inside.append(best.scores.balanced or 0)
        verdicts = cross_validated([one.wrong for one in rows], [one.length for one in rows])
        outside.append(scores([one.wrong for one in rows] * baselines.REPEATS, verdicts, resamples=0).balanced or 0)
    assert sum(inside) / 40 > 0.57
    assert 0.44 < sum(outside) / 40 < 0.54


def test_no_item_is_judged_by_a_rule_that_saw_it() -> None:
    """The only hallucination of its length: whoever fitted on it would flag it."""
    gold, lengths = [True] * 10 + [False] * 10, [5] * 9 + [99] + [50] * 10
    verdicts = cross_validated(gold, lengths)
    assert not any(verdicts[9::20])
    assert all(all(verdicts[start : start + 9]) for start in range(0, len(verdicts), 20))


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_tiny_sets_have_baselines(count: int) -> None:
    found = trivial([row(i, wrong=bool(i % 2), length=i) for i in range(count)])
    assert {result.n for result in found.values()} == {count}
    if count == 1:
        assert found[LENGTH].coverage == 0.0  # there is nothing to fit a rule on
