"""Writing files to the tables of a local index, and removing them. The caller holds a transaction."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from haluagent.search.documents.document import Document, LeftOut
from haluagent.search.documents.passages import split
from haluagent.search.index.terms import terms

SHOWN = 5  # parts left out of a file that are reported one by one


class File(NamedTuple):
    """A file and its contents. `modified` is in nanoseconds since the epoch; 0 means that it cannot be relied on."""

    path: Path
    url: str
    size: int
    modified: int
    sha256: bytes
    field: str | None
    parts: Iterator[Document | LeftOut]


class WriteOutcome(NamedTuple):
    """The number of passages of a file, the number of its parts left out, and the first of these."""

    passages: int
    left_out: int
    shown: list[LeftOut]


def put(connection: sqlite3.Connection, file: File) -> WriteOutcome:
    """Add a file that is not in the index. Raise `Unreadable` or `OSError`, possibly after adding a part of it."""
    passages, left_out = 0, 0
    shown: list[LeftOut] = []
    number = begin(connection, file)
    for part in file.parts:
        if isinstance(part, LeftOut):
            left_out += 1
            shown += [part] if left_out <= SHOWN else []
        else:
            passages += put_document(connection, number, file.url, part)
    connection.execute("UPDATE file SET passages = ?, left_out = ? WHERE id = ?", (passages, left_out, number))
    return WriteOutcome(passages, left_out, shown)


def begin(connection: sqlite3.Connection, file: File) -> int:
    """Add a file without its contents, in the place of another version, and return its number."""
    drop(connection, file.url)
    statement = "INSERT INTO file (url, size, modified, sha256, field, passages, left_out) VALUES (?, ?, ?, ?, ?, 0, 0)"
    return _insert(connection, statement, file.url, file.size, file.modified, file.sha256, file.field)


def put_document(connection: sqlite3.Connection, file: int, url: str, document: Document) -> int:
    """Add a document of a file, and return the number of its passages."""
    own = document.url or (url if document.line is None else f"{url}#L{document.line}")
    number = _insert(connection, "INSERT INTO document (file, url, title) VALUES (?, ?, ?)", file, own, document.title)
    spans = split(document.text)
    for start, end in spans:
        text = document.text[start:end]
        passage = _insert(
            connection, "INSERT INTO passage (document, start, text) VALUES (?, ?, ?)", number, start, text
        )
        words = words_of(document.title, text)
        connection.execute("INSERT INTO words (rowid, terms) VALUES (?, ?)", (passage, words))
    return len(spans)


def drop(connection: sqlite3.Connection, url: str) -> bool:
    """Remove a file from the index, and return whether it was there."""
    row = connection.execute("SELECT id FROM file WHERE url = ?", (url,)).fetchone()
    if row is None:
        return False
    passages = connection.execute(
        "SELECT passage.id, document.title, passage.text FROM document"
        " JOIN passage ON passage.document = document.id WHERE document.file = ?",
        row,
    )
    for passage, title, text in passages:  # without content, FTS5 must be told what to forget
        forgotten = (passage, words_of(title, text))
        connection.execute("INSERT INTO words (words, rowid, terms) VALUES ('delete', ?, ?)", forgotten)
    connection.execute("DELETE FROM passage WHERE document IN (SELECT id FROM document WHERE file = ?)", row)
    connection.execute("DELETE FROM document WHERE file = ?", row)
    connection.execute("DELETE FROM file WHERE id = ?", row)
    return True


def urls(connection: sqlite3.Connection, path: Path) -> list[str]:
    """Return the URLs of the files in the index at `path` or below it."""
    url = path.as_uri().rstrip("/")
    # "0" is the character after "/", so these are the URLs that begin with the folder's.
    query = "SELECT url FROM file WHERE url = ?1 OR (url > ?1 || '/' AND url < ?1 || '0') ORDER BY url"
    return [found for (found,) in connection.execute(query, (url,))]


def path_of(url: str) -> Path:
    """Return the path that a file's URL was made from."""
    return Path(os.fsdecode(unquote_to_bytes(url.removeprefix("file://"))))


def _insert(connection: sqlite3.Connection, statement: str, *values: object) -> int:
    """Insert a row and return its id."""
    number = connection.execute(statement, values).lastrowid
    assert number is not None  # it is, after an INSERT
    return number


def words_of(title: str, text: str) -> str:
    """Return the terms of a passage, each once."""
    return " ".join(dict.fromkeys(terms(title) + terms(text)))
