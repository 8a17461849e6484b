"""Append-only JSON Lines files: records stay intact however the writing ends."""

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Self

from haluagent.errors import ConfigError, HaluAgentError

CHUNK = 1 << 20


def iterate(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a journal, ignoring a last line that was cut off. Raises ConfigError naming a line that is
    not a record."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ConfigError(
                    f"{path}, line {number} is not JSON ({error}): name another file, or remove that line"
                ) from error
            if not isinstance(record, dict):
                raise ConfigError(f"{path}, line {number} is not a JSON object: name another file, or remove that line")
            yield record


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the records of a journal as a list; see `iterate`."""
    return list(iterate(path))


class Journal:
    """A JSON Lines file opened for appending and created if necessary. A last line that was cut off by an interruption
    is dropped first. Only one process at a time can have it open. Raises ConfigError if another process has it open, if
    the file cannot be written, or if it holds no complete line, since it is then not a journal."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if path.exists() and not path.is_file():
            raise ConfigError(f"{path} is no file: name one for the results")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a+b")
        except OSError as error:
            raise ConfigError(f"{path} cannot be written: {error}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise ConfigError(f"another process is writing {path}: wait for it, or name another file") from error
        whole = whole_lines(self._file)
        if not whole and path.stat().st_size:
            self._file.close()
            raise ConfigError(f"{path} holds no whole line: name another file, or remove this one")
        self._file.truncate(whole)

    def append(self, record: str) -> None:
        """Write one record, given as a line of JSON, and flush it to the operating system. Raises HaluAgentError where that
        fails, as on a full disk; what was written before stays."""
        try:
            self._file.write(record.encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise HaluAgentError(
                f"{self._path} cannot be written: {error}; the same command goes on from there"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()


def whole_lines(file: IO[bytes]) -> int:
    """Return the offset of the end of the last complete line in a file."""
    end = file.seek(0, os.SEEK_END)
    while end:
        start = max(0, end - CHUNK)
        file.seek(start)
        newline = file.read(end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0
