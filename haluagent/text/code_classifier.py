"""Tell code from prose: which language a block is in, and which lines of a text are Python without a fence.

A line of prose may be Python by its syntax (`Done`, `x is y`, 这是结果), so a tree is only believed where it holds what
prose does not: definitions, imports, blocks, calls without a space before the bracket.
"""

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

MAX_CODE = 50_000  # characters of a program that are parsed
MAX_BODY = 2000  # lines of a definition without fences
MAX_BRACKETS = 200  # lines that open brackets and strings may take
MAX_APOSTROPHES = 30  # quotation marks without another, for whose end all of a line is searched
MAX_DEPTH = 30  # brackets that one opens in another


@dataclass(frozen=True)
class SourceLine:
    """A line without its line break; `start` is its place in the text it is from."""

    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def indent(self) -> str:
        return self.text[: len(self.text) - len(self.text.lstrip(" \t"))]

    def cut(self, size: int) -> "SourceLine":
        return SourceLine(self.text[size:], self.start + size)


def parse(code: str) -> ast.Module:
    """Return the syntax tree of a program. Raises SyntaxError where it is not Python, ValueError where it is too long
    or too deep to be read."""
    if len(code) > MAX_CODE or "\0" in code:
        raise ValueError("this code is too long to be read")
    try:
        with warnings.catch_warnings():  # about a backslash in a string, for whoever wrote it
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (RecursionError, MemoryError, OverflowError) as error:
        raise ValueError("this code is nested too deeply to be read") from error


def _tree(code: str) -> ast.Module | None:
    try:
        return parse(code)
    except (SyntaxError, ValueError):
        return None


# --- the language of a block ------------------------------------------------------------------------------------------

_PYTHON_TAG = re.compile(r"(?:i?python|py)[\d.]*")
_TRANSCRIPT_TAGS = {"pycon", "python-repl", "doctest", "python-console"}
_PLAIN_TAGS = {"", "text", "txt", "plaintext", "plain", "none", "code", "代码"}
_OUTPUT_TAGS = {"output", "stdout", "out", "result", "results", "log", "输出"}
_SHELL_TAGS = {"console", "shell", "bash", "sh", "zsh", "terminal", "cmd", "powershell", "shell-session"}
_SHELL_LINE = re.compile(
    r"(?:[$%] |[\w.-]+@[\w.-]+[:~].*[$#] |PS .*> |(?:pip3?|conda|apt(?:-get)?|npm) install |python3? [\w./-]+\.py\b)"
)
_TREE_OF_FILES = re.compile(r"^[ \t│|]*[├└]──", re.MULTILINE)
_OTHER = {
    "javascript": r"^[ \t]*(?:const|let|var)\s+\w+[ \t]*=|=>[ \t]*\{|\bfunction\b.*\{[ \t]*$|console\.log\(",
    "java": r"^[ \t]*(?:public|private|protected)\s.*[{;][ \t]*$|System\.out\.print",
    "c": r"^[ \t]*#include[ \t]*[<\"]|\bint\s+main[ \t]*\(",
    "go": r"^package \w+$|^func .*\{[ \t]*$",
    "rust": r"^[ \t]*(?:pub )?fn \w+.*\{[ \t]*$|println!\(",
    "php": r"<\?php",
    "html": r"^[ \t]*<(?:!DOCTYPE|html|div|body|p|script)\b",
    "sql": r"^[ \t]*(?:SELECT\s.+\sFROM|INSERT INTO|CREATE TABLE|UPDATE\s.+\sSET)\b",
    "json": r"\A[ \t]*[{\[][ \t]*\"[^\"]*\"[ \t]*:",
}
_DEFINITION = re.compile(
    r"^[ \t]*(?:(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(|class[ \t]+\w+[ \t]*(?:\(.*\))?[ \t]*:)", re.MULTILINE
)


def code_language(tag: str, code: str) -> str:
    """Return the language of a fenced block by its tag and its look; a tag of another language is only overruled by
    whole definitions or imports in Python."""
    first = next(line for line in code.split("\n") if line.strip()).strip()
    python = bool(_PYTHON_TAG.fullmatch(tag))
    if first.startswith(">>>") or tag in _TRANSCRIPT_TAGS:
        return "pycon"
    if tag in ("diff", "patch") or ((python or tag in _PLAIN_TAGS) and _is_diff(code)):
        return "diff"
    if tag in _OUTPUT_TAGS or first.startswith("Traceback (most recent call last)"):
        return "output"
    if _TREE_OF_FILES.search(code):
        return ""
    if python:
        return "console" if _is_shell(code) else "python"
    tree = _tree(code)
    if tree is not None and _certain(tree):
        return "python"
    if tag in _SHELL_TAGS:
        return "console"
    if tag not in _PLAIN_TAGS:
        return tag
    if _is_shell(code):
        return "console"
    for language, pattern in _OTHER.items():
        if re.search(pattern, code, re.MULTILINE):
            return language
    if tree is not None and _likely(tree):
        return "python"
    return "python" if _DEFINITION.search(code) and ":" in code else ""


