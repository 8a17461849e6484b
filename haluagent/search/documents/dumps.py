"""Reading the dumps of a wiki, article by article: MediaWiki's XML (https://www.mediawiki.org/wiki/Help:Export) and the search
documents of CirrusSearch (https://dumps.wikimedia.org/other/cirrussearch/)."""

import bz2
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

from haluagent.search.documents.document import Document, LeftOut, clean, one_line
from haluagent.search.documents.encoding import Unreadable
from haluagent.search.documents.rows import lines, load
from haluagent.search.documents.wikitext import plain

ARTICLES = (None, 0, "0")  # the namespace of articles


def read_cirrus(path: Path) -> Iterator[Document | LeftOut]:
    """Yield the articles of a CirrusSearch dump: pairs of lines, the action and the document, compressed.

    Raise `Unreadable` if it holds none, or where it is cut off.
    """
    found, problem = False, "it is empty"
    with _unpacked(path) as file:
        for number, line in enumerate(lines(file), start=1):
            try:
                document = _article(line)
            except Unreadable as error:
                problem = f"none of its lines is an article; line {number}: {error}"
                yield LeftOut(f"line {number}", str(error))
                continue
            if document is not None:
                found = True
                yield document
    if not found:
        raise Unreadable(problem)


def _article(line: bytes) -> Document | None:
    """Return the document of a line; None for an action, a page of another kind, or one without text."""
    row = load(line) if line.strip() else {}
    if not isinstance(row, dict):
        raise Unreadable("it is no object")
    if "text" not in row or row.get("namespace") not in ARTICLES:
        return None
    title, text = row.get("title"), row["text"]
    if not (isinstance(title, str) and isinstance(text, str)):
        raise Unreadable("its title or text is no string")
    wiki = row.get("wiki")
    language = wiki.removesuffix("wiki") if isinstance(wiki, str) and wiki.endswith("wiki") else ""
    url = _address(f"https://{language.replace('_', '-')}.wikipedia.org/wiki/", title) if language else None
    return Document(one_line(title), clean(text), url) if text.strip() else None


def read_wiki(path: Path) -> Iterator[Document | LeftOut]:
    """Yield the articles of an XML dump of pages, compressed, with their wikitext reduced to text.

    Raise `Unreadable` if it holds none, or where it is cut off.
    """
    found, base = False, ""
    with _unpacked(path) as file:
        events = ElementTree.iterparse(file, events=("start", "end"))
        root = next(events)[1]
        for event, element in events:
            name = element.tag.rpartition("}")[2]
            if event == "end" and name == "base":
                base = _base(element.text or "")
            elif event == "end" and name == "page":
                document = _page(element, base)
                root.clear()
                if document is not None:
                    found = True
                    yield document
    if not found:
        raise Unreadable("it has no articles")


def _page(page: "ElementTree.Element[Any]", base: str) -> Document | None:
    told = {element.tag.rpartition("}")[2]: element.text or "" for element in page.iter()}
    if told.get("ns", "0").strip() != "0" or any(element.tag.endswith("}redirect") for element in page):
        return None
    title, text = one_line(told.get("title", "")), plain(clean(told.get("text", "")))
    return Document(title, text, _address(base, title) if base else None) if title and text else None


def _base(address: str) -> str:
    """Return the beginning of the articles' addresses from that of the main page."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}/wiki/" if parts.scheme in ("http", "https") and parts.netloc else ""


def _address(base: str, title: str) -> str:
    return base + quote(title.replace(" ", "_"), safe="/:(),'!")


@contextmanager
def _unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a file compressed with gzip or bzip2. Raise `Unreadable` where it is damaged or cut off."""
    opener = bz2.open if path.suffix.lower() == ".bz2" else gzip.open
    try:
        with opener(path, "rb") as file:
            yield cast(BinaryIO, file)
    except EOFError as error:
        raise Unreadable("it is cut off: get the rest of it, and add it again") from error
    except (gzip.BadGzipFile, zlib.error, ValueError) as error:
        raise Unreadable(f"it is damaged: {error}") from error
    except ElementTree.ParseError as error:
        raise Unreadable(f"it is no XML, or cut off: {error}") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise Unreadable(f"it is damaged: {error}") from error  # as bz2 says it
