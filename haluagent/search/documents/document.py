"""A document as it is indexed: a clean text with a title, and the parts of its file that could not be read."""

import re
from typing import NamedTuple

MEGABYTE = 1_000_000
LONGEST_TITLE = 300  # characters
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


def clean(text: str) -> str:
    """The text with line feeds as line ends, spaces for control characters, and no half characters (surrogates)."""
    return _SURROGATE.sub("\ufffd", _CONTROL.sub(" ", _LINE_END.sub("\n", text)))


def one_line(text: str) -> str:
    """A title: on one line, and not too long."""
    return " ".join(clean(text).split())[:LONGEST_TITLE]
