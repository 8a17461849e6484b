"""What is installed: few mandatory dependencies, the rest in extras that are named where they are missing."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
MANDATORY: list[str] = PROJECT["project"]["dependencies"]
LOCK = ROOT / "requirements.lock"
# Where the module is not called as the package is.
MODULES = {
    "beautifulsoup4": "bs4", "google-api-python-client": "googleapiclient", "openai-agents": "agents",
    "opentelemetry-sdk": "opentelemetry.sdk", "opentelemetry-exporter-otlp-proto-http": "opentelemetry.exporter",
    "llama-index-core": "llama_index",
}  # fmt: skip
NOT_EXTRA = {"all", "dev", "docs"}  # groups of the others, and of what develops them


def requirements(extra: str) -> Iterator[Requirement]:
    """The packages of an extra, those of the extras that it names included."""
    for requirement in map(Requirement, EXTRAS[extra]):
        if requirement.name == "haluagent":
            for other in sorted(requirement.extras):
                yield from requirements(other)
        else:
            yield requirement


def modules(*extras: str) -> list[str]:
    names = [requirement.name for extra in extras for requirement in requirements(extra)]
    return sorted({MODULES.get(name, name.replace("-", "_")) for name in names})


def run_without(blocked: list[str], code: str, folder: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run Python code where modules cannot be imported, as if they were not installed."""
    blocker = f"import sys; sys.modules.update(dict.fromkeys({blocked!r}))"
    private = {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CONFIG", "CACHE", "DATA", "STATE")}
    return subprocess.run(
        [sys.executable, "-c", f"{blocker}\n{code}"],
        capture_output=True, text=True, cwd=folder, env=os.environ | private | environment,
    )  # fmt: skip


def command_without(blocked: list[str], *arguments: str, folder: Path, **environment: str) -> tuple[int, str, str]:
    code = f"from haluagent.cli.main import run; sys.exit(run({list(arguments)!r}))"
    done = run_without(blocked, code, folder, **environment)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def test_at_most_fifteen_are_mandatory() -> None:
    assert len(MANDATORY) <= 15


def test_everything_else_loads_without_the_extras(tmp_path: Path) -> None:
    """Each module of the package loads with the mandatory dependencies alone, or says which extra it needs. Only the
    parts behind a door that says so first may fail as Python does."""
    code = """
import importlib, json, pkgutil, haluagent
from haluagent.errors import ConfigError
failed = {}
for found in pkgutil.walk_packages(haluagent.__path__, "haluagent.", onerror=lambda name: None):
    if not found.name.endswith("__main__") and ".workers." not in found.name:
        try:
            importlib.import_module(found.name)
        except ConfigError as error:
            assert 'pip install "haluagent[' in str(error), (found.name, error)
        except ImportError as error:
            failed[found.name] = str(error)
print(json.dumps(failed))
"""
    blocked = modules(*EXTRAS.keys() - NOT_EXTRA)
    assert {"bs4", "docker", "googleapiclient", "numpy", "pypdf", "torch", "xllamacpp"} <= set(blocked)
    done = run_without(blocked, code, tmp_path)
    assert done.returncode == 0, done.stderr
    # `serve` and `train` look for their extras first, and so does what calls the reader of ZIM files.
    behind_doors = ("haluagent.server.", "haluagent.train.", "haluagent.search.knowledge.archive")
    assert {name: error for name, error in json.loads(done.stdout).items() if not name.startswith(behind_doors)} == {}


def test_texts_are_indexed_without_extras_and_what_needs_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name, text in {
        "a.txt": "The Seine is 777 kilometres long.", "b.md": "# Curie\n\nMarie Curie won two Nobel Prizes.",
        "c.jsonl": json.dumps({"text": "北京是中国的首都。"}), "d.html": "<p>Nothing of this can be read.", "e.pdf": "%PDF",
    }.items():  # fmt: skip
        (tmp_path / "docs" / name).write_text(text, encoding="utf-8")
    blocked = modules(*EXTRAS.keys() - NOT_EXTRA)
    code, out, err = command_without(blocked, "index", "add", "docs", "--index", "i.db", folder=tmp_path)
    assert code == 0 and "3 added, 2 could not be read" in " ".join(out.split())
    assert err.count('pip install "haluagent[documents]"') == 2
    code, out, _ = command_without(blocked, "index", "search", "北京", "--index", "i.db", "--json", folder=tmp_path)
    assert code == 0 and "首都" in json.loads(out)[0]["text"]
    code, out, err = command_without(blocked, "index", "add", "docs/e.pdf", "--index", "j.db", folder=tmp_path)
    assert code == 2 and 'a PDF file needs one more package: pip install "haluagent[documents]"' in " ".join(
        err.split()
    )


def test_what_the_index_has_of_a_file_stays_while_its_reader_is_missing(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<p>The first text.", encoding="utf-8")
    assert command_without([], "index", "add", "a.html", "--index", "i.db", folder=tmp_path)[0] == 0
    (tmp_path / "a.html").write_text("<p>Another text that is longer.", encoding="utf-8")
    assert command_without(["bs4"], "index", "add", "a.html", "--index", "i.db", folder=tmp_path)[0] == 2
    _, out, _ = command_without(["bs4"], "index", "search", "first", "--index", "i.db", "--json", folder=tmp_path)
    assert [found["text"] for found in json.loads(out)] == ["The first text."]


@pytest.mark.parametrize(
    ("extra", "missing", "arguments", "environment"),
    [
        ("google", "googleapiclient", "detect --question q --response r.", {"HALUAGENT_SEARCH": "google"}),
        ("docker", "docker", "sandbox run program.py --sandbox docker", {}),
        ("docker", "docker", "sandbox build", {}),
        ("mcp", "mcp", "mcp", {}),
        ("mcp", "starlette", "mcp --http --port 0", {}),
        ("documents", "bs4", "detect --question q --response r. --search mediawiki --fetch-pages", {"GOOGLE_API_KEY": ""}),
        ("documents", "pypdf", "detect --question q --response r. --search mediawiki --fetch-pages", {"GOOGLE_API_KEY": ""}),
        ("bench", "numpy", "bench report run.jsonl", {}),
        ("bench", "numpy", "calibrate --data . --out rows.jsonl --fit-only rows.jsonl", {}),
    ],
)  # fmt: skip
def test_a_missing_extra_is_named_in_one_line(
    tmp_path: Path, extra: str, missing: str, arguments: str, environment: dict[str, str]
) -> None:
    (tmp_path / "program.py").write_text("print(1)", encoding="utf-8")
    settings = {
        "GOOGLE_API_KEY": "k",
        "GOOGLE_CSE_ID": "e",
        "HALUAGENT_BASE_URL": "http://127.0.0.1:9/v1",
    } | environment
    code, out, err = command_without([missing], *arguments.split(), folder=tmp_path, **settings)
    assert (code, out) == (2, "")
    [line] = err.splitlines()
    assert line.startswith("haluagent: ") and line.endswith(f'pip install "haluagent[{extra}]"')


def test_without_google_s_client_the_model_translates_unless_google_was_named(tmp_path: Path) -> None:
    """A key may be there for something else."""
    code = "from haluagent.search.providers.google_translate import resolve_translator; print(resolve_translator())"
    assert "GoogleTranslator" in run_without([], code, tmp_path, GOOGLE_API_KEY="k").stdout
    assert run_without(["googleapiclient"], code, tmp_path, GOOGLE_API_KEY="k").stdout == "None\n"
    named = run_without(["googleapiclient"], code, tmp_path, GOOGLE_API_KEY="k", HALUAGENT_TRANSLATOR="google")
    assert (
        'ConfigError: Google search and translation need one more package: pip install "haluagent[google]"'
        in named.stderr
    )


def test_without_docker_s_client_another_sandbox_is_looked_for(tmp_path: Path) -> None:
    code = (
        "from haluagent.sandbox.choose import status; print([one.text for one in status() if one.backend == 'docker'])"
    )
    done = run_without(["docker"], code, tmp_path)
    assert 'pip install "haluagent[docker]"' in done.stdout and done.returncode == 0


# The development groups and the lock --------------------------------------------------------------------------------


def group(name: str) -> list[str]:
    """The packages of a dependency group (PEP 735)."""
    entries: list[Any] = PROJECT["dependency-groups"][name]
    return [one for entry in entries for one in ([entry] if isinstance(entry, str) else group(entry["include-group"]))]


@pytest.mark.parametrize("name", ["dev", "docs"])
def test_the_extra_is_the_group_of_its_name(name: str) -> None:
    assert sorted(one for one in EXTRAS[name] if not one.startswith("haluagent[")) == sorted(group(name))


def test_the_lock_holds_every_dependency_at_an_allowed_version_and_names_no_place() -> None:
    text = LOCK.read_text(encoding="utf-8")
    assert not re.search(r"://|^--|(?<!\w)/\w", text, re.MULTILINE)
    pinned = dict(re.findall(r"^([a-z0-9-]+)(?:\[[^\]]+\])?==(\S+)", text, re.MULTILINE))
    needed = [*map(Requirement, [*MANDATORY, *group("dev"), *group("docs")])]
    needed += [one for extra in ("embedded", "all", "dev") for one in requirements(extra)]
    for requirement in needed:
        version = pinned.get(requirement.name.lower().replace("_", "-"))
        assert version and requirement.specifier.contains(version), (
            f"{requirement}: the lock has {version}; make it anew"
        )


def test_the_docs_have_each_dependency() -> None:
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    rows = {name for row in re.findall(r"^\| (.+?) \|", text, re.MULTILINE) for name in re.findall(r"`([^`]+)`", row)}
    extras = [one for extra in EXTRAS.keys() - NOT_EXTRA for one in requirements(extra)]
    assert {one.name for one in [*map(Requirement, MANDATORY), *extras]} <= rows
