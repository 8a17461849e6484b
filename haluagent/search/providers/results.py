"""Converting what search services send into results of plain text."""

import html
import re
from typing import Any, TypeGuard

from haluagent.protocols import SearchResult
from haluagent.search.providers.failures import Failure

_TAG = re.compile(r"</?[a-zA-Z][^<>]*>|<!--.*?-->", re.DOTALL)


def whole(text: str) -> str:
    """Return the text with lone surrogates replaced, which neither a file nor a request can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def plain(markup: Any) -> str:
    """Return markup as one line without HTML tags and entities; empty if it is not a string."""
    if not isinstance(markup, str):
        return ""
    return " ".join(whole(html.unescape(_TAG.sub("", markup))).split())


def read_hits(items: Any, *, title: str, url: str, snippet: str) -> list[SearchResult]:
    """Return results from a list of objects with these keys, leaving out those without a web address.

    Raise `Failure` if it is not a list, or nothing in the list can be read.
    """
    if not isinstance(items, list):
        raise Failure("answer", "no list of results")
    results = [
        SearchResult(title=plain(item.get(title)) or item[url], url=whole(item[url]), snippet=plain(item.get(snippet)))
        for item in items
        if isinstance(item, dict) and is_web_address(item.get(url))
    ]
    if items and not results:
        raise Failure("answer", "results without addresses")
    return results


def is_web_address(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and value.startswith(("http://", "https://"))
