"""The text of a Word file: Office Open XML (ECMA-376), in its transitional and strict forms.

The file is untrusted. Its parts are read as a stream within a size, so that no archive grows without end, and a document
type declaration, which Word never writes, ends the reading: without one there are no entities.
"""

import posixpath
import zipfile
import zlib
from collections.abc import Callable
from typing import BinaryIO
from xml.parsers import expat

from haluagent.search.documents.document import MEGABYTE, clean
from haluagent.search.documents.encoding import Unreadable

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
LARGEST_PART = 64  # megabytes, unpacked
CHUNK = 1 << 16  # bytes
# In the transitional and in the strict form.
_DOCUMENT = (
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument",
    "http://purl.oclc.org/ooxml/officeDocument/relationships/officeDocument",
)
_WORD = (
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "http://purl.oclc.org/ooxml/wordprocessingml/main",
)
# Moved away, the reading aid above a character, and the copy of a drawing for older programs: each stands elsewhere too.
_LEFT_OUT = ("moveFrom", "rt", "Fallback")
_MARKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_OFF = ("0", "false", "off")


def read_docx(file: BinaryIO) -> tuple[str, str]:
    """Return the title in a file's properties, and its text: a line for each paragraph and each row of a table, the notes
    last. Hidden and deleted text is left out. Raise `Unreadable`."""
    try:
        with zipfile.ZipFile(file) as archive:
            main = _main_part(archive)
            folder = posixpath.dirname(main)
            notes = [posixpath.join(folder, name) for name in ("footnotes.xml", "endnotes.xml")]
            parts = [_text(archive, part) for part in (main, *notes) if part == main or part in archive.namelist()]
            return _title(archive), clean("\n".join(filter(None, parts)))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise Unreadable(f"it is no Word file that can be read, or has a password ({error})") from error


def _main_part(archive: zipfile.ZipFile) -> str:
    found: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if name.endswith(" Relationship") and attributes.get("Type") in _DOCUMENT:
            found.append(attributes.get("Target", "").lstrip("/"))

    _parse(archive, "_rels/.rels", start)
    if not found:
        raise Unreadable("it is no Word file: it names no document")
    return found[0]


def _title(archive: zipfile.ZipFile) -> str:
    if "docProps/core.xml" not in archive.namelist():
        return ""
    pieces: list[str] = []
    inside = ""

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal inside
        inside = name

    def text(data: str) -> None:
        if inside.endswith(" title"):
            pieces.append(data)

    _parse(archive, "docProps/core.xml", start, text=text)
    return "".join(pieces).strip()


def _text(archive: zipfile.ZipFile, part: str) -> str:
    reader = _Body()
    _parse(archive, part, reader.start, reader.end, reader.text)
    return "".join(reader.pieces).strip()


class _Body:
    """Collects the text of a part while it is parsed."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._inside: list[str] = []
        self._cells = 0
        self._left_out = 0
        self._hidden = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        space, _, own = name.rpartition(" ")
        word = own if space in _WORD else ""
        self._inside.append(word)
        self._left_out += own in _LEFT_OUT
        self._cells += word == "tc"
        if word == "r":
            self._hidden = False
        elif word == "vanish":
            value = next((value for key, value in attributes.items() if key.endswith(" val")), "")
            # Of a run; a hidden mark at the end of a paragraph hides no text.
            self._hidden = "r" in self._inside and value not in _OFF
        elif word in _MARKS and "r" in self._inside:
            self._add(_MARKS[word])

    def end(self, name: str) -> None:
        word = self._inside.pop()
        self._left_out -= name.rpartition(" ")[2] in _LEFT_OUT
        self._cells -= word == "tc"
        if word == "r":
            self._hidden = False
        elif word == "p":
            self.pieces.append(" " if self._cells else "\n")
        elif word == "tr":
            self.pieces.append("\n")

    def text(self, data: str) -> None:
        if self._inside and self._inside[-1] == "t":
            self._add(data)

    def _add(self, text: str) -> None:
        if not self._left_out and not self._hidden:
            self.pieces.append(text)


def _parse(
    archive: zipfile.ZipFile,
    part: str,
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None] = lambda name: None,
    text: Callable[[str], None] = lambda data: None,
) -> None:
    """Parse a part as a stream. Raise `Unreadable` if it is missing, damaged, too large, or declares a document type."""

    def refuse(*declaration: object) -> None:
        raise Unreadable("it declares a document type, as no Word file does")

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = text
    try:
        with archive.open(part) as file:
            size = 0
            while chunk := file.read(CHUNK):
                size += len(chunk)
                if size > LARGEST_PART * MEGABYTE:
                    raise Unreadable(f"it unpacks to more than {LARGEST_PART} MB")
                parser.Parse(chunk)
            parser.Parse(b"", True)
    except KeyError:
        raise Unreadable(f"it is no Word file: it has no part {part}") from None
    except expat.ExpatError as error:
        raise Unreadable(f"its part {part} is no XML: {error}") from error
