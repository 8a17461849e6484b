"""A chat session without its terminal: the state, the next input it expects, and its replies as lines.

A session reads blocks of text. A block of one line that starts with `/` is a command. Any other block is the input that
the session expects: a question, a response, or a reference.
"""

import os
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from haluagent.cli.options import LanguageChoice
from haluagent.cli.partial import PartialDetection
from haluagent.cli.texts import read_text
from haluagent.errors import ConfigError
from haluagent.events import Answered
from haluagent.report.lines import Line, entry_lines, report_lines
from haluagent.report.trace import event_lines, starting_line, step_lines
from haluagent.text.language import detect as detect_language
from haluagent.types import Detection, Language, MemoryEntry

if TYPE_CHECKING:
    from haluagent.agent import HaluAgent
    from haluagent.train.trajectories.judgements import TaughtClaim

Expected = Literal["question", "response", "reference"]

HELP = {
    "/why N": "why sentence N got its label: steps and evidence · 第 N 句的判定过程与依据",
    "/recheck N [TOOL]": "check sentence N again, with one tool if named · 重新核实第 N 句，可指定工具",
    "/noquestion": "check a response that answers no question · 核实一段没有问题的文字",
    "/again": "same question, another response · 同一问题，换一个回答",
    "/reference [FILE|off]": "check against a text: from a file, or pasted next · 设置参考资料：文件，或随后粘贴",
    "/lang auto|en|zh": "language of the next responses · 之后回答的语言",
    "/tools": "the tools of the agent · 可用工具",
    "/label N LABEL": "which label is right for sentence N beside the reference (supported, contradicted, not_in_reference) · "
    "指出第 N 句的正确标签",
    "/export FILE": "append the sentences you labelled to a file for `haluagent calibrate --claims` · "
    "把您标注的句子追加到文件，供校准使用",
    "/save [--force] FILE": "write the last detection as JSON · 把上一次检测保存为 JSON",
    "/help": "these lines · 显示帮助",
    "/quit": "leave (or Ctrl-D) · 退出（或 Ctrl-D）",
}


