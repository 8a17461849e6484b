"""Find code in a text: fenced blocks of any language, and Python without fences. Nothing is run or compiled."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from os.path import commonprefix

from haluagent.text.code_classifier import SourceLine, code_language, unfenced
from haluagent.types import Record, Span

MAX_TEXT = 100_000  # characters of a text that are looked at
LINES_BEFORE = 5  # of the text, where it may say that what follows is pseudo-code

_PSEUDOCODE = re.compile(r"pseudo.?code|伪代码", re.IGNORECASE)


class CodeBlock(Record):
    """Code in a text. `text[span[0]:span[1]]` is all of it, fences included.

    `code` is without fences and without the indentation that all of its lines share; `lines[i]` is where line i of
    it stands in the text, without that indentation. `language` is in lower case: `python` for programs alone, `pycon`
    for a transcript (`>>>`), `console` for a shell's, `diff`, `output`, another language, or "" where it cannot be told.
    """

    span: Span
    code: str
    lines: tuple[Span, ...]
    language: str
    fenced: bool

    @property
    def python(self) -> bool:
        return self.language == "python"


@lru_cache(maxsize=16)
def find(text: str) -> tuple[CodeBlock, ...]:
    """Return the code in `text`, in order and without overlap: every fenced block that is not empty (``` or ~~~, also
    in lists and quotations, or not closed), and Python outside fences. What stands beyond `MAX_TEXT` characters is not
    looked at."""
    blocks = tuple(_find(_lines(text[:MAX_TEXT])))
    if len(text) > MAX_TEXT and blocks and blocks[-1].span[1] == MAX_TEXT:
        return blocks[:-1]  # the rest of it was not looked at
    return blocks


def _find(lines: list[SourceLine]) -> Iterator[CodeBlock]:
    prose: list[SourceLine] = []
    at = 0
    while at < len(lines):
        fence = _Fence.at(lines, at)
        if fence is None:
            prose.append(lines[at])
            at += 1
            continue
        yield from _bare([*prose, fence.before])
        if any(line.text.strip() for line in fence.content):
            content = _dedent(fence.content)
            code = "\n".join(line.text for line in content)
            yield _block((fence.start, fence.end), content, code_language(fence.tag, code), fenced=True)
        prose, at = [], fence.next
    yield from _bare(prose)


def _bare(prose: list[SourceLine]) -> Iterator[CodeBlock]:
    for lines in unfenced(prose):
        at = bisect_left(prose, lines[0].start, key=lambda line: line.start)
        before = "\n".join(line.text for line in prose[max(0, at - LINES_BEFORE) : at])
        language = "pseudocode" if _PSEUDOCODE.search(before) else "python"
        yield _block((lines[0].start, lines[-1].end), _dedent(lines), language, fenced=False)


def _block(span: Span, lines: list[SourceLine], language: str, fenced: bool) -> CodeBlock:
    places = tuple((line.start, line.end) for line in lines)
    return CodeBlock(
        span=span, code="\n".join(line.text for line in lines), lines=places, language=language, fenced=fenced
    )


def _lines(text: str) -> list[SourceLine]:
    """Return the lines of a text. Only a line feed ends a line, as in Python: a form feed or U+2028 may stand in a
    string."""
    lines, start = [], 0
    for line in text.split("\n"):
        lines.append(SourceLine(line.removesuffix("\r"), start))
        start += len(line) + 1
    return lines


def _dedent(lines: list[SourceLine]) -> list[SourceLine]:
    """Return the lines without the indentation that all lines share, and without blank lines at the end."""
    written = [index for index, line in enumerate(lines) if line.text.strip()]
    shared = commonprefix([lines[index].indent for index in written])
    lines = lines[: written[-1] + 1]
    return [line.cut(len(shared)) if line.text.strip() else SourceLine("", line.start) for line in lines]


# --- fences (CommonMark 4.5, with what language models write beside it) -----------------------------------------------

_LEAD = r"(?:[ \t]|>|[-*+][ \t]|\d{1,3}[.)][ \t]|\d{1,3}[、．])*"  # list markers and quotation marks before a fence
_OPENING = re.compile(rf"(?P<lead>{_LEAD})(?P<mark>`{{3,}}(?=[^`]*$)|~{{3,}})(?P<info>.*)$")
_BEHIND_TEXT = re.compile(r"(?P<lead>[^`]*[^\s`])(?P<mark>`{3,})(?P<info>[\w+#.-]*)\s*$")  # 代码如下：```python
_QUOTED = re.compile(r"\s*(?:> ?)+")
_WRAPPERS = {"markdown", "md"}  # a whole answer in a fence: what is in it has fences of its own


@dataclass(frozen=True)
class _Fence:
    tag: str
    before: SourceLine  # text before the opening mark
    content: list[SourceLine]
    start: int  # offset of the opening mark
    end: int  # offset behind the closing mark
    next: int  # index of the first line behind

    @classmethod
    def at(cls, lines: list[SourceLine], at: int) -> "_Fence | None":
        """Return the block that opens on a line, or None."""
        text = lines[at].text
        if "```" not in text and "~~~" not in text:
            return None
        match = _OPENING.match(text)
        behind_text = match is None
        match = match or _BEHIND_TEXT.match(text)
        if match is None or (tag := _tag(match["info"])) in _WRAPPERS:
            return None
        before = SourceLine(match["lead"] if behind_text else "", lines[at].start)
        start = lines[at].start + match.start("mark")
        content: list[SourceLine] = []
        end, index = lines[at].end, at + 1
        for index, line in enumerate(lines[at + 1 :], at + 1):
            if ">" in match["lead"] and (quoted := _QUOTED.match(line.text)):
                line = line.cut(quoted.end())
            closing = _closing(line.text, match["mark"])
            if closing is not None:
                content += [SourceLine(line.text[:closing], line.start)] if line.text[:closing].strip() else []
                return cls(tag, before, content, start, line.start + len(line.text.rstrip()), index + 1)
            if _opens_again(line.text, match["mark"]):  # this one was not closed
                return cls(tag, before, content, start, end, index)
            content.append(line)
            end = line.end
        return None if behind_text else cls(tag, before, content, start, end, len(lines))


def _closing(line: str, mark: str) -> int | None:
    """Return where on a line the block is closed: behind white space, or, where a line break was forgotten, behind the
    code."""
    line = line.rstrip()
    bare = line.strip()
    if len(bare) >= len(mark) and not bare.strip(mark[0]):
        return line.index(bare)
    if mark[0] == "`" and line.endswith(mark) and line.count("`") == len(mark):
        return len(line) - len(mark)
    return None


def _opens_again(line: str, mark: str) -> bool:
    again = _OPENING.match(line)
    return again is not None and again["mark"] == mark and bool(re.fullmatch(r"[\w+#.-]+", again["info"].strip()))


def _tag(info: str) -> str:
    """Return the language that an info string names: `python`, `{.python}`, `python:main.py`, `Python 3`, `py
    title="x"`."""
    return re.split(r"[\s:,{}=]+", info.strip().lstrip("{.").lower(), maxsplit=1)[0]
