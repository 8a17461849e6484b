"""The audit log of a guard: one line of JSON per report, which survives however the process ends."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from haluagent.batch.journal import iterate, whole_lines
from haluagent.checks.runs.records import Action, HallucinationReport
from haluagent.errors import ConfigError
from haluagent.types import Record

BEGINNING = b'{"time":'  # the beginning of each line


class AuditLine(Record):
    """A decision about a run, with its time (UTC).

    `report` is None, and `error` says why, if the run could not be checked. `round` counts the checks of one run from
    1. `seconds` is how long each stage took: `calls`, `claims`, `probes`.
    """

    time: datetime
    run_id: str
    round: int
    action: Action
    error: str | None = None
    seconds: dict[str, float] = {}
    report: HallucinationReport | None = None


class AuditLog:
    """A file of AuditLines that is only appended to, by any number of threads and processes at once.

    Raise `ConfigError` if it cannot be written, or is something else.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b") as file:
                file.seek(0)
                start = file.read(len(BEGINNING))
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error.strerror or error}") from error
        if not BEGINNING.startswith(start):
            raise ConfigError(f"{self.path} is no audit log: name another file")

    def append(
        self,
        run_id: str,
        turn: int,
        action: Action,
        error: str | None,
        report: HallucinationReport | None,
        seconds: Mapping[str, float] | None = None,
    ) -> None:
        """Append one line. It is on the disk when this returns. Raise `OSError` if it could not be written."""
        line = AuditLine(
            time=datetime.now(UTC), run_id=run_id, round=turn, action=action, error=error, seconds=dict(seconds or {}),
            report=report,
        )  # fmt: skip
        data = json.dumps(line.model_dump(mode="json"), ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        with self.path.open("a+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed, or the process ends
            file.truncate(whole_lines(file))  # drops a killed process's unfinished line: nobody was told of it
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) or 0 :]
            os.fsync(file.fileno())


def read_audit(path: Path) -> Iterator[AuditLine]:
    """Yield the lines of an audit log, without a truncated last one. Raise `ConfigError` for an invalid line."""
    for number, record in enumerate(iterate(path), start=1):
        try:
            yield AuditLine.model_validate_json(json.dumps(record))
        except ValueError as error:
            raise ConfigError(f"{path}, line {number} is no line of an audit log") from error
