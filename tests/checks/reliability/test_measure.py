"""Tool use measured after Relign: the kinds of hallucination, the figures, the simulated tools, the loop and the command."""

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from haluagent import HaluAgent
from haluagent.checks.reliability import lessons, toolbench, turns
from haluagent.checks.reliability.classify import classify, not_given
from haluagent.checks.reliability.judge import Judge
from haluagent.checks.reliability.loop import solve
from haluagent.checks.reliability.measure import judge_end, measure, read
from haluagent.checks.reliability.metrics import figures, sample
from haluagent.checks.reliability.recorded import classified, runs_in
from haluagent.checks.reliability.records import CallFinding, ReliabilityRow, ReliabilitySettings, ToolTask
from haluagent.checks.reliability.toolbench import Tools
from haluagent.checks.runs.records import AgentRun, ToolSpec, ToolUse, Turn
from haluagent.cli.reliability import app
from haluagent.errors import ConfigError
from haluagent.train.preferences import pairs
from haluagent.train.trajectories.records import read as read_trajectories

QUERY = "What is the weather in Osk, and how is order ORD-20931?"
STRING = {"type": "string"}


def spec(name: str, required: tuple[str, ...], **properties: Any) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return ToolSpec(name=name, description=f"{name} of a place or an order", parameters=schema)


DAYS = {"type": "number", "default": 1}
TOOLS = (spec("weather", ("city",), city=STRING, days=DAYS), spec("order", ("id",), id=STRING), spec("poem", ()))


def api(name: str, required: list[tuple[str, str]], template: Any) -> dict[str, Any]:
    parameters = [{"name": key, "type": kind, "description": "", "default": ""} for key, kind in required]
    return {
        "category_name": "Made", "tool_name": "Made Up", "api_name": name, "api_description": f"{name} of a place", "method": "GET",
        "required_parameters": parameters, "optional_parameters": [], "template_response": template,
    }  # fmt: skip


TEMPLATE = {"city": "str", "wind": "int", "list": [{"a": "bool", "_list_length": "9"}]}
ROW: dict[str, Any] = {
    "subset": "S", "kind": "original", "query_id": 1, "query": "What is the weather in Osk for 2 days?", "relevant APIs": [],
    "api_list": [
        api("Weather", [("city", "STRING"), ("days", "NUMBER")], TEMPLATE),
        api("Weather", [], None),
    ],
}  # fmt: skip


def run_of(*calls: ToolUse, answer: str = "It is fine.", query: str = QUERY) -> AgentRun:
    turns = (Turn(role="user", text=query), *(Turn(role="assistant", text="t", calls=(call,)) for call in calls))
    return AgentRun(run_id="r", tools=TOOLS, turns=turns, answer=answer, language="en")


def use(number: int, tool: str, arguments: Any, result: str = "sunny") -> ToolUse:
    return ToolUse(id=f"c{number}", tool=tool, arguments=arguments, result=result)


def test_the_rules_tell_the_kinds_apart_without_a_model() -> None:
    calls = [
        use(1, "weather", {"city": "Osk"}),
        use(2, "weather", {"city": "Osk"}),
        use(3, "weather", {"city": "Osk"}, "rain"),
        use(4, "wether", {"city": "Osk"}),
        use(5, "weather", {}),
        use(6, "weather", {"city": 5}),
        use(7, "weather", {"city": "Osk", "unit": "C"}),
        use(8, "weather", '{"city": "Os'),
        use(9, "order", {"id": "ORD-77777"}),
        use(10, "order", {"id": "ORD-20931"}),
    ]
    found = asyncio.run(classify(run_of(*calls), None))
    assert [finding.kind for finding in found] == [
        "none", "tool_timing", "none", "tool_type", "tool_format", "tool_format", "tool_format", "tool_format", "tool_content", "none",
    ]  # fmt: skip
    assert "ORD-77777" in found[8].reason


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        ({"user asks for": "no"}, "tool_type"),
        ({"user asks for": "unsure", "It mentions": "unsure"}, "none"),
        ({"It mentions": "no"}, "tool_content"),
        ({"It mentions": "yes"}, "none"),
    ],
)
def test_the_model_decides_what_the_rules_leave(scripted: Any, answers: dict[str, str], kind: str) -> None:
    judge = Judge(answering(scripted, answers), "en")
    found = asyncio.run(classify(run_of(use(1, "weather", {"city": "the capital"})), judge))
    assert found[0].kind == kind
    assert judge.usage.calls > 0


