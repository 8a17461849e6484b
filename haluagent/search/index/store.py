"""The file of a local index: an SQLite database with a full-text table.

`words` holds no text, only which passages contain a term. Its ranking is not used, and this makes it a third as large.
What it needs to forget a passage is computed again from the passage. Passage numbers are never reused, so that a
leftover term can point to no other passage. `file.parts` counts the parts read of a file that is added in several
transactions and is not yet complete; it is null for a complete file.
"""

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from haluagent.errors import ConfigError
from haluagent.search.index.place import exists
from haluagent.search.index.write import words_of

APPLICATION = 0x48614C75  # "HaLu", in the header of the file
SCHEMA_VERSION = 2  # raise it whenever the tables or the terms of a text change, and extend `_renew`
OLDEST_VERSION = 1  # that `_renew` brings up to date
FOLDED = 2  # from this version on, Traditional characters are indexed as Simplified ones
PATIENCE = 600.0  # seconds to wait for another process that writes

_SCHEMA = (
    "CREATE TABLE file (id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, size INTEGER NOT NULL,"
    " modified INTEGER NOT NULL, sha256 BLOB NOT NULL, field TEXT, passages INTEGER NOT NULL, left_out INTEGER NOT NULL,"
    " parts INTEGER)",
    "CREATE TABLE document (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL)",
    "CREATE INDEX document_file ON document (file)",
    "CREATE TABLE passage (id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL, start INTEGER NOT NULL,"
    " text TEXT NOT NULL)",
    "CREATE INDEX passage_document ON passage (document)",
    "CREATE VIRTUAL TABLE words USING fts5 (terms, content='', detail=none, columnsize=0, tokenize='ascii')",
    "CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, row)",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)
NEARLY_FULL = 100_000  # bytes
_BUSY_STEP = 1.0  # seconds that SQLite waits by itself; Ctrl-C works only in between


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection that sees one state of the index throughout.

    Raise `ConfigError` if there is no usable index.
    """
    with _explained(path), closing(_reader(existing(path))) as connection:
        connection.execute("BEGIN")
        yield connection


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection for `transaction`s to an index, which is created if missing.

    Raise `ConfigError` if it cannot be created, opened or written.
    """
    _make_private(path)
    with _explained(path), closing(_connect(path, "rw")) as connection:
        if not _is_empty(connection):
            _check(connection, path)  # before anything is changed, because the file may be another program's
        _patiently(connection, "PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # so that a commit survives a power failure
        with transaction(connection):
            for statement in _SCHEMA if _is_empty(connection) else ():
                connection.execute(statement)
            if _version(connection) < SCHEMA_VERSION:
                _renew(connection)
        _check(connection, path)
        yield connection


def existing(path: Path) -> Path:
    """Return the path. Raise `ConfigError` if there is no index."""
    if not exists(path):
        raise ConfigError(f"there is no index {path}: make one with `haluagent index add PATH`")
    return path


def is_folded(connection: sqlite3.Connection) -> bool:
    """Return whether the index has folded terms; one from before has them once it was opened for writing."""
    return _version(connection) >= FOLDED


def size(path: Path) -> int:
    """Return the bytes that the index and its journal take on disk."""
    return sum(part.stat().st_size for part in (path, _journal(path)) if part.exists())


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the body in one transaction: all of it or nothing. Waits up to PATIENCE for another process that writes."""
    _patiently(connection, "BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # after a full disk, SQLite has already rolled back
            connection.execute("ROLLBACK")
        raise


def _patiently(connection: sqlite3.Connection, statement: str) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute(statement)
            return
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise


def _make_private(path: Path) -> None:
    """Create the file for its owner only, because it holds the documents' text; SQLite gives its journals the same
    mode.

    An existing file is not opened: closing it again would release the locks that SQLite has on it in this process.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        pass  # another process was faster
    except OSError as error:
        raise ConfigError(_no_access(path, error.strerror or str(error))) from error


def _no_access(path: Path, why: str) -> str:
    return f"the index {path} cannot be opened or written ({why}): name another file with --index"


def _reader(path: Path) -> sqlite3.Connection:
    try:
        return _checked(path, "ro")
    except sqlite3.OperationalError as error:
        if _code(error) == sqlite3.SQLITE_BUSY or exists(_journal(path)):
            raise
    # On a disk that is read-only or full, SQLite cannot even register readers; but nobody can write either.
    return _checked(path, "ro&immutable=1")


def _checked(path: Path, mode: str) -> sqlite3.Connection:
    connection = _connect(path, mode)
    try:
        _check(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _journal(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, timeout=_BUSY_STEP, isolation_level=None)


def _is_empty(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,))


def _version(connection: sqlite3.Connection) -> int:
    [version] = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _renew(connection: sqlite3.Connection) -> None:
    """Bring an index of version 1 up to date, from the passages in it. The caller holds a transaction."""
    connection.execute("ALTER TABLE file ADD COLUMN parts INTEGER")
    connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
    passages = connection.execute(
        "SELECT passage.id, document.title, passage.text FROM passage JOIN document ON document.id = passage.document"
    )
    for passage, title, text in passages:
        connection.execute("INSERT INTO words (rowid, terms) VALUES (?, ?)", (passage, words_of(title, text)))
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _check(connection: sqlite3.Connection, path: Path) -> None:
    [application] = connection.execute("PRAGMA application_id").fetchone()
    version = _version(connection)
    if application != APPLICATION:
        raise ConfigError(f"{path} is no index of HaluAgent: name another file with --index, and `index add` makes it")
    if version > SCHEMA_VERSION:
        raise ConfigError(f"the index {path} was made by a newer HaluAgent: upgrade, or name another file with --index")
    if version < OLDEST_VERSION:
        raise ConfigError(f"the index {path} was made by an older HaluAgent: delete it and add the documents again")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into a `ConfigError` of one line."""
    try:
        yield
    except sqlite3.Error as error:
        raise ConfigError(_explain(path, error)) from error


def _explain(path: Path, error: sqlite3.Error) -> str:
    full = f"the disk of the index {path} is full: free some space and add again; what was reported as added is kept"
    match _code(error):
        case sqlite3.SQLITE_NOTADB:
            return f"{path} is no index of HaluAgent: name another file with --index, and `index add` makes it"
        case sqlite3.SQLITE_CORRUPT:
            return f"the index {path} is damaged: delete it and add the documents again"
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return _no_access(path, str(error))
        case sqlite3.SQLITE_FULL:
            return full
        case sqlite3.SQLITE_IOERR if shutil.disk_usage(path.parent).free < NEARLY_FULL:
            return full
        case sqlite3.SQLITE_BUSY:
            return f"another process has been writing to the index {path} for too long: try again later"
    return f"the index {path} cannot be used: {error}"


def _code(error: sqlite3.Error) -> int:
    """Return SQLite's primary result code."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
