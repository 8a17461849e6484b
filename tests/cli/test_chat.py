"""`haluagent chat`: the session by itself, then as a script, then on a real pseudo-terminal."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from fake_agent import FakeAgent
from places import HELPERS

from haluagent.cli import chat
from haluagent.cli.session import HELP, Session
from haluagent.errors import ConfigError, ModelError
from haluagent.train.trajectories.judgements import read
from haluagent.types import Detection

if TYPE_CHECKING:
    from haluagent.agent import HaluAgent


@pytest.fixture
def session() -> Session:
    return Session(cast("HaluAgent", FakeAgent()))


def say(session: Session, *blocks: str) -> list[str]:
    """What the session answers to the last block."""
    answer: list[str] = []
    for block in blocks:
        answer = [str(line) for line in session.enter(block)]
    return answer


def calls(session: Session) -> list[dict[str, object]]:
    return cast(FakeAgent, session.agent).calls


def test_a_question_then_a_response_then_the_steps_and_the_report(session: Session) -> None:
    assert session.expected == "question"
    assert say(session, "What is it?") == []
    assert session.expected == "response"
    lines = say(session, "It is right. It is wrong.")
    assert session.expected == "question"
    assert lines[0] == "loading the model…"
    assert "  S2 ACTION: lookup(sentence=S2)" in lines
    assert lines.index("      evidence (reference, characters 0-4, found by lookup): seen 2") > 0
    assert "HALLUCINATION FOUND (score 0.90): 1 of 2 claims contradicted" in lines
    assert "loading the model…" not in say(session, "And?", "Right.")


def test_why_shows_the_entry_and_only_its_steps(session: Session) -> None:
    say(session, "Q?", "It is right. It is wrong.")
    lines = say(session, "/why 2")
    assert lines[0] == "  ✗ [2] contradicted: It is wrong."
    assert [line for line in lines if "THOUGHT" in line] == ["  S2 THOUGHT: look it up"]
    assert "S1" not in "".join(lines)


def test_recheck_changes_the_last_detection(session: Session) -> None:
    say(session, "Q?", "It is right. It is wrong.", "/reference off")
    lines = say(session, "/recheck 2 lookup")
    assert calls(session)[-1] == {"recheck": 2, "reference": None, "tool": "lookup"}
    assert "      before reflection: contradicted" in lines
    assert any(line.startswith("NO HALLUCINATION FOUND") for line in lines)
    assert session.last is not None and session.last.hallucination is False
    say(session, "/recheck 1")
    assert calls(session)[-1]["tool"] is None


def test_a_response_may_answer_no_question(session: Session) -> None:
    say(session, "/noquestion", "It is wrong.")
    assert session.last is not None and (session.last.question, session.last.hallucination) == ("", True)
    assert session.expected == "question"


def test_again_asks_for_another_response_to_the_same_question(session: Session) -> None:
    say(session, "Q?", "It is wrong.", "/again", "It is right.")
    assert [call["question"] for call in calls(session)] == ["Q?", "Q?"]
    assert session.last is not None and session.last.response == "It is right."


def test_reference_is_pasted_read_from_a_file_and_dropped(session: Session, tmp_path: Path) -> None:
    say(session, "/reference")
    assert session.expected == "reference"
    say(session, "/not a command\nbut a pasted text", "Q?", "R.")
    path = tmp_path / "a reference.txt"
    path.write_text("from a file\n")
    say(session, f"/reference {path}", "/again", "R.", "/reference off", "/again", "R.")
    assert [call["reference"] for call in calls(session)] == [
        "/not a command\nbut a pasted text",
        "from a file",
        None,
    ]


def test_lang_holds_for_the_next_detections(session: Session) -> None:
    assert say(session, "/lang zh", "Q?", "It is right.")[0] == "正在加载模型……"
    assert calls(session)[0]["language"] == "zh"


def test_save_writes_the_detection_and_does_not_overwrite_unasked(session: Session, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    say(session, "Q?", "这是错的。", f"/save {path}")
    assert Detection.model_validate_json(path.read_text()) == session.last
    assert "这是错的" in path.read_text()
    say(session, "/again", "It is right.")
    with pytest.raises(ConfigError, match="would overwrite"):
        say(session, f"/save {path}")
    assert json.loads(path.read_text())["response"] == "这是错的。"
    say(session, f"/save --force {path}")
    assert json.loads(path.read_text())["response"] == "It is right."
    assert os.listdir(tmp_path) == ["report.json"]


def test_labels_are_given_and_exported_for_a_calibration(session: Session, tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    say(session, "/reference", "It is what it is.", "Q?", "It is right. It is wrong.", "/reference off")
    assert say(session, "/label 2 contradicted") == ["sentence 2 is labelled contradicted (1 to export: /export FILE)"]
    say(session, "/label 2 supported", "/label 1 not_in_reference")
    assert say(session, f"/export {path}")[0].startswith(f"2 appended to {path}")
    say(session, "/reference", "Another text.", "Which?", "It is right.", "/label 1 contradicted", f"/export {path}")
    claims = read(path)
    assert [(one.claim, one.text, one.question, one.label) for one in claims] == [
        ("It is wrong.", "It is what it is.", "", "supported"),
        ("It is right.", "It is what it is.", "", "not_in_reference"),
        ("It is right.", "Another text.", "Which?", "contradicted"),
    ]
    assert len({one.id for one in claims}) == 3
    with pytest.raises(ConfigError, match="nothing was labelled yet"):
        say(session, f"/export {path}")


def test_of_several_labels_of_a_sentence_the_last_counts(session: Session, tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"id": "0", "source": "s", "language": "en", "claim": "A.", "text": "B.", "label": "supported"}')
    say(session, "/reference", "It is what it is.", "Q?", "It is right.", "/label 1 contradicted", f"/export {path}")
    say(session, "/label 1 supported", f"/export {path}")
    assert [one.label for one in read(path)] == ["supported", "contradicted", "supported"]
    assert len({one.id for one in read(path)}) == 3


def test_a_sentence_that_was_checked_again_belongs_to_the_new_reference(session: Session, tmp_path: Path) -> None:
    say(session, "/reference", "Old text.", "Q?", "It is right. It is wrong.", "/reference", "New text.")
    say(session, "/recheck 2", "/label 1 supported", "/label 2 supported", f"/export {tmp_path}/mine.jsonl")
    assert [one.text for one in read(tmp_path / "mine.jsonl")] == ["Old text.", "New text."]


def test_labels_that_could_not_be_written_are_kept(session: Session, tmp_path: Path) -> None:
    say(session, "/reference", "It is what it is.", "Q?", "It is right.", "/label 1 contradicted")
    with pytest.raises(ConfigError, match="cannot write"):
        say(session, f"/export {tmp_path}")
    say(session, f"/export {tmp_path}/mine.jsonl")
    assert len(read(tmp_path / "mine.jsonl")) == 1


def test_a_save_that_fails_leaves_the_old_file(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")
    say(session, "Q?", "It is right.")

    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ConfigError, match="No space left"):
        say(session, f"/save --force {path}")
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["report.json"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("/wyh 1", r"unknown command /wyh: did you mean /why\?"),
        ("/zzzzzz", "/help lists the commands"),
        ("/why", "one of 1, 2"),
        ("/why 3", "one of 1, 2"),
        ("/recheck 1 lokup", r"did you mean lookup\?"),
        ("/recheck 1 zzz", "the tools are lookup"),
        ("/lang fr", "/lang auto, /lang en or /lang zh"),
        ("/reference missing.txt", "cannot read missing.txt"),
        ("/label", "one of 1, 2"),
        ("/label 1 true", "say /label 1 with one of supported, contradicted, not_in_reference"),
        ("/label 1 supported", "checked without a reference"),
        ("/export", "say where"),
        ("/export x.jsonl", "nothing was labelled yet"),
        ("/save", "say where"),
        ("/save missing/x.json", "cannot write missing/x.json: No such file"),
    ],
)
def test_a_mistake_says_what_to_do_and_changes_nothing(session: Session, command: str, message: str) -> None:
    say(session, "Q?", "It is right. It is wrong.")
    before = session.last
    with pytest.raises(ConfigError, match=message):
        say(session, command)
    assert (session.last, session.expected) == (before, "question")


@pytest.mark.parametrize("command", ["/why 1", "/recheck 1", "/label 1 supported", "/save x", "/again"])
def test_commands_on_a_detection_need_one(session: Session, command: str) -> None:
    with pytest.raises(ConfigError, match="nothing was checked yet|no question yet"):
        say(session, command)


def test_help_names_every_command(session: Session) -> None:
    text = "\n".join(say(session, "/help"))
    assert {usage.split()[0] for usage in HELP} == set(session._commands)
    assert all(usage in text for usage in HELP)
    assert "lookup(sentence)" in say(session, "/tools")[0]


def test_closing_half_way_stops_the_agent_and_keeps_what_is_done(session: Session) -> None:
    say(session, "Q?")
    lines = session.enter("It is wrong. Then more.")
    for line in lines:
        if "contradicted" in str(line):
            break
    lines.close()
    assert cast(FakeAgent, session.agent).stopped
    assert session.last is not None and session.last.error == "stopped by the user"
    assert [entry.label for entry in session.last.sentences] == ["contradicted", "unverified"]
    assert any("stopped before it was checked" in line for line in say(session, "/why 2"))


def test_what_was_not_finished_is_not_free_of_hallucination(session: Session) -> None:
    say(session, "Q?")
    lines = session.enter("It is right.")
    for line in lines:
        if "supported" in str(line):
            break
    lines.close()
    assert session.last is not None and session.last.sentences[0].label == "supported"
    assert session.last.hallucination is None


def test_a_failed_endpoint_leaves_the_session_usable(session: Session) -> None:
    with pytest.raises(ModelError):
        say(session, "Q?", "This may break.")
    assert "  ✓ [1] supported: It is right." in say(session, "/again", "It is right.")


def run_script(text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[FakeAgent, str]:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(text.encode())))
    agent = FakeAgent()
    chat.talk(cast("HaluAgent", agent))
    out, err = capsys.readouterr()
    assert err == ""
    return agent, out


def test_a_script_on_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    script = (
        "What\nis it?\n\nIt is right.\nIt is wrong.\n\n/nope\n/why 2\n/again\nIt is right.\n\n/quit\nnot read\n\nR.\n"
    )
    agent, out = run_script(script, monkeypatch, capsys)
    assert [(call["question"], call["response"]) for call in agent.calls] == [
        ("What\nis it?", "It is right.\nIt is wrong."),
        ("What\nis it?", "It is right."),
    ]
    assert "\x1b" not in out and "! unknown command /nope" in out
    assert out.index("HALLUCINATION FOUND") < out.index("NO HALLUCINATION FOUND")
    assert agent.closed


def test_a_script_may_end_without_an_empty_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    agent, out = run_script("对吗？\n\n这是错的。", monkeypatch, capsys)
    assert "发现幻觉" in out and len(agent.calls) == 1


def test_history_is_readable_by_its_owner_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = chat.history_file()
    assert path is not None and stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    chat.history_file()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    monkeypatch.setenv("XDG_STATE_HOME", str(path))
    assert chat.history_file() is None


HERE = str(HELPERS)
CHILD = f"""
import sys
sys.path.append({HERE!r})
from fake_agent import FakeAgent
from haluagent.cli import main, options
options.make_agent = lambda wanted: FakeAgent()
main.main()
"""
ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[=>()][0-9A-Z]?)")


class Terminal:
    """A child process with a pseudo-terminal of its own."""

    def __init__(self, *arguments: str, state: Path, **environment: str) -> None:
        self.controller, terminal = os.openpty()
        self.raw = ""
        self.seen = 0
        self.child = subprocess.Popen(
            [sys.executable, "-c", CHILD, *arguments],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            # The controlling terminal is what turns a typed Ctrl-C into a signal.
            preexec_fn=lambda: controlling_terminal(terminal),
            env={
                **{name: value for name, value in os.environ.items() if name != "NO_COLOR"},
                "TERM": "xterm-256color",
                "COLUMNS": "100",
                "XDG_STATE_HOME": str(state),
                "PROMPT_TOOLKIT_NO_CPR": "1",
                **environment,
            },
        )
        os.close(terminal)

    def type(self, text: str) -> None:
        os.write(self.controller, text.encode())

    def until(self, text: str) -> str:
        """What appeared since the last call, up to and with `text`."""
        while text not in self.text()[self.seen :]:
            try:
                data = os.read(self.controller, 65536)
            except OSError:
                data = b""
            assert data, f"ended without {text!r}: {self.text()[self.seen :]!r}"
            self.raw += data.decode("utf-8", "replace")
        end = self.text().index(text, self.seen) + len(text)
        start, self.seen = self.seen, end
        return self.text()[start:end]

    def text(self) -> str:
        return ESCAPES.sub("", self.raw)

    def wait(self) -> int:
        return self.child.wait(timeout=10)

    def close(self) -> None:
        self.child.kill()
        self.child.wait()
        os.close(self.controller)


def controlling_terminal(terminal: int) -> None:
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    child = Terminal("chat", state=tmp_path)
    yield child
    child.close()


ENTER, ALT_ENTER, CTRL_C, CTRL_D = "\r", "\x1b\r", "\x03", "\x04"


def test_a_session_on_a_terminal(terminal: Terminal, tmp_path: Path) -> None:
    assert "Alt-Enter" in terminal.until("question 问题>")
    terminal.type("thrown away" + CTRL_C + "What is\rit?" + ENTER + ENTER)
    terminal.until("response 回答>")
    terminal.type("thrown away too" + CTRL_C)
    # A paste arrives as one piece; the empty line in it does not send it.
    terminal.type("\x1b[200~It is right.\n\nIt is wrong.\x1b[201~" + ALT_ENTER)
    terminal.until("loading the model…")
    report = terminal.until("question 问题>")
    assert "S2 ACTION: lookup(sentence=S2)" in report
    assert "HALLUCINATION FOUND (score 0.90): 1 of 2 claims contradicted" in report
    assert "\x1b[1;31m" in terminal.raw
    terminal.type("/why 2" + ENTER)
    assert "THOUGHT: look it up" in terminal.until("S2 OBSERVATION")
    terminal.until("question 问题>")
    terminal.type(f"/save {tmp_path}/out.json" + ENTER)
    terminal.until("saved to")
    terminal.until("question 问题>")
    terminal.type(CTRL_D)
    assert terminal.wait() == 0
    saved = Detection.model_validate_json((tmp_path / "out.json").read_text())
    assert saved.question == "What is\nit?" and saved.response == "It is right.\n\nIt is wrong."
    history = (tmp_path / "haluagent" / "history").read_text()
    assert "What is" in history and "thrown away" not in history


def test_ctrl_c_stops_a_detection_and_the_session_goes_on(terminal: Terminal) -> None:
    terminal.until("question 问题>")
    terminal.type("Q?" + ALT_ENTER)
    terminal.until("response 回答>")
    terminal.type(CTRL_C)
    terminal.until("question 问题>")
    terminal.type("Q?" + ALT_ENTER)
    terminal.until("response 回答>")
    terminal.type("It is wrong. Please wait." + ALT_ENTER)
    terminal.until("S2 ACTION")
    terminal.until("1 of 2 sentences checked · S2 lookup")
    terminal.type(CTRL_C)
    assert "HALLUCINATION FOUND" in terminal.until("stopped by the user")
    terminal.until("question 问题>")
    terminal.type("/why 1" + ENTER)
    terminal.until("✗ [1] contradicted: It is wrong.")
    terminal.until("question 问题>")
    terminal.type("/quit" + ENTER)
    assert terminal.wait() == 0


def test_detect_shows_its_progress_on_a_terminal(tmp_path: Path) -> None:
    command = ["detect", "--question", "Q?", "--response", "It is wrong. Please wait."]
    terminal = Terminal(*command, state=tmp_path, NO_COLOR="1")
    try:
        terminal.until("loading the model…")
        terminal.until("1 of 2 sentences checked · S2 lookup")
        terminal.type(CTRL_C)
        terminal.until("HALLUCINATION FOUND")
        terminal.until("stopped by the user")
        assert terminal.wait() == 130
        assert "\x1b[1;31m" not in terminal.raw
    finally:
        terminal.close()
