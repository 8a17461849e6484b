"""`haluagent check`: what goes in, what comes out, and with which exit code."""

import json
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
from made_files import docx, pages

from haluagent import HaluAgent
from haluagent.checks.faithfulness.records import Faithfulness
from haluagent.cli import endpoints, options
from haluagent.cli import main as cli

DOCUMENT = "Harlow Tower was built by the mason Mary Ellis. It is 52 metres high."
ASK = ["check", "--question", "Who built it?", "--document", "tower.txt"]


class Result(NamedTuple):
    code: int
    out: str
    err: str
    asked: list[options.AgentOptions]


Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, scripted: Any) -> Run:
    """The command in a folder with two documents, with a model that holds "Ellis did" for right and all else for wrong."""
    monkeypatch.chdir(tmp_path)
    Path("tower.txt").write_text(DOCUMENT + "\n")
    Path("osk.txt").write_text("Osk lies on a river.\n")

    def choose(messages: Any) -> float:
        right = "Ellis did" in messages[0]["content"]
        return 0.99 if right is ("\nA: no" not in messages[-1]["content"]) else 0.01

    def run(*arguments: str, stdin: bytes = b"", say: str = "") -> Result:
        asked: list[options.AgentOptions] = []

        def make(wanted: options.AgentOptions, model: Any = None) -> HaluAgent:
            asked.append(wanted)
            return HaluAgent(scripted(lambda messages: say, choose=choose), sandbox="none", search="none")

        monkeypatch.setattr(options, "make_agent", make)
        monkeypatch.setattr(endpoints, "make_agents", lambda wanted, urls, in_flight: ([make(wanted)], 1))
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(stdin), encoding="utf-8"))
        code = cli.run(list(arguments))
        return Result(code, *capsys.readouterr(), asked)

    return run


@pytest.mark.parametrize(
    ("answer", "code", "title"),
    [
        ("Mary Ellis did.", 0, "PASS (score 0."),
        ("John Carrick did.", 1, "FAIL (score "),
        ("Who built it?", 3, "UNDECIDED (score 0.50)"),
        ("I don't know.", 0, "PASS (score 0.00)"),
    ],
)
def test_the_exit_code_says_the_verdict(run: Run, answer: str, code: int, title: str) -> None:
    result = run(*ASK, "--answer", answer)
    assert (result.code, result.err) == (code, "") and result.out.startswith(title)


def test_evidence_is_shown_with_its_file_and_place_there(run: Run) -> None:
    result = run(
        *ASK, "--document", "-", "--document", "osk.txt", "--answer", "Mary Ellis did.", stdin=b"Nothing here."
    )
    line = next(line for line in result.out.splitlines() if "characters" in line)
    assert line == "  tower.txt, characters 0-47: Harlow Tower was built by the mason Mary Ellis."
    assert DOCUMENT[0:47].endswith("Mary Ellis.")
    second = run("check", "--document", "osk.txt", "--document", "tower.txt", "--answer", "The mason Mary Ellis did.")
    assert "tower.txt, characters 0-47:" in second.out


def test_json_has_what_lynx_writes_and_the_record(run: Run) -> None:
    say = '{"REASONING": ["not Carrick"], "SCORE": "FAIL"}'
    result = run(*ASK, "--answer", "John Carrick did.", "--mode", "judge", "--json", say=say)
    record = json.loads(result.out)
    assert (record.pop("REASONING"), record.pop("SCORE")) == (["not Carrick"], "FAIL") and result.code == 1
    assert Faithfulness.model_validate(record).mode == "judge"


def test_options_reach_the_check_and_the_agent(run: Run) -> None:
    flags = "--model m --base-url http://x --api-key k --max-steps 2 --max-tokens 99 --max-seconds 1.5 --concurrency 3 --no-adapter"
    result = run(*ASK, "--answer", "John Carrick did.", "--threshold", "1", *flags.split())
    assert result.code == 0
    assert result.asked == [
        options.AgentOptions(
            model="m", base_url="http://x", api_key="k", max_steps=2, max_tokens=99, max_seconds=1.5, concurrency=3,
            search="none", no_adapter=True,
        )
    ]  # fmt: skip


