"""Reading JSON lines (https://jsonlines.org), where every row is a document."""

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from haluagent.search.documents.document import MEGABYTE, Document, LeftOut, clean, one_line
from haluagent.search.documents.encoding import Unreadable, decode

TEXT_FIELDS = ("text", "content", "output", "passage", "body", "document")
LARGEST_ROW = 16  # megabytes


def read_rows(file: BinaryIO, name: str, field: str | None) -> Iterator[Document | LeftOut]:
    """Yield a document for every row that is not blank.

    A row is a string, or an object with its text in `field`, by default the first of `TEXT_FIELDS` that it has. Its
    `title` and `url` are used, and its `id` if it has no title. Raise `Unreadable` if no row is a document.
    """
    found, problem = False, "it is empty"
    for number, line in enumerate(lines(file), start=1):
        if not line.strip():
            continue
        try:
            yield _document(line, field, f"{name}, line {number}")._replace(line=number)
            found = True
        except Unreadable as error:
            yield LeftOut(f"line {number}", str(error))
            problem = f"none of its rows is a document; line {number}: {error}"
    if not found:
        raise Unreadable(problem)


def lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield lines, cut a little above LARGEST_ROW.

    Only line feeds end a line: Unicode's other line ends may occur in JSON.
    """
    limit = LARGEST_ROW * MEGABYTE + 1
    while line := file.readline(limit):
        rest = line
        while len(rest) == limit and not rest.endswith(b"\n"):
            rest = file.readline(limit)
        yield line


def load(line: bytes) -> Any:
    """Return the JSON value of a line. Raise `Unreadable` if it is too long or no JSON."""
    if len(line) > LARGEST_ROW * MEGABYTE:
        raise Unreadable(f"it has more than {LARGEST_ROW} MB")
    try:
        return json.loads(decode(line))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"it is no JSON: {error}") from error


def _document(line: bytes, field: str | None, name: str) -> Document:
    row = load(line)
    if isinstance(row, str):
        row = {"text": row}
    elif not isinstance(row, dict):
        raise Unreadable("it is neither an object nor a string")
    text = clean(_text(row, field))
    title = next((str(row[key]) for key in ("title", "id") if isinstance(row.get(key), str | int)), "")
    url = row.get("url")
    return Document(one_line(title) or name, text, one_line(url) or None if isinstance(url, str) else None)


def _text(row: dict[str, Any], field: str | None) -> str:
    known = [name for name in ([field] if field else TEXT_FIELDS) if name in row]
    if not known:
        wanted = f"no field {field!r}" if field else f"none of the fields {', '.join(TEXT_FIELDS)}"
        own = one_line(", ".join(row))[:200]
        raise Unreadable(f"it has {wanted}; name the one with the text by --field (it has: {own or 'nothing'})")
    for name in known:
        value = row[name]
        text = "\n\n".join(value) if isinstance(value, list) and all(isinstance(one, str) for one in value) else value
        if isinstance(text, str) and text.strip():
            return text
    raise Unreadable(f"there is no text in its field {', '.join(known)}")
