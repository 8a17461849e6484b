"""Nothing a model writes is executed on the host: the tree is read for every way in."""

import ast
from pathlib import Path

import pytest
from places import ROOT

SOURCES = sorted(
    path for room in ("haluagent", "tools", "prompts", "sandbox", "examples") for path in (ROOT / room).rglob("*.py")
)
# Runs programs, inside of a sandbox: there it is all that there is. The host only reads it as text.
RUNNER = ROOT / "sandbox" / "worker" / "runner.py"
FORBIDDEN_NAMES = {"eval", "exec", "compile", "__import__", "sympify", "parse_expr", "execfile"}
FORBIDDEN_ATTRIBUTES = {
    "sympify",
    "parse_expr",
    "system",
    "popen",
    "eval",
    "exec",
    "create_subprocess_shell",
    "getoutput",
}
FORBIDDEN_IMPORTS = {"pickle", "marshal", "shelve", "dill", "cloudpickle"}


def dangers(tree: ast.AST) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_NAMES:
                found.append(f"line {node.lineno}: {node.func.id}()")
            if isinstance(node.func, ast.Attribute) and node.func.attr in FORBIDDEN_ATTRIBUTES:
                found.append(f"line {node.lineno}: .{node.func.attr}()")
            found += [f"line {node.lineno}: shell=" for word in node.keywords if word.arg == "shell"]
        names = [alias.name for alias in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
        if isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
            found += [f"line {node.lineno}: import {name}" for name in names if name in FORBIDDEN_NAMES]
        found += [f"line {node.lineno}: import {name}" for name in names if name.split(".")[0] in FORBIDDEN_IMPORTS]
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_way_to_run_text(path: Path) -> None:
    found = dangers(ast.parse(path.read_text(encoding="utf-8")))
    if path == RUNNER:
        assert [danger.partition(": ")[2] for danger in found] == ["compile()", "exec()"]
    else:
        assert found == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_imports_what_runs_in_the_sandbox(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert not any(alias.name.split(".")[-1] == "runner" for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[-1] != "runner"
            assert not any(alias.name == "runner" for alias in node.names)


@pytest.mark.parametrize(
    "code",
    [
        "eval('1')", "exec(x)", "subprocess.run(x, shell=True)", "sympy.sympify(x)", "from sympy import sympify",
        "parse_expr(x)", "import pickle", "os.system(x)", "from sympy.parsing.sympy_parser import parse_expr",
    ],
)  # fmt: skip
def test_the_reader_sees_what_it_looks_for(code: str) -> None:
    assert dangers(ast.parse(code))


def test_there_is_something_to_read() -> None:
    assert len(SOURCES) > 30