def test_a_file_of_answers(run: Run) -> None:
    items = [
        {"question": "Who?", "answer": f"{who} did.", "document": DOCUMENT} for who in ("Mary Ellis", "John Carrick")
    ]
    Path("in.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    both = ["check", "--input-path", "in.jsonl", "--output-path", "out.jsonl"]
    result = run(*both)
    assert result.code == 0 and "2 of 2" in result.err and "1 FAIL, 0 undecided, 0 failed" in result.err
    found = {row["line"]: row for row in map(json.loads, Path("out.jsonl").read_text().splitlines())}
    assert [found[line]["SCORE"] for line in (1, 2)] == ["PASS", "FAIL"] and found[2]["REASONING"]
    assert run(*both).code == 0 and len(Path("out.jsonl").read_text().splitlines()) == 2
    Path("in.jsonl").write_text("{\n")
    assert run(*both[:4], "other.jsonl").code == 3


MISTAKES = [
    (["check", "--document", "tower.txt"], "no answer"),
    (["check", "--answer", "A."], "no document"),
    ([*ASK, "--answer", " "], "the answer is empty"),
    ([*ASK, "--answer", "A.", "--document", "missing.txt"], "cannot read missing.txt"),
    ([*ASK, "--answer", "A.", "--document", "-", "--document", "-"], "read only once"),
    ([*ASK, "--answer", "A\udce9."], "the answer is not UTF-8"),
    ([*ASK, "--answer", "A.", "--threshold", "2"], "'--threshold'"),
    ([*ASK, "--answer", "A.", "--mode", "slow"], "'--mode'"),
    ([*ASK, "--answer", "A.", "--prompt-file", "tower.txt"], "mode judge"),
    ([*ASK, "--answer", "A.", "--mode", "judge", "--prompt-file", "tower.txt"], "must have the places {question}"),
    ([*ASK, "--answer", "A.", "--in-flight", "2"], "are for a file"),
    (["check", "--input-path", "tower.txt"], "give both --input-path IN and --output-path OUT"),
    ([*ASK, "--input-path", "tower.txt", "--output-path", "o", "--json"], "leave --json"),
    ([*ASK, "--answer", "A.", "--junit", "j.xml"], "are for a file"),
    ([*ASK, "--answer", "-", "--document", "-"], "read only once"),
    ([*ASK, "--answer", "A.", "--document", "broken.pdf"], "cannot read broken.pdf: it is no PDF"),
    ([*ASK, "--answer", "A.", "--document", "broken.docx"], "cannot read broken.docx: it is no Word file"),
    ([*ASK, "--answer", "A.", "--document", "empty.html"], "cannot read empty.html: it is empty"),
    (
        [*ASK, "--answer", "A.", "--document", "http://127.0.0.1:9/x"],
        "port 9 is not one of web pages; --private-addresses",
    ),
    ([*ASK, "--answer", "A.", "--document", "http://localhost/x"], "not on the public internet; --private-addresses"),
    ([*ASK, "--answer", "A.", "--document", "http://u:p@x.org/"], "only http and https addresses without a password"),
    (["check", "--input-path", "tower.txt", "--output-path", "o", "--margin", "0.1"], "--margin is for"),
    (
        ["check", "--input-path", "t.csv", "--output-path", "o"],
        "t.csv has no column answer or response: it has q; name it with --response",
    ),
    (["check", "--input-path", "t.csv", "--output-path", "o", "--response", "x"], "t.csv has no column 'x': it has q"),
    (["check", "--input-path", "missing", "--output-path", "o"], "missing is no file"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_a_mistake_is_one_line_that_says_what_to_do(run: Run, arguments: list[str], message: str) -> None:
    for name in ("broken.pdf", "broken.docx", "empty.html"):
        Path(name).write_text("%PDF-" if name == "broken.pdf" else "")
    Path("t.csv").write_text("q\n1\n")
    result = run(*arguments)
    assert (result.code, result.out) == (2, "") and message in result.err
    assert result.err.startswith("haluagent: ") and len(result.err.splitlines()) == 1


def test_the_answer_may_come_from_standard_input(run: Run) -> None:
    result = run("check", "--response", "-", "--reference", "tower.txt", stdin=b"Mary Ellis did.\n")
    assert result.code == 0 and result.out.startswith("PASS")


def test_documents_are_files_and_pages(run: Run) -> None:
    """A Word file and a page are read as their text; a private address only where that is said."""
    Path("tower.docx").write_bytes(docx(f"<w:p><w:r><w:t>{DOCUMENT}</w:t></w:r></w:p>"))
    answer = ["--answer", "Mary Ellis did.", "--json"]
    found = json.loads(run("check", "--reference", "tower.docx", *answer).out)
    assert found["SCORE"] == "PASS" and found["evidence"][0]["text"] in DOCUMENT
    with pages({"/tower": ("text/html", f"<nav>Menu</nav><p>{DOCUMENT}".encode())}) as address:
        page = ["--reference", f"{address}/tower"]
        assert run("check", *page, *answer).code == 2
        found = json.loads(run("check", *page, *answer, "--private-addresses").out)
        assert found["SCORE"] == "PASS" and found["evidence"][0]["text"] in DOCUMENT
        missing = run("check", "--reference", f"{address}/none", *answer, "--private-addresses")
        assert missing.code == 2 and "the server answered 404" in missing.err


def write_answers(path: str, *answers: str) -> list[str]:
    rows = [f'q{number},Who?,"{answer}","{DOCUMENT}"' for number, answer in enumerate(answers)]
    Path(path).write_text("\n".join(["id,ask,said,source", *rows]) + "\n")
    columns = ["--question", "ask", "--response", "said", "--reference", "source"]
    return ["check", "--input-path", path, *columns]


def test_a_table_of_answers(run: Run) -> None:
    command = write_answers("in.csv", "Mary Ellis did.", "John Carrick did.", "Who did?")
    assert run(*command, "--output-path", "out.csv").code == 0
    lines = Path("out.csv").read_text().splitlines()
    assert lines[0] == "id,ask,said,source,verdict,score,reasons,error" and lines[1].startswith(
        "q0,Who?,Mary Ellis did.,"
    )
    assert ",PASS,0." in lines[1] and ",FAIL,0." in lines[2] and "claims nothing" in lines[-1]


def test_a_file_is_a_test_whose_report_ci_reads(run: Run) -> None:
    command = write_answers("in.csv", "Mary Ellis did.", "John Carrick did. \x07", "Who did?")
    result = run(*command, "--output-path", "out.jsonl", "--junit", "made/junit.xml")
    assert (
        result.code == 1
        and "FAILED  q1: FAIL (score 0." in result.out
        and "1 of 3 answers passed, 1 failed" in result.out
    )
    suite = ElementTree.parse("made/junit.xml").getroot()
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "3", "failures": "1", "errors": "1", "skipped": "0",
    }  # fmt: skip
    cases = {case.get("name"): case for case in suite}
    assert list(cases) == ["q0", "q1", "q2"] and cases["q2"].find("error") is not None
    failure = cases["q1"].find("failure")
    assert failure is not None and "answer: John Carrick did." in str(failure.text)


def test_beside_a_baseline_only_what_is_worse_fails(run: Run) -> None:
    before = write_answers("before.csv", "Mary Ellis did.", "John Carrick did.", "Mary Ellis did.")
    assert run(*before, "--output-path", "before.jsonl").code == 0
    same = write_answers("same.csv", "Mary Ellis did.", "Carrick did.", "Mary Ellis did.")
    result = run(*same, "--output-path", "same.jsonl", "--baseline", "before.jsonl")
    assert result.code == 0 and "failed before too  q1: FAIL (score 0." in result.out and ", before 0." in result.out
    worse = write_answers("worse.csv", "Mary Ellis did.", "Mary Ellis did.", "Carrick did.", "Carrick did.")
    result = run(*worse, "--output-path", "worse.jsonl", "--baseline", "before.jsonl")
    assert result.code == 1
    assert [line.split(":")[0] for line in result.out.splitlines()[:-1]] == ["FAILED  q2", "FAILED  q3"]
    assert run(*worse, "--output-path", "w2.jsonl", "--baseline", "before.jsonl", "--margin", "1").code == 0
    Path("twice.csv").write_text(Path("worse.csv").read_text().replace("q3", "q2"))
    result = run(*["twice.csv" if one == "worse.csv" else one for one in worse], "--output-path", "t", "--junit", "j")
    assert result.code == 2 and "lines 3 and 4 have the same id or question 'q2'" in result.err
    for baseline, message in (("none.jsonl", "no file"), ("worse.csv", "not JSON"), ("j", "no results")):
        result = run(*worse, "--output-path", "w3.jsonl", "--baseline", baseline)
        assert result.code == 2 and message in result.err and len(result.err.splitlines()) == 1
