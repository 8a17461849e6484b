"""Transcripts of an interpreter (`>>>`) as examples: in docstrings, in fences, in the running text."""

import ast
import re
from collections.abc import Collection
from itertools import pairwise

from haluagent.text.code_classifier import parse
from haluagent.tools.code_interpreter.examples import MAX_EXAMPLES, CallExample, unknown_names

_PROMPT = re.compile(r"^[ \t]*(?:[>*-] [ \t]*)?>>> ?(?P<code>.*)$")
_CONTINUED = re.compile(r"^[ \t]*(?:> [ \t]*)?\.\.\.(?: (?P<code>.*))?$")
_ENDS = re.compile(r"^\s*(?:\"\"\"|'''|```|~~~|#|$)")
_ERROR = re.compile(r"^(?:\w+\.)*(?P<name>[A-Z]\w*)(?::|$)")


def sessions(text: str, functions: Collection[str], known: Collection[str]) -> list[CallExample]:
    """Return the examples of the transcripts in a text, in order, as far as they follow from the names that are known
    (those `functions` and others of the program) and from one another. A transcript that uses none of `functions` is
    left out."""
    found: list[CallExample] = []
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    prompts = [index for index, line in enumerate(lines) if _PROMPT.match(line)]
    names = set(known) | set(functions)
    for at, behind in pairwise([*prompts, len(lines)]):
        end, source = _source(lines, at)
        wanted_end = next((i for i in range(end, behind) if _ENDS.match(lines[i])), behind)
        wanted = [line.strip().removeprefix("> ") for line in lines[end:wanted_end]]
        span = (starts[at] + lines[at].index(">>>"), starts[wanted_end] - 1)
        example = _example(source, wanted, span, names)
        if example is not None and len(found) < MAX_EXAMPLES:
            found.append(example)
            names |= _stored(source)
    return found if any(_mentions(example, functions) for example in found) else []


def _source(lines: list[str], at: int) -> tuple[int, str]:
    first = _PROMPT.match(lines[at])
    code = [first["code"] if first else ""]
    end = at + 1
    while end < len(lines) and (more := _CONTINUED.match(lines[end])):
        code.append(more["code"] or "")
        end += 1
    return end, "\n".join(code).strip()


def _example(source: str, wanted: list[str], span: tuple[int, int], names: Collection[str]) -> CallExample | None:
    source = re.sub(r"[ \t]+#.*$", "", source) if "\n" not in source and not re.search(r"['\"]", source) else source
    try:
        body = parse(source).body
    except (SyntaxError, ValueError):
        return None
    if len(body) != 1 or unknown_names(body[0], names):
        return None
    node = body[0]
    if not isinstance(node, ast.Expr) or "\n" in source:
        return CallExample("run", source, "", span) if not wanted else None
    if not wanted:
        return _compared(node.value, span) or CallExample("run", source, "", span)
    if wanted[0].startswith("Traceback"):
        error = _ERROR.match(wanted[-1])
        return CallExample("raises", source, error["name"], span) if error else None
    if any("..." in line for line in wanted):
        return CallExample("run", source, "", span)
    text = "\n".join(wanted)
    printed = (
        isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name) and node.value.func.id == "print"
    )
    if printed:
        return CallExample("printed", source, text, span)
    try:
        return CallExample("value", source, repr(ast.literal_eval(text)), span)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return CallExample("shown", source, text, span)


def _compared(node: ast.expr, span: tuple[int, int]) -> CallExample | None:
    """Read `>>> f(1) == 2` with nothing below it as saying that this is so."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq):
        return None
    try:
        wanted = ast.literal_eval(node.comparators[0])
    except (ValueError, TypeError, MemoryError, RecursionError):
        return None
    return CallExample("value", ast.unparse(node.left), repr(wanted), span)


def _stored(source: str) -> set[str]:
    """Return the names that a step defines."""
    stored: set[str] = set()
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stored.add(node.id)
        elif isinstance(node, ast.alias):
            stored.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            stored.add(node.name)
    return stored


def _mentions(example: CallExample, functions: Collection[str]) -> bool:
    return any(isinstance(node, ast.Name) and node.id in functions for node in ast.walk(parse(example.source)))
