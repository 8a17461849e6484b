"""The parts of an indexed file: documents, each a clean text with a title, and parts that could not be read."""

import importlib
import re
from typing import NamedTuple

from haluagent.errors import ConfigError

MEGABYTE = 1_000_000
LONGEST_TITLE = 300  # characters
_READERS = {"bs4": "an HTML page", "pypdf": "a PDF file"}
_LINE_END = re.compile(r"\r\n?|\f")
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Document(NamedTuple):
    """A text with a title and its place: `url` if the document states one, `line` (from 1) if it is a row of its
    file."""

    title: str
    text: str
    url: str | None = None
    line: int | None = None


class LeftOut(NamedTuple):
    """A part of a file (`line 3`, `page 12`) that could not be read, and the problem."""

    part: str
    problem: str


def clean(text: str) -> str:
    """Return the text with line feeds as line ends, spaces for control characters, and no lone surrogates."""
    return _SURROGATE.sub("\ufffd", _CONTROL.sub(" ", _LINE_END.sub("\n", text)))


def one_line(text: str) -> str:
    """Return a title on one line, cut to `LONGEST_TITLE` characters."""
    return " ".join(clean(text).split())[:LONGEST_TITLE]


def require(*readers: str) -> None:
    """Check that libraries (`bs4`, `pypdf`) are installed; raise a `ConfigError` that names the extra if not."""
    for reader in readers:
        try:
            importlib.import_module(reader)
        except ImportError:
            raise ConfigError(
                f'{_READERS[reader]} needs one more package: pip install "haluagent[documents]"'
            ) from None
