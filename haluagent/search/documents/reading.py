"""Reading documents from files: text, Markdown, HTML, PDF, Word, and JSON lines, where every row is a document."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from haluagent.search.documents.document import MEGABYTE, Document, LeftOut, clean, one_line
from haluagent.search.documents.docx import read_docx
from haluagent.search.documents.dumps import read_cirrus, read_wiki
from haluagent.search.documents.encoding import Unreadable, decode
from haluagent.search.documents.rows import read_rows

Kind = Literal["text", "markdown", "html", "pdf", "docx", "rows", "zim", "cirrus", "wiki"]

KINDS: dict[str, Kind] = {
    ".txt": "text", ".text": "text", ".rst": "text", ".md": "markdown", ".markdown": "markdown",
    ".html": "html", ".htm": "html", ".xhtml": "html", ".pdf": "pdf", ".docx": "docx", ".docm": "docx",
    ".jsonl": "rows", ".ndjson": "rows",
    ".zim": "zim", ".json.gz": "cirrus", ".json.bz2": "cirrus", ".xml.bz2": "wiki",
}  # fmt: skip
ENCYCLOPAEDIAS = frozenset[Kind](("zim", "cirrus", "wiki"))  # read in steps: they take minutes to hours
# The largest file of each kind, in megabytes; rows are read one by one. HTML takes 100 times its size in memory.
LARGEST: dict[Kind, int] = {"text": 64, "markdown": 64, "html": 8, "pdf": 256, "docx": 256, "zim": 64}
_SMALLER: dict[Kind, str] = {"zim": "attach it with `haluagent knowledge add`"}

_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*?)[ \t#]*$", re.MULTILINE)


def kind_of(path: Path) -> Kind | None:
    """Return the kind of a file by the end of its name; None for an unknown one."""
    name = path.name.lower()
    return KINDS.get(path.suffix.lower()) or next((KINDS[end] for end in KINDS if name.endswith(end)), None)


def read(path: Path, field: str | None = None) -> Iterator[Document | LeftOut]:
    """Yield the documents in a file, according to its suffix; unknown suffixes are read as text.

    `field` is the field of JSON lines that holds the text. In every text, line ends are line feeds, and control
    characters are spaces. Raise `OSError`, `ConfigError` if the extra for this kind of file is not installed, or
    `Unreadable` if the file as a whole has no readable text.
    """
    kind = kind_of(path) or "text"
    size = path.stat().st_size / MEGABYTE
    if size > LARGEST.get(kind, size):
        raise Unreadable(
            f"it has {size:.0f} MB, and at most {LARGEST[kind]} are read: {_SMALLER.get(kind, 'split it')}"
        )
    if kind == "rows":
        with path.open("rb") as file:
            yield from read_rows(file, path.name, field)
    elif kind == "cirrus":
        yield from read_cirrus(path)
    elif kind == "wiki":
        yield from read_wiki(path)
    elif kind == "zim":
        yield from _zim(path)
    elif kind == "pdf":
        from haluagent.search.documents.pdf import read_pdf  # an extra

        with path.open("rb") as file:
            title, text, left_out = read_pdf(file)
        yield from left_out
        yield _whole(path, title, text, "it has no text (scanned pages need character recognition first)")
    elif kind == "docx":
        with path.open("rb") as file:
            yield _whole(path, *read_docx(file))
    elif kind == "html":
        from haluagent.search.documents.html import read_html  # an extra

        yield _whole(path, *read_html(path.read_bytes()))
    else:
        text = clean(decode(path.read_bytes()))
        heading = _HEADING.search(text) if kind == "markdown" else None
        yield _whole(path, heading[1] if heading else "", text)


def _zim(path: Path) -> Iterator[Document]:
    from haluagent.search.knowledge.zim import BrokenZim, ZimPack  # an extra

    found = False
    try:
        for place, title, text in ZimPack(path).articles():
            if text.strip():
                found = True
                yield Document(one_line(title) or one_line(place), text, f"{path.as_uri()}#{place}")
    except BrokenZim as error:
        raise Unreadable(error.problem) from error
    if not found:
        raise Unreadable("it has no articles")


def _whole(path: Path, title: str, text: str, otherwise: str = "it is empty") -> Document:
    if not text.strip():
        raise Unreadable(otherwise)
    return Document(one_line(title) or one_line(path.stem), text)
