"""What the project says about itself: one version, one address, every package, and a workflow that runs the tests."""

import importlib.metadata
import re
import tomllib
from typing import Any

import pytest
import yaml
from places import ROOT

from haluagent import __version__

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def read_yaml(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def test_the_version_stands_in_one_place() -> None:
    assert "version" not in PROJECT and PROJECT["dynamic"] == ["version"]
    assert PYPROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "haluagent.__version__"}
    assert importlib.metadata.version("haluagent") == __version__


def test_the_citation_is_of_this_version() -> None:
    citation = read_yaml("CITATION.cff")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert citation["version"] == __version__
    assert f"## [{__version__}] - {citation['date-released']}" in changelog
    assert citation["license"] == PROJECT["license"]
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert all(paper["title"] in (ROOT / "README.md").read_text(encoding="utf-8") for paper in citation["references"])


def test_every_address_is_of_the_same_repository() -> None:
    repository = PROJECT["urls"]["Repository"]
    assert read_yaml("CITATION.cff")["repository-code"] == repository
    files = [ROOT / "CITATION.cff", *ROOT.glob("*.md"), *(ROOT / ".github").rglob("*.yml")]
    found = {
        address for file in files for address in re.findall(r"https://github\.com/haluagent/\w+", file.read_text())
    }
    assert {*found, *(address[: len(repository)] for address in PROJECT["urls"].values())} == {repository}


def test_every_package_is_in_the_wheel() -> None:
    folders = PYPROJECT["tool"]["setuptools"]["package-dir"]
    packages = []
    for package, folder in folders.items():
        for path in (ROOT / folder).rglob("__init__.py"):
            packages.append(".".join([package, *path.parent.relative_to(ROOT / folder).parts]))
    assert sorted(packages) == sorted(PYPROJECT["tool"]["setuptools"]["packages"])


def test_the_workflow_runs_the_test_command_of_the_readme_with_every_python() -> None:
    workflow = read_yaml(".github/workflows/tests.yml")
    (job,) = workflow["jobs"].values()
    (command,) = re.findall(r"^\$ (make test)$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    assert job["steps"][-1]["run"] == command
    listed = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", line)]
    assert job["strategy"]["matrix"]["python"] == listed
    assert PROJECT["requires-python"] == f">={listed[0]}" and workflow["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("form", [path.name for path in FORMS if path.name != "config.yml"])
def test_a_form_asks_for_what_an_answer_needs(form: str) -> None:
    asked = read_yaml(f".github/ISSUE_TEMPLATE/{form}")
    assert {"name", "description", "body"} <= asked.keys()
    fields = {part["id"]: part for part in asked["body"] if part["type"] != "markdown"}
    required = {name for name, part in fields.items() if part.get("validations", {}).get("required")}
    needed = {
        "bug.yml": {"command", "output", "version", "engine"},
        "wrong_verdict.yml": {"question", "response", "verdict", "expected", "version"},
    }
    assert needed[form] <= required
    assert form != "wrong_verdict.yml" or "reference" in fields
