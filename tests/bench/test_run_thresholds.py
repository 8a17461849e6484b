"""Labelled runs of anybody's: how they are read, and thresholds chosen on one half and measured on the other."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from haluagent import HaluAgent
from haluagent.bench.agent_runs import RunRow, measure
from haluagent.bench.labelled_runs import LabelledRun, load
from haluagent.bench.run_thresholds import ChosenThresholds, choose, halves, table
from haluagent.checks.runs.calls.check import validate_calls
from haluagent.checks.runs.gate import REJECTED
from haluagent.cli import main as cli
from haluagent.errors import ConfigError
from haluagent.types import Usage

DATA = Path(__file__).parents[1] / "data" / "runs" / "runs.jsonl"


def row(name: str, wrong: bool, score: float, **more: Any) -> RunRow:
    given = {
        "kind": "k" if wrong else "",
        "structural": False,
        "group": "",
        "action": "emit",
        "stands": "emit",
        "critical": score,
    }
    given |= {"flagged": False, "probes": 0, "usage": Usage(), "seconds": 1.0, "prompt": 0.5, "prompt_usage": Usage()}
    return RunRow.model_validate({"id": name, "model": "m", "wrong": wrong, "score": score} | given | more)


def test_the_halves_have_the_same_make_up_and_keep_groups_together() -> None:
    rows = [row(f"{kind}{n}", kind != "r", 0.5, kind=kind) for kind in "rabc" for n in range(6)]
    rows += [row(f"pair{n}{wrong}", wrong, 0.5, kind="", group=f"g{n}") for n in range(4) for wrong in (False, True)]
    one, other = halves(rows, seed=3)
    assert {item.id for item in one} | {item.id for item in other} == {item.id for item in rows}
    assert not {item.group for item in one if item.group} & {item.group for item in other}
    assert Counter((item.wrong, item.kind) for item in one) == Counter((item.wrong, item.kind) for item in other)
    assert halves(rows[::-1], seed=3) == (one, other) != halves(rows, seed=4)


def test_the_thresholds_are_the_strictest_that_keep_to_the_limits() -> None:
    right = [row(f"r{n}", False, 0.5 + n / 20) for n in range(10)]  # 0.50 … 0.95
    wrong = [row(f"w{score}", True, score) for score in (0.1, 0.44, 0.52, 0.9)]
    assert choose([*right, *wrong], 0.1, 0.0) == ChosenThresholds(emit=0.535, block=0.47)
    close = [row("r", False, 0.4996), row("w", True, 0.4995)]  # 0.5 would hold back the right one
    assert choose(close, 0.0, 0.0).emit == 0.499
    # a right run that its calls hold back uses up the limit, and no threshold can make up for two of them
    held = [right[9].model_copy(update={"stands": "revise"}), *right[:9]]
    assert choose([*held, *wrong], 0.1, 0.0).emit == 0.47
    assert choose([*(one.model_copy(update={"stands": "revise"}) for one in right[:2]), *right[2:]], 0.1, 0.0).emit == 0


def test_calls_and_probes_count_whatever_the_thresholds_are() -> None:
    gate = ChosenThresholds(emit=0.6, block=0.3)
    cases = [(0.6, "emit", "emit"), (0.59, "emit", "revise"), (0.29, "emit", "block"), (0.9, "revise", "revise")]
    assert [gate.action(row("x", True, score, stands=stands)) for score, stands, _ in cases] == [
        want for *_, want in cases
    ]
    assert gate.action(row("x", True, 0.1, critical=1.0)) == "revise"


def test_the_report_is_on_the_half_that_the_thresholds_were_not_chosen_on() -> None:
    rows = [row(f"r{n}", False, 0.9, action="revise") for n in range(20)] + [row(f"w{n}", True, 0.2) for n in range(20)]
    said = table(rows, seed=1)
    assert "`--emit 0.55 --revise 0.55 --block 0.55`" in said
    assert "| wrong runs held back (detection) | 10 of 10 [72, 100] | 0 of 10 [0, 28] |" in said
    assert "| right runs held back (false alarms) | 0 of 10 [0, 28] | 10 of 10 [72, 100] |" in said
    assert "AUROC of the overall score 1.000" in said
    assert "too few runs" in table(rows[:1] + rows[-1:])


def line(**more: Any) -> str:
    run = {"turns": [{"role": "user", "text": "Hi"}], "answer": "Hello."}
    return json.dumps({"id": "a", "wrong": False, "run": run} | more) + "\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        (line() + line(wrong=True), "line 2: field 'id' is 'a', as in a line before"),
        (line() + line(id="b"), "only right runs"),
        (line(wrong="yes"), "field 'wrong' is 'yes'"),
        (line(run={"turns": []}), "line 1: run: answer is missing"),
        ("{", "line 1"),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        load(path)
    assert why in str(error.value) and "\n" not in str(error.value)


def test_runs_of_other_libraries_are_read(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "Where is PX-4417?"}, {"role": "assistant", "content": "In Brod."}]
    path = tmp_path / "runs.jsonl"
    path.write_text(
        line(run=messages) + line(id=2, wrong=True, run={"messages": messages}, note="other fields are left alone")
    )
    assert [(one.id, one.wrong, one.run.answer) for one in load(path, "openai")] == [
        ("a", False, "In Brod."),
        ("2", True, "In Brod."),
    ]


def test_measured_runs_are_continued_and_not_mixed_with_others(tmp_path: Path, scripted: Any) -> None:
    (path := tmp_path / "runs.jsonl").write_text(line(group="g") + line(id="b", wrong=True))
    out = tmp_path / "out.jsonl"
    with HaluAgent(scripted(), sandbox=None, search=None) as agent:
        rows = measure(agent, out, load(path), progress=lambda line: None)
        assert [(one.id, one.group, one.stands) for one in rows] == [("a", "g", "emit"), ("b", "", "emit")]
        with pytest.raises(ConfigError, match="reports of other runs"):
            measure(agent, out, load(path)[:1])


def test_the_command_needs_a_model_or_only_the_calls(tmp_path: Path, capsys: Any) -> None:
    assert cli.run(["bench", "runs", "--data", str(DATA), "--calls-only"]) == 0
    said = capsys.readouterr().out
    assert "| right runs | 0 of 40 [0, 9] |" in said and "right runs with a rejected call" not in said
    assert cli.run(["bench", "runs", "--data", str(DATA)]) == 2 and "--out" in capsys.readouterr().err
    assert cli.run(["bench", "runs", "--from", "openai", "--calls-only"]) == 2
    assert cli.run(["bench", "runs", "--data", str(tmp_path / "none.jsonl"), "--calls-only"]) == 2


RUNS: list[LabelledRun] = load(DATA)


def test_the_runs_of_the_tests_are_balanced_and_described() -> None:
    trades = [json.loads(line)["trade"] for line in DATA.read_text("utf-8").splitlines()]
    cells = Counter((trade, one.run.language, one.wrong) for trade, one in zip(trades, RUNS, strict=True))
    assert len(RUNS) == 80 and set(cells.values()) == {4} and len(cells) == 20
    described = (DATA.parent / "README.md").read_text("utf-8")
    assert all(f"`{one.kind}`" in described for one in RUNS if one.wrong)
    assert all(one.structural == (one.kind in ("invented_argument", "never_called")) for one in RUNS)


def test_no_call_of_a_right_run_is_rejected() -> None:
    alarms = [
        one.id for one in RUNS if not one.wrong and any(call.status in REJECTED for call in validate_calls(one.run))
    ]
    assert alarms == []