def test_a_letter_that_is_liked_whatever_is_asked_decides_nothing(scripted: Any) -> None:
    judge = Judge(scripted(choose=1 / 2), "en")
    assert asyncio.run(judge.uses("a", [use(1, "weather", {})])).verdict == "unsure"
    assert asyncio.run(judge.solved("q", "a", [])).verdict == "unsure"


def answering(scripted: Any, answers: dict[str, str], lines: Sequence[str] = ()) -> Any:
    """A model that answers a question with these words in the way that is given, else with yes."""

    class Answering(scripted):  # type: ignore[misc]
        async def choose(self, messages: Any, choices: Any) -> Any:
            asked = messages[-1]["content"]
            verdict = next((verdict for words, verdict in answers.items() if words in asked), "yes")
            yes = {"yes": 0.8, "no": 0.2, "unsure": 0.5}[verdict]
            choice = await super().choose(messages, choices)
            first = 1 - yes if "A: no" in asked else yes
            return choice.model_copy(update={"probabilities": dict(zip(choices, (first, 1 - first), strict=True))})

    return Answering(lines)


def test_values_that_stand_in_the_texts_need_no_model() -> None:
    weather = TOOLS[0]
    assert not_given({"city": "osk", "days": 1}, weather, [QUERY]) == {}
    assert not_given({"city": "Os"}, weather, [QUERY]) == {"city": "Os"}
    assert not_given({"city": "Osk", "days": 3}, weather, [QUERY]) == {"days": 3}
    assert not_given({"city": "奥斯克"}, weather, ["奥斯克的天气怎么样？"]) == {}


def row(kind: Any, *kinds: Any, passed: bool = False, task_hallucinated: bool = False) -> ReliabilityRow:
    calls = tuple(CallFinding(call_id=str(number), tool="t", kind=one) for number, one in enumerate(kinds))
    return ReliabilityRow(
        task="t", kind=kind, subset="s", model="m", settings=ReliabilitySettings(), digest="d", calls=calls, passed=passed,
        task_hallucinated=task_hallucinated,
    )  # fmt: skip


def test_the_figures_are_those_of_the_paper() -> None:
    solved = row("original", "none", "tool_content", "none", "tool_timing", passed=True, task_hallucinated=True)
    given_back = row("unmatched_tools", passed=True)
    many = row("missing_parameter", *["tool_type"] * 15)
    assert (sample(solved).rate, sample(solved).utility) == (0.5, 20 - 3 - 10)
    assert (sample(given_back).rate, sample(given_back).utility) == (0.0, 20)
    assert sample(many).utility == -10 - 10
    found = figures([solved, given_back, many, row("original").model_copy(update={"error": "no endpoint"})])
    assert (found.n, found.failed, found.hallucination_rate) == (3, 1, pytest.approx(0.5))
    assert found.rates == pytest.approx(
        {"tool_type": 1 / 3, "tool_timing": 1 / 12, "tool_format": 0, "tool_content": 1 / 12}
    )
    assert (found.pass_rate, found.repr, found.calls) == pytest.approx((2 / 3, 1 / 3, 19 / 3))
    assert figures([]).repr is None


def test_a_published_row_becomes_a_task_and_its_tools_answer() -> None:
    task = toolbench.parse(ROW, "here")
    assert [tool.name for tool in task.tools] == ["weather_for_made_up", "weather_for_made_up_2"]
    assert task.tools[0].parameters["properties"]["days"] == {"type": "number"}
    call = Tools(task).call
    good, failed = asyncio.run(call("weather_for_made_up", {"city": "Osk", "days": 2}))
    result = json.loads(good)
    assert not failed and result["city"] == "Osk" and isinstance(result["wind"], int) and len(result["list"]) == 3
    assert asyncio.run(call("weather_for_made_up", {"city": "Osk", "days": 2}))[0] == good
    assert asyncio.run(call("weather_for_made_up", {"city": "Brod", "days": 2}))[0] != good
    for name, arguments in [("weather_for_made_up", {"city": "Osk"}), ("weather_for_made_up", "{"), ("elsewhere", {})]:
        text, failed = asyncio.run(call(name, arguments))
        assert failed and "error" in json.loads(text)


