"""The gate measured on the runs that the package brings: what is kept, and how it is counted."""

from pathlib import Path
from typing import Any

import pytest

from haluagent import HaluAgent
from haluagent.bench import agent_runs
from haluagent.bench.agent_runs import RunRow, measure, table, written
from haluagent.errors import ConfigError
from haluagent.types import Usage


def row(wrong: bool, action: str, score: float, **more: Any) -> RunRow:
    given = {
        "id": "r",
        "model": "m",
        "kind": "k",
        "structural": False,
        "group": "",
        "stands": "emit",
        "critical": score,
        "flagged": False,
        "probes": 0,
        "seconds": 1.0,
        "prompt": 0.5,
    }
    given |= {"usage": Usage(prompt_tokens=64, generated_tokens=12), "prompt_usage": Usage(prompt_tokens=128)}
    return RunRow.model_validate(given | {"wrong": wrong, "action": action, "score": score} | more)


def test_the_table_counts_structural_faults_by_stage_1_and_the_rest_by_their_action() -> None:
    rows = [
        row(False, "emit", 0.9, prompt=0.9), row(False, "revise", 0.5), row(True, "block", 0.1, prompt=0.1), row(True, "emit", 0.95),
        row(True, "revise", 0.9, structural=True, flagged=True), row(True, "emit", 0.9, structural=True),
    ]  # fmt: skip
    said = table(rows)
    assert "| structural faults found by stage 1 | 1 of 2 |" in said
    assert "| clean runs that stage 1 flagged | 0 of 2 |" in said
    assert (
        "| emit: clean runs, wrong runs | 1 of 2, 1 of 2 |" in said
        and "| block: clean runs, wrong runs | 0 of 2, 1 of 2 |" in said
    )
    assert "| AUROC of the overall score | 0.500 |" in said and "| AUROC of the plain prompt | 0.125 |" in said
    assert "| normalised seconds a report, plain prompt | 2.0, 2.0 |" in said


def test_the_median_of_an_even_count_lies_between_the_middle_two() -> None:
    assert "| seconds a report, median | 2.0 |" in table(
        [row(False, "emit", 0.9, seconds=1.0), row(True, "block", 0.1, seconds=3.0)]
    )


def test_a_line_that_lacks_a_field_is_one_line_of_error(tmp_path: Path, scripted: Any) -> None:
    out = tmp_path / "runs.jsonl"
    out.write_text('{"id": "r", "model": "m"}\n')
    with (
        HaluAgent(scripted(), sandbox=None, search=None) as agent,
        pytest.raises(ConfigError, match="name another file") as error,
    ):
        measure(agent, out)
    assert str(out) in str(error.value) and "\n" not in str(error.value)


def test_a_measurement_goes_on_where_it_was_stopped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, scripted: Any
) -> None:
    few = written()[:4]
    monkeypatch.setattr(agent_runs, "written", lambda: few)
    out, said = tmp_path / "runs.jsonl", list[str]()
    with HaluAgent(scripted(), sandbox=None, search=None) as agent:
        rows = measure(agent, out, probes=False, progress=said.append)
        kept = out.read_text().splitlines(keepends=True)
        out.write_text("".join(kept[:3]))
        assert [again.id for again in measure(agent, out, probes=False, progress=said.append)] == [
            one.id for one in few
        ]
    assert [one.id for one in rows] == [one.id for one in few] and len(said) == 5
    assert [one.flagged for one in rows] == [one.structural for one in few]
    assert all(one.usage.calls > 0 and one.prompt_usage.calls == 1 for one in rows)
    other = scripted()
    other.name = "another"
    with HaluAgent(other, sandbox=None, search=None) as agent, pytest.raises(ConfigError, match="another file"):
        measure(agent, out)
