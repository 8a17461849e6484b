"""The documentation site builds without a warning. It needs the extra "docs"."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

pytestmark = pytest.mark.docs


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built from the package as it is when it is installed: with tools, prompts and sandbox in it."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "haluagent", folder / "installed" / "haluagent")
    for room in ("tools", "prompts", "sandbox"):
        shutil.copytree(ROOT / room, folder / "installed" / "haluagent" / room)
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder / "site")],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(folder / "installed"), "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "WARNING" not in ran.stderr
    return folder / "site"


@pytest.mark.parametrize(
    ("page", "name"),
    [
        ("detection", "haluagent.agent.HaluAgent.detect"),
        ("detection", "haluagent.types.Detection"),
        ("tools", "haluagent.tools.default_registry"),
        ("services", "haluagent.sandbox.limits.SandboxLimits"),
        ("checks", "haluagent.checks.runs.guard.Guard"),
    ],
)
def test_the_reference_has_the_public_names(site: Path, page: str, name: str) -> None:
    assert f'id="{name}"' in (site / "reference" / page / "index.html").read_text(encoding="utf-8")


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "```" not in text, page
        assert not [found for found in ('src="http', '<link rel="stylesheet" href="http') if found in text], page
