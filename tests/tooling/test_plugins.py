"""Tools from a file: found in order, and every mistake is one line that says where it is and what to do."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from haluagent.errors import ConfigError
from haluagent.tooling.plugins import load_file

TOOL = """
from haluagent import Demo, Sentence, ToolContext, ToolResult, tool

def demos(name):
    return [
        Demo(language=language, question="Q?", response="A.", thought="T", call=f"{name}(sentence=S1)", observation="O")
        for language in ("en", "zh")
    ]

@tool(description={"en": "Looks.", "zh": "看。"}, demos=demos("look"))
async def look(context: ToolContext, sentence: Sentence) -> ToolResult:
    return ToolResult(observation="O")
"""
SECOND = """
@tool(name="NAME", description={"en": "Counts.", "zh": "数。"}, demos=demos("NAME"))
async def other(context: ToolContext, sentence: Sentence) -> ToolResult:
    return ToolResult(observation="O")
"""


@pytest.fixture(autouse=True)
def modules() -> Iterator[None]:
    """What a file brings into the process is taken out again."""
    path, before = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if name.startswith("haluagent_tools_") or name in ("beside", "later"):
            del sys.modules[name]


def write(folder: Path, text: str, name: str = "mine.py") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def names(path: Path) -> list[str]:
    return [item.name for item in load_file(path)]


def test_the_tools_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, TOOL + SECOND.replace("NAME", "count") + "\nagain = look\n")
    assert names(path) == ["look", "count"]


def test_what_a_file_imports_from_beside_it_counts_and_what_is_built_in_does_not(tmp_path: Path) -> None:
    write(tmp_path, TOOL, "beside.py")
    path = write(tmp_path, "from haluagent.tools.date import date\nfrom beside import look\n")
    assert names(path) == ["look"]


def test_a_module_beside_the_file_can_be_imported_when_the_tool_runs(tmp_path: Path) -> None:
    write(tmp_path, "VALUE = 7", "later.py")
    (tmp_path / "json.py").write_text("raise RuntimeError('this hides the one of Python')")
    (item,) = load_file(write(tmp_path, TOOL + "\ndef value():\n    import later\n    return later.VALUE\n"))
    assert item.run.__globals__["value"]() == 7  # type: ignore[attr-defined]
    assert sys.path[-1] == str(tmp_path) and sys.path.count(str(tmp_path)) == 1


def test_two_files_of_one_name_do_not_meet(tmp_path: Path) -> None:
    first = write(tmp_path / "a", TOOL)
    second = write(tmp_path / "b", TOOL.replace("look", "peer"))
    assert names(first) + names(second) == ["look", "peer"]


def test_annotations_that_are_strings_are_read(tmp_path: Path) -> None:
    text = "from __future__ import annotations\nfrom dataclasses import dataclass\n" + TOOL
    assert names(write(tmp_path, text + "\n@dataclass\nclass Row:\n    name: str\n")) == ["look"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"mine\.py has no tool: decorate a function with @haluagent\.tool"),
        ("def f(:\n    pass\n", r"mine\.py:1: SyntaxError: "),
        ("x = 1\nif x:\nx = 2\n", r"mine\.py:3: IndentationError: "),
        ("\nimport no_such_module_here\n", r"mine\.py:2: No module named 'no_such_module_here': install it"),
        ("from haluagent import nothing\n", r"mine\.py:1: ImportError: cannot import name 'nothing'"),
        ("x = 1\ny = x / 0\n", r"mine\.py:2: ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(0)\n", r"mine\.py:2: it exits when it is imported: put .* under if __name__"),
        ("x = '\0'\n", r"mine\.py.*null byte"),
        (TOOL + SECOND.replace("NAME", "look"), "mine.py has two tools named 'look': give one another name"),
        (TOOL.replace('"zh": "看。"', ""), r"mine\.py:10: tool look: add a description in 'zh'"),
        (TOOL.replace('"en", "zh"', '"en", "fr"'), r"mine\.py:\d+: Demo: language: Input should be 'en' or 'zh'"),
        (TOOL.replace("async def", "def"), r"mine\.py:10: tool look: make the function async"),
    ],
)
def test_a_mistake_in_the_file_is_one_line_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    before = set(sys.modules)
    with pytest.raises(ConfigError, match=message) as raised:
        load_file(write(tmp_path, text))
    assert "\n" not in str(raised.value)
    left = {name for name in set(sys.modules) - before if name.startswith("haluagent_tools_")}
    assert bool(left) == ("has" in message)  # only a file that ran to its end stays loaded


def test_a_mistake_beside_the_file_is_told_with_its_own_place(tmp_path: Path) -> None:
    write(tmp_path, "x = (\n", "beside.py")
    with pytest.raises(ConfigError, match=r"beside\.py:1: SyntaxError"):
        load_file(write(tmp_path, "import beside\n"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.py", "there is no file .*none.py: check the path"),
        ("folder", "is a folder: name the Python file"),
        ("tools.txt", "is not a Python file: .*end in .py"),
        ("a\0b.py", "cannot read the tools in"),
    ],
)
def test_a_path_that_is_no_python_file_is_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "tools.txt").write_text(TOOL)
    with pytest.raises(ConfigError, match=message):
        load_file(f"{tmp_path}/{name}")


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_bytes("x = '看看'\n".encode("gbk"))
    with pytest.raises(ConfigError, match=r"mine\.py.*SyntaxError.*utf-8"):
        load_file(path)
