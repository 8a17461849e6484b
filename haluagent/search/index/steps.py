"""Adding a file that takes long, such as an encyclopaedia, in several transactions.

`file.parts` counts the parts that are in the index, and is written together with them. So whoever adds the file again
after an interruption skips as many, and nothing is lost or there twice.
"""

import sqlite3
from collections.abc import Callable, Iterator
from itertools import islice

from haluagent.errors import ConfigError
from haluagent.search.documents.document import Document, LeftOut
from haluagent.search.index.store import transaction
from haluagent.search.index.write import SHOWN, File, WriteOutcome, begin, put_document

STEP = 1_000_000  # characters in one transaction
MOST_PARTS = 2_000  # in one transaction
PROGRESS = 20_000  # passages between two reports

Part = Document | LeftOut


def put_in_steps(connection: sqlite3.Connection, file: File, report: Callable[[int], None]) -> WriteOutcome:
    """Add a file, or what is not in the index of it yet, and return what is in it now.

    `report` is called with the number of passages so far. Raise `Unreadable` or `OSError` if the file cannot be read to
    its end, after adding what comes before; `ConfigError` if another process adds it at the same time.
    """
    with transaction(connection):
        number, done, passages, left_out = _begin(connection, file)
    shown: list[LeftOut] = []
    parts = islice(file.parts, done, None)
    told = passages
    for batch in _batches(parts):
        with transaction(connection):
            row = connection.execute("SELECT parts FROM file WHERE id = ?", (number,)).fetchone()
            if row != (done,):
                raise ConfigError(f"another process adds or removes {file.path} at the same time: try again later")
            for part in batch:
                if isinstance(part, LeftOut):
                    left_out += 1
                    shown += [part] if len(shown) < SHOWN else []
                else:
                    passages += put_document(connection, number, file.url, part)
            done += len(batch)
            connection.execute(
                "UPDATE file SET passages = ?, left_out = ?, parts = ? WHERE id = ?", (passages, left_out, done, number)
            )
        if passages - told >= PROGRESS:
            told = passages
            report(passages)
    with transaction(connection):
        connection.execute("UPDATE file SET parts = NULL WHERE id = ?", (number,))
    return WriteOutcome(passages, left_out, shown)


def _begin(connection: sqlite3.Connection, file: File) -> tuple[int, int, int, int]:
    """Return the file's number, and its parts, passages and parts left out that are in the index; all 0 for a new file,
    which takes the place of another version."""
    query = "SELECT id, parts, passages, left_out FROM file WHERE url = ? AND sha256 = ? AND parts IS NOT NULL"
    row = connection.execute(query, (file.url, file.sha256)).fetchone()
    if row is not None:
        return (int(row[0]), int(row[1]), int(row[2]), int(row[3]))
    number = begin(connection, file)
    connection.execute("UPDATE file SET parts = 0 WHERE id = ?", (number,))
    return number, 0, 0, 0


def _batches(parts: Iterator[Part]) -> Iterator[list[Part]]:
    """Yield the parts in batches of about `STEP` characters; before an error is raised, those that come before it."""
    batch: list[Part] = []
    size = 0
    try:
        for part in parts:
            batch.append(part)
            size += len(part.text) if isinstance(part, Document) else 0
            if size >= STEP or len(batch) >= MOST_PARTS:
                yield batch
                batch, size = [], 0
    except Exception:
        if batch:
            yield batch
        raise
    if batch:
        yield batch
