"""The syntax tree of an expression, in which nothing but arithmetic may stand. No text is ever executed."""

import ast
from fractions import Fraction

from haluagent.arithmetic.notation import FUNCTIONS
from haluagent.errors import ToolError

MAX_EXPONENT = 100
EXAMPLES = "15 * 6, (3 + 4) / 2 or 3x + 5 = 63"
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_NAMES = LETTERS | {"pi"}
_CALLS = FUNCTIONS | {"factorial"}
_SHAPES = (
    ast.BinOp, ast.UnaryOp, ast.Constant, ast.Name, ast.Call, ast.Load,
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.UAdd, ast.USub,
)  # fmt: skip


def syntax(text: str) -> ast.expr:
    """Return the syntax tree of an expression, where it holds nothing but arithmetic. Raises ToolError."""
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ToolError(f"{text[:60]!r} cannot be read as a formula; write one such as {EXAMPLES}") from None
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        allowed = isinstance(node, _SHAPES)
        if isinstance(node, ast.Name):
            allowed = node.id in (_CALLS if id(node) in called else _NAMES)
        elif isinstance(node, ast.Call):
            allowed = isinstance(node.func, ast.Name) and bool(node.args) and not node.keywords
        elif isinstance(node, ast.Constant):
            allowed = type(node.value) in (int, float)
        if not allowed:
            raise ToolError(f"{text[:60]!r} is not plain arithmetic; write one such as {EXAMPLES}")
    return tree


def literal(node: ast.Constant, text: str) -> Fraction:
    """Return the exact number a literal in `text` stands for: Python's own float would have lost digits. Raises
    ToolError."""
    try:
        return Fraction(text[node.col_offset : node.end_col_offset])
    except ValueError:
        raise ToolError(f"{text[node.col_offset : node.end_col_offset][:20]!r} is not a number") from None
