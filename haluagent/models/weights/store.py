"""The folder for model weights: one process writes at a time, and a file gets its final name only once verified."""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from haluagent.errors import ConfigError
from haluagent.settings import cache_dir

# A pull calls this with the bytes present and the total.
Progress = Callable[[int, int], None]

CHUNK = 1 << 20


def folder() -> Path:
    """Return the folder for weights, which may not exist yet."""
    return cache_dir() / "models"


@contextmanager
def exclusive(target: Path, advice: str = "set HALUAGENT_CACHE") -> Iterator[None]:
    """Hold the lock for writing `target`, after waiting for any other process that holds it.

    The lock file stays: removing it would let two processes lock two files of the same name. A lock ends with its
    process, however that ends. Raise `ConfigError`, with the `advice`, if the folder cannot be written.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = target.with_name(f".{target.name}.lock").open("w")
    except OSError as error:
        raise ConfigError(f"{target.parent} cannot be written ({error.strerror}): {advice}") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def need_space(where: Path, needed: int) -> None:
    """Raise `ConfigError` if fewer than `needed` bytes are free on the disk of the folder `where`."""
    free = shutil.disk_usage(where).free
    if free < needed:
        raise ConfigError(
            f"{megabytes(needed)} are needed in {where} and {megabytes(free)} are free: "
            "free some, or set HALUAGENT_CACHE to a folder on another disk"
        )


def sha256_of(path: Path, size: int | None = None) -> "hashlib._Hash":
    """Return the SHA-256 object of the first `size` bytes of a file, or of all of it; it can be updated further."""
    digest = hashlib.sha256()
    left = path.stat().st_size if size is None else size
    with path.open("rb") as file:
        while left > 0 and (chunk := file.read(min(CHUNK, left))):
            digest.update(chunk)
            left -= len(chunk)
    return digest


def install(verified: Path, target: Path) -> None:
    """Move a verified file to its final name, atomically, after flushing it to disk."""
    with verified.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(verified, target)


def megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
