"""Adding files to a local index and removing them, so that it always holds each file in one whole state.

A file is added or replaced in one transaction, small ones together, and reported after the commit. So nothing reported
is lost when the process is killed, and adding the same paths again resumes where it stopped. An encyclopaedia is added in
steps, each in one transaction (`steps`).
"""

import hashlib
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

from haluagent.errors import ConfigError
from haluagent.search.documents.encoding import Unreadable
from haluagent.search.documents.reading import ENCYCLOPAEDIAS, kind_of, read
from haluagent.search.index.steps import put_in_steps
from haluagent.search.index.store import transaction
from haluagent.search.index.write import File, WriteOutcome, drop, path_of, put, urls

BATCH_FILES = 200
BATCH_BYTES = 1_000_000
SETTLED = 2.0  # seconds; a file written more recently than that can change again without a new modification time


class FileChange(NamedTuple):
    """The outcome for a file.

    `number` counts the passages added, so far where the file is still being added (`adding`), or the parts (rows, pages)
    left out; `problem` says why a part was left out or the whole file failed.
    """

    kind: Literal["adding", "added", "replaced", "removed", "failed", "left_out"]
    path: Path
    number: int = 0
    problem: str = ""


@dataclass
class Summary:
    """Numbers of files; but `left_out` counts parts of them (rows, pages), and `passages` the passages added.

    `skipped` files are hidden, of an unknown type, or links that lead out of the folder; `failed` ones have no readable
    text.
    """

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: int = 0
    failed: int = 0
    left_out: int = 0
    passages: int = 0


Report = Callable[[FileChange], None]


def remove(connection: sqlite3.Connection, paths: Sequence[Path], report: Report) -> int:
    """Remove files, and all files in folders, from the index, and return their number.

    Raise `ConfigError` for a path of which the index has nothing.
    """
    with transaction(connection):
        found = {url: None for path in paths for url in _some(urls(connection, path), path)}
        for url in found:
            drop(connection, url)
    for url in found:
        report(FileChange("removed", path_of(url)))
    return len(found)


def _some(found: list[str], path: Path) -> list[str]:
    if not found:
        raise ConfigError(f"nothing of {path} is in the index")
    return found


