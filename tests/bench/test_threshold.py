"""The threshold that costs least on labelled results."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from haluagent.bench.scoring.threshold import Costs, Scored, advise, cheapest, operation, scored
from haluagent.cli import main as cli
from haluagent.errors import ConfigError

EVEN = Costs(miss=1, alarm=1, base_rate=0.5)
MIXED = [Scored(0.2, False), Scored(0.4, True), Scored(0.6, False), Scored(0.8, True)]


def test_costs_and_base_rate_move_the_threshold() -> None:
    assert cheapest(MIXED, EVEN).threshold == pytest.approx(0.7)  # as cheap as 0.3, with fewer alarms
    assert cheapest(MIXED, EVEN)[1:] == (0.5, 0.0, 0.25)
    dear = cheapest(MIXED, Costs(miss=10, alarm=1, base_rate=0.5))
    assert (dear.threshold, dear.misses, dear.alarms, dear.cost) == (pytest.approx(0.3), 0.0, 0.5, 0.25)
    assert cheapest(MIXED, Costs(miss=10, alarm=1, base_rate=0.01)).threshold == pytest.approx(0.7)
    assert cheapest(MIXED, Costs(miss=1, alarm=0, base_rate=0.5)).cost == 0
    assert (
        cheapest([Scored(0.5, True), Scored(0.5, False)], Costs(miss=3, alarm=1, base_rate=0.5)).threshold == -math.inf
    )


def test_a_score_at_the_threshold_is_no_alarm() -> None:
    assert operation(MIXED, 0.6, EVEN)[1:] == (0.5, 0.0, 0.25)


def test_the_cheapest_threshold_is_no_dearer_than_any_other() -> None:
    results = [Scored((number * 37 % 101) / 100, number % 3 == 0) for number in range(90)]
    costs = Costs(miss=3, alarm=1, base_rate=0.2)
    best = cheapest(results, costs)
    assert best == operation(results, best.threshold, costs)
    assert all(best.cost <= operation(results, at / 200, costs).cost + 1e-12 for at in range(201))
    advice = advise(results, costs)
    assert advice.held_out is not None and advice.held_out >= best.cost - 1e-12
    assert advise(MIXED, costs).held_out is None


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"score": 0.1, "wrong": "maybe"}], "row 1: 'wrong' is 'maybe'"),
        ([{"score": 2, "wrong": True}], "row 1: the score is 2"),
        ([{"score": 0.1, "wrong": True}, {"error": "x", "score": 0.5, "wrong": False}], "both right and wrong"),
    ],
)
def test_labels_that_cannot_be_read(rows: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        scored(rows, "wrong")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run.jsonl"
    rows = [{"line": n, "score": one.score, "bad": str(one.wrong).lower()} for n, one in enumerate(MIXED, start=1)]
    rows += [{"line": 9, "error": "failed"}, {"line": 4, "score": 0.9, "bad": "true"}]
    run.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert cli.run(["bench", "threshold", str(run), "--label", "bad", "--miss", "10"]) == 0
    out, err = capsys.readouterr()
    assert (
        "| cheapest | 0.300 | 0.0 | 50.0 | 25.00 |" in out
        and "| never an alarm | 1.000 | 100.0 | 0.0 | 500.00 |" in out
    )
    assert "From 2 wrong and 2 right responses." in out and "1 rows without a score" in err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--base-rate", "1"], "--base-rate is a share"),
        (["--miss", "0", "--alarm", "0"], "must be above 0"),
        ([], "several methods: name one with --method (a, b)"),
    ],
)
def test_options_given_wrongly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    run = tmp_path / "run.jsonl"
    run.write_text("".join(json.dumps({"dataset": "d", "id": "1", "method": name}) + "\n" for name in "ab"))
    assert cli.run(["bench", "threshold", str(run), *more]) == 2 and message in capsys.readouterr().err
