"""The programs that run in the sandbox, line by line, with the place of each line in the response."""

import ast
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TypeGuard

from haluagent.tools.code_interpreter.changes import Change, Insertion, insertions
from haluagent.tools.code_interpreter.parts import CodeLine, CodePart, Function, outside_functions
from haluagent.tools.code_interpreter.tests import counted
from haluagent.types import Span

END = 0  # the place of the mark at the end of a program
_EXITS = {"sys.exit", "exit", "quit"}
# Names of what a program does beside giving names a meaning, and of calls that do give one.
_DOES = {"print", "input", "open", "argv", "stdin"}
_PREPARES = {"append", "add", "update", "extend", "insert", "setdefault", "setrecursionlimit", "seed"}


@dataclass(frozen=True)
class Program:
    """Lines of code, and the word that tells its marks from other output."""

    lines: tuple[CodeLine, ...]
    nonce: str

    @property
    def code(self) -> str:
        return "\n".join(line.text for line in self.lines) + "\n"

    def place(self, number: int | None) -> Span | None:
        """Return where a line of the program (from 1) stands in the response; None where it is not from there."""
        return self.lines[number - 1].span if number and number <= len(self.lines) else None

    def output(self, stdout: str, place: int | None = None) -> str | None:
        """Return what the program wrote, without marks; or only between the two marks of a place, None where they are
        not there (it was not reached, or the output was clipped)."""
        mark = re.compile(rf"\[{self.nonce} (\d+) \d+\]")
        if place is not None:
            ends = [match for match in mark.finditer(stdout) if int(match[1]) == place]
            if len(ends) != 2:
                return None
            stdout = stdout[ends[0].end() : ends[1].start()]
        return mark.sub("", stdout)

    def passed(self, stdout: str) -> int:
        """Return how many tests had passed by the last mark."""
        counts = re.findall(rf"\[{self.nonce} \d+ (\d+)\]", stdout)
        return int(counts[-1]) if counts else 0


def whole(
    program: Sequence[CodePart],
    marked: Sequence[ast.stmt] = (),
    marked_parts: Sequence[CodePart] = (),
    stdin: str | None = None,
    without: Sequence[ast.stmt] = (),
    change: Change | None = None,
) -> Program:
    """Return the program as it stands but for the statements `without`, with its tests counted. What the n-th of
    `marked` writes is at place n (from 1), what a part of `marked_parts` writes at the places after those. With a
    `change`, what its functions return is changed."""
    last = _exit(program)
    body = [CodeLine(f"_haluagent.give({stdin!r})")] if stdin is not None else []
    for part in program:
        edits = _edits(part, program, change, without)
        inside = {id(node) for node in ast.walk(part.tree)}
        for place, node in enumerate(marked, 1):
            if id(node) in inside:
                edits += [(*_start(node), f"_haluagent.mark({place}); "), (*_end(node), f"; _haluagent.mark({place})")]
        lines = _edited(part, edits, without)
        if last is not None and part is program[-1]:
            line = lines[last.lineno - 1].text
            lines.insert(last.lineno - 1, CodeLine(line[: len(line) - len(line.lstrip())] + _mark(END).text))
        for place, other in enumerate(marked_parts, len(marked) + 1):
            if other is part:
                lines = [_mark(place), *lines, _mark(place)]
        body += lines
    return _make(body if last is not None else [*body, _mark(END)], program, change)


def tested(program: Sequence[CodePart], tests: Sequence[CodeLine], change: Change | None = None) -> Program:
    """Return the definitions of a program, followed by tests of their own. With a `change`, what its functions return is
    changed."""
    kept: list[CodeLine] = []
    for part in program:
        numbers = {number for node in part.tree.body if _defines(node) for number in _numbers(node)}
        kept += [
            line for number, line in enumerate(_edited(part, _edits(part, program, change)), 1) if number in numbers
        ]
    return _make([*kept, *tests, _mark(END)], program, change)


