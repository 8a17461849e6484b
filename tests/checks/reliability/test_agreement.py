"""A judge beside people: accuracy and Cohen's kappa, on labels that are read strictly."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from typer.testing import CliRunner

from haluagent.checks.reliability.agreement import agreement, compared, kappa, labelled_runs
from haluagent.checks.reliability.classify import classify
from haluagent.cli.reliability import app
from haluagent.errors import ConfigError

TOOL = {
    "name": "order", "parameters": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
}  # fmt: skip


def run_of(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    made = [
        {"id": f"c{number}", "tool": tool, "arguments": arguments, "result": "fine"}
        for number, (tool, arguments) in enumerate(calls, start=1)
    ]
    turns = [{"role": "user", "text": "How is ORD-20931?"}, *({"role": "assistant", "calls": [one]} for one in made)]
    return {"run_id": "r", "tools": [TOOL], "turns": turns, "answer": "It is fine."}


RUN = run_of(("order", {"id": "ORD-20931"}), ("order", {"id": "ORD-77777"}), ("ordr", {}), ("order", {}))
LABELS = {"c1": "none", "c2": "tool_content", "c3": "tool_type", "c4": "tool_content"}


def test_kappa_is_cohens() -> None:
    # Cohen's textbook table: 20 both yes, 15 both no, 5 and 10 apart.
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    assert kappa(pairs) == pytest.approx(0.4)
    assert kappa([("y", "y")] * 3) is None
    assert kappa([("y", "n"), ("n", "y")]) == pytest.approx(-1)


def test_right_and_wrong_are_told_apart_from_the_kinds() -> None:
    found = agreement([("none", "none"), ("tool_type", "tool_content"), ("tool_content", "tool_content")])
    assert (found.accuracy, found.wrong_accuracy, found.wrong_kappa) == (pytest.approx(2 / 3), 1.0, 1.0)
    content = next(one for one in found.kinds if one.kind == "tool_content")
    assert (content.people, content.judge, content.both) == (1, 2, 1)
    with pytest.raises(ConfigError, match="no call is labelled"):
        agreement([])


def test_the_command_prints_the_figures(tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    file.write_text(json.dumps({"run": RUN, "labels": LABELS}))  # no line end: the last line counts too
    said = CliRunner().invoke(app, ["agreement", "--rules", str(file)])
    assert said.exit_code == 0, said.output
    lines = said.stdout.splitlines()
    assert lines[0].startswith("4 calls; the same kind: 75.0 % (kappa 0.67); right or wrong: 100.0 % (kappa 1.00)")
    assert "| tool_content | 2 | 1 | 1 | 100.0 | 50.0 |" in lines and "| tool_timing | 0 | 0 | 0 | - | - |" in lines
    said = CliRunner().invoke(app, ["agreement", "--rules", "--json", "-"], input=file.read_text())
    assert json.loads(said.stdout)["n"] == 4


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ({"run": RUN, "labels": {"c9": "none"}}, "no call 'c9'"),
        ({"run": RUN, "labels": {"c1": "bad"}}, "a label is one of none, tool_type"),
        ({"run": RUN}, "a line is"),
        ({"run": 3, "labels": {}}, "line 1, run"),
        ([], "a line is"),
    ],
)
def test_wrong_labels_are_one_line(tmp_path: Path, row: Any, error: str) -> None:
    file = tmp_path / "labels.jsonl"
    file.write_text(json.dumps(row) + "\n")
    found = CliRunner().invoke(app, ["agreement", "--rules", str(file)]).exception
    assert isinstance(found, ConfigError) and error in str(found)


def test_the_rules_on_a_hundred_calls_labelled_by_hand() -> None:
    text = (ROOT / "tests" / "data" / "tool_calls" / "labelled.jsonl").read_text(encoding="utf-8")
    pairs = [
        pair
        for one in labelled_runs(text, "labelled.jsonl")
        for pair in compared(one, asyncio.run(classify(one.run, None)))
    ]
    found = agreement(pairs)
    kinds = {one.kind: one for one in found.kinds}
    assert found.n == 100 and found.accuracy >= 0.84
    assert kinds["none"].both == kinds["none"].people == 37  # no false alarm
    for kind in ("tool_format", "tool_timing"):
        assert kinds[kind].both == kinds[kind].people == kinds[kind].judge