def _is_shell(code: str) -> bool:
    return bool(_SHELL_LINE.match(code.lstrip())) and _tree(code) is None


def _is_diff(code: str) -> bool:
    lines = code.split("\n")
    if any(re.match(r"@@ .*@@|(?:\+\+\+|---) \S", line) for line in lines):
        return True
    changed = {line[:1] for line in lines if re.match(r"[-+](?!\s*\d)", line)}
    return changed == {"-", "+"} and _tree(code) is None


def _certain(tree: ast.Module) -> bool:
    """Return whether there are definitions or imports: no other language parses as these."""
    return any(isinstance(node, (*_DEFINITIONS, ast.Import, ast.ImportFrom)) for node in tree.body)


def _likely(tree: ast.Module) -> bool:
    """Return whether a statement does something. What a program prints (`x = 5`, `Point(x=1)`, `[1, 2]`) parses as
    well."""
    return any(
        isinstance(node, (ast.Assert, ast.AugAssign)) or (isinstance(node, ast.Assign) and _calls_a_name(node.value))
        for node in tree.body
    ) or _does_something(tree)


def _calls_a_name(tree: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)) for node in ast.walk(tree)
    )


def _does_something(tree: ast.Module) -> bool:
    """Return whether there is a loop, a condition, or a call of a method or of print: more than a formula has."""
    values = [node.value for node in tree.body if isinstance(node, ast.Expr)]
    called = [value.func for value in values if isinstance(value, ast.Call)]
    return any(isinstance(node, _BLOCKS) for node in tree.body) or any(
        isinstance(function, ast.Attribute) or (isinstance(function, ast.Name) and function.id == "print")
        for function in called
    )


# --- Python without a fence -------------------------------------------------------------------------------------------

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BLOCKS = (ast.For, ast.While, ast.If, ast.With, ast.Try, ast.AsyncFor, ast.AsyncWith)
_NAME = r"[A-Za-z_][\w.]*"
_AS = rf"{_NAME}(?:\s+as\s+\w+)?"
_HEADER = re.compile(rf"(?:async\s+)?def\s+\w+\s*\(|class\s+\w+\s*(?:\(.*\))?\s*:|@{_NAME}(?:\(.*\))?\s*$")
_IMPORT = re.compile(
    rf"(?:import\s+{_AS}(?:\s*,\s*{_AS})*|from\s+\.*{_NAME}\s+import\s+(?:\(.*|\*|{_AS}(?:\s*,\s*{_AS})*))\s*(?:#.*)?$"
)
_OPENS_BLOCK = re.compile(r"(?:if|for|while|with|try|async\s+(?:for|with))\b.*:\s*(?:#.*)?$")
_CLAUSE = re.compile(r"(?:elif|else|except|finally)\b.*:")
# The beginning of any line of code, as far as one can see without reading on.
_MAY_BEGIN = re.compile(
    rf"(?:async|def|class|import|from|if|for|while|with|try|print|assert|raise|return|del|await)\b|[@(\[]|{_NAME}\s*[(\[,:]"
    rf"|{_NAME}\s*(?:[-+*/%&|^@]|//|\*\*|<<|>>)?="
)
_LABEL = re.compile(r"[^\n:：`]{1,30}[:：]\s*(?=(?:def\s+\w+\s*\(|class\s+\w+\s*[(:]|from\s+\w[\w.]*\s+import\s))")
_TOKEN = re.compile(r"#.*|\"\"\"|'''|\"(?:\\.|[^\"\\])*+\"|'(?:\\.|[^'\\])*+'|[()\[\]{}\"']")


def unfenced(lines: list[SourceLine]) -> Iterator[list[SourceLine]]:
    """Yield the runs of lines that are Python among lines of prose, without blank lines at their ends."""
    lines = list(lines)
    at = 0
    while at < len(lines):
        if label := _LABEL.match(lines[at].text):
            lines[at] = lines[at].cut(label.end())
        run, at = _run(lines, at)
        if run:
            yield run