@pytest.mark.parametrize("change", [{"kind": "other"}, {"api_list": [{}]}, {"api_list": 3}, {"query": None}])
def test_what_is_no_row_is_named(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROW) + "\n" + json.dumps(ROW | change) + "\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="line 2"):
        toolbench.read(path)


def drive(scripted: Any, lines: list[str], task: ToolTask, **settings: Any) -> Any:
    model = scripted(lines)
    done = asyncio.run(
        solve(model, "r", task.query, task.tools, Tools(task).call, ReliabilitySettings(**settings), "en")
    )
    return model, done


GOOD = 'THOUGHT: look\nACTION: weather_for_made_up {"city": "Osk", "days": 2}'
FINISH = 'THOUGHT: done\nACTION: Finish {"answer": "It is fine in Osk."}'


def test_a_run_has_every_call_and_its_result(scripted: Any) -> None:
    model, done = drive(scripted, [GOOD, 'THOUGHT: x\nACTION: nowhere {"a": 1}', FINISH], toolbench.parse(ROW, "here"))
    calls = [call for turn in done.run.turns for call in turn.calls]
    assert [(call.tool, call.failed) for call in calls] == [("weather_for_made_up", False), ("nowhere", True)]
    assert (done.ending, done.run.answer, done.usage.calls) == ("answer", "It is fine in Osk.", 3)
    assert "there is no function nowhere" in model.seen[-1][-1]["content"]
    assert all(grammar and "talktouser" in grammar for grammar in model.grammars)


@pytest.mark.parametrize(
    ("lines", "settings", "ending"),
    [
        (['ACTION: TalkToUser {"question": "where?"}'], {}, "talk_to_user"),
        (['ACTION: ChangeTools {"reason": "no"}'], {}, "change_tools"),
        (["I do not know.", "I still do not."], {}, "unreadable"),
        (["I do not know.", FINISH], {}, "answer"),
        ([GOOD, GOOD, FINISH], {"max_calls": 2}, "answer"),
        ([GOOD, GOOD, GOOD], {"max_calls": 2}, "calls"),
        (['ACTION: ChangeTools {"reason": "no"}', FINISH], {"indecisive": False}, "answer"),
    ],
)
def test_how_a_run_ends(scripted: Any, lines: list[str], settings: dict[str, Any], ending: str) -> None:
    _, done = drive(scripted, lines, toolbench.parse(ROW, "here"), **settings)
    assert done.ending == ending


def test_after_the_last_call_the_grammar_only_ends(scripted: Any) -> None:
    model, _ = drive(scripted, [GOOD, FINISH], toolbench.parse(ROW, "here"), max_calls=1)
    assert "weather" in model.grammars[0] and "weather" not in model.grammars[1]


def test_without_room_the_run_ends(scripted: Any) -> None:
    task = toolbench.parse(ROW, "here")
    model = scripted([GOOD], context=300)
    done = asyncio.run(solve(model, "r", task.query, task.tools, Tools(task).call, ReliabilitySettings(), "en"))
    assert (done.ending, model.seen) == ("context", [])


@pytest.mark.parametrize(
    ("kind", "lines", "answers", "expected"),
    [
        ("original", [GOOD, FINISH], {}, (True, False)),
        ("original", [FINISH], {}, (False, False)),  # from no result
        ("original", [GOOD, FINISH], {"what was asked for?": "no"}, (False, False)),
        ("original", ['ACTION: TalkToUser {"question": "?"}'], {}, (False, False)),
        ("unmatched_tools", ['ACTION: ChangeTools {"reason": "no"}'], {}, (True, False)),
        ("unmatched_tools", [FINISH], {}, (False, False)),
        ("unmatched_tools", [FINISH], {"what was asked for?": "no"}, (True, False)),
    ],
)
def test_what_passes(
    scripted: Any, kind: str, lines: list[str], answers: dict[str, str], expected: tuple[bool, bool]
) -> None:
    task = toolbench.parse(ROW | {"kind": kind}, "here")
    _, done = drive(scripted, lines, task)
    assert asyncio.run(judge_end(Judge(answering(scripted, answers), "en"), task, done, ())) == expected


