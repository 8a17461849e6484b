"""Where a program is changed to see whether its tests notice: what its functions return, or, where it has none, what it
assigns. A test that passes whatever the code returns supports nothing."""

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from haluagent.tools.code_interpreter.parts import CodePart, Function
from haluagent.tools.code_interpreter.tests import counted, test_cases

WAYS = ("other", "longer", "effects")  # see `prelude.py`

# A class that is changed here could not be used at all, so no test of it would be reached.
_KEPT = {
    "__new__",
    "__getattr__",
    "__getattribute__",
    "__setattr__",
    "__del__",
    "__enter__",
    "__exit__",
    "__hash__",
    "__class_getitem__",
}


@dataclass(frozen=True)
class Change:
    """How results are changed, and of which functions and classes: those `asked` for, or all where none of them is
    there. A helper of a test is not what it tests."""

    way: str
    asked: frozenset[str] = frozenset()


Insertion = tuple[int, int, str]  # line from 1, column in bytes of UTF-8, the text to put there


def insertions(part: CodePart, program: Sequence[CodePart], asked: Collection[str]) -> list[Insertion]:
    """Return what is put into a part so that its results change, as `_haluagent.way` says: the results of
    what is `asked` for, or of everything."""
    if part.block is None:
        return []
    if not any(True for other in program if other.block for _ in _results(other, program)):
        return [one for node in part.tree.body for one in _around(node, "anew")]
    everything = not any(name in asked for other in program if other.block for name, _ in _results(other, program))
    return [one for name, node in _results(part, program) if everything or name in asked for one in _of(node, part)]


def _results(part: CodePart, program: Sequence[CodePart]) -> Iterator[tuple[str, Function | ast.Assign]]:
    """Yield the functions, methods and named lambdas of a part that are no tests and do not run any, each with its name;
    a method has that of its class."""
    cases, tests = test_cases(program), _testing(program)
    for node in part.tree.body:
        if isinstance(node, Function) and node.name not in tests:
            yield node.name, node
        elif isinstance(node, ast.ClassDef) and node.name not in cases:
            yield from ((node.name, one) for one in node.body if isinstance(one, Function) and one.name not in _KEPT)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            yield from ((target.id, node) for target in node.targets if isinstance(target, ast.Name))


def _testing(program: Sequence[CodePart]) -> set[str]:
    """Return the names of the functions that hold assertions which count, and of those that call them."""
    asserts = {id(node) for part in program for node in counted(part, program)}
    functions = {name: node for part in program for name, node in part.functions.items()}
    found = {name for name, node in functions.items() if any(id(inner) in asserts for inner in ast.walk(node))}
    for _ in functions:  # a chain of calls is no longer than that
        more = {name for name, node in functions.items() if name not in found and found & _called(node)}
        if not more:
            break
        found |= more
    return found


def _called(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)}


def _of(node: Function | ast.Assign, part: CodePart) -> list[Insertion]:
    if isinstance(node, ast.Assign):
        return _around(node, "changed")
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    line = part.lines[first - 1].text
    indentation = line[: len(line) - len(line.lstrip())]
    return [(first, len(indentation.encode()), f"@_haluagent.changed\n{indentation}")]


def _around(node: ast.stmt, name: str) -> list[Insertion]:
    """Return a call of `_haluagent.name` around what a statement assigns."""
    if not isinstance(node, ast.Assign):
        return []
    value = node.value
    end = (value.end_lineno or value.lineno, value.end_col_offset or 0)
    return [(value.lineno, value.col_offset, f"_haluagent.{name}(("), (*end, "))")]
