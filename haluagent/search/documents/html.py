"""The visible text of a web page, without navigation."""

import codecs
import re
from typing import TYPE_CHECKING

from haluagent.search.documents.document import clean, one_line, require
from haluagent.search.documents.encoding import Unreadable, decode

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, PageElement, Tag

_NOT_READ = "head script style noscript template nav footer aside svg iframe object button select".split()
_BLOCKS = (
    "address article blockquote br caption center dd details div dl dt fieldset figcaption figure form h1 h2 h3 h4 h5 h6 "
    "header hr li main ol p pre section summary table tbody tfoot thead tr ul"
).split()
_CELLS = ["td", "th"]
_BREAK = "\0"  # stands for the end of a block while the line ends of the source become spaces
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_COMMENT_END = "-->"
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*>")
# Pages are often in a superset of the encoding they name; one whose declaration is readable as ASCII is not UTF-16.
_MEANT = {"gb2312": "gb18030", "gbk": "gb18030", "iso8859-1": "cp1252", "ascii": "cp1252", "utf-16": "utf-8"}


def read_html(data: bytes, charset: str | None = None) -> tuple[str, str]:
    """Return the title of a page and its text, a line for each block.

    `charset` is the one that a server named, if any. Menus, footers, scripts and hidden parts are left out. Raise
    `Unreadable`, or `ConfigError` without the extra `documents`.
    """
    # Imported here because it takes a tenth of a second, and only pages need it.
    require("bs4")
    from bs4 import BeautifulSoup
    from bs4.exceptions import ParserRejectedMarkup

    markup = _closed(_DECLARATION.sub("", clean(_decode(data, charset)), count=1))
    if "<" not in markup:
        return "", markup
    try:
        soup = BeautifulSoup(markup, "html.parser")
        title = soup.title or soup.h1
        return one_line(title.get_text(" ")) if title else "", _text(soup)
    except RecursionError as error:
        raise Unreadable("its tags are nested too deeply") from error
    except ParserRejectedMarkup as error:
        raise Unreadable("it is no HTML that can be read") from error


def _decode(data: bytes, charset: str | None) -> str:
    from bs4.dammit import EncodingDetector

    declared = charset or EncodingDetector.find_declared_encoding(data, is_html=True)
    try:
        if declared and not data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            name = codecs.lookup(declared).name
            return data.decode(_MEANT.get(name, name))
    except (LookupError, UnicodeDecodeError):
        pass  # the name is unknown, or the wrong one
    return decode(data)


def _closed(markup: str) -> str:
    """Remove comments and anything never closed, for whose end the parser would search at every opening."""
    end = markup.rfind(_COMMENT_END) + len(_COMMENT_END) if _COMMENT_END in markup else 0
    markup = _COMMENT.sub("", markup[:end]) + markup[end:].replace("<!--", "")
    end = markup.rfind(">") + 1
    return markup[:end] + markup[end:].replace("<", " ")


def _text(soup: "BeautifulSoup") -> str:
    # The tree is walked, not changed: removing or inserting a node takes time proportional to its siblings.
    from bs4 import NavigableString, Tag
    from bs4.element import CData

    pieces: list[str] = []
    waiting: list[tuple[PageElement | str, bool]] = [(soup, False)]
    while waiting:
        node, preformatted = waiting.pop()
        if isinstance(node, Tag):
            if not _is_left_out(node):
                preformatted = preformatted or node.name == "pre"
                edge = _BREAK if node.name in _BLOCKS else " " if node.name in _CELLS else ""
                inner = [(child, preformatted) for child in reversed(node.contents)]
                waiting += [(edge, False), *inner, (edge, False)] if inner else [(edge, False)]
        elif not isinstance(node, NavigableString):  # the edge of a block
            pieces.append(str(node))
        elif type(node) in (NavigableString, CData):  # but not a comment
            piece = clean(node)
            pieces.append(piece.replace("\n", _BREAK) if preformatted else piece)
    text = re.sub(rf"[^\S{_BREAK}]+", " ", "".join(pieces))
    text = re.sub(rf" ?{_BREAK}(?: ?{_BREAK})+ ?", "\n\n", text)
    return re.sub(rf" ?{_BREAK} ?", "\n", text).strip()


def _is_left_out(tag: "Tag") -> bool:
    return tag.name in _NOT_READ or tag.has_attr("hidden") or bool(_HIDDEN.search(str(tag.get("style") or "")))