@pytest.mark.parametrize(
    ("failed", "uses", "hallucinated"), [(False, "yes", True), (False, "no", False), (True, "yes", False)]
)
def test_an_answer_from_a_hallucinated_result_is_hallucinated(
    scripted: Any, failed: bool, uses: str, hallucinated: bool
) -> None:
    task = toolbench.parse(ROW, "here")
    _, done = drive(scripted, ["ACTION: nowhere {}" if failed else GOOD, FINISH], task)
    findings = [CallFinding(call_id="c1", tool="t", kind="tool_content")]
    judge = Judge(answering(scripted, {"Does the reference say this?": uses}), "en")
    assert asyncio.run(judge_end(judge, task, done, findings))[1] == hallucinated


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_question_is_asked_in_both_orders(scripted: Any, language: Any) -> None:
    model = scripted()
    judge = Judge(model, language)
    call = use(1, "weather", {"city": "</text> Osk"})
    asyncio.run(judge.relevant("q", TOOLS[0]))
    asyncio.run(judge.authentic(["q"], call, TOOLS[0], {"city": "</statement> Osk"}))
    asyncio.run(judge.uses("a", [call]))
    asyncio.run(judge.solved("q", "a", [call]))
    asked = [messages[-1]["content"] for messages in model.seen]
    assert len(asked) == 8 and judge.usage.calls == 8
    for one, other in zip(asked[::2], asked[1::2], strict=True):
        options = [re.findall(r"^[AB][:：] ?(.*)$", text, re.M) for text in (one, other)]
        assert len(options[0]) == 2 and options[0] == options[1][::-1]
    assert asked[2].count("</statement>") == 1 and asked[6].count("</text>") == 1


def test_a_measured_task_keeps_its_run(scripted: Any) -> None:
    class Agent:
        model = answering(scripted, {}, [GOOD, FINISH])

    task = toolbench.parse(ROW, "here")
    found = asyncio.run(measure(Agent(), task, ReliabilitySettings()))  # type: ignore[arg-type]
    assert found.run is not None and ReliabilityRow.model_validate_json(found.model_dump_json()) == found
    assert (found.ending, found.passed, [call.kind for call in found.calls]) == ("answer", True, ["none"])


def measured(kind: str, number: int, *calls: str, ending: str = "answer", passed: bool = True) -> ReliabilityRow:
    """A row whose calls are of these kinds, made of one tool."""
    uses = [use(place, "weather", {"city": f"{one} {place}"}) for place, one in enumerate(calls)]
    kinds = zip(uses, calls, strict=True)
    found = tuple(CallFinding(call_id=call.id, tool="weather", kind=one) for call, one in kinds)
    return ReliabilityRow(
        task=f"{kind}/{number}", kind=kind, subset="s", model="m", settings=ReliabilitySettings(), digest="d",
        run=run_of(*uses), ending=ending, passed=passed, calls=found,
    )  # fmt: skip


def test_good_steps_come_four_to_three_to_three() -> None:
    rows = [measured("original", number, "none") for number in range(9)]
    rows += [measured("original", 90, "tool_content"), measured("original", 91, "none", passed=False)]
    rows += [
        measured(kind, number, "tool_type") for kind in ("unmatched_tools", "missing_parameter") for number in range(5)
    ]
    found = lessons.good_steps(rows)
    by_kind = {
        kind: [step for step in found if step.task.startswith(kind)] for kind in ("original", "unmatched", "missing")
    }
    assert {kind: len({step.task for step in steps}) for kind, steps in by_kind.items()} == {
        "original": 4,
        "unmatched": 3,
        "missing": 3,
    }
    assert len(by_kind["original"]) == 8 and not {"original/90", "original/91"} & {step.task for step in found}
    turns_of = {kind: {turns.parse(step.reply).name for step in steps} for kind, steps in by_kind.items()}
    assert turns_of == {"original": {"weather", "Finish"}, "unmatched": {"ChangeTools"}, "missing": {"TalkToUser"}}
    assert "city" in by_kind["missing"][0].reply


