"""Tools from installed packages: found through their entry points, each mistake with the package's name."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from places import ROOT

TOOL = """
from haluagent import Demo, Sentence, ToolContext, ToolResult, tool

def make(name):
    demos = [
        Demo(language=language, question="Q?", response="A.", thought="T", call=f"{name}(sentence=S1)", observation="O")
        for language in ("en", "zh")
    ]

    @tool(name=name, description={"en": "Looks.", "zh": "看。"}, demos=demos)
    async def run(context: ToolContext, sentence: Sentence) -> ToolResult:
        return ToolResult(observation="O")

    return run
"""
Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Lay a package out as an installer does, and return the folder that it is in."""

    def lay_out(package: str, code: str, *entries: str) -> Path:
        site = tmp_path / "site"
        information = site / f"{package}-1.0.dist-info"
        information.mkdir(parents=True)
        (site / f"{package}.py").write_text(code, encoding="utf-8")
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (information / "entry_points.txt").write_text("\n".join(["[haluagent.tools]", *entries]) + "\n")
        return site

    return lay_out


def run(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line, in a process that finds the packages in `site`."""
    environment = os.environ | {"PYTHONPATH": str(site), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "haluagent", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=site, encoding="utf-8")


def test_a_package_adds_a_tool_or_several(install: Install) -> None:
    code = TOOL + "\nlook = make('look')\nmore = [make('peer'), make('glance')]\n"
    site = install("halu_looks", code, "look = halu_looks:look", "more = halu_looks:more")
    listed = run(site, "tools", "list")
    assert listed.returncode == 0, listed.stderr
    assert {"look(sentence)", "peer(sentence)", "glance(sentence)", "date(sentence, start?, end?)"} <= set(
        listed.stdout.splitlines()
    )
    assert run(site, "tools", "test", "peer").returncode == 0


@pytest.mark.parametrize(
    ("code", "entry", "message"),
    [
        (
            "import no_such_module_here",
            "look = PACKAGE:look",
            "ModuleNotFoundError: No module named 'no_such_module_here'",
        ),
        ("raise SystemExit(0)", "look = PACKAGE:look", "exits when it is imported"),
        ("look = 1 / 0", "look = PACKAGE:look", "ZeroDivisionError"),
        ("", "look = PACKAGE:look", "AttributeError"),
        ("def look(): ...", "look = PACKAGE:look", "which is no tool and no list of tools"),
        (TOOL + "\nlook = [make('look'), 1]", "look = PACKAGE:look", "which is no tool and no list of tools"),
        (TOOL + "\nlook = make('date')", "look = PACKAGE:look", "offers a tool named 'date', and there already is one"),
        (TOOL + "\nlook = make('get_answer')", "look = PACKAGE:look", "offers a tool named 'get_answer'"),
        (TOOL + "\nlook = [make('a'), make('a')]", "look = PACKAGE:look", "offers a tool named 'a'"),
        (
            TOOL.replace('"zh": "看。"', '"zh": ""') + "\nlook = make('a')",
            "look = PACKAGE:look",
            "add a description in 'zh'",
        ),
    ],
)
def test_a_package_that_is_broken_is_named_with_what_to_do(
    install: Install, code: str, entry: str, message: str
) -> None:
    site = install("halu_broken", code, entry.replace("PACKAGE", "halu_broken"))
    done = run(site, "tools", "list")
    assert done.returncode == 2 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert message in line
    assert "the package halu_broken" in line and "pip uninstall halu_broken" in line


def setuptools_builds_wheels() -> bool:
    """Since 70.1 it does without the package `wheel`."""
    try:
        return tuple(map(int, version("setuptools").split(".")[:2])) >= (70, 1)
    except PackageNotFoundError:
        return False


@pytest.mark.skipif(not setuptools_builds_wheels(), reason="needs setuptools of 70.1 or later")
def test_the_package_of_the_documentation_installs_and_works(tmp_path: Path) -> None:
    source, site = tmp_path / "source", tmp_path / "site"
    source.mkdir()
    text = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
    for name, language in (("leap_year.py", "python"), ("pyproject.toml", "toml")):
        (block,) = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        (source / name).write_text(block, encoding="utf-8")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--target", str(site), str(source)], check=True, capture_output=True)
    listed = run(site, "tools", "list")
    assert "leap_year(sentence)" in listed.stdout.splitlines(), listed.stderr
    assert run(site, "tools", "test", "leap_year").returncode == 0
