"""The tests that a response brings along: which of its assertions count as tests, and the calls of those that nothing
calls."""

import ast
import re
from collections.abc import Iterator, Sequence

from haluagent.tools.code_interpreter.parts import CodePart, Function

_TEST_NAME = re.compile(r"test|check|verify|assert|validate|demo|example|^main$|测试|验证|检查", re.I)
_RUNS_BY_ITSELF = re.compile(r"tests?(?:_|$)|(?:.*_)?tests?$|check$|run_\w*tests?$|test[A-Z]|测试|验证", re.I)
_CATCHES_FAILURES = {"AssertionError", "Exception", "BaseException"}


def counted(part: CodePart, program: Sequence[CodePart]) -> Iterator[ast.Assert]:
    """Return the assertions of a part that are tests: in the open, or in a function that tests another one. Those that
    guard the arguments of a function are none, nor those whose failure nobody would see."""
    functions = {name for other in program for name in (*other.functions, *other.classes)}
    cases = test_cases(program)  # their methods are counted when they are run
    todo: list[tuple[ast.AST, bool]] = [(part.tree, True)]
    while todo:
        node, counts = todo.pop()
        if isinstance(node, ast.Assert):
            if counts and not isinstance(node.test, ast.Constant):
                yield node
            continue
        if isinstance(node, ast.ClassDef) and node.name in cases:
            continue
        if isinstance(node, Function):
            counts = _is_test(node, functions)
        elif isinstance(node, ast.Try) and any(map(_catches_failures, node.handlers)):
            todo += [(child, counts) for child in (*node.handlers, *node.orelse, *node.finalbody)]
            continue
        todo += [(child, counts) for child in ast.iter_child_nodes(node)]


def _is_test(node: Function, functions: set[str]) -> bool:
    """Return whether a function, by its name and by what it calls, tests another one."""
    callables = functions - {node.name} | {argument.arg for argument in node.args.args}
    called = {
        inner.func.id for inner in ast.walk(node) if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name)
    }
    return bool(_TEST_NAME.search(node.name) and called & callables)


def _catches_failures(handler: ast.ExceptHandler) -> bool:
    names = (
        {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}
        if handler.type
        else _CATCHES_FAILURES
    )
    raises_again = any(isinstance(node, ast.Raise) for node in ast.walk(handler))
    return bool(names & _CATCHES_FAILURES) and not raises_again


def uncalled(part: CodePart, program: Sequence[CodePart], question: str) -> list[str]:
    """Return calls of those tests of a part that nothing in the program runs: `check(add)`, `test_add()`, a
    TestCase."""
    used = {name for other in program for name in other.used}
    cases = test_cases(program)
    calls = []
    for node in part.tree.body:
        if isinstance(node, ast.ClassDef) and node.name in cases:
            calls.append(f"_haluagent.suite({node.name})")
        elif isinstance(node, ast.FunctionDef) and node.name not in used and is_test_function(node.name):
            call = _call(node, program, question)
            if call and any(isinstance(inner, ast.Assert) for inner in ast.walk(node)):
                calls.append(call)
    return calls


def tests_alone(part: CodePart) -> CodePart | None:
    """Return the test functions and test classes of a part, without the rest of it."""
    cases = test_cases([part])
    tests = [
        node
        for node in part.tree.body
        if (isinstance(node, ast.ClassDef) and node.name in cases)
        or (isinstance(node, Function) and is_test_function(node.name))
    ]
    lines = [line for node in tests for line in part.lines[node.lineno - 1 : node.end_lineno]]
    return CodePart(tuple(lines), part.block) if lines else None


def test_cases(program: Sequence[CodePart]) -> set[str]:
    """Return the names of the classes that derive from unittest.TestCase."""
    found: set[str] = set()
    for part in program:
        for name, node in part.classes.items():
            bases = {base.id if isinstance(base, ast.Name) else getattr(base, "attr", "") for base in node.bases}
            if bases & ({"TestCase", "IsolatedAsyncioTestCase"} | found):
                found.add(name)
    return found


def is_test_function(name: str) -> bool:
    return bool(_RUNS_BY_ITSELF.match(name))


def _call(test: ast.FunctionDef, program: Sequence[CodePart], question: str) -> str | None:
    required = test.args.args[: len(test.args.args) - len(test.args.defaults)]
    if test.args.kwonlyargs or test.args.posonlyargs or test.decorator_list:
        return None
    if not required:
        return f"{test.name}()"
    candidate = required[0].arg
    calls = [
        node for node in ast.walk(test) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == candidate
    ]
    if len(required) > 1 or not calls:
        return None
    entry = _entry(program, test, calls, question)
    return entry and f"{test.name}({entry})"


def _entry(program: Sequence[CodePart], test: ast.FunctionDef, calls: Sequence[ast.Call], question: str) -> str | None:
    """Return the function that a test with a candidate is for: the last that takes the arguments of its calls, and one
    that the question names if it names one."""
    found: list[tuple[bool, str]] = []
    for part in program:
        for name, node in part.functions.items():
            if node is not test and not is_test_function(name) and all(takes(node, call) for call in calls):
                found.append((bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", question)), name))
    named = [name for in_question, name in found if in_question]
    names = named or [name for _, name in found]
    return names[-1] if names else None


def takes(node: Function, call: ast.Call) -> bool:
    """Return whether a function can be called like this, as far as the number and the names of arguments tell."""
    arguments = node.args
    positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    if any(isinstance(value, ast.Starred) for value in call.args) or any(word.arg is None for word in call.keywords):
        return True
    if len(call.args) > len(positional) and not arguments.vararg:
        return False
    words = {word.arg for word in call.keywords}
    known = {*positional, *(argument.arg for argument in arguments.kwonlyargs)}
    required = positional[len(call.args) : len(positional) - len(arguments.defaults)]
    return (words <= known or arguments.kwarg is not None) and set(required) <= words
