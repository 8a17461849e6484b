"""Judge a run in the sandbox: whose fault it is that it failed, and where."""

import ast
import collections
import dataclasses
import functools
import itertools
import math
import re
import sys
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from haluagent.protocols import Execution, ToolContext
from haluagent.tools.code_interpreter.parts import CodePart, Function
from haluagent.tools.code_interpreter.program import Program
from haluagent.types import Span

Cause = Literal[
    "ok", "test", "error", "syntax",  # it ran, or the fault is the code's
    "timeout", "memory", "output",  # a limit of the sandbox
    "missing", "input", "files", "network", "arguments", "system", "killed",  # something the sandbox does not have
    "unknown_name", "other_python",  # an excerpt, another Python
]  # fmt: skip
WRONG: tuple[Cause, ...] = ("test", "error", "syntax")
LIMITS: tuple[Cause, ...] = ("timeout", "memory", "output")
# What a program meets that is run without a terminal, files, network or arguments. It may be right where they are.
SURROUNDINGS: tuple[Cause, ...] = ("input", "files", "network", "arguments", "system")

MAX_TRACEBACK = 1500  # characters of evidence

_FRAME = re.compile(r'File "<code>", line (\d+)')
_ADDED_FRAME = re.compile(r'^ *File "<code>".*\n +_haluagent\..*\n', re.MULTILINE)
_ADDED = re.compile(r"_haluagent\.mark\(\d+\); |; _haluagent\.(?:mark\(\d+\)|ran\(\))")
_CARETS = re.compile(r"^\s*[~^]+\s*\n", re.MULTILINE)
_NAME = re.compile(r"name '(\w+)' is not defined")
_NEWER_SYNTAX = re.compile(r"\b(?:def|class)\s+\w+\[|^\s*type\s+\w+.*=")
_PYTHON_2 = re.compile(r"python\s*2\b|python\s*2\.\d", re.I)


@dataclass(frozen=True)
class CodeFinding:
    """`first` is the line of the program that led to the failure, `span` the place of the innermost line that is the
    response's."""

    cause: Cause
    detail: str = ""
    traceback: str = ""
    first: int | None = None
    span: Span | None = None


def judge(
    execution: Execution, program: Program, parts: Sequence[CodePart], context: ToolContext, tested: bool
) -> CodeFinding:
    """Judge the run of a program made of `parts` of the response. `tested` says that there are tests for it: only then
    is it taken for a whole program where a name is missing.

    A NameError is the code's fault where the response itself uses the name elsewhere; where the name is in the standard
    library (a forgotten import) and either a function of the response needs it or there are tests; and where it is
    known to nobody, but a function of the response needs it and there are tests for that function. Elsewhere the name
    is one that the surroundings of an excerpt would supply.
    """
    frames = [int(number) for number in _FRAME.findall(execution.traceback.rpartition("Traceback (most recent")[2])]
    line = execution.line or (frames[-1] if frames else None)
    span = next((place for number in [line, *reversed(frames)] if (place := program.place(number))), None)
    text = program.lines[line - 1].text if line and line <= len(program.lines) else ""
    cause = _cause(execution, text, f"{context.question}\n{context.response}")
    detail = execution.error
    name = _NAME.search(detail) if cause == "error" else None
    if name and not _is_at_fault(name[1], line, program, parts, tested):
        cause, detail = "unknown_name", name[1]
    traceback = _as_of_response(execution.traceback, program, context.response) or execution.error
    return CodeFinding(cause, detail, traceback, frames[0] if frames else line, span)


def _as_of_response(traceback: str, program: Program, response: str) -> str:
    """Return a traceback without what was added to the program, with the line numbers of the response."""

    def place(match: re.Match[str]) -> str:
        span = program.place(int(match[1]))
        return f'File "<response>", line {response.count(chr(10), 0, span[0]) + 1}' if span else 'File "<question>"'

    text = _ADDED_FRAME.sub("", _ADDED.sub("", _CARETS.sub("", traceback)))
    text = _FRAME.sub(place, text).strip()
    if len(text) <= MAX_TRACEBACK:
        return text
    return f"{text[: MAX_TRACEBACK // 2]}\n[…]\n{text[-MAX_TRACEBACK // 2 :]}"


def _cause(execution: Execution, line: str, texts: str) -> Cause:
    if execution.outcome == "syntax_error":
        newer = _NEWER_SYNTAX.search(line) or "f-string" in execution.error
        older = "Missing parentheses" in execution.error and _PYTHON_2.search(texts)
        return "other_python" if newer or older else "syntax"
    if execution.outcome == "exception":
        return _cause_of_exception(execution.error, line)
    return "missing" if execution.outcome == "missing_package" else execution.outcome


_SURROUNDINGS: dict[Cause, str] = {
    "input": r"EOFError\b|(?:io\.)?UnsupportedOperation\b.*fileno",
    "files": r"(?:FileNotFoundError|PermissionError|IsADirectoryError|NotADirectoryError)\b|OSError: \[Errno (?:30|28)\]",
    "network": r"(?:ConnectionError|Connection\w+Error|(?:socket\.)?gaierror|(?:urllib\.error\.)?URLError|ssl\.\w+)\b"
    r"|OSError: \[Errno (?:101|111|113)\]|.*(?:Network is unreachable|name resolution)",
    "system": r"BlockingIOError\b|RuntimeError: can't start new thread|(?:_tkinter\.)?TclError\b|OSError: \[Errno (?:38|11)\]",
}
_READS: dict[Cause, str] = {"arguments": r"\bargv\b|parse_args", "input": r"\bstdin\b", "system": r"\benviron\b"}


def _cause_of_exception(error: str, line: str) -> Cause:
    for cause, pattern in _SURROUNDINGS.items():
        if re.match(pattern, error):
            return cause
    for cause, pattern in _READS.items():
        if re.search(pattern, line) and re.match(r"(?:IndexError|ValueError|KeyError|SystemExit)\b", error):
            return cause
    return "test" if error.startswith("AssertionError") else "error"


def _is_at_fault(name: str, line: int | None, program: Program, parts: Sequence[CodePart], tested: bool) -> bool:
    if any(name in part.bound for part in parts):
        return True
    place = program.place(line)
    in_function = place is not None and any(place in _bodies(part) for part in parts)
    return (in_function or tested) if name in _standard_names() else (in_function and tested)


def _bodies(part: CodePart) -> set[Span]:
    """Return the places of the lines that are in bodies of functions."""
    numbers = {
        number
        for node in ast.walk(part.tree)
        if isinstance(node, Function)
        for number in range(node.body[0].lineno, (node.end_lineno or 0) + 1)
    }
    return {line.span for number, line in enumerate(part.lines, 1) if number in numbers and line.span}


@functools.lru_cache(maxsize=1)
def _standard_names() -> frozenset[str]:
    """Return the modules of the standard library, and the names that are most often imported from them."""
    modules = (collections, dataclasses, functools, itertools, math, typing)
    names = {name for module in modules for name in getattr(module, "__all__", dir(module))}
    more = "datetime timedelta Decimal Fraction Path Enum ABC abstractmethod Thread Lock Queue deque heappush heappop bisect_left"
    return frozenset(names | set(more.split()) | set(sys.stdlib_module_names))
