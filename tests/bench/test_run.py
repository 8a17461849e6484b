"""Runs of the benchmark: gold labels stay out of what a model is shown, runs go on, other models' runs are refused."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from scripted import believes
from typer.testing import CliRunner
from waiting import until

from haluagent import HaluAgent
from haluagent.batch.pool import Bounds
from haluagent.bench.datasets.items import Item, LabelledClaim
from haluagent.bench.methods.registry import METHODS, claim_row, verdict_on
from haluagent.bench.rows import read
from haluagent.bench.run import DatasetPart, parse_parts, run
from haluagent.cli.main import app
from haluagent.errors import ConfigError
from haluagent.protocols import Message

GOLD = "GOLD-7391"  # stands wherever a set keeps what no method may see
RIGHT, WRONG = "It is 1 + 1 = 2.", "It is 1 + 1 = 3."


def judged(number: int) -> dict[str, Any]:
    answer = "海水很蓝。" if number % 2 else "海很蓝。"
    return {"question_id": number, "question": "请用正好5字描述大海。", "answer": answer, "judge": 1 - number % 2}


def math(number: int) -> dict[str, Any]:
    """FacTool's form: two sums, the second of which is wrong in every second row."""
    answers = ["2", "5" if number % 2 else "4"]
    claims = [
        {"label": answer != "5", "claim": {"math_calculation": sum_, "calculated_answer": answer}}
        for sum_, answer in zip(("1 + 1", "2 + 2"), answers, strict=True)
    ]
    return {"prompt": "What is it?", "response": GOLD, "answer": GOLD, "label": not number % 2, "claims": claims}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    for name, make, count in (("wordcnt", judged, 20), ("factool_math", math, 6)):
        text = "".join(json.dumps(make(number), ensure_ascii=False) + "\n" for number in range(count))
        (folder / f"{name}.jsonl").write_text(text, "utf-8")
    passages = [
        {"id": n, "question": "海在哪里？", "output": f"第{n}段：海在东边。", "answer": "海在东边。", "judge": n % 2}
        for n in range(4)
    ]
    known = {"question": "Where?", "answer": "In Oslo.", "knowledge": "It was in Rome.", "judge": 1}
    (folder / "halueval_qa.jsonl").write_text(json.dumps(known) + "\n")
    (folder / "webqa.jsonl").write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in passages), "utf-8"
    )
    return folder


@pytest.fixture
def agent(scripted: Callable[..., Any]) -> HaluAgent:
    def say(messages: Sequence[Message]) -> str:
        sentence = scripted.checked(messages) if "Check" in messages[1]["content"] else "S1"
        return f"THOUGHT: a sum\nACTION: calculator(sentence={sentence})"

    def choose(messages: Sequence[Message]) -> float:
        return (
            0.1 if "这个问题要的是哪一种回复" in messages[-1]["content"] else 0.9
        )  # a piece of writing, of which the length decides

    return HaluAgent(scripted(say, choose=choose), sandbox="none", search="none")


def parts(*names: str, limit: int | None = None) -> list[DatasetPart]:
    return [DatasetPart(dataset=name, limit=limit) for name in names]


