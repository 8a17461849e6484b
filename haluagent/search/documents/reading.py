"""Documents in files: text, Markdown, HTML, PDF, and JSON lines, where every row is a document."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from haluagent.search.documents.encoding import Unreadable, decode

Kind = Literal["text", "markdown", "html", "pdf", "rows"]

KINDS: dict[str, Kind] = {
    ".txt": "text", ".text": "text", ".rst": "text", ".md": "markdown", ".markdown": "markdown",
    ".html": "html", ".htm": "html", ".xhtml": "html", ".pdf": "pdf", ".jsonl": "rows", ".ndjson": "rows",
}  # fmt: skip
MEGABYTE = 1_000_000
# The largest file of each kind, in megabytes; rows are read one by one. A page becomes a hundred times its size in memory.
LARGEST: dict[Kind, int] = {"text": 64, "markdown": 64, "html": 8, "pdf": 256}
LONGEST_TITLE = 300  # characters

_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*?)[ \t#]*$", re.MULTILINE)
_LINE_END = re.compile(r"\r\n?|\f")
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Document(NamedTuple):
    """A text with a title, and where it is: `url` if it says so itself, `line` (from 1) if it is a row of its file."""

    title: str
    text: str
    url: str | None = None
    line: int | None = None


class LeftOut(NamedTuple):
    """A part of a file (`line 3`, `page 12`) that could not be read, and why."""

    part: str
    problem: str


def read(path: Path, field: str | None = None) -> Iterator[Document | LeftOut]:
    """The documents in a file, by its suffix; a file with another suffix than those in `KINDS` is read as text.

    `field` is the field of JSON lines that holds the text. In every text, line ends are line feeds, and control
    characters are spaces. Raises OSError, or Unreadable where the file as a whole has no text that can be read.
    """
    kind = KINDS.get(path.suffix.lower(), "text")
    size = path.stat().st_size / MEGABYTE
    if size > LARGEST.get(kind, size):
        raise Unreadable(f"it has {size:.0f} MB, and at most {LARGEST[kind]} are read: split it")
    if kind == "rows":
        from haluagent.search.documents.rows import read_rows

        with path.open("rb") as file:
            yield from read_rows(file, path.name, field)
    elif kind == "pdf":
        from haluagent.search.documents.pdf import read_pdf

        with path.open("rb") as file:
            title, text, left_out = read_pdf(file)
        yield from left_out
        yield _whole(path, title, text, "it has no text (scanned pages need character recognition first)")
    elif kind == "html":
        from haluagent.search.documents.html import read_html

        yield _whole(path, *read_html(path.read_bytes()))
    else:
        text = clean(decode(path.read_bytes()))
        heading = _HEADING.search(text) if kind == "markdown" else None
        yield _whole(path, heading[1] if heading else "", text)


def clean(text: str) -> str:
    """The text with line feeds as line ends, spaces for control characters, and no half characters (surrogates)."""
    return _SURROGATE.sub("\ufffd", _CONTROL.sub(" ", _LINE_END.sub("\n", text)))


def one_line(text: str) -> str:
    """A title: on one line, and not too long."""
    return " ".join(clean(text).split())[:LONGEST_TITLE]


def _whole(path: Path, title: str, text: str, otherwise: str = "it is empty") -> Document:
    if not text.strip():
        raise Unreadable(otherwise)
    return Document(one_line(title) or one_line(path.stem), text)
