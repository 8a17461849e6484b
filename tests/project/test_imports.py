"""`import haluagent` is light, writes nothing, and comes from the installed wheel in CI."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from places import ROOT

import haluagent

HEAVY = ["torch", "vllm", "docker", "googleapiclient", "sympy", "xllamacpp", "numpy", "httpx", "transformers", "pint"]


def run(code: str, tmp_path: Path) -> str:
    environment = os.environ | {"HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment, check=True
    )
    assert done.stderr == ""
    return done.stdout


def test_importing_loads_nothing_heavy_and_writes_nothing(tmp_path: Path) -> None:
    code = f"import sys, json, haluagent; print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    assert json.loads(run(code, tmp_path)) == []
    assert list(tmp_path.iterdir()) == []


def test_importing_the_tools_loads_no_computer_algebra_and_no_units(tmp_path: Path) -> None:
    code = (
        "import sys; from haluagent.tools import default_registry; default_registry(); "
        "print('sympy' in sys.modules, 'pint' in sys.modules)"
    )
    assert run(code, tmp_path).strip() == "False False"


def test_python_started_in_a_checkout_works_too() -> None:
    """Python puts the current folder first, and there the package's rooms stand beside it: whoever follows the README in a
    clone starts it there, with the wheel installed."""
    code = (
        "import haluagent.tools; from haluagent.prompts import render; "
        "print(haluagent.__file__, render('opinion', 'en', question='q', claim='c')[:9])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.startswith(str(ROOT / "haluagent" / "__init__.py")) and "<question" in done.stdout


def test_every_public_name_is_there() -> None:
    for name in haluagent.__all__:
        assert getattr(haluagent, name) is not None
    with pytest.raises(AttributeError):
        haluagent.no_such_name  # noqa: B018


def test_tools_are_one_module_under_one_name(tmp_path: Path) -> None:
    """A second import path would make a second registry."""
    code = (
        "import sys, haluagent.tools.match; print([n for n in sys.modules if n.split('.')[0] in ('tools', 'prompts')])"
    )
    assert run(code, tmp_path).strip() == "[]"


@pytest.mark.parametrize("name", ["haluagent.haluagent", "haluagent.tests", "haluagent.examples"])
@pytest.mark.parametrize("flags", [[], ["-P"]], ids=["checkout first", "installed alone"])
def test_nothing_beside_the_package_is_part_of_it(name: str, flags: list[str]) -> None:
    """Also where Python is started in a checkout, whose root holds the rooms, the tests and the examples."""
    command = [sys.executable, *flags, "-c", f"import {name}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.stderr.endswith(f"ModuleNotFoundError: No module named '{name}'\n")


def test_the_packages_are_listed_as_they_are_on_the_disk() -> None:
    """A package that is missing from the list is missing from the wheel."""
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    packages = {
        ".".join([name, *path.parent.relative_to(ROOT / room).parts]): path.parent
        for name, room in setuptools["package-dir"].items()
        for path in (ROOT / room).rglob("__init__.py")
    }
    assert sorted(packages) == setuptools["packages"]
    data = {
        path
        for name, patterns in setuptools["package-data"].items()
        for one in patterns
        for path in packages[name].glob(one)
    }
    rooms = setuptools["package-dir"].values()
    modules = {path for room in rooms for path in (ROOT / room).rglob("*.py") if path.parent not in packages.values()}
    assert modules <= data, "these are in no package"


@pytest.mark.skipif(os.environ.get("HALUAGENT_TEST_INSTALLED") != "1", reason="only where the wheel is installed")
def test_the_installed_wheel_is_what_is_tested() -> None:
    assert "site-packages" in haluagent.__file__
    assert not (ROOT / "haluagent" / "__init__.py").samefile(haluagent.__file__)
