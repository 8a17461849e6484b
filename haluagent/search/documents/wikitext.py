"""Reducing wikitext, the markup of MediaWiki (https://www.mediawiki.org/wiki/Help:Formatting), to its text.

One pass over the marks with a stack of what is open, so that the time is linear in the length whatever is left open.
Templates are dropped, but for a few whose text belongs to the sentence around them.
"""

import html
import re
from typing import NamedTuple

_MARK = re.compile(
    r"<!--|-->|\{\{|\}\}|\{\||\|\}|\[\[|\]\]|-\{|\}-|\[(?=(?:https?:)?//)|\]"
    r"|</?[a-zA-Z][^<>]{0,500}>|'{2,5}|__[A-Z]+__"
)
_HIDDEN = frozenset("ref gallery timeline math score source syntaxhighlight imagemap hiero chem graph".split())
_CLOSING = {"}}": "{{", "|}": "{|", "]]": "[[", "}-": "-{", "]": "[", "-->": "<!--"}
_NAME = re.compile(r"</?([a-zA-Z]+)")
_EMPTY = re.compile(r"\n{3,}")
_NAMESPACE = re.compile(r"(file|image|category|media|文件|檔案|档案|图像|圖像|分类|分類)\s*:", re.IGNORECASE)
_EMPTY_BRACKETS = re.compile(r"[（(][\s,，、;；:：]*[)）]")
# Templates that stand for words of the text, and which of their arguments (from 0, from the end if negative) these are.
_INLINE = re.compile(r"(lang(?:-[\w-]+)?|nowrap|nobr|link-[\w-]+|le|ill|tsl|internal link helper(?:/[\w-]+)?)$")
_LAST = re.compile(r"lang|tsl")
_UNITS = frozenset(("convert", "cvt"))
DEEPEST = 60  # levels; each copies the text inside it


class _Open(NamedTuple):
    kind: str  # an opening mark, or the name of a hidden tag
    place: int  # of its first piece


def plain(wikitext: str) -> str:
    """Return the text of a page, a line for each paragraph, heading and item of a list. Tables are left out."""
    pieces: list[str] = []
    stack: list[_Open] = []
    opened: dict[str, int] = {}
    end = 0
    for mark in _MARK.finditer(wikitext):
        pieces.append(wikitext[end : mark.start()])
        end = mark.end()
        _take(mark[0], pieces, stack, opened)
    pieces.append(wikitext[end:])
    return _tidy("".join(pieces))


def _take(mark: str, pieces: list[str], stack: list[_Open], opened: dict[str, int]) -> None:
    """Open, close or drop what a mark stands for."""
    kind, closes = mark, mark in _CLOSING
    if mark in _CLOSING:
        kind = _CLOSING[mark]
    elif found := _NAME.match(mark):
        kind, closes = found[1].lower(), mark[1] == "/"
        if kind not in _HIDDEN or mark.endswith("/>"):
            pieces.append("\n" if kind in ("br", "p", "div", "tr", "li") else "")
            return
    elif mark[0] in "'_":
        return
    if not closes:
        if len(stack) == DEEPEST:
            return
        stack.append(_Open(kind, len(pieces)))
        opened[kind] = opened.get(kind, 0) + 1
    elif opened.get(kind):
        while stack:  # what was opened inside and never closed stays as text
            last = stack.pop()
            opened[last.kind] -= 1
            if last.kind == kind:
                inner = "".join(pieces[last.place :])
                del pieces[last.place :]
                pieces.append(_shown(kind, inner))
                return


def _shown(kind: str, inner: str) -> str:
    """Return what a reader sees of a closed element."""
    if kind == "[[":
        return "" if _NAMESPACE.match(inner.lstrip(" :")) else inner.rpartition("|")[2]
    if kind == "[":
        return inner.partition(" ")[2]
    if kind == "{{":
        return _template(inner)
    if kind == "-{":
        return _variant(inner)
    return ""


def _template(inner: str) -> str:
    name, *arguments = (part.strip() for part in inner.split("|"))
    name = name.lower()
    given = [argument for argument in arguments if "=" not in argument]
    if name in _UNITS and len(given) > 1:
        return f"{given[0]} {given[1]}"
    if given and _INLINE.match(name):
        return given[-1] if _LAST.match(name) else given[0]
    return ""


def _variant(inner: str) -> str:
    """Return the first wording of a passage that Chinese wikis write in several (zh-hans:计算机;zh-hant:電腦)."""
    flag, bar, rest = inner.partition("|")
    if bar and flag.strip().isascii():
        return "" if flag.strip() in ("H", "T", "A", "-") and flag.strip() != "A" else _variant(rest)
    wording = rest if bar else inner
    first = wording.partition(";")[0]
    return first.partition(":")[2].strip() if re.match(r"\s*zh(-\w+)?\s*:", first) else wording


def _tidy(text: str) -> str:
    text = _EMPTY_BRACKETS.sub("", html.unescape(text).replace("\xa0", " "))
    return _EMPTY.sub("\n\n", "\n".join(map(_line, text.split("\n")))).strip()


def _line(line: str) -> str:
    """Return a line without the marks of a heading or a list; a heading stands by itself."""
    line = line.strip()
    if len(line) > 2 and line[0] == line[-1] == "=":
        return f"\n{line.strip('= ')}\n"
    return line.lstrip("*#:; ")
