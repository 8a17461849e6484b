"""`haluagent chat`: the terminal interface of a `Session`."""

import logging
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from haluagent.cli import options
from haluagent.cli.options import AgentOptions
from haluagent.errors import HaluAgentError

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    from haluagent.agent import HaluAgent
    from haluagent.cli.session import Session
    from haluagent.cli.terminal import Screen

logger = logging.getLogger(__name__)

HINT = (
    "Paste a question, then a response. Enter on an empty line (or Alt-Enter) sends it; /help lists the commands.",
    "先粘贴问题，再粘贴回答。在空行上按回车（或 Alt-Enter）发送；输入 /help 查看命令。",
)
PROMPTS = {"question": "question 问题> ", "response": "response 回答> ", "reference": "reference 参考> "}


@options.takes()
def chat(
    lang: options.Lang = "auto",
    *,
    wanted: AgentOptions,
) -> None:
    """Check responses one after another, and ask why.

    If standard input is not a terminal, it is read as blocks of lines (a question, an empty line, a response, an empty
    line) and commands.
    """
    agent = options.make_agent(wanted)
    talk(agent, lang)


def talk(agent: "HaluAgent", lang: options.LanguageChoice = "auto") -> None:
    """Run a session with `agent` on standard input and output until it ends, then close the agent."""
    from haluagent.cli.session import Session
    from haluagent.cli.terminal import Screen, closed_pipe_ignored
    from haluagent.cli.texts import decode

    screen = Screen()
    session = Session(agent, lang, status=screen.status)
    with closing(agent), closed_pipe_ignored():
        if sys.stdin.isatty() and sys.stdout.isatty():
            _talk_on_terminal(session, screen)
        else:
            for block in blocks(decode(line, "standard input") for line in sys.stdin.buffer):
                _answer(session, screen, block)
                if session.ended:
                    break


def blocks(lines: Iterable[str]) -> Iterator[str]:
    """Yield blocks of lines, separated by empty lines. A command is a block of its own."""
    block: list[str] = []
    for line in lines:
        if line.strip() and not (line.startswith("/") and not block):
            block.append(line)
            continue
        if block:
            yield "".join(block)
            block = []
        if line.strip():
            yield line
    if block:
        yield "".join(block)


def _talk_on_terminal(session: "Session", screen: "Screen") -> None:
    from haluagent.report.lines import Line

    prompt = _prompt()
    for hint in HINT:
        screen.show(Line(("dim", hint)))
    while not session.ended:
        try:
            block = prompt.prompt(PROMPTS[session.expected])
        except KeyboardInterrupt:
            session.back()
            continue
        except EOFError:
            return
        _answer(session, screen, block)


def _answer(session: "Session", screen: "Screen", block: str) -> None:
    """Show the session's reply to a block. Ctrl-C stops a detection; the session goes on with what is done."""
    from haluagent.report.lines import Line, report_lines

    before = session.last
    try:
        with screen.live(), closing(session.enter(block)) as lines:
            screen.show(lines)
    except KeyboardInterrupt:
        if session.last is not None and session.last is not before:
            screen.show(report_lines(session.last))
        else:
            screen.show(Line(("yellow", "! stopped")))
    except HaluAgentError as error:
        screen.show(Line(("red", f"! {error}")))
    except BrokenPipeError:  # the reader has gone
        raise
    except Exception as error:
        logger.debug("unexpected", exc_info=True)
        screen.show(Line(("red", f"! unexpected: {type(error).__name__}: {' '.join(str(error).split())}")))


def _prompt() -> "PromptSession[str]":
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory, History, InMemoryHistory

    path = history_file()
    history: History = FileHistory(str(path)) if path else InMemoryHistory()
    return PromptSession(history=history, multiline=True, key_bindings=_keys())


def history_file() -> Path | None:
    """Return the path of the input history, readable by its owner only; None if it cannot be written."""
    from platformdirs import user_state_dir

    path = Path(user_state_dir("haluagent")) / "history"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
        path.chmod(0o600)
    except OSError:
        return None
    return path


def _keys() -> "KeyBindings":
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("escape", "enter")
    def send(event: "KeyPressEvent") -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("enter")
    def enter(event: "KeyPressEvent") -> None:
        buffer = event.current_buffer
        command = buffer.text.startswith("/") and "\n" not in buffer.text
        if command or not buffer.document.current_line.strip():
            send(event)
        else:
            buffer.newline()

    @keys.add("c-c")
    def clear(event: "KeyPressEvent") -> None:
        """Clear the input; if it is empty, go back to the question."""
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt())

    return keys
