"""`haluagent claims`: the three commands, before an endpoint on loopback; and those of the guide, as they stand there."""

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from typer.testing import CliRunner, Result

from haluagent.cli.claims import app
from haluagent.cli.refchecker import translated
from haluagent.errors import ConfigError
from haluagent.protocols import Message

GUIDE = ROOT / "docs" / "claims.md"
TOWER = "The tower of Osk is 52 metres high. It was built in 1950."
ITEMS = [
    {"id": 1, "question": "How high is it?", "response": TOWER, "reference": "The tower of Osk is 34 metres high."},
    {
        "id": 2,
        "question": "Who built it?",
        "response": "I don't know.",
        "reference": ["The tower of Osk.", "Built by Ulm."],
    },
]


def triplets(messages: Sequence[Message]) -> str:
    """A triplet for every sentence that is asked for: its first word, "is" and its last one."""
    found = re.findall(r"^(S\d+): (\S+).*?(\S+)$", messages[-1]["content"], re.M)
    return "".join(f'{name}\n["{first}", "is", "{last}"]\n' for name, first, last in found)


@pytest.fixture
def served(endpoint: Any) -> Any:
    endpoint.say = triplets
    return endpoint


def write(path: Path, items: Any = ITEMS) -> Path:
    path.write_text(json.dumps(items), encoding="utf-8")
    return path


def run(served: Any, command: str, source: Path, out: Path, *more: str) -> Result:
    files = ["--input-path", str(source), "--output-path", str(out)]
    return CliRunner().invoke(app, [command, *files, "--endpoint", served.base_url, "--search", "none", *more])