def test_ranked_steps_are_pairs_for_training(tmp_path: Path) -> None:
    rows = [
        measured("original", 1, "tool_content", "tool_content"),
        measured("original", 1, "none"),
        measured("original", 1, ending="talk_to_user"),
        measured("original", 2, "tool_type"),
        measured("original", 2, ending="answer"),
    ]
    path, out = tmp_path / "run.jsonl", tmp_path / "dpo.jsonl"
    path.write_text("".join(row.model_dump_json() + "\n" for row in rows), encoding="utf-8")
    done = CliRunner().invoke(app, ["data", str(path), "--dpo", str(out)])
    assert done.exit_code == 0, done.output
    found = pairs(read_trajectories(out))
    assert [pair.outcomes for pair in found] == [("right", "unverified"), ("right", "wrong"), ("unverified", "wrong")]
    assert {pair.item for pair in found} == {"original/1"}
    assert "TalkToUser" in found[0].worse[0].reply and "tool_content" in found[1].worse[0].reply


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    rows = [
        ROW | {"kind": kind, "query_id": number}
        for number, kind in enumerate(("original", "unmatched_tools", "missing_parameter"))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_the_command_goes_on_and_reports(
    endpoint: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALUAGENT_CACHE", str(tmp_path / "cache"))
    endpoint.say = lambda messages: FINISH
    out = tmp_path / "run.jsonl"
    command: Callable[..., Any] = lambda *words: CliRunner().invoke(app, list(words))  # noqa: E731
    given = ["run", "--data", str(data), "--out", str(out), "--base-url", endpoint.base_url]
    first = command(*given, "--limit", "1")
    assert first.exit_code == 3, first.output
    assert len(list(read(out))) == 1
    assert command(*given).exit_code == 0
    before = endpoint.chats
    again = command(*given)
    assert again.exit_code == 0 and endpoint.chats == before
    assert len(list(read(out))) == 3
    assert command("report", str(out)).output.splitlines()[-1].startswith("| scripted | itself | yes | yes | all | 3 |")
    other = command(*given, "--no-indecisive")
    assert isinstance(other.exception, ConfigError) and "other settings" in str(other.exception)
    wrong = command(*given, "--kinds", "originals")
    assert isinstance(wrong.exception, ConfigError)


def test_recorded_runs_are_classified(tmp_path: Path, scripted: Any) -> None:
    wrong = ToolUse(id="a", tool="order", arguments={"id": "ORD-99999"}, result="there is none")
    runs = [run_of(ToolUse(id="b", tool="weather", arguments={"city": "Osk"}, result="fine"), wrong), run_of()]
    file = tmp_path / "runs.jsonl"
    file.write_text("\n".join(run.model_dump_json() for run in runs))  # no line end at the end: the last is a run too
    said = CliRunner().invoke(app, ["classify", "--rules", str(file)])
    *_, row, _, line = said.stdout.splitlines()
    assert row == "| 2 | 2 | 25.0 | 0.0 | 0.0 | 0.0 | 25.0 |" and line.startswith(
        "r: order: tool_content: id: id 'ORD-99999'"
    )
    said = CliRunner().invoke(app, ["classify", "--rules", "--json", "-"], input=runs[0].model_dump_json(indent=1))
    assert [call["kind"] for call in json.loads(said.stdout)["calls"]] == ["none", "tool_content"]
    file.write_text(runs[0].model_dump_json() + "\n{broken\n")
    with pytest.raises(ConfigError, match=r"runs\.jsonl, line 2 is not JSON"):
        CliRunner().invoke(app, ["classify", "--rules", str(file)], catch_exceptions=False)


def test_its_own_loop_is_measured_from_what_a_batch_wrote(scripted: Any) -> None:
    with HaluAgent(scripted(scripted.calculate), sandbox="none", search="none") as agent:
        detection = agent.detect("Add up.", "In all 12 * 7 = 84 pens are there.")
    repeated = detection.model_copy(update={"steps": (*detection.steps, detection.steps[-1])})
    rows = [{"format": 1}, {"line": 1, "detection": repeated.model_dump(mode="json")}, {"line": 2, "detection": None}]
    (run,) = runs_in("\n".join(map(json.dumps, rows)), "out.jsonl", "detection")
    found = asyncio.run(classified(run, None))
    assert [call.kind for call in found.calls] == ["none"] * len(detection.steps) + ["tool_timing"]