def _run(lines: list[SourceLine], at: int) -> tuple[list[SourceLine], int]:
    """Return the code that stands at line `at`, empty where there is none, and the line to go on from."""
    begin, taken = at, at
    units: list[str] = []
    indent = lines[at].indent
    while at < len(lines):
        text = lines[at].text.strip()
        if text.startswith("#") or (not text and units):  # comments and white space belong to what follows
            at += 1
            continue
        if lines[at].indent != indent or not _MAY_BEGIN.match(text):
            break
        end = _statement_end(lines, at, len(indent))
        unit = "\n".join(line.text[len(indent) :] for line in lines[at:end])
        if not _is_statement(unit, bool(units), bool(indent)):
            break
        units.append(unit)
        taken = at = end
    if _is_program(units):
        return lines[begin:taken], taken
    return [], max(at, begin + 1)


def _statement_end(lines: list[SourceLine], at: int, indent: int) -> int:
    """Return the line after a statement: its open brackets and strings, its indented body, and its further clauses."""
    by_brackets = _brackets_end(lines, at)
    end = by_brackets or at + 1
    while end < len(lines) and end - at < MAX_BODY:
        behind = next((i for i in range(end, min(len(lines), end + 4)) if lines[i].text.strip()), len(lines))
        if behind == len(lines):
            break
        deeper = len(lines[behind].indent) > indent
        clause = len(lines[behind].indent) == indent and _CLAUSE.match(lines[behind].text.strip())
        definition = lines[behind - 1].text.lstrip().startswith("@") and _HEADER.match(lines[behind].text.strip())
        if not deeper and not clause and not definition:
            break
        end = _brackets_end(lines, behind) or behind + 1
    return end


def _brackets_end(lines: list[SourceLine], at: int) -> int | None:
    """Return the line after the one where every bracket and string that opens on line `at` is closed; None where that
    never comes."""
    depth, quote, apostrophes = 0, "", 0
    for index in range(at, min(len(lines), at + MAX_BRACKETS)):
        text, place = lines[index].text, 0
        while place < len(text):
            if quote:
                closed = text.find(quote, place)
                if closed < 0:
                    break
                place, quote = closed + 3, ""
                continue
            token = _TOKEN.search(text, place)
            if token is None:
                break
            place = token.end()
            if token[0] in ('"""', "'''"):
                quote = token[0]
            elif token[0] in "([{":
                depth += 1
            elif token[0] in ")]}":
                depth -= 1
            elif token[0] in "\"'" and (apostrophes := apostrophes + 1) > MAX_APOSTROPHES:
                return None
        if depth <= 0 and not quote and not text.endswith("\\"):
            return index + 1
        if depth > MAX_DEPTH:
            break
    return None


def _is_statement(unit: str, inside: bool, indented: bool) -> bool:
    """Return whether lines are a statement of code. `inside` is after other code, where less is needed."""
    first, _, body = unit.partition("\n")
    tree = _tree(unit)
    if _HEADER.match(first):
        return tree is not None or bool(body.strip())
    if _IMPORT.match(first):
        return True
    if tree is None:  # code with a mistake in it
        return bool(
            (_OPENS_BLOCK.match(first) and body.strip())
            or (inside and re.match(r"print[ (]|assert |\w+\((?:[^)]*|.*\))$", first))
        )
    if len(tree.body) != 1:
        return all(isinstance(node, (ast.Assign, ast.Expr, *_BLOCKS)) for node in tree.body) and ";" in first
    node = tree.body[0]
    if isinstance(node, (*_BLOCKS, ast.Assert, ast.AugAssign)):
        return True
    if isinstance(node, (ast.Return, ast.Raise, ast.Delete)):
        return indented or (inside and not isinstance(node, ast.Return))
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        return node.value is not None
    call = node.value if isinstance(node, ast.Expr) else None
    call = call.value if isinstance(call, ast.Await) else call
    return isinstance(call, ast.Call) and bool(re.match(rf"(?:await )?{_NAME}(?:\[[^\]]*\])?\(|\(", first))


def _is_program(units: list[str]) -> bool:
    """Return whether statements are more than what prose may look like: a definition, an import with something after
    it, or several lines that do something."""
    if any(_DEFINITION.match(unit) or unit.startswith("@") for unit in units):
        return True
    if any(_IMPORT.match(unit.partition("\n")[0]) for unit in units):
        return len(units) > 1
    code = "\n".join(units)
    tree = _tree(code)
    return tree is not None and "\n" in code and _does_something(tree) and not re.search(r"[;{}]$", code, re.MULTILINE)
