"""The Python blocks of a response as parts of a program: what each defines and needs, and which of them are excerpts."""

import ast
import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from haluagent.text.code_blocks import CodeBlock
from haluagent.text.code_classifier import parse
from haluagent.types import Span

Function = ast.FunctionDef | ast.AsyncFunctionDef
IMPORTS = (ast.Import, ast.ImportFrom)
_SURROGATES = re.compile("[\ud800-\udfff]")
_MAGIC = re.compile(r"\s*(?:[%!]{1,2}\w|\?\w|\w+\?$)")
_WITHOUT_BODY = re.compile(r"expected an indented block after .* on line (\d+)")
_PLACEHOLDER = re.compile(
    r"\.\.\.|…|<[a-z][\w ]*>|\b(?:TODO|your code|rest of|omitted)\b|省略|你的代码|此处|同上", re.I
)


@dataclass(frozen=True)
class CodeLine:
    """A line of a program. `span` is its place in the response, without its indentation; None where it is not from there."""

    text: str
    span: Span | None = None


@dataclass(frozen=True)
class CodePart:
    """A piece of code that is whole by itself. `block` is its place in the response, None where it is the question's."""

    lines: tuple[CodeLine, ...]
    block: Span | None = None
    error: SyntaxError | None = field(default=None, compare=False)

    @cached_property
    def code(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @cached_property
    def tree(self) -> ast.Module:
        """Return the syntax tree, empty where the code cannot be read."""
        try:
            return parse(self.code)
        except (SyntaxError, ValueError):
            return ast.Module(body=[], type_ignores=[])

    @cached_property
    def functions(self) -> dict[str, Function]:
        return {node.name: node for node in self.tree.body if isinstance(node, Function)}

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        return {node.name: node for node in self.tree.body if isinstance(node, ast.ClassDef)}

    @cached_property
    def bound(self) -> set[str]:
        """Return every name that the code defines, in any scope."""
        return set(names_bound(ast.walk(self.tree)))

    @cached_property
    def public(self) -> set[str]:
        """Return the names that the code defines for what comes after it."""
        return set(names_bound(outside_functions(self.tree)))

    @cached_property
    def at_once(self) -> set[str]:
        """Return the names that are looked up when the code is run, without those in the bodies of functions."""
        return {node.id for node in outside_functions(self.tree) if isinstance(node, ast.Name)}

    @cached_property
    def used(self) -> set[str]:
        return {
            node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }


def outside_functions(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that are evaluated when a module is run; of a function that is its decorators, defaults and
    annotations."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, Function):
            arguments = node.args
            annotated = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            todo += [*node.decorator_list, *arguments.defaults, *filter(None, arguments.kw_defaults)]
            todo += filter(None, [node.returns, *(argument.annotation for argument in annotated)])
        elif not isinstance(node, ast.Lambda):
            todo += ast.iter_child_nodes(node)


def names_bound(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that nodes define."""
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, (Function, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            yield node.name


def make_part(block: CodeBlock, own: bool = True) -> CodePart:
    """Make a part of a program from a block. Where it is no Python, it is read without what pages and notebooks add."""
    code = _SURROGATES.sub("\ufffd", block.code)  # not text: no file could hold them
    lines = [
        CodeLine(text, (end - len(text.lstrip()), end) if own else None)
        for text, (_, end) in zip(code.split("\n"), block.lines, strict=True)
    ]
    error = _error(code)
    if error is not None:
        cleaned = [CodeLine(_as_written(line.text), line.span) for line in lines]
        error = _error("\n".join(line.text for line in cleaned))
        lines = cleaned if error is None else lines
    return CodePart(tuple(lines), block.span if own else None, error)


def _error(code: str) -> SyntaxError | None:
    try:
        parse(code)
    except SyntaxError as error:
        return error
    except ValueError:
        pass  # the sandbox will tell
    return None


def _as_written(text: str) -> str:
    """Return a line without what a web page or a notebook adds to it: no-break spaces, escaped signs, commands (`!pip
    install`)."""
    text = html.unescape(text.replace("\u00a0", " "))
    return text[: len(text) - len(text.lstrip())] + "pass" if _MAGIC.match(text) else text


def is_excerpt(part: CodePart) -> bool:
    """Return whether a part is not meant as a program: lines from within a function, with a gap in them, or functions
    that do nothing."""
    if part.error is not None:
        last = first = (part.error.lineno or 1) - 1
        while first > 0 and part.lines[first - 1].text.strip()[:1] in ("", "#"):
            first -= 1
        if header := _WITHOUT_BODY.search(part.error.msg):
            rest = [line.text.strip() for line in part.lines[int(header[1]) :]]
            comments = [text for text in rest[: last - int(header[1])] if text.startswith("#")]
            if comments or all(text[:1] in ("", "#") for text in rest):  # a comment, or nothing, for a body
                return True
        return any(_PLACEHOLDER.search(line.text) for line in part.lines[max(0, first - 1) : last + 2])
    if part.functions and all(isinstance(node, (*IMPORTS, Function)) for node in part.tree.body):
        return all(map(is_stub, part.functions.values()))
    return returns_outside(part) and not part.functions and not part.classes


def returns_outside(part: CodePart) -> bool:
    """Return whether a part returns where there is no function: it is the inside of one."""
    return any(
        isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom, ast.Await)) for node in outside_functions(part.tree)
    )


def is_stub(node: Function) -> bool:
    """Return whether a function does nothing: only a docstring, imports, `pass` or `...`."""
    return all(
        isinstance(statement, (*IMPORTS, ast.Pass))
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in node.body
    )
