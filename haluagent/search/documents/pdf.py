"""The text of a PDF file, with lines joined into paragraphs."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from haluagent.search.documents.document import LeftOut, clean, require
from haluagent.search.documents.encoding import Unreadable
from haluagent.search.documents.passages import width

MOST_PAGES = 5000
FULL = 0.7  # a line narrower than this share of the widest one ends a paragraph

_ENDS = re.compile(r"[.!?:;。！？：；…][”’」』）)\"']*$")
_HYPHEN = re.compile(r"(?<=[a-z])-$")
_ASCII = re.compile(r"[!-~]")


def read_pdf(file: BinaryIO) -> tuple[str, str, list[LeftOut]]:
    """Return the title in a file's metadata, its text, and the pages that could not be read. Raise `Unreadable`, or
    `ConfigError` without the extra `documents`."""
    # Imported here because it takes a fifth of a second, and only PDF files need it.
    require("pypdf")
    from pypdf import PdfReader

    pages: list[str] = []
    left_out: list[LeftOut] = []
    # For a broken file pypdf raises all kinds of exceptions, not only its own.
    with _quiet():
        try:
            reader = PdfReader(file)
            if reader.is_encrypted and not reader.decrypt(""):
                raise Unreadable("it is protected with a password")
            count = len(reader.pages)
            title = str((reader.metadata and reader.metadata.title) or "")
        except Unreadable:
            raise
        except Exception as error:
            raise Unreadable(f"it is no PDF that can be read ({type(error).__name__}: {error})") from error
        for number in range(min(count, MOST_PAGES)):
            try:
                pages.append(reader.pages[number].extract_text())
            except Exception as error:
                left_out.append(LeftOut(f"page {number + 1}", f"{type(error).__name__}: {error}"))
    if count > MOST_PAGES:
        left_out.append(LeftOut(f"page {MOST_PAGES + 1} and after", f"at most {MOST_PAGES} pages are read"))
    return title, "\n".join(filter(None, map(_joined, pages))), left_out


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence pypdf's warnings about odd files, which would go to standard error and mean nothing to a user."""
    logger = logging.getLogger("pypdf")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _joined(page: str) -> str:
    """Return the text of a page with a line for each paragraph, as far as line widths and end marks tell."""
    lines = [line.strip() for line in clean(page).split("\n")]
    full = FULL * max(map(width, lines), default=0)
    text = ""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        text += line
        if not following or width(line) < full or _ENDS.search(line):
            text += "\n"
        elif _HYPHEN.search(line):
            text = text[:-1]
        elif _ASCII.match(line[-1:]) or _ASCII.match(following):
            text += " "
    return text.strip()
