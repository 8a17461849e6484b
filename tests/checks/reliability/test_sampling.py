"""Turns sampled at each step of measured runs are judged once, and make preference pairs. Tasks are drawn by stratum."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from haluagent.checks.reliability import sampling, toolbench
from haluagent.checks.reliability.measure import measure
from haluagent.checks.reliability.records import ReliabilityRow, ReliabilitySettings
from haluagent.checks.reliability.sampling import SampleSettings
from haluagent.cli.reliability import app
from haluagent.errors import ConfigError
from haluagent.protocols import Generation
from haluagent.train.preferences import pairs
from haluagent.train.trajectories.records import read as read_trajectories
from haluagent.types import Usage

ROW: dict[str, Any] = {
    "subset": "S", "kind": "original", "query_id": 1, "query": "How is order ORD-20931?", "api_list": [{
        "tool_name": "Shop", "api_name": "Order", "api_description": "The state of an order", "required_parameters": [
            {"name": "id", "type": "STRING", "description": "", "default": ""}], "optional_parameters": [],
        "template_response": {"state": "str"},
    }],
}  # fmt: skip
GOOD = 'THOUGHT: look\nACTION: order_for_shop {"id": "ORD-20931"}'
MADE_UP = 'THOUGHT: look\nACTION: order_for_shop {"id": "ORD-77777"}'
ASKS = 'THOUGHT: look\nACTION: TalkToUser {"question": "Which?"}'
FINISH = 'THOUGHT: done\nACTION: Finish {"answer": "It is on its way."}'


def measured(scripted: Any) -> ReliabilityRow:
    class Agent:
        model = scripted([GOOD, FINISH])

    return asyncio.run(measure(Agent(), toolbench.parse(ROW, "here"), ReliabilitySettings()))  # type: ignore[arg-type]


def test_every_step_is_sampled_and_each_turn_ranked(scripted: Any) -> None:
    class Sampling(scripted):  # type: ignore[misc]
        async def generate(self, messages: Any, **options: Any) -> Generation:
            self.seen.append(messages)
            assert options["samples"] == 10 and options["temperature"] == 1.0 and "order_for_shop" in options["grammar"]
            texts = (GOOD, GOOD, MADE_UP, ASKS, FINISH, "nonsense", *[GOOD] * 4)
            return Generation(texts=texts, usage=Usage(calls=1))

    row = measured(scripted)
    model = Sampling()
    found = asyncio.run(sampling.sample(model, row, toolbench.parse(ROW, "here"), SampleSettings()))
    first, second = found.steps
    assert [turn.rank for turn in first.turns] == ["correct", "hallucinated", "indecisive", None]
    # At the second step the good call repeats the first one.
    assert [turn.rank for turn in second.turns] == ["hallucinated", "hallucinated", "indecisive", None]
    assert len(second.messages) == len(first.messages) + 2
    chosen = sampling.ranked_samples([found])
    assert [step.rank for step in chosen] == ["correct", "indecisive", "hallucinated", "indecisive", "hallucinated"]


def test_the_command_goes_on_and_its_samples_make_pairs(
    endpoint: Any, scripted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALUAGENT_CACHE", str(tmp_path / "cache"))
    data, runs, out, dpo = (tmp_path / name for name in ("tasks.jsonl", "run.jsonl", "samples.jsonl", "dpo.jsonl"))
    data.write_text(json.dumps(ROW) + "\n", encoding="utf-8")
    runs.write_text(measured(scripted).model_dump_json() + "\n", encoding="utf-8")
    replies = iter([GOOD, MADE_UP, ASKS] * 4)
    endpoint.say = lambda messages: next(replies)
    given = ["sample", str(runs), "--data", str(data), "--out", str(out), "--base-url", endpoint.base_url]
    done = CliRunner().invoke(app, [*given, "--samples", "3"])
    assert done.exit_code == 0 and done.stdout.startswith("2 steps of 1 runs"), done.output
    before = endpoint.chats
    assert CliRunner().invoke(app, [*given, "--samples", "3"]).exit_code == 0 and endpoint.chats == before
    other = CliRunner().invoke(app, [*given, "--samples", "4"])
    assert isinstance(other.exception, ConfigError) and "other settings" in str(other.exception)
    made = CliRunner().invoke(app, ["data", "--samples", str(out), "--dpo", str(dpo)])
    assert made.exit_code == 0, made.output
    found = [pair.outcomes for pair in pairs(read_trajectories(dpo))]
    assert found[:3] == [("right", "unverified"), ("right", "wrong"), ("unverified", "wrong")]
    none = CliRunner().invoke(app, ["data", "--dpo", str(dpo)])
    assert isinstance(none.exception, ConfigError)
    data.write_text(json.dumps(ROW | {"query_id": 2}) + "\n", encoding="utf-8")
    gone = CliRunner().invoke(app, [*given[:-2], "--base-url", endpoint.base_url, "--out", str(tmp_path / "x.jsonl")])
    assert isinstance(gone.exception, ConfigError) and "original/1" in str(gone.exception)


def test_a_sample_of_tasks_has_as_many_of_each_kind_and_subset() -> None:
    tasks = [
        toolbench.parse(ROW | {"kind": kind, "subset": subset, "query_id": f"{subset}{number}"}, "here")
        for kind, size in (("original", 9), ("missing_parameter", 2), ("unmatched_tools", 9))
        for subset in ("I1", "I2")
        for number in range(size)
    ]
    small, large = toolbench.stratified(tasks, 12), toolbench.stratified(tasks, 20)
    counts = lambda some: [sum(one.kind == kind for one in some) for kind in ("original", "missing_parameter")]  # noqa: E731
    assert (len(small), counts(small), len(large), counts(large)) == (12, [4, 4], 20, [8, 4])
    assert {task.id for task in small} <= {task.id for task in large}
    assert toolbench.stratified(tasks, 99) == tasks
