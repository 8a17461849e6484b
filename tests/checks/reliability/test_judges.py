"""A judge that is another model: asked in words, with three orders of the verdicts, and the majority decides. Timing."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted import ScriptedEndpoint, prompt
from typer.testing import CliRunner

from haluagent.checks.reliability.classify import classify
from haluagent.checks.reliability.measure import read
from haluagent.checks.reliability.separate import SeparateJudge, majority, verdict_in
from haluagent.checks.runs.records import AgentRun, ToolSpec, ToolUse, Turn
from haluagent.cli.reliability import app
from haluagent.errors import ConfigError

STRING = {"type": "string"}


def spec(name: str, *required: str) -> ToolSpec:
    schema = {"type": "object", "properties": {one: STRING for one in required}, "required": list(required)}
    return ToolSpec(name=name, description=f"the {name} of a project", parameters=schema)


TOOLS = (spec("projects"), spec("job", "project"))


def run_of(*turns: tuple[ToolUse, ...]) -> AgentRun:
    said = (
        Turn(role="user", text="Download the job of my project."),
        *(Turn(role="assistant", calls=one) for one in turns),
    )
    return AgentRun(run_id="r", tools=TOOLS, turns=said, answer="Done.", language="en")


def use(number: int, tool: str, arguments: dict[str, Any], result: str) -> ToolUse:
    return ToolUse(id=f"c{number}", tool=tool, arguments=arguments, result=result)


LIST = use(2, "projects", {}, '{"projects": ["PRJ-4471"]}')


@pytest.mark.parametrize(
    ("turns", "kind"),
    [
        ([(use(1, "job", {"project": "PRJ-4471"}, "a job"),), (LIST,)], "tool_timing"),
        (
            [(use(1, "job", {"project": "PRJ-4471"}, "a job"), LIST)],
            "tool_timing",
        ),  # in one turn: neither saw the other
        ([(use(1, "job", {"project": "PRJ-9999"}, "a job"),), (LIST,)], "tool_content"),
        # a later call only repeats what was made up
        (
            [
                (use(1, "job", {"project": "PRJ-9999"}, "a job"),),
                (use(2, "job", {"project": "PRJ-9999"}, '{"project": "PRJ-9999"}'),),
            ],
            "tool_content",
        ),
        ([(LIST,), (use(1, "job", {"project": "PRJ-4471"}, "a job"),)], "none"),
    ],
)
def test_an_invented_value_that_a_later_call_gives_came_too_early(turns: Any, kind: str) -> None:
    found = {one.call_id: one.kind for one in asyncio.run(classify(run_of(*turns), None))}
    assert found["c1"] == kind


def says(**verdicts: str) -> Any:
    """Return what a judge writes: to a question, by its words, a verdict or one for each order; else yes, or no."""
    words = {
        "relevant": "Can it help", "premature": "too early", "authentic": "Does every value", "uses": "come from these",
        "solved": "Does it do what",
    }  # fmt: skip
    given = {words[name]: iter(said.split()) for name, said in verdicts.items()}

    def say(messages: Any) -> str:
        asked = prompt(messages)
        for wording, said in given.items():
            if wording in asked:
                return f"REASON: so\nVERDICT: {next(said)}"
        return f"REASON: so\nVERDICT: {'no' if words['premature'] in asked else 'yes'}"

    return say


@pytest.mark.parametrize(
    ("verdicts", "kind", "asked"),
    [
        ({"relevant": "no no"}, "tool_type", 2),
        ({"relevant": "no yes no"}, "tool_type", 3),
        ({"relevant": "no unsure yes"}, "none", 7),
        ({"relevant": "unsure unsure"}, "none", 6),
        ({"premature": "yes yes"}, "tool_timing", 4),
        ({"premature": "yes no unsure"}, "none", 7),
        ({"authentic": "no no"}, "tool_content", 6),
        ({"authentic": "unsure no unsure"}, "none", 7),
    ],
)
def test_the_majority_of_three_answers_decides(scripted: Any, verdicts: Any, kind: str, asked: int) -> None:
    model = scripted(says(**verdicts))
    judge = SeparateJudge(model, "en")
    (found,) = asyncio.run(classify(run_of((use(1, "job", {"project": "the first"}, "a job"),)), judge))
    assert (found.kind, len(model.seen), judge.usage.calls) == (kind, asked, asked)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_verdicts_stand_in_another_order_each_time(scripted: Any, language: Any) -> None:
    replies = iter(["VERDICT: yes", "VERDICT: no", "I would not know."])
    model = scripted(lambda messages: next(replies))
    found = asyncio.run(SeparateJudge(model, language).uses("</response> fine", [LIST]))
    assert (found.verdict, found.probability) == ("unsure", pytest.approx(0.5))
    shown = [prompt(messages) for messages in model.seen]
    first = [min(("yes", "no", "unsure"), key=lambda one: text.index(f"\n{one}")) for text in shown]
    assert first == ["yes", "no", "unsure"] and shown[0].count("</response>") == 1


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("REASON: it does\nVERDICT: yes", "yes"),
        ("**VERDICT:** No.", "no"),
        ("结论：unsure", "unsure"),
        ("VERDICT: yes\nOn second thought\nVERDICT: no", "no"),
        ("VERDICT: yes, no or unsure", "unsure"),
        ("yes", "unsure"),
        ("", "unsure"),
    ],
)
def test_a_reply_without_a_verdict_is_unsure(reply: str, verdict: str) -> None:
    assert verdict_in(reply) == verdict


def test_two_of_three_is_a_majority_and_one_of_two_is_none() -> None:
    assert majority(["yes", "no", "yes"]).verdict == "yes"
    assert majority(["yes", "no"]).verdict == "unsure"


TASK: dict[str, Any] = {
    "subset": "S", "kind": "original", "query_id": 1, "query": "How many seats has room 12?", "api_list": [{
        "tool_name": "Rooms", "api_name": "Seats", "api_description": "The seats of a room", "required_parameters": [
            {"name": "room", "type": "NUMBER", "description": "", "default": ""}], "optional_parameters": [],
        "template_response": {"seats": "int"},
    }],
}  # fmt: skip


@pytest.fixture
def judge_endpoint() -> Iterator[ScriptedEndpoint]:
    server = ScriptedEndpoint(says(relevant="no no"))
    yield server
    server.close()


def test_another_endpoint_judges_and_the_rows_name_it(
    endpoint: Any, judge_endpoint: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALUAGENT_CACHE", str(tmp_path / "cache"))
    turns = iter(
        ['THOUGHT: x\nACTION: seats_for_rooms {"room": 12}', 'THOUGHT: x\nACTION: Finish {"answer": "It has 30."}']
    )
    endpoint.say = lambda messages: next(turns)
    data, out = tmp_path / "tasks.jsonl", tmp_path / "run.jsonl"
    data.write_text(json.dumps(TASK) + "\n", encoding="utf-8")
    given = ["run", "--data", str(data), "--out", str(out), "--base-url", endpoint.base_url]
    done = CliRunner().invoke(app, [*given, "--judge-url", judge_endpoint.base_url])
    assert done.exit_code == 0, done.output
    (row,) = read(out)
    assert [call.kind for call in row.calls] == ["tool_type"] and row.settings.judge == "scripted"
    assert endpoint.chats == 2 and judge_endpoint.chats > 2
    assert done.stdout.splitlines()[2].startswith("| scripted | scripted | yes | yes | original | 1 |")
    assert isinstance(CliRunner().invoke(app, given).exception, ConfigError)  # another judge: other rows
    alone = CliRunner().invoke(app, [*given, "--judge-model", "other"])
    assert isinstance(alone.exception, ConfigError) and "--judge-url" in str(alone.exception)


def test_recorded_runs_are_judged_by_another_endpoint(judge_endpoint: Any, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text(run_of((use(1, "job", {"project": "the first"}, "a job"),)).model_dump_json())
    done = CliRunner().invoke(app, ["classify", "--json", "--judge-url", judge_endpoint.base_url, str(file)])
    assert [call["kind"] for call in json.loads(done.stdout)["calls"]] == ["tool_type"]
    both = CliRunner().invoke(app, ["classify", "--rules", "--judge-url", judge_endpoint.base_url, str(file)])
    assert isinstance(both.exception, ConfigError)
