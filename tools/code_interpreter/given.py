"""Parts of a program that a response leaves out because the question has them: the head of a function, imports,
classes."""

import ast
import builtins
import typing
from collections.abc import Iterator, Sequence

from haluagent.text.code_blocks import find
from haluagent.tools.code_interpreter.parts import (
    IMPORTS,
    CodeLine,
    CodePart,
    Function,
    is_stub,
    make_part,
    names_bound,
)


def context_parts(question: str) -> list[CodePart]:
    """Return the Python of the question, for what a response leaves out because it stands there already."""
    return [make_part(block, own=False) for block in find(question) if block.python]


def completed(excerpt: CodePart, given: Sequence[CodePart]) -> CodePart | None:
    """Return the last function of the question with an excerpt as its body, where the question leaves that open."""
    for part in reversed(given):
        last = part.tree.body[-1] if part.tree.body else None
        open_end = is_stub(last) if isinstance(last, Function) else part.code.rstrip().endswith(":")
        if open_end:
            indent = " " * (last.body[0].col_offset if isinstance(last, Function) else 4)
            body = tuple(CodeLine(indent + line.text if line.text else "", line.span) for line in excerpt.lines)
            whole = CodePart((*part.lines, *body), excerpt.block)
            if whole.tree.body:
                return whole
    return None


def needed(parts: Sequence[CodePart], given: Sequence[CodePart]) -> CodePart | None:
    """Return the imports, classes and functions of the question that `parts` use and do not have themselves, and its
    classes, which its examples may use."""
    here = set().union(set(dir(builtins)), *(part.bound for part in parts))
    wanted = set().union(*(part.used for part in parts), *(part.classes for part in given))
    taken: set[ast.stmt] = set()
    offered = [(part, node) for part in given for node in part.tree.body if isinstance(node, _NAMING)]
    for _ in range(len(offered)):  # what is taken may need more
        more = {node for _, node in offered if set(_names(node)) & (wanted - here)} - taken
        if not more:
            break
        taken |= more
        wanted |= {inner.id for node in more for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    lines = [
        line for part, node in offered if node in taken for line in part.lines[_first_line(node) - 1 : node.end_lineno]
    ]
    missing = wanted - here - {name for node in taken for name in _names(node)}
    lines = [*_typing(missing, parts, given), *lines]
    return CodePart(tuple(lines)) if lines else None


def _typing(missing: set[str], parts: Sequence[CodePart], given: Sequence[CodePart]) -> list[CodeLine]:
    """Return an import of List and the like, where the question writes them without one, or is about `class Solution`,
    which is run where they are there."""
    usual = set().union(*(part.used for part in given))
    if any("Solution" in part.classes for part in parts):
        usual |= missing
    names = sorted(missing & usual & set(typing.__all__))
    return [CodeLine(f"from typing import {', '.join(names)}")] if names else []


_NAMING = (*IMPORTS, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _names(node: ast.stmt) -> Iterator[str]:
    """Return the names that an import or a definition binds; a function without a body is only a task."""
    if isinstance(node, IMPORTS):
        return names_bound(node.names)
    return iter(()) if isinstance(node, Function) and is_stub(node) else names_bound([node])


def _first_line(node: ast.stmt) -> int:
    decorators: Sequence[ast.expr] = getattr(node, "decorator_list", ())
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])
