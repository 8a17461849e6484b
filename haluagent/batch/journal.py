"""JSON lines that are only ever appended to: what is in such a file stays, however the writing ends."""

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Self

from haluagent.errors import ConfigError

CHUNK = 1 << 20


def iterate(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a journal, one at a time, without a last line that was cut off. Raises ConfigError naming a line that
    is none."""
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
    """`iterate`, all at once."""
    return list(iterate(path))


class Journal:
    """A file of JSON lines, opened for appending; made where there is none. A last line that was cut off by an
    interruption is dropped first. One process at a time: raises ConfigError where another holds it open, where the file
    cannot be written, and where nothing in it is a whole line: then it is no journal."""

    def __init__(self, path: Path) -> None:
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
        """Write one record, given as a line of JSON, and hand it to the system before this returns."""
        self._file.write(record.encode() + b"\n")
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()


def whole_lines(file: IO[bytes]) -> int:
    """Where the last whole line of a file ends."""
    end = file.seek(0, os.SEEK_END)
    while end:
        start = max(0, end - CHUNK)
        file.seek(start)
        newline = file.read(end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0
