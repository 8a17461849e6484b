"""The curves from log-odds to probabilities."""

import math
from itertools import product
from types import SimpleNamespace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from haluagent.detection.limits import Budget, Limits, Meter
from haluagent.judging.probabilities import (
    AGREEMENT_TURNS,
    UNCALIBRATED,
    Judgement,
    agreed,
    at_base_rate,
    calibrated,
    judgement,
    log_odds,
)
from haluagent.models.calibration import (
    EMBEDDED,
    IDENTITY,
    Calibration,
    MatchCurve,
    Wording,
    calibration_of,
    fine_tuned_tools_of,
)
from haluagent.types import Language

CURVES = list(EMBEDDED.match.values())
ODDS = st.floats(-1e6, 1e6)


@pytest.mark.parametrize("calibration", [EMBEDDED, IDENTITY])
def test_every_wording_and_language_has_a_curve(calibration: Calibration) -> None:
    for wording, language in product(get_args(Wording), get_args(Language)):
        curve = calibration.curve(wording, language)
        assert curve.slope > 0 and curve.familiar >= 0


@given(ODDS, ODDS, st.sampled_from(CURVES), st.booleans())
def test_a_curve_is_bounded_and_monotone(one: float, other: float, curve: MatchCurve, familiar: bool) -> None:
    low, high = sorted((one, other))
    assert 0 <= calibrated(low, curve, familiar) <= calibrated(high, curve, familiar) <= 1
    assert calibrated(low, curve) <= calibrated(low, curve, True)


@pytest.mark.parametrize("curve", CURVES)
def test_the_lean_is_where_nothing_is_known(curve: MatchCurve) -> None:
    lean, slope, bonus = curve.lean, curve.slope, curve.familiar
    assert calibrated(lean, curve) == 0.5
    assert calibrated(lean - 0.1, curve) < 0.5 < calibrated(lean + 0.1, curve)
    assert calibrated(lean, curve, True) == (
        0.5 if bonus == 0 else pytest.approx(calibrated(lean + bonus / slope, curve))
    )


def test_the_lean_shifts_the_curve() -> None:
    curve = EMBEDDED.curve("answer", "en")
    shifted = MatchCurve(lean=curve.lean + 0.2, slope=curve.slope)
    assert calibrated(0.5, shifted) == pytest.approx(calibrated(0.3, curve))
    assert calibrated(0.3, shifted) < calibrated(0.3, curve)


@given(st.floats(0, 1), st.floats(0, 1))
def test_log_odds_are_bounded_monotone_and_symmetric(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert -14 < log_odds(low) <= log_odds(high) < 14
    assert log_odds(1 - one) == pytest.approx(-log_odds(one), abs=1e-6)
    assert log_odds(0.5) == 0


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.sampled_from([3.8, 3.5]))
def test_agreement_moves_a_probability_and_stays_one(before: float, one: float, other: float, weight: float) -> None:
    low, high = sorted((one, other))
    assert 0 <= agreed(before, low, weight) <= agreed(before, high, weight) <= 1
    assert agreed(before, None, weight) == before
    assert agreed(before, AGREEMENT_TURNS, weight) == pytest.approx(before, abs=1e-5)


def test_agreement_moves_the_log_odds_by_its_weight() -> None:
    assert log_odds(agreed(0.3, 1.0, 3.8)) - log_odds(agreed(0.3, 0.0, 3.8)) == pytest.approx(3.8)


@given(st.floats(0, 1), st.floats(0.01, 0.99))
def test_a_base_rate_moves_the_log_odds_by_its_own(before: float, rate: float) -> None:
    after = at_base_rate(before, rate)
    assert 0 <= after <= 1 and at_base_rate(before, 0.5) == pytest.approx(before)
    if min(before, after) > 1e-4 and max(before, after) < 1 - 1e-4:
        assert log_odds(after) - log_odds(before) == pytest.approx(log_odds(rate), abs=1e-4)