def read(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
    return found


def test_two_commands_come_to_the_same_as_one(served: Any, tmp_path: Path) -> None:
    source, taken, two, one = write(tmp_path / "in.json"), *(tmp_path / name for name in ("taken", "two", "one"))
    call = run(served, "extract", source, taken, "--claim-format", "triplet")
    assert call.exit_code == 0, call.output
    assert call.stdout == "2 responses: 2 claims; 1 responses make none\n"
    assert [item["claims"] for item in read(taken)] == [[["The", "is", "high."], ["It", "is", "1950."]], []]
    assert read(taken)[0]["triplets"] == read(taken)[0]["claims"]
    assert run(served, "check", taken, two).exit_code == 0
    call = run(served, "extract-check", source, one, "--claim-format", "triplet")
    assert call.exit_code == 0 and call.stdout.startswith("2 responses: Entailment ") and "Abstain 50.0%" in call.stdout
    for item, other in zip(read(two), read(one), strict=True):
        assert item.pop("haluagent") and other.pop("haluagent") and item == other
    assert read(one)[1]["ys"] == [] and read(one)[1]["Y"] == "Abstain"
    assert [item["id"] for item in read(one)] == [1, 2] and sorted(path.name for path in tmp_path.iterdir()) == [
        "in.json", "one", "taken", "two",
    ]  # fmt: skip


def test_refcheckers_spelling(served: Any, tmp_path: Path) -> None:
    command = [
        "extract-check",
        "--input_path",
        str(write(tmp_path / "in.json")),
        "--output_path",
        str(tmp_path / "out.json"),
    ]
    command += ["--aggregator_name", "soft", "--checker_name", "joint", "--claim_format", "subsentence"]
    served.say = lambda messages: "1: A\n2: A"
    call = CliRunner().invoke(app, [*command, "--endpoint", served.base_url, "--search", "none", "--no-tools"])
    assert call.exit_code == 0, call.output
    first, second = read(tmp_path / "out.json")
    assert set(first["Y"]) == {"Entailment", "Neutral", "Contradiction", "Abstain"} and sum(first["Y"].values()) == 1
    assert second["Y"]["Abstain"] == 1 and len(first["ys"]) == 2


def test_a_command_line_of_refchecker(served: Any, tmp_path: Path) -> None:
    """A served model is named as extractor and checker; its claims are triplets."""
    source, out = write(tmp_path / "in.json"), tmp_path / "out.json"
    command = [
        "extract-check",
        "--input_path",
        str(source),
        f"--output_path={out}",
        "--use_retriever",
        "--cache_dir",
        "x",
    ]
    command += ["--extractor_name=openai/scripted", "--extractor_api_base", served.base_url, "--checker_name", "joint"]
    served.say = lambda messages: "1: A\n2: A" if "1." in messages[-1]["content"] else triplets(messages)
    call = CliRunner().invoke(app, [*command, "--search", "none", "--no-tools"])
    assert call.exit_code == 0, call.output
    assert "--cache_dir has no effect here" in call.stderr and read(out)[0]["triplets"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--checker_name", "repc"], "--checker_name repc is not here: use choice, joint, nli"),
        (
            ["--checker_name", "gpt4"],
            "--checker_name gpt4 is a model: name the endpoint that serves it with --checker_api_base",
        ),
        (["--checker_name", "a", "--extractor_name", "b"], "one model extracts and checks"),
        (["--checker_api_base", "http://a", "--extractor_api_base", "http://b"], "one model extracts and checks"),
        (["--retriever_name", "bing"], "--retriever_name bing is not known"),
        (["--aws_bedrock_region", "x"], "--aws_bedrock_region has no meaning here"),
        (["--openai_key", "no-such-file"], "--openai_key names a file with the key"),
        (["--checker_name"], "--checker_name needs a value"),
    ],
)
def test_what_refchecker_has_and_this_has_not(more: list[str], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HALUAGENT_BASE_URL", raising=False)
    call = CliRunner().invoke(app, ["extract-check", "--input_path", "a", "--output_path", "b", *more])
    assert isinstance(call.exception, ConfigError) and message in str(call.exception)


def test_refcheckers_options_by_command() -> None:
    both = {
        "--extractor_name": "a",
        "--checker_name": "openai/b",
        "--checker_api_base": "u",
        "--extractor_api_base": "v",
    }
    assert translated("check", both, []) == ["--base-url", "u", "--model", "b"]
    assert translated("extract", both, []) == ["--claim-format", "triplet", "--base-url", "v", "--model", "a"]
    assert translated("extract", {"--extractor_name": "a"}, ["--endpoint=x", "--claim_format", "s"]) == ["--model", "a"]


def test_what_fails_is_said_and_done_again_when_told_to(served: Any, tmp_path: Path) -> None:
    source, out = (
        write(tmp_path / "in.json", [ITEMS[0], ITEMS[1] | {"response": " "}, {"response": TOWER}]),
        tmp_path / "out",
    )
    for more in ([], ["--retry-errors"]):
        call = run(served, "extract-check", source, out, *more)
        assert call.exit_code == 3 and "2 items failed: see `error`" in call.stderr
    errors = [item.get("error") for item in read(out)]
    assert errors[0] is None and "empty" in errors[1] and "--search" in errors[2]
    write(source, ITEMS + ITEMS[:1])
    assert (
        run(served, "extract-check", write(source, [ITEMS[0], ITEMS[1], ITEMS[0]]), out, "--retry-errors").exit_code
        == 0
    )
    assert not any("error" in item for item in read(out))


def test_a_bound_ends_a_run_that_goes_on(served: Any, tmp_path: Path) -> None:
    source, out = write(tmp_path / "in.json", ITEMS[:1] * 3), tmp_path / "out.json"
    for done, code in ((2, 3), (3, 0)):
        call = run(served, "extract-check", source, out, "--limit", "2", "--in-flight", "1")
        assert call.exit_code == code, call.output
        assert (f"{done} of 3 items are in" in call.stderr) == (code == 3) == (not out.exists())
    assert len(read(out)) == 3


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--checker", "nli"], "--nli-model"),
        (["--output-path", "in.json"], "is the input: name another file"),
        (["--input-path", "none.json"], "cannot read none.json"),
        (["--adapter", "x", "--no-adapter"], "not both"),
    ],
)
def test_what_is_given_wrongly(
    served: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    call = run(served, "extract-check", write(Path("in.json")), Path("out.json"), *more)
    assert isinstance(call.exception, ConfigError) and message in str(call.exception)
    assert not Path("out.json").exists()


def test_tables_of_responses(served: Any, tmp_path: Path) -> None:
    """The columns are named; lists are JSON in the cells; what is written is read again."""
    passages = json.dumps(["The tower of Osk.", "Built by Ulm."])
    rows = [
        ["no", "answer", "context"],
        ["1", TOWER, "The tower of Osk is 34 metres high."],
        ["2", "I don't know.", passages],
    ]
    with (tmp_path / "in.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    columns = ["--response", "answer", "--reference", "context"]
    assert run(served, "extract-check", tmp_path / "in.csv", tmp_path / "whole.json", *columns).exit_code == 0
    assert run(served, "extract", tmp_path / "in.csv", tmp_path / "out.csv", *columns).exit_code == 0
    call = run(served, "check", tmp_path / "out.csv", tmp_path / "out.parquet", *columns)
    assert call.exit_code == 0 and call.stdout.startswith("2 responses: Entailment ")
    assert run(served, "check", tmp_path / "out.parquet", tmp_path / "out.jsonl", *columns).exit_code == 0
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    assert [list(item)[:3] for item in found] == [["no", "answer", "context"]] * 2
    assert [item["ys"] for item in found] == [item["ys"] for item in read(tmp_path / "whole.json")]
    assert found[0]["claims"] and found[1]["context"] == passages
    call = run(served, "extract", tmp_path / "in.csv", tmp_path / "x.csv")
    assert isinstance(call.exception, ConfigError)
    assert str(call.exception).endswith(
        "in.csv has no column response: it has no, answer, context; name it with --response"
    )
