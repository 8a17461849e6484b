"""`haluagent detect`: what goes in, what comes out on which stream, and with which exit code."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fake_agent import FakeAgent
from heavy import SINES
from made_files import docx
from places import HELPERS

from haluagent.cli import main as cli
from haluagent.cli import options
from haluagent.errors import ConfigError
from haluagent.types import Detection

ASK = ["detect", "--question", "What is it?"]


class Result(NamedTuple):
    code: int
    out: str
    err: str
    agent: FakeAgent
    options: options.AgentOptions | None


Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str, stdin: bytes = b"", refusal: ConfigError | None = None) -> Result:
        agent, asked = FakeAgent(), []

        def make(wanted: options.AgentOptions) -> FakeAgent:
            asked.append(wanted)
            if refusal is not None:
                raise refusal
            return agent

        monkeypatch.setattr(options, "make_agent", make)
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(stdin), encoding="utf-8"))
        code = cli.run(list(arguments))
        out, err = capsys.readouterr()
        return Result(code, out, err, agent, asked[0] if asked else None)

    return run


@pytest.mark.parametrize(
    ("response", "code", "title"),
    [
        ("This is right.", 0, "NO HALLUCINATION FOUND"),
        ("This is right. This is wrong.", 1, "HALLUCINATION FOUND"),
        ("This is right. This is unknown.", 3, "NOT VERIFIED"),
        ("hello.", 3, "NOT VERIFIED"),
        ("这是对的。这是错的。", 1, "发现幻觉"),
    ],
)
def test_the_exit_code_says_the_verdict(run: Run, response: str, code: int, title: str) -> None:
    result = run(*ASK, "--lang", "auto", "--response", response)
    assert (result.code, result.err) == (code, "")
    assert result.out.startswith(title)
    assert result.agent.closed


def test_json_is_one_detection_and_nothing_else(run: Run) -> None:
    result = run("detect", "--question", "对吗？", "--response", "这是错的。", "--json", "--trace")
    assert result.code == 1
    assert len(result.out.splitlines()) == 1 and "这是错的。" in result.out
    assert Detection.model_validate_json(result.out).hallucination is True
    assert "行为：lookup(sentence=S1)" in result.err


def test_trace_prints_the_steps_before_the_report(run: Run) -> None:
    result = run(*ASK, "--response", "This is wrong.", "--trace")
    lines = result.out.splitlines()
    assert lines[:5] == [
        "S1 found: This is wrong.",
        "  S1 THOUGHT: look it up",
        "  S1 ACTION: lookup(sentence=S1)",
        "  S1 OBSERVATION: looked 1 [1 model call, 20 tokens evaluated, 80 cached, 9 generated, 0.5 s]",
        "S1 ✗ contradicted",
    ]
    assert lines[5].startswith("HALLUCINATION FOUND")
    assert result.err == ""


def test_texts_come_from_files_and_standard_input(run: Run, tmp_path: Path) -> None:
    (tmp_path / "q").write_bytes("\ufeffWhat?\r\n".encode())
    (tmp_path / "ref1").write_text("one\n")
    (tmp_path / "ref2").write_text("two\n")
    references = ["--reference", str(tmp_path / "ref1"), "--reference", str(tmp_path / "ref2")]
    files = ["--question-file", str(tmp_path / "q"), "--response-file", "-"]
    result = run("detect", *files, *references, "--lang", "en", stdin=b"It is right.\n\n")
    assert result.agent.calls == [
        {"question": "What?", "response": "It is right.\n", "reference": "one\n\ntwo", "language": "en"}
    ]


def test_a_response_may_be_standard_input_and_a_reference_a_word_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(docx("<w:p><w:r><w:t>one</w:t></w:r></w:p>"))
    result = run("detect", "--response", "-", "--reference", str(tmp_path / "a.docx"), stdin=b"It is right.\n")
    assert result.agent.calls[0]["response"] == "It is right." and result.agent.calls[0]["reference"] == "one"
    assert run("detect", "--response", "-", "--reference", "-", stdin=b"x").code == 2


def test_input_is_a_json_object(run: Run, tmp_path: Path) -> None:
    item = {"question": "对吗？", "response": "这是对的。", "reference": "资料"}
    result = run("detect", "--input", "-", stdin=json.dumps(item).encode())
    assert result.code == 0
    assert result.agent.calls == [{**item, "language": "auto"}]
    path = tmp_path / "item.json"
    path.write_text(json.dumps({"question": "What?", "response": "This is wrong."}))
    result = run("detect", "--input", str(path))
    assert result.code == 1
    assert result.agent.calls[0]["reference"] is None


@pytest.mark.parametrize("question", [[], ["--question", ""], ["--question", "  "]])
def test_a_response_needs_no_question(run: Run, question: list[str]) -> None:
    result = run("detect", *question, "--response", "This is wrong.", "--json")
    assert result.code == 1 and Detection.model_validate_json(result.out).hallucination is True
    assert [str(call["question"]).strip() for call in result.agent.calls] == [""]


@pytest.mark.parametrize("question", [{}, {"question": None}, {"question": ""}])
def test_an_input_needs_no_question(run: Run, question: dict[str, str]) -> None:
    result = run("detect", "--input", "-", stdin=json.dumps(question | {"response": "这是错的。"}).encode())
    assert result.code == 1 and result.agent.calls[0]["question"] == ""


def test_an_exit_in_the_middle_is_no_verdict(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (SystemExit(0), SystemExit(1), GeneratorExit(), asyncio.CancelledError()):

        def raises(*given: object, error: BaseException = error, **named: object) -> None:
            raise error

        monkeypatch.setattr(FakeAgent, "stream", raises)
        result = run(*ASK, "--response", "This is wrong.")
        assert result.code == 3 and f"unexpected {type(error).__name__}" in result.err


def test_options_reach_the_agent(run: Run) -> None:
    flags = "--model m --base-url http://x --api-key k --strategy linear --autonomy free --closed-book --no-reflect"
    limits = "--max-steps 2 --max-tokens 99 --max-seconds 1.5 --concurrency 3"
    result = run(*ASK, "--response", "Right.", *flags.split(), *limits.split())
    assert result.options == options.AgentOptions(
        model="m", base_url="http://x", api_key="k", strategy="linear", autonomy="free", closed_book=True, max_steps=2,
        max_tokens=99, max_seconds=1.5, concurrency=3, no_reflect=True,
    )  # fmt: skip
    assert run(*ASK, "--response", "Right.").options == options.AgentOptions()


MISTAKES = [
    (["--question", "Q?"], "no response"),
    (["--question", " ", "--response", " "], "the response is empty"),
    (["--question", "Q?", "--response", ""], "the response is empty"),
    (["--question", "Q?", "--question-file", "-", "--response", "R."], "not both"),
    (["--question", "Q?", "--response-file", "missing.txt"], "cannot read missing.txt: No such file"),
    (["--question", "Q?", "--response-file", "."], "cannot read .: Is a directory"),
    (["--question", "Q?", "--response-file", "latin1.txt"], "latin1.txt is not UTF-8 text"),
    (["--question", "Q?", "--response", "R.", "--reference", "empty.txt"], "empty.txt is empty"),
    (["--question-file", "-", "--response-file", "-"], "standard input (-) can be read only once"),
    (["--question", "Q?", "--response", "R\udce9."], "the response is not UTF-8"),
    (["--input", "empty.txt"], "empty.txt is empty"),
    (["--input", "bad.json"], "response: Field required"),
    (["--input", "latin1.txt", "--question", "Q?"], "--input holds the question"),
    (["--question", "Q?", "--response", "R.", "--lang", "fr"], "'--lang'"),
    (["--question", "Q?", "--response", "R.", "--max-steps", "0"], "'--max-steps'"),
    (["--question", "Q?", "--response", "R.", "--max-seconds", "0"], "above 0"),
    (["--question", "Q?", "--response", "R.", "--nonsense"], "--nonsense"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_a_mistake_is_one_line_that_says_what_to_do(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("latin1.txt").write_bytes(b"caf\xe9")
    Path("empty.txt").write_text("\n")
    Path("bad.json").write_text('{"question": "Q?"}')
    result = run("detect", *arguments, stdin=b"from standard input")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("haluagent: ") and message in result.err
    assert len(result.err.splitlines()) == 1


def test_a_failed_endpoint_is_not_a_verdict(run: Run) -> None:
    result = run(*ASK, "--response", "This may break.", "--json")
    assert (result.code, result.out) == (3, "")
    assert result.err == "haluagent: the endpoint did not answer\n"
    assert result.agent.closed


def test_a_bug_is_one_line_unless_asked_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(*ASK, "--response", "This may crash.")
    assert result.code == 3
    assert result.err.startswith("haluagent: unexpected RuntimeError: a bug with two lines (run again with HALUAGENT_")
    monkeypatch.setenv("HALUAGENT_DEBUG", "1")
    with pytest.raises(RuntimeError):
        run(*ASK, "--response", "This may crash.")


def test_an_agent_that_cannot_be_made_is_the_users_to_fix(run: Run) -> None:
    result = run(*ASK, "--response", "R.", refusal=ConfigError("install haluagent[embedded]"))
    assert (result.code, result.err) == (2, "haluagent: install haluagent[embedded]\n")


def test_version_help_and_no_command(run: Run) -> None:
    assert run("--version").out.startswith("haluagent 0.")
    assert run().out == run("--help").out
    assert "detect" in run().out and run().code == 0
    unknown = run("detct")
    assert unknown.code == 2 and "detect" in unknown.err


def test_help_loads_nothing_heavy() -> None:
    heavy = {
        "haluagent.agent",
        "haluagent.report.lines",
        "httpx",
        "rich.console",
        "prompt_toolkit",
        "pydantic",
        "sympy",
    }
    code = f"import sys, haluagent.cli.main; print(sorted({heavy!r} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


HERE = str(HELPERS)
CHILD = f"""
import sys
sys.path.append({HERE!r})
from fake_agent import FakeAgent
from heavy import SINES
from haluagent.cli import main, options
options.make_agent = lambda wanted: FakeAgent()
main.main()
"""


def test_ctrl_c_keeps_what_is_done() -> None:
    response = "This is wrong. Please wait. Never reached."
    command = [sys.executable, "-c", CHILD, *ASK, "--response", response, "--json", "--trace"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A test run in the background has SIGINT ignored, and a child inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as child:
        assert child.stderr is not None
        for line in child.stderr:
            if line.startswith("  S2 ACTION"):
                break
        # The child waits inside the second sentence now, or is about to.
        child.send_signal(signal.SIGINT)
        out, err = child.communicate()
    assert (child.returncode, err) == (130, "")
    detection = Detection.model_validate_json(out)
    assert [entry.label for entry in detection.sentences] == ["contradicted", "unverified", "unverified"]
    assert (detection.hallucination, detection.stop, detection.error) == (True, "error", "stopped by the user")
    assert detection.usage.calls == 1 and detection.coverage.response < 0.5


def test_a_reader_that_leaves_does_not_change_the_exit_code() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-c", CHILD, *ASK, "--response", "This is right."]
    with subprocess.Popen(command, stdout=write, stderr=subprocess.PIPE, text=True) as child:
        os.close(write)
        _, err = child.communicate(timeout=30)
    assert (child.returncode, err) == (0, "")


def test_a_reader_that_leaves_a_list_gets_no_message() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "haluagent", "tools", "list"]
    with subprocess.Popen(command, stdout=write, stderr=subprocess.PIPE, text=True) as child:
        os.close(write)
        _, err = child.communicate(timeout=30)
    assert (child.returncode, err) == (3, "")


def test_a_terminal_that_cannot_show_a_mark_gets_its_number() -> None:
    command = [sys.executable, "-c", CHILD, *ASK, "--response", "This is wrong."]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, env=environment, timeout=10)
    assert done.returncode == 1 and done.stderr == b""
    assert b"\\u2717 [1] contradicted" in done.stdout


def test_the_time_limit_ends_a_calculation(endpoint: Any) -> None:
    """The algebra of this response would take two minutes; what is left of it ends with the detection."""
    command = [sys.executable, "-m", "haluagent", "detect", "--question", "Is it right?", "--response", SINES, "--json"]
    command += ["--base-url", endpoint.base_url, "--search", "none", "--sandbox", "none", "--max-seconds", "2"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=200, env=os.environ | {"HALUAGENT_CONFIG": ""}
    )
    assert done.returncode == 3, done.stderr
    found = Detection.model_validate_json(done.stdout)
    assert found.stop == "budget" and {entry.label for entry in found.sentences} <= {"unverified"}