@given(st.floats(0, 1), st.sampled_from(CURVES), st.booleans(), st.booleans())
def test_answers_that_hang_on_the_order_alone_say_nothing(
    always: float, curve: MatchCurve, familiar: bool, scored: bool
) -> None:
    found = judgement(always, 1 - always, curve, familiar=familiar, scored=scored)
    assert found[:3] == Judgement(0.5, silent=True, calibrated=scored)[:3]


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize(
    ("first", "second", "silent"), [(5, -4.97, True), (5, -4.9, False), (1, -0.97, False), (0.01, 0, False)]
)
def test_only_large_log_odds_may_cancel_by_chance(curve: MatchCurve, first: float, second: float, silent: bool) -> None:
    one, other = (1 / (1 + math.exp(-odds)) for odds in (first, second))
    found = judgement(one, other, curve)
    assert found.silent is silent
    assert silent or found.supported == pytest.approx(calibrated((first + second) / 2, curve))


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize(
    ("one", "other", "supported"),
    [(1, 1, UNCALIBRATED), (0, 0, 1 - UNCALIBRATED), (1, 0, None), (0, 1, None), (0.5, 1, None), (0.5, 0.5, None)],
)
def test_answers_without_log_probabilities_have_votes(
    curve: MatchCurve, one: float, other: float, supported: float | None
) -> None:
    found = judgement(one, other, curve, familiar=True, scored=False)
    assert (
        found[:3] == Judgement(0.5 if supported is None else supported, silent=supported is None, calibrated=False)[:3]
    )


# The constants of a model ----------------------------------------------------------------------------------------


def test_the_embedded_model_has_the_constants_it_was_measured_with() -> None:
    assert {key: (one.lean, one.slope, one.familiar) for key, one in EMBEDDED.match.items()} == {
        "answer:en": (-0.8, 0.7, 0.0), "answer:zh": (-0.9, 0.7, 0.0),
        "statement:en": (-0.84, 3.7, 0.0), "statement:zh": (-1.05, 2.4, 0.0),
        "results:en": (0.11, 13.6, 0.0), "results:zh": (-0.01, 5.1, 1.5),
        **{f"{name}:{language}": (0.0, 1.0, 0.0) for name in ("reasons", "relevance", "authentic") for language in ("en", "zh")},
        "consistency:en": (0.0, 3.0, 0.0), "consistency:zh": (0.0, 3.0, 0.0),
    }  # fmt: skip
    assert EMBEDDED.agreement == {"en": 3.8, "zh": 3.5} and EMBEDDED.claims == {"en": -0.75, "zh": -0.75}
    assert EMBEDDED.mentions == {"en": -0.20, "zh": 0.4} and EMBEDDED.otherwise == {"en": -0.1, "zh": 0.45}
    curves = {key: (one.intercept, one.log_odds, one.shared) for key, one in EMBEDDED.translation.items()}
    assert curves == {"en": (1.3, 7.9, 2.0), "zh": (2.1, 7.5, 2.2)}
    assert tuple(EMBEDDED.problem.model_dump().values()) == (1.0, 0.4, -1.0, -1.6, 0.0)


@pytest.mark.parametrize("calibration", [EMBEDDED, IDENTITY])
def test_json_and_back_is_the_same(calibration: Calibration) -> None:
    assert Calibration.model_validate_json(calibration.model_dump_json()) == calibration


def test_what_is_left_out_is_the_embedded_models() -> None:
    found = Calibration.model_validate({"claims": {"en": 1.0, "zh": 2.0}})
    assert found == EMBEDDED.model_copy(update={"claims": {"en": 1.0, "zh": 2.0}})


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"curves": {}}, "Extra inputs"),
        ({"claims": {"en": 0.0}}, "claims must have the keys en, zh"),
        ({"mentions": {"en": 0.0}}, "mentions must have the keys en, zh"),
        ({"mentions": {"answer:en": 0.0}}, "'en' or 'zh'"),
        ({"otherwise": {"zh": 0.0}}, "otherwise must have the keys en, zh"),
        ({"match": {"answer:en": {"lean": 0, "slope": -1}}}, "greater than 0"),
    ],
)
def test_a_mistake_is_refused(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        Calibration.model_validate(given)


def test_a_model_that_says_nothing_is_read_as_the_embedded_one() -> None:
    assert calibration_of(object()) is EMBEDDED and fine_tuned_tools_of(object()) == frozenset()
    assert calibration_of(SimpleNamespace(calibration=None)) is EMBEDDED
    model = SimpleNamespace(name="m", context=1, calibration=IDENTITY, fine_tuned_tools=frozenset({"match"}))
    meter = Meter(model, Budget(Limits()))  # type: ignore[arg-type]
    assert calibration_of(meter) is IDENTITY and fine_tuned_tools_of(meter) == {"match"}
