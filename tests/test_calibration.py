"""The curves from log-odds to probabilities."""

import math
from itertools import product
from typing import get_args

import pytest
from haluagent.tools._calibration import (
    AGREEMENT,
    AGREEMENT_TURNS,
    CURVES,
    UNCALIBRATED,
    Judgement,
    Wording,
    agreed,
    calibrated,
    judgement,
    log_odds,
)
from hypothesis import given
from hypothesis import strategies as st

from haluagent.types import Language

KEYS = sorted(product(get_args(Wording), get_args(Language)))
ODDS = st.floats(-1e6, 1e6)


def test_every_wording_and_language_has_a_curve() -> None:
    assert sorted(CURVES) == KEYS
    assert all(slope > 0 and bonus >= 0 for _, slope, bonus in CURVES.values())


@given(ODDS, ODDS, st.sampled_from(KEYS), st.booleans())
def test_a_curve_is_bounded_and_monotone(one: float, other: float, key: tuple[Wording, str], familiar: bool) -> None:
    low, high = sorted((one, other))
    assert 0 <= calibrated(low, *key, familiar) <= calibrated(high, *key, familiar) <= 1
    assert calibrated(low, *key) <= calibrated(low, *key, True)


@pytest.mark.parametrize("key", KEYS)
def test_the_lean_is_where_nothing_is_known(key: tuple[Wording, str]) -> None:
    lean, slope, bonus = CURVES[key]
    assert calibrated(lean, *key) == 0.5
    assert calibrated(lean - 0.1, *key) < 0.5 < calibrated(lean + 0.1, *key)
    assert calibrated(lean, *key, True) == (0.5 if bonus == 0 else pytest.approx(calibrated(lean + bonus / slope, *key)))


def test_the_lean_shifts_the_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    before = calibrated(0.3, "answer", "en")
    lean, slope, bonus = CURVES["answer", "en"]
    monkeypatch.setitem(CURVES, ("answer", "en"), (lean + 0.2, slope, bonus))
    assert calibrated(0.5, "answer", "en") == pytest.approx(before)
    assert calibrated(0.3, "answer", "en") < before


@given(st.floats(0, 1), st.floats(0, 1))
def test_log_odds_are_bounded_monotone_and_symmetric(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert -14 < log_odds(low) <= log_odds(high) < 14
    assert log_odds(1 - one) == pytest.approx(-log_odds(one), abs=1e-6)
    assert log_odds(0.5) == 0


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.sampled_from(get_args(Language)))
def test_agreement_moves_a_probability_and_stays_one(before: float, one: float, other: float, language: str) -> None:
    low, high = sorted((one, other))
    assert 0 <= agreed(before, low, language) <= agreed(before, high, language) <= 1
    assert agreed(before, None, language) == before
    assert agreed(before, AGREEMENT_TURNS, language) == pytest.approx(before, abs=1e-5)


@pytest.mark.parametrize("language", get_args(Language))
def test_agreement_moves_the_log_odds_by_its_weight(language: str) -> None:
    moved = log_odds(agreed(0.3, 1.0, language)) - log_odds(agreed(0.3, 0.0, language))
    assert moved == pytest.approx(AGREEMENT[language])


@given(st.floats(0, 1), st.sampled_from(KEYS), st.booleans(), st.booleans())
def test_answers_that_hang_on_the_order_alone_say_nothing(
    always: float, key: tuple[Wording, str], familiar: bool, scored: bool
) -> None:
    found = judgement(always, 1 - always, *key, familiar=familiar, scored=scored)
    assert found[:3] == Judgement(0.5, silent=True, calibrated=scored)[:3]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(("first", "second", "silent"), [(5, -4.97, True), (5, -4.9, False), (1, -0.97, False), (0.01, 0, False)])
def test_only_large_log_odds_may_cancel_by_chance(
    key: tuple[Wording, str], first: float, second: float, silent: bool
) -> None:
    one, other = (1 / (1 + math.exp(-odds)) for odds in (first, second))
    found = judgement(one, other, *key)
    assert found.silent is silent
    assert silent or found.supported == pytest.approx(calibrated((first + second) / 2, *key))


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    ("one", "other", "supported"),
    [(1, 1, UNCALIBRATED), (0, 0, 1 - UNCALIBRATED), (1, 0, None), (0, 1, None), (0.5, 1, None), (0.5, 0.5, None)],
)
def test_answers_without_log_probabilities_have_votes(
    key: tuple[Wording, str], one: float, other: float, supported: float | None
) -> None:
    found = judgement(one, other, *key, familiar=True, scored=False)
    assert found[:3] == Judgement(0.5 if supported is None else supported, silent=supported is None, calibrated=False)[:3]
