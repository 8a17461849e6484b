"""Extracting a passage from a page. It parses untrusted input, so `pages` runs it in a process with limits."""

import base64
import io
from typing import Any

from haluagent.errors import ToolError
from haluagent.search.documents.document import clean
from haluagent.search.documents.docx import MEDIA_TYPE as DOCX
from haluagent.search.documents.docx import read_docx
from haluagent.search.documents.encoding import decode
from haluagent.search.documents.html import read_html
from haluagent.search.documents.pdf import read_pdf
from haluagent.search.pages.relevance import best_passage


def passage_of(request: dict[str, Any]) -> dict[str, Any]:
    """Return the `text` of the passage that fits the `query` best, and its `offset` in the text of the page.

    The page is given as `data` in base64, with its `type` and the `charset` that its server names (or None). Raise
    `ToolError` if it has no text.
    """
    text = text_of(request)
    start, end = best_passage(text, request["query"])
    if start == end:
        raise ToolError("the page has no text")
    return {"text": text[start:end], "offset": start}


def text_of(request: dict[str, Any]) -> str:
    """Return the whole text of a page; the request is that of `passage_of` without a query."""
    return read(base64.b64decode(request["data"]), request["type"], request["charset"])


def read(data: bytes, kind: str, charset: str | None) -> str:
    """Return the text of a page. Raise `Unreadable`."""
    if kind == "application/pdf":
        return read_pdf(io.BytesIO(data))[1]
    if kind == DOCX:
        return read_docx(io.BytesIO(data))[1]
    if kind in ("text/plain", "text/markdown"):
        return clean(_decode(data, charset))
    return read_html(data, charset)[1]


def _decode(data: bytes, charset: str | None) -> str:
    try:
        return data.decode(charset) if charset else decode(data)
    except (LookupError, UnicodeDecodeError):  # the server names an unknown encoding, or the wrong one
        return decode(data)
