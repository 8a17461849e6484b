"""`haluagent batch`: files of items, continued after any interruption, over real loopback endpoints."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner
from waiting import until

from haluagent import HaluAgent
from haluagent.batch.files import BatchRow, parse, run
from haluagent.batch.journal import Journal
from haluagent.batch.tables import lines
from haluagent.cli.main import app
from haluagent.errors import ConfigError, HaluAgentError

RIGHT, WRONG = "It is 2 + 2 = 4.", "It is 2 + 2 = 5."


@pytest.fixture
def agent(scripted: Callable[..., Any]) -> HaluAgent:
    return HaluAgent(scripted(scripted.calculate), sandbox="none", search="none")


def write(path: Path, items: list[Any]) -> Path:
    path.write_text("".join((item if isinstance(item, str) else json.dumps(item)) + "\n" for item in items), "utf-8")
    return path


def item(number: int, **other: Any) -> dict[str, Any]:
    return {"question": "What is it?", "response": RIGHT if number % 2 else WRONG, **other}


def results(path: Path) -> dict[int, BatchRow]:
    rows = [BatchRow.model_validate_json(line) for line in path.read_text("utf-8").splitlines()]
    return {row.line: row for row in rows}


def test_every_line_gets_a_row_whatever_is_in_it(agent: HaluAgent, tmp_path: Path) -> None:
    source = write(
        tmp_path / "in.jsonl",
        [
            item(1, id="first"),
            "",
            item(0, id=7),
            "{",
            {"question": "?", "id": "third"},
            item(1) | {"id": True},
            item(1) | {"response": " "},
            "[1]",
        ],
    )
    with source.open("ab") as file:
        file.write(b'{"question": "\xff"}\n')
    out = tmp_path / "out.jsonl"
    assert run(source, out, [agent]) is None
    rows = results(out)
    assert sorted(rows) == [1, 3, 4, 5, 6, 7, 8, 9]
    assert (rows[1].id, rows[1].hallucination) == ("first", False)
    assert (rows[3].id, rows[3].hallucination) == (7, True)
    assert rows[3].detection is not None and rows[3].detection.sentences[0].label == "contradicted"
    errors = {line: row.error for line, row in rows.items() if row.error}
    assert sorted(errors) == [4, 5, 6, 7, 8, 9]
    assert errors[4].startswith("not JSON") and errors[9] == "the line is not UTF-8"
    form = "an item is {question?, response, reference?, id?}"
    assert errors[5] == f"response: Field required; {form}"
    assert errors[6] == f"id: Value error, an id is a text or a whole number; {form}" and "empty" in errors[7]
    assert rows[5].id == "third" and rows[6].id is None


def test_a_run_goes_on_where_it_stopped_and_repeats_failures_when_told_to(agent: HaluAgent, tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", [item(1), {"question": "?"}, item(0)])
    out = tmp_path / "out.jsonl"
    run(source, out, [agent])
    first = out.read_bytes()
    run(source, out, [agent])
    assert out.read_bytes() == first
    write(source, [item(1), item(1), item(0), item(0)])
    run(source, out, [agent], again=True)
    assert out.read_bytes().startswith(first) and out.read_bytes().count(b"\n") == 5
    assert {line: row.hallucination for line, row in results(out).items()} == {1: False, 2: False, 3: True, 4: True}


@pytest.mark.parametrize("question", [{}, {"question": ""}, {"question": None}, {"question": " \n"}])
def test_a_line_needs_no_question(agent: HaluAgent, tmp_path: Path, question: dict[str, Any]) -> None:
    run(write(tmp_path / "in.jsonl", [question | {"response": WRONG}]), tmp_path / "out.jsonl", [agent])
    row = results(tmp_path / "out.jsonl")[1]
    assert row.error is None and row.hallucination is True and row.detection is not None
    assert row.detection.question == ""


def test_unknown_fields_are_carried_through_under_their_own_names(agent: HaluAgent, tmp_path: Path) -> None:
    own = {"label": 1, "meta": {"split": ["dev", None, 2.5]}, "usage": "u", "model_config": {}, "self": 3, "中文": "字"}
    source = write(tmp_path / "in.jsonl", [item(1, id="a", **own), item(0) | own, {"question": "?"} | own])
    run(source, tmp_path / "out.jsonl", [agent])
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    assert [{name: row[name] for name in own} for row in written] == [own] * 3
    known = ["line", "digest", "id", "hallucination", "score", "seconds", "error", "detection"]
    assert [list(row) for row in written] == [[*known, *own]] * 3
    assert [bool(row["error"]) for row in written] == [False, False, True]


def test_a_field_named_as_one_of_the_results_is_renamed(agent: HaluAgent, tmp_path: Path) -> None:
    own = {
        "score": 7,
        "input_score": 8,
        "line": "x",
        "error": "e",
        "hallucination": False,
        "digest": 1,
        "detection": [],
    }
    run(write(tmp_path / "in.jsonl", [item(0, **own)]), tmp_path / "out.jsonl", [agent])
    row = json.loads((tmp_path / "out.jsonl").read_text("utf-8"))
    assert (row["line"], row["hallucination"], row["error"]) == (1, True, None)
    assert (row["input_input_score"], row["input_score"]) == (7, 8)
    renamed = {name: row[f"input_{name}"] for name in own if "score" not in name}
    assert renamed == {name: value for name, value in own.items() if "score" not in name}
    first = (tmp_path / "out.jsonl").read_bytes()
    run(tmp_path / "in.jsonl", tmp_path / "out.jsonl", [agent])  # it is known as done
    assert (tmp_path / "out.jsonl").read_bytes() == first


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("NaN", "not JSON: NaN is no number"),
        ("-Infinity", "not JSON: -Infinity is no number"),
        ("1e999", "not JSON: 1e999 is too large a number"),
        ("[" * 400 + "]" * 400, "cannot be written"),
        ('"\\ud800"', None),
        ("9" * 4000, None),
    ],
    ids=["NaN", "Infinity", "1e999", "nested", "surrogate", "long"],
)
def test_a_field_that_cannot_be_written_costs_no_other_line(
    agent: HaluAgent, tmp_path: Path, value: str, error: str | None
) -> None:
    line = json.dumps(item(1, id=5))[:-1] + f', "own": {value}}}'
    run(write(tmp_path / "in.jsonl", [line, item(0)]), tmp_path / "out.jsonl", [agent])
    rows = results(tmp_path / "out.jsonl")
    assert (rows[1].id, rows[2].hallucination) == (5, True)
    assert (rows[1].error is None) if error is None else str(rows[1].error).startswith(error)


def test_a_run_that_lost_a_line_does_not_say_that_it_is_done(
    agent: HaluAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def loses(jobs: Any, agents: Any, keep: Any, **options: Any) -> None:
        for job in list(jobs)[:-1]:
            keep(await job.run(agents[0]))

    monkeypatch.setattr("haluagent.batch.files.work", loses)
    source, out = write(tmp_path / "in.jsonl", [item(1), item(0), item(1)]), tmp_path / "out.jsonl"
    with pytest.raises(HaluAgentError, match="1 lines are not in .*out.jsonl: the same command goes on with them"):
        run(source, out, [agent])
    assert sorted(results(out)) == [1, 2]


def test_a_full_disk_is_said_in_one_line(agent: HaluAgent, tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    journal = Journal(tmp_path / "out.jsonl")
    journal._file.close()
    journal._file = open("/dev/full", "ab")  # noqa: SIM115
    with pytest.raises(HaluAgentError, match="out.jsonl cannot be written: .*No space left"):
        journal.append("{}")


def test_files_that_are_no_batch(agent: HaluAgent, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="none.jsonl is no file"):
        run(tmp_path / "none.jsonl", tmp_path / "out.jsonl", [agent])
    source = write(tmp_path / "in.jsonl", [item(1)])
    with pytest.raises(ConfigError, match="other.jsonl does not hold the results of this command: name another file"):
        run(source, write(tmp_path / "other.jsonl", [item(1)]), [agent])


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ('{"question": "?", "response": "\\ud800", "id": 3}', "half a character"),
        ('{"question": "?", "response": "It is.", "id": "\\ud800"}', "half a character"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_lines_that_no_file_could_hold(agent: HaluAgent, tmp_path: Path, line: str, error: str) -> None:
    source = write(tmp_path / "in.jsonl", [line, item(1)])
    run(source, tmp_path / "out.jsonl", [agent])
    rows = results(tmp_path / "out.jsonl")
    assert error in str(rows[1].error) and rows[2].hallucination is False


def test_another_input_is_not_taken_for_the_one_that_was_checked(agent: HaluAgent, tmp_path: Path) -> None:
    source, out = write(tmp_path / "in.jsonl", [item(1), item(0)]), tmp_path / "out.jsonl"
    run(source, out, [agent])
    before = out.read_bytes()
    for other in ([item(0), item(0), item(1)], [item(1)]):
        with pytest.raises(ConfigError, match="of .*in.jsonl is not the one that .*out.jsonl holds: name another file"):
            run(write(source, other), out, [agent])
    assert out.read_bytes() == before


def test_an_engine_that_cannot_start_is_no_fault_of_the_items(tmp_path: Path) -> None:
    from haluagent.models import EmbeddedModel

    (tmp_path / "bad.gguf").write_bytes(b"no weights")
    source = write(tmp_path / "in.jsonl", [item(1)])
    agent = HaluAgent(EmbeddedModel(str(tmp_path / "bad.gguf")), sandbox="none", search="none")
    with pytest.raises(ConfigError):
        run(source, tmp_path / "out.jsonl", [agent])
    assert not (tmp_path / "out.jsonl").read_bytes()


def test_the_input_is_never_the_output(agent: HaluAgent, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps(item(1)))
    with pytest.raises(ConfigError, match="in.jsonl is the input: name another file"):
        run(source, tmp_path / "." / "in.jsonl", [agent])
    assert json.loads(source.read_text()) == item(1)


def test_a_failure_of_an_earlier_call_is_not_forgotten(endpoint: Any, tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", [item(1), "{"])
    command = ["batch", str(source), "-o", str(tmp_path / "out.jsonl"), "--endpoint", endpoint.base_url]
    for extra in ([], [], ["--retry-errors"]):
        call = CliRunner().invoke(app, [*command, *extra])
        assert call.exit_code == 3 and "1 lines failed" in call.stderr
    write(source, [item(1), item(1)])
    assert CliRunner().invoke(app, [*command, "--retry-errors"]).exit_code == 0


def test_an_endpoint_that_is_down_from_the_start_is_left_out(endpoint: Any, tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", [item(1)])
    command = ["batch", str(source), "-o", str(tmp_path / "out.jsonl"), "--endpoint", "http://127.0.0.1:9/v1"]
    call = CliRunner().invoke(app, [*command, "--endpoint", endpoint.base_url])
    assert call.exit_code == 0 and "left out: http://127.0.0.1:9/v1/models gave no answer" in call.stderr
    call = CliRunner().invoke(app, command)
    assert call.exit_code != 0 and "127.0.0.1:9" in str(call.exception)


def test_lines_are_cut_at_line_feeds_only(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", [json.dumps(item(1, id="一\u2028二\x85"), ensure_ascii=False), item(0)])
    source.write_bytes(b"\xef\xbb\xbf" + source.read_bytes().replace(b"\n", b"\r\n"))
    assert [parse(line).id for _, line in lines(source)] == ["一\u2028二\x85", None]


def test_several_endpoints_share_the_work(endpoint: Any, tmp_path: Path) -> None:
    other = type(endpoint)(endpoint.say)
    source = write(tmp_path / "in.jsonl", [item(number) for number in range(40)])
    call = CliRunner().invoke(
        app,
        ["batch", str(source), "-o", str(tmp_path / "out.jsonl"), "--endpoint", endpoint.base_url]
        + ["--endpoint", other.base_url, "--in-flight", "4", "--sandbox", "none", "--search", "none"],
    )
    other.close()
    assert call.exit_code == 0, call.output
    rows = results(tmp_path / "out.jsonl")
    assert {row.line: row.hallucination for row in rows.values()} == {n + 1: n % 2 == 0 for n in range(40)}
    assert min(endpoint.chats, other.chats) >= 10
    assert "40 of 40" in call.stderr and "20 with a hallucination, 0 failed" in call.stderr


def test_a_budget_ends_a_run_cleanly(endpoint: Any, tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", [item(number) for number in range(9)])
    command = [
        "batch",
        str(source),
        "-o",
        str(tmp_path / "out.jsonl"),
        "--endpoint",
        endpoint.base_url,
        "--in-flight",
        "1",
    ]
    for done, code in ((4, 3), (8, 3), (9, 0)):
        call = CliRunner().invoke(app, [*command, "--limit", "4"])
        assert call.exit_code == code, call.output
        assert len(results(tmp_path / "out.jsonl")) == done
        assert ("stopped at the limit of 4 items" in call.stderr) == (code == 3)


def lines_of(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_a_run_that_is_killed_twice_loses_and_repeats_nothing(endpoint: Any, tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", [item(number) for number in range(60)])
    out = tmp_path / "out.jsonl"
    answer = endpoint.say

    def slowly(messages: Any) -> str:
        time.sleep(0.02)  # so that it can be killed midway
        return str(answer(messages))

    endpoint.say = slowly
    command = [sys.executable, "-m", "haluagent", "batch", str(source), "-o", str(out), "--endpoint", endpoint.base_url]
    command += ["--in-flight", "2", "--sandbox", "none", "--search", "none"]
    kills = 0
    for killed_at in (5, 35):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        until(lambda process=process, at=killed_at: process.poll() is not None or lines_of(out) >= at)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait()
    assert kills == 2
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = [BatchRow.model_validate_json(line) for line in out.read_text("utf-8").splitlines()]
    assert sorted(row.line for row in rows) == list(range(1, 61))
    assert all(row.hallucination is (row.line % 2 == 1) for row in rows)
