"""CONTRIBUTING.md: its commands run, and the places it names are there."""

import os
import re
import runpy
import subprocess
import sys

import pytest
from places import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
NAMED = re.findall(r"`((?:haluagent|tools|prompts|sandbox|tests|docs|\.ci)/[\w./-]*)`", TEXT)
LINKED = [target for target in re.findall(r"\]\(([^)]+)\)", TEXT) if "://" not in target]

# As in an active environment: the tools of this Python. -P: the checkout is not what is imported.
SHELL = """
set -e
haluagent() { "$PYTHON" -P -m haluagent "$@"; }
pytest() { "$PYTHON" -P -m pytest -p no:cacheprovider --collect-only -q "$@"; }  # run they are already
ruff() { "$PYTHON" -P -m ruff "$@" --no-cache; }
"""


@pytest.mark.parametrize("block", BLOCKS, ids=[block.partition("\n")[0] for block in BLOCKS])
def test_the_commands_run(block: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = ["bash", "-c", SHELL + block]
    environment["PYTHON"] = sys.executable
    ran = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=240
    )
    assert ran.returncode == 0, f"{block}\n{ran.stdout}\n{ran.stderr}"


@pytest.mark.parametrize("place", sorted({*NAMED, *LINKED}))
def test_what_is_named_is_there(place: str) -> None:
    assert (ROOT / place).exists() or "NAME" in place


def test_the_layers_are_those_that_are_held() -> None:
    held = runpy.run_path(str(ROOT / "tests" / "project" / "test_layers.py"))["LAYERS"]
    listed = re.findall(r"^\d+\. ((?:`\w+`(?:, )?)+)", TEXT.partition("From the lowest layer to the highest:")[2], re.M)
    assert tuple(tuple(re.findall(r"\w+", rooms)) for rooms in listed) == held
