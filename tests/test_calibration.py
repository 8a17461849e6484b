"""The curves from log-odds to probabilities."""

from itertools import product
from typing import get_args

import pytest
from haluagent.tools._calibration import CURVES, Wording, calibrated, log_odds
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