class Session:
    """The state of one chat. `status` receives a detection's progress line, if there is a place to show it."""

    def __init__(
        self, agent: "HaluAgent", language: LanguageChoice = "auto", status: Callable[[str], None] = lambda text: None
    ) -> None:
        self.agent = agent
        self.language = language
        self.status = status
        self.expected: Expected = "question"
        self.question: str | None = None
        self.reference: str | None = None
        self.last: Detection | None = None
        self.beside: dict[int, str | None] = {}  # what each sentence of it was checked beside
        self.labelled: dict[tuple[str, str, str], TaughtClaim] = {}  # by question, claim and text: to be exported
        self.ended = False
        self._model_ready = False
        self._commands: dict[str, Callable[[str], Iterator[Line]]] = {
            "/why": self._why,
            "/recheck": self._recheck,
            "/noquestion": self._noquestion,
            "/again": self._again,
            "/reference": self._reference,
            "/lang": self._lang,
            "/tools": self._tools,
            "/label": self._label,
            "/export": self._export,
            "/save": self._save,
            "/help": self._help,
            "/quit": self._quit,
        }

    def enter(self, block: str) -> Generator[Line, None, None]:
        """Take one block and yield the reply. Raises ConfigError for mistakes that the user can correct."""
        block = block.strip()
        if not block:
            return
        if block.startswith("/") and "\n" not in block:
            yield from self._command(block)
        elif self.expected == "reference":
            self.reference = block
            self.expected = "question"
            yield _note(f"reference set ({len(block)} characters)")
        elif self.expected == "question":
            self.question = block
            self.expected = "response"
        else:
            self.expected = "question"
            yield from self._detect(block)

    def back(self) -> None:
        """Drop what was entered: the next block is a question again."""
        self.expected = "question"

    def _command(self, line: str) -> Iterator[Line]:
        name, _, rest = line.partition(" ")
        if name not in self._commands:
            near = get_close_matches(name, self._commands, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else "/help lists the commands"
            raise ConfigError(f"unknown command {name}: {hint}")
        yield from self._commands[name](rest.strip())

    def _detect(self, response: str) -> Iterator[Line]:
        question = self.question or ""
        language: Language = detect_language(question, response) if self.language == "auto" else self.language
        partial = PartialDetection(question, response, language)
        if not self._model_ready:
            yield starting_line(language)
        events = self.agent.stream(question, response, reference=self.reference, language=self.language)
        try:
            with closing(partial.follow(events)) as followed:
                for event in followed:
                    self._model_ready = True
                    self.status(partial.line())
                    yield from event_lines(event, language, evidence=True)
        finally:
            # If it was stopped halfway, keep what is done.
            if partial.sentences or partial.finished:
                self.last = partial.detection()
                self.beside = {entry.sentence.index: self.reference for entry in self.last.sentences}
        yield from report_lines(partial.detection())

    def _why(self, argument: str) -> Iterator[Line]:
        detection, entry = self._entry(argument, "/why N")
        yield from entry_lines(entry, detection.language)
        steps = [step for step in detection.steps if step.sentence == entry.sentence.index]
        for step in steps:
            yield from step_lines(step, detection.language)
        if not steps:
            yield _note("no steps were recorded for it")

    def _recheck(self, argument: str) -> Iterator[Line]:
        number, _, tool = argument.partition(" ")
        detection, entry = self._entry(number, "/recheck N [TOOL]")
        tool = tool.strip()
        names = [item.name for item in self.agent.registry]
        if tool and tool not in names:
            near = get_close_matches(tool, names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the tools are {', '.join(names)}"
            raise ConfigError(f"there is no tool named {tool}: {hint}")
        events = self.agent.recheck(detection, entry.sentence.index, reference=self.reference, tool=tool or None)
        partial = PartialDetection(detection.question, detection.response, detection.language)
        with closing(partial.follow(events)) as followed:
            for event in followed:
                self.status(partial.line())
                if isinstance(event, Answered):
                    self.last = event.detection
                    self.beside[entry.sentence.index] = self.reference
                yield from event_lines(event, detection.language, evidence=True)
        yield from report_lines(self._detection())

    def _noquestion(self, argument: str) -> Iterator[Line]:
        self.question = ""
        self.expected = "response"
        yield _note("no question")

    def _again(self, argument: str) -> Iterator[Line]:
        if self.question is None:
            raise ConfigError("there is no question yet: write one first")
        self.expected = "response"
        yield _note(f"question: {self.question}" if self.question else "no question")

    def _reference(self, argument: str) -> Iterator[Line]:
        if argument == "off":
            self.reference = None
            yield _note("no reference")
        elif argument:
            self.reference = read_text(argument)
            yield _note(f"reference set to {argument} ({len(self.reference)} characters)")
        else:
            self.expected = "reference"
            yield _note("paste the reference")

    def _lang(self, argument: str) -> Iterator[Line]:
        if argument not in ("auto", "en", "zh"):
            raise ConfigError("say /lang auto, /lang en or /lang zh")
        self.language = "auto" if argument == "auto" else "zh" if argument == "zh" else "en"
        yield _note(f"language: {argument}")

    def _tools(self, argument: str) -> Iterator[Line]:
        for tool in self.agent.registry:
            yield Line(("bold cyan", tool.signature()), ("", "  "), ("dim", " · ".join(tool.description.values())))

    def _label(self, argument: str) -> Iterator[Line]:
        from haluagent.train.calibration.own_claims import OUTCOMES, labelled

        number, _, label = argument.partition(" ")
        detection, entry = self._entry(number, "/label N LABEL")
        if (label := label.strip()) not in OUTCOMES:
            raise ConfigError(f"say /label {number} with one of {', '.join(OUTCOMES)}")
        if not (reference := self.beside.get(entry.sentence.index)):
            raise ConfigError("this was checked without a reference: only beside one can a label be right")
        claim = labelled(detection, entry, reference, label)
        self.labelled[claim.question, claim.claim, claim.text] = claim
        yield _note(f"sentence {number} is labelled {label} ({len(self.labelled)} to export: /export FILE)")

    def _export(self, argument: str) -> Iterator[Line]:
        if not argument:
            raise ConfigError("say where: /export FILE")
        if not self.labelled:
            raise ConfigError("nothing was labelled yet: say /label N LABEL")
        path = Path(os.path.expanduser(argument))
        lines = [claim.model_dump_json() + "\n" for claim in self.labelled.values()]
        try:
            begun = path.exists() and not path.read_bytes().endswith(b"\n")
            with path.open("a", encoding="utf-8") as file:
                file.writelines(["\n"] * begun + lines)
        except (OSError, ValueError) as error:
            raise _unwritable(argument, error) from error
        self.labelled.clear()
        yield _note(f"{len(lines)} appended to {path}; with 50 or more: haluagent calibrate --claims {path}")

    def _save(self, argument: str) -> Iterator[Line]:
        force = argument.startswith("--force ")
        name = argument.removeprefix("--force ").strip()
        if not name:
            raise ConfigError("say where: /save FILE")
        path = Path(os.path.expanduser(name))
        detection = self._detection()
        if path.exists() and not force:
            raise ConfigError(f"{name} exists: /save --force {name} would overwrite it")
        try:
            write_atomically(path, detection.model_dump_json(indent=2) + "\n")
        except (OSError, ValueError) as error:
            raise _unwritable(name, error) from error
        yield _note(f"saved to {path}")

    def _help(self, argument: str) -> Iterator[Line]:
        for usage, text in HELP.items():
            yield Line(("bold", usage), ("", " "), ("dim", text), indent=2)

    def _quit(self, argument: str) -> Iterator[Line]:
        self.ended = True
        yield from ()

    def _detection(self) -> Detection:
        if self.last is None:
            raise ConfigError("nothing was checked yet: write a question, then a response")
        return self.last

    def _entry(self, number: str, usage: str) -> tuple[Detection, MemoryEntry]:
        detection = self._detection()
        entries = {str(entry.sentence.index): entry for entry in detection.sentences}
        if number not in entries:
            raise ConfigError(f"say {usage} with N one of {', '.join(entries) or '(no sentence)'}")
        return detection, entries[number]


def write_atomically(path: Path, text: str) -> None:
    """Write the file so that it is either unchanged or complete, even if this is interrupted."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _unwritable(name: str, error: Exception) -> ConfigError:
    return ConfigError(f"cannot write {name}: {getattr(error, 'strerror', None) or error}")


def _note(text: str) -> Line:
    return Line(("dim", text))
