"""JSON lines that are only ever appended to: what is in such a file stays, however the writing ends."""

import fcntl
import json
from pathlib import Path
from typing import Any, Self

from .errors import ConfigError


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The records of a journal, without a last line that was cut off. Raises ConfigError naming a line that is none."""
    records = []
    for number, line in enumerate(_whole(path.read_bytes()).split(b"\n")[:-1], start=1):
        try:
            record = json.loads(line)
        except ValueError as error:
            raise ConfigError(f"{path}, line {number} is not JSON ({error}): name another file, or remove that line") from error
        if not isinstance(record, dict):
            raise ConfigError(f"{path}, line {number} is not a JSON object: name another file, or remove that line")
        records.append(record)
    return records


class Journal:
    """A file of JSON lines, opened for appending; made where there is none. A last line that was cut off by an
    interruption is dropped first. One process at a time: raises ConfigError where another holds it open, or where the
    file cannot be written."""

    def __init__(self, path: Path) -> None:
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
        self._file.seek(0)
        self._file.truncate(len(_whole(self._file.read())))

    def append(self, record: str) -> None:
        """Write one record, given as a line of JSON, and hand it to the system before this returns."""
        self._file.write(record.encode() + b"\n")
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()


def _whole(data: bytes) -> bytes:
    return data[: data.rfind(b"\n") + 1]
