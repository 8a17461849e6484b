"""Which sandbox is taken, and what is said where there is none."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from haluagent.errors import ConfigError
from haluagent.sandbox import choose


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with neither: programs are looked for in an empty directory, which is returned."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    return tmp_path


def bwrap(directory: Path, script: str) -> None:
    """A bwrap that runs lines of a shell, also for nobody, as whom root's sandboxes start."""
    (directory / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
    for path in (directory / "bwrap", directory, *directory.parents):
        if path == Path(tempfile.gettempdir()):
            break
        path.chmod(0o755)


def test_none() -> None:
    assert choose.resolve("none") is None


def test_auto_is_none_where_nothing_works(bare: Path) -> None:
    assert choose.resolve("auto") is None


def test_a_choice_that_cannot_work_says_what_to_do(bare: Path) -> None:
    with pytest.raises(ConfigError, match="does not answer at .*: start it, or choose another sandbox"):
        choose.resolve("docker")
    with pytest.raises(ConfigError, match="install the package bubblewrap, or use Docker"):
        choose.resolve("bubblewrap")


def test_status_says_it_of_each(bare: Path) -> None:
    docker, bubblewrap = choose.status()
    assert (docker.backend, docker.works) == ("docker", False)
    assert (bubblewrap.backend, bubblewrap.works) == ("bubblewrap", False)
    assert "start it" in docker.text and "install" in bubblewrap.text


def test_an_old_bubblewrap_is_not_used(bare: Path) -> None:
    bwrap(bare, "echo bubblewrap 0.4.1")
    with pytest.raises(ConfigError, match=r"0\.7 or newer is needed"):
        choose.resolve("bubblewrap")


def test_a_bubblewrap_that_may_make_no_namespaces_is_not_used(bare: Path) -> None:
    bwrap(
        bare,
        """
case "$*" in
    --version) echo bubblewrap 0.8.0 ;;
    *) echo "bwrap: No permissions to create new namespace" >&2; exit 1 ;;
esac""",
    )
    with pytest.raises(ConfigError, match="the sandbox did not start: bwrap: No permissions to create new namespace"):
        choose.resolve("bubblewrap")
    assert choose.resolve("auto") is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="sandboxes of Linux")
def test_an_old_kernel_is_told_to_use_docker(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.release", lambda: "5.10.0-31-amd64")
    with pytest.raises(ConfigError, match=r"needs Linux 5\.14 or newer: use Docker"):
        choose.resolve("bubblewrap")


def test_advice_in_both_languages() -> None:
    assert "haluagent sandbox build" in choose.advice("en")
    assert "haluagent sandbox build" in choose.advice("zh") and "沙箱" in choose.advice("zh")
    assert not any("\n" in choose.advice(language) for language in ("en", "zh"))


def test_making_one_is_quick_and_loads_no_docker() -> None:
    code = "import sys; from haluagent.sandbox import choose; choose.resolve('none'); print('docker' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