class Adder:
    """A writer that adds files, batch by batch. `field` is the field of JSON lines that holds the text."""

    def __init__(self, connection: sqlite3.Connection, field: str | None, report: Report) -> None:
        self.summary = Summary()
        self._connection = connection
        self._field = field
        self._report = report
        self._jobs: list[Callable[[], list[FileChange]]] = []
        self._bytes = 0
        self._seen: set[str] = set()

    def add(self, paths: Sequence[Path]) -> None:
        """Add files, and all files of known types in folders; drop those that are gone from these folders.

        Raise `ConfigError`, before anything is done, if a path does not exist.
        """
        for path in paths:
            if not path.exists():
                raise ConfigError(f"{path} does not exist: `haluagent index remove` takes it out of the index")
        for path in paths:
            if path.is_dir():
                self._add_folder(path)
            else:
                self._add_file(path)
        self._commit()

    def _add_folder(self, root: Path) -> None:
        errors: list[OSError] = []
        for path in self._walk(root, errors):
            self._add_file(path)
        for error in errors:
            self._fail(Path(os.fsdecode(error.filename)), error)
        if not errors:  # files that could not be listed may still exist
            missing = [url for url in urls(self._connection, root) if not os.path.lexists(path_of(url))]
            self._jobs += [partial(self._drop, url) for url in missing]

    def _walk(self, root: Path, errors: list[OSError]) -> Iterator[Path]:
        real_root = os.path.realpath(root)
        for folder, folders, names in os.walk(root, onerror=errors.append):
            shown = sorted(name for name in folders if not name.startswith("."))
            self.summary.skipped += len(folders) - len(shown)
            folders[:] = shown
            for name in sorted(names):
                path = Path(folder, name)
                readable = kind_of(path) is not None and path.is_file()
                if name.startswith(".") or not readable or not Path(os.path.realpath(path)).is_relative_to(real_root):
                    self.summary.skipped += 1
                else:
                    yield path

    def _add_file(self, path: Path) -> None:
        url = path.as_uri()
        if url in self._seen:
            return
        self._seen.add(url)
        try:
            self._prepare(path, url)
        except Unreadable as error:
            self._fail(path, error)
            self._jobs.append(partial(self._drop, url))  # its old text in the index is out of date
        except (OSError, ConfigError) as error:  # ConfigError: the extra for this kind of file is not installed
            self._fail(path, error)
        if self._bytes >= BATCH_BYTES or len(self._jobs) >= BATCH_FILES:
            self._commit()

    def _prepare(self, path: Path, url: str) -> None:
        """Queue a file for the index, unless it is unchanged; its text is extracted only as far as the first part."""
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("it is no regular file")
        kind = kind_of(path)
        field = self._field if kind == "rows" else None
        settled = time.time() - status.st_mtime > SETTLED
        size, modified = status.st_size, status.st_mtime_ns if settled else 0
        query = "SELECT size, modified, sha256, left_out, parts FROM file WHERE url = ? AND field IS ?"
        known = self._connection.execute(query, (url, field)).fetchone()
        complete = known and known[4] is None
        if complete and known[:2] == (size, modified) and settled:
            return self._keep(path, known[3])
        with path.open("rb") as opened:
            sha256 = hashlib.file_digest(opened, "sha256").digest()
        if complete and known[2] == sha256:
            self._jobs.append(partial(self._touch, url, modified))
            return self._keep(path, known[3])
        parts = read(path, field)
        first = next(parts)
        file = File(path, url, size, modified, sha256, field, chain([first], parts))
        if kind in ENCYCLOPAEDIAS:
            return self._add_in_steps(file, replaced=bool(complete))
        self._jobs.append(partial(self._put, file))
        self._bytes += size

    def _add_in_steps(self, file: File, replaced: bool) -> None:
        self._commit()
        try:
            outcome = put_in_steps(
                self._connection, file, lambda passages: self._report(FileChange("adding", file.path, passages))
            )
        except Unreadable as error:  # what was read before stays
            return self._fail(file.path, error)
        for change in [
            *_told(file.path, outcome),
            FileChange("replaced" if replaced else "added", file.path, outcome.passages),
        ]:
            self._tell(change)

    def _keep(self, path: Path, left_out: int) -> None:
        self.summary.unchanged += 1
        if left_out:
            self._tell(FileChange("left_out", path, left_out, f"{left_out} parts had been left out when it was added"))

    def _put(self, file: File) -> list[FileChange]:
        removed = self._drop(file.url)
        try:
            outcome = put(self._connection, file)
        except (Unreadable, OSError) as error:  # raised in the middle of the file
            drop(self._connection, file.url)
            return [*removed, _failure(file.path, error)]
        return [*_told(file.path, outcome), FileChange("replaced" if removed else "added", file.path, outcome.passages)]

    def _drop(self, url: str) -> list[FileChange]:
        return [FileChange("removed", path_of(url))] if drop(self._connection, url) else []

    def _touch(self, url: str, modified: int) -> list[FileChange]:
        self._connection.execute("UPDATE file SET modified = ? WHERE url = ?", (modified, url))
        return []

    def _commit(self) -> None:
        jobs, self._jobs, self._bytes = self._jobs, [], 0
        if jobs:
            with transaction(self._connection):
                changes = [change for job in jobs for change in job()]
            for change in changes:
                self._tell(change)

    def _fail(self, path: Path, error: Exception) -> None:
        self._tell(_failure(path, error))

    def _tell(self, change: FileChange) -> None:
        step = change.number if change.kind == "left_out" else 1
        setattr(self.summary, change.kind, getattr(self.summary, change.kind) + step)
        if change.kind in ("added", "replaced"):
            self.summary.passages += change.number
        self._report(change)


def _told(path: Path, outcome: WriteOutcome) -> list[FileChange]:
    """Return what to report of the parts left out of a file."""
    told = [FileChange("left_out", path, 1, f"{part.part}: {part.problem}") for part in outcome.shown]
    if rest := outcome.left_out - len(told):
        told.append(FileChange("left_out", path, rest, f"and {rest} more parts"))
    return told


def _failure(path: Path, error: Exception) -> FileChange:
    problem = error.strerror if isinstance(error, OSError) else None
    return FileChange("failed", path, problem=problem or str(error))