def _make(body: Sequence[CodeLine], program: Sequence[CodePart], change: Change | None) -> Program:
    names = {alias.name for part in program for node in part.tree.body if _is_future(node) for alias in node.names}
    nonce = hashlib.sha256("\n".join(line.text for line in body).encode("utf-8")).hexdigest()[:16]
    future = f"from __future__ import {', '.join(sorted(names))}; " if names else ""
    way = change.way if change else ""
    return Program(
        (CodeLine(f"{future}{_prelude()}; _haluagent.nonce = {nonce!r}; _haluagent.way = {way!r}"), *body), nonce
    )


@lru_cache(maxsize=1)
def _prelude() -> str:
    """Return a line that makes the module `_haluagent`, which a program that calls a list `list` cannot disturb."""
    source = files(__package__).joinpath("prelude.py").read_text(encoding="utf-8")
    return f"_haluagent = type(__import__('sys'))('_haluagent'); exec({source!r}, _haluagent.__dict__)"


def _mark(place: int) -> CodeLine:
    return CodeLine(f"_haluagent.mark({place})")


def _start(node: ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.stmt) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or 0


def _numbers(node: ast.stmt) -> range:
    """Return the lines of a statement, its decorators included."""
    first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
    return range(first, _end(node)[0] + 1)


def _edits(
    part: CodePart, program: Sequence[CodePart], change: Change | None, without: Sequence[ast.stmt] = ()
) -> list[Insertion]:
    """Return what counts the tests of a part and, with a `change`, what changes its results."""
    counters = [(*_end(node), "; _haluagent.ran()") for node in counted(part, program) if node not in without]
    return [*(insertions(part, program, change.asked) if change else ()), *counters]


def _edited(part: CodePart, edits: Iterable[Insertion], without: Sequence[ast.stmt] = ()) -> list[CodeLine]:
    """Return the lines of a part with texts put in. `unittest.main()` is blanked, since the tests are run one by one,
    and so is what may only stand first in a program."""
    lines = [line.text.encode("utf-8") for line in part.lines]
    for node in ast.walk(part.tree):
        if isinstance(node, ast.stmt) and (node in without or _is_future(node) or _is_unittest_main(node)):
            (first, start), (last, end) = _start(node), _end(node)
            for number in range(first, last + 1):
                line = lines[number - 1]
                begin, stop = start if number == first else 0, end if number == last else len(line)
                blank = b"pass" if number == first else b""
                lines[number - 1] = line[:begin] + blank.ljust(stop - begin) + line[stop:]
    for number, column, text in sorted(edits, key=lambda edit: edit[:2], reverse=True):
        line = lines[number - 1]
        lines[number - 1] = line[:column] + text.encode() + line[column:]
    return [CodeLine(new.decode("utf-8"), old.span) for new, old in zip(lines, part.lines, strict=True)]


def _is_future(node: ast.AST) -> TypeGuard[ast.ImportFrom]:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _is_unittest_main(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) == "unittest.main"
    )


def _exit(program: Sequence[CodePart]) -> ast.stmt | None:
    """Return the last statement of a program where that ends it, on a line of its own: `sys.exit(main())`."""
    node = program[-1].tree.body[-1] if program and program[-1].tree.body else None
    while isinstance(node, ast.If) and not node.orelse:
        node = node.body[-1]
    if (
        not isinstance(node, ast.Expr)
        or not isinstance(node.value, ast.Call)
        or ast.unparse(node.value.func) not in _EXITS
    ):
        return None
    return node if program[-1].lines[node.lineno - 1].text.lstrip().startswith(ast.unparse(node.value.func)) else None


def _defines(node: ast.stmt) -> bool:
    """Return whether a statement only defines names, and does not print, ask or test."""
    if isinstance(node, (Function, ast.ClassDef, ast.Import, ast.ImportFrom)):
        return True
    inside = list(outside_functions(node))
    names = {getattr(inner, "id", getattr(inner, "attr", "")) for inner in inside}
    if is_main_guard(node) or names & _DOES or any(isinstance(inner, ast.Assert) for inner in inside):
        return False
    if isinstance(node, ast.Expr):
        return (
            isinstance(node.value, ast.Call)
            and isinstance(node.value.func, ast.Attribute)
            and node.value.func.attr in _PREPARES
        )
    return True


def is_main_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and any(
        isinstance(inner, ast.Name) and inner.id == "__name__" for inner in ast.walk(node.test)
    )