def test_a_run_holds_both_methods_and_sentence_labels(agent: HaluAgent, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs" / "run.jsonl"
    assert run(parts("wordcnt", "factool_math"), data, [agent], out) is None
    about, rows = read(out)
    assert (about.model, about.strategy) == ("scripted", "branches")
    assert len({row.key for row in rows}) == len(rows) == 2 * (20 + 6)
    words = [row for row in rows if row.method == "haluagent" and row.dataset == "wordcnt"]
    assert all(row.verdict == row.wrong and row.detection for row in words)
    sums = [row for row in rows if row.method == "haluagent" and row.dataset == "factool_math"]
    assert [[claim.label for claim in row.claims] for row in sums] == [
        ["supported", "contradicted" if number % 2 else "supported"] for number in range(6)
    ]
    assert all((claim.score > 0.5) == claim.wrong for row in sums for claim in row.claims)
    prompts = [row for row in rows if row.method == "prompt"]
    assert all(row.verdict is True and row.score == 0.9 and row.usage.calls == 1 + len(row.claims) for row in prompts)


def test_a_finished_run_asks_nothing_and_a_limit_is_a_beginning(agent: HaluAgent, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    run(parts("wordcnt", limit=3), data, [agent], out)
    begun = out.read_bytes()
    assert run(parts("wordcnt"), data, [agent], out, bounds=Bounds(items=5)) == "the limit of 5 items"
    run(parts("wordcnt"), data, [agent], out)
    whole = out.read_bytes()
    assert whole.startswith(begun) and whole.count(b"\n") == 41
    run(parts("wordcnt"), data, [agent], out)
    assert out.read_bytes() == whole


def test_a_failure_is_a_row_and_is_judged_again_when_told_to(agent: HaluAgent, data: Path, tmp_path: Path) -> None:
    from haluagent.errors import ModelError

    broken = True

    async def method(agent: HaluAgent, item: Item, dataset: str) -> Any:
        if broken and item.id.startswith("2:"):
            raise ModelError("out of order")
        return await METHODS["prompt"](agent, item, dataset)

    out = tmp_path / "run.jsonl"
    run(parts("wordcnt", limit=3), data, [agent], out, methods={"prompt": method})
    assert {row.id[0]: (row.error, row.verdict) for row in read(out)[1]} == {
        "1": (None, True), "2": ("out of order", None), "3": (None, True)
    }  # fmt: skip
    broken = False
    run(parts("wordcnt", limit=3), data, [agent], out, methods={"prompt": method})
    assert len(out.read_bytes().splitlines()) == 4
    run(parts("wordcnt", limit=3), data, [agent], out, methods={"prompt": method}, again=True)
    assert [row.error for row in read(out)[1]] == [None, None, None]


def test_a_file_of_another_run_is_refused(agent: HaluAgent, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    run(parts("wordcnt", limit=1), data, [agent], out)
    agent.model.name = "another"
    with pytest.raises(ConfigError, match=r"run.jsonl is a run with model scripted, not another: name another"):
        run(parts("wordcnt"), data, [agent], out)
    out.write_text("{}\n")
    with pytest.raises(ConfigError, match="run.jsonl, line 1 is not of a run"):
        run(parts("wordcnt"), data, [agent], out)


def test_the_passages_of_a_set_are_what_it_searches(agent: HaluAgent, data: Path, tmp_path: Path) -> None:
    found = []

    async def method(agent: HaluAgent, item: Item, dataset: str) -> Any:
        search = agent.services.search
        found.append(search and [result.text for result in await search.search(item.question)])
        return await METHODS["prompt"](agent, item, dataset)

    run(parts("webqa", "wordcnt", limit=1), data, [agent], tmp_path / "run.jsonl", methods={"prompt": method})
    assert sorted(found[0]) == [f"第{n}段：海在东边。" for n in range(4)]
    assert found[1] is None and agent.services.search is None


@pytest.mark.parametrize("method", METHODS)
def test_no_model_is_shown_a_gold_label(method: str, scripted: Callable[..., Any], data: Path, tmp_path: Path) -> None:
    """The same items with every label turned: a model that is shown nothing of them is asked the very same."""

    def asked() -> list[Any]:
        model = scripted(lambda messages: "THOUGHT: a sum\nACTION: calculator(sentence=S1)")
        agent = HaluAgent(model, sandbox="none", search="none")
        run(parts("wordcnt", "factool_math", "halueval_qa"), data, [agent], tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl",
            methods={method: METHODS[method]})  # fmt: skip
        return model.seen

    before = asked()
    assert before and GOLD not in str(before)
    for path in data.iterdir():
        text = path.read_text("utf-8").replace('"judge": 0', '"judge": 2').replace('"judge": 1', '"judge": 0')
        text = text.replace('"judge": 2', '"judge": 1').replace('"label": true', '"label": null')
        path.write_text(
            text.replace('"label": false', '"label": true').replace('"label": null', '"label": false'), "utf-8"
        )
    assert asked() == before


def test_what_the_reference_does_not_say_counts_as_a_hallucination(scripted: Any) -> None:
    for belief, verdict in (("silent", True), ("otherwise", True), ("said", False), (0.5, None)):
        model = scripted(choose=believes(belief))
        with HaluAgent(model, sandbox="none", search="none") as agent:
            assert verdict_on(agent.detect("", "The tower is in Oslo.", "A text about a bridge.")) is verdict


def test_claims_are_found_by_their_place(agent: HaluAgent) -> None:
    texts = ["1 + 1 = 2", "1 + 1 = 3", "2 + 2 = 4"]
    item = Item(
        id="1", question="What is it?", response="\n".join(texts), language="en", wrong=True,
        claims=tuple(LabelledClaim(text=text, wrong=None) for text in texts),
    )  # fmt: skip
    detection = agent.detect(item.question, item.response)
    assert [claim_row(detection, item, number).label for number in range(3)] == [
        "supported",
        "contradicted",
        "supported",
    ]


@pytest.mark.parametrize("text", ["", ",", "wordcnt:0", "wordcnt:x", "wordcnt:", "wordcnt,wordcnt:3", "wordcount"])
def test_sets_that_cannot_be_run(text: str) -> None:
    with pytest.raises(ConfigError, match="NAME:N|name one set|there is no dataset 'wordcount'; known are wordcnt"):
        parse_parts(text)


def test_sets_with_numbers_of_their_own() -> None:
    assert parse_parts("wordcnt, date:12", 3) == [
        DatasetPart(dataset="wordcnt", limit=3),
        DatasetPart(dataset="date", limit=12),
    ]


def test_a_run_that_is_killed_twice_gives_the_same_rows(endpoint: Any, data: Path, tmp_path: Path) -> None:
    answer = endpoint.say

    def slowly(messages: Any) -> str:
        time.sleep(0.02)  # so that it can be killed midway
        return str(answer(messages))

    endpoint.say = slowly
    command = [
        sys.executable,
        "-m",
        "haluagent",
        "bench",
        "run",
        "--datasets",
        "factool_math,wordcnt",
        "--data",
        str(data),
    ]
    command += ["--endpoint", endpoint.base_url, "--in-flight", "2", "--sandbox", "none"]
    whole, killed = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"
    subprocess.run([*command, "--out", str(whole)], check=True, capture_output=True)
    kills = 0
    for at in (4, 22):
        process = subprocess.Popen(
            [*command, "--out", str(killed)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until(
            lambda process=process, at=at: (
                process.poll() is not None or (killed.exists() and killed.read_bytes().count(b"\n") >= at)
            )
        )
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait()
    assert kills == 2
    subprocess.run([*command, "--out", str(killed)], check=True, capture_output=True)
    assert killed.read_bytes().count(b"\n") == 1 + 2 * 26

    def told(path: Path) -> dict[Any, Any]:
        return {row.key: (row.verdict, row.score, row.claims, row.error) for row in read(path)[1]}

    assert told(killed) == told(whole) and len(told(whole)) == 52


def test_the_command_line(endpoint: Any, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    command = ["bench", "run", "--datasets", "wordcnt:4", "--data", str(data), "--out", str(out)]
    call = CliRunner().invoke(
        app, [*command, "--endpoint", endpoint.base_url, "--token-budget", "1", "--in-flight", "1"]
    )
    assert call.exit_code == 3 and "stopped at the limit of 1 tokens" in call.stderr
    call = CliRunner().invoke(app, [*command, "--endpoint", endpoint.base_url])
    assert call.exit_code == 0, call.output
    assert "8 of 8" in call.stderr and "tokens, accuracy 100.0%" in call.stderr
    assert "wordcnt" in call.stdout
    call = CliRunner().invoke(app, ["bench", "report", str(out)])
    assert call.exit_code == 0, call.output
    assert sorted(path.suffix for path in tmp_path.glob("run.*")) == [".html", ".json", ".jsonl", ".md"]
    call = CliRunner().invoke(app, ["bench", "list"])
    assert call.exit_code == 0 and "halueval_qa" in call.stdout
