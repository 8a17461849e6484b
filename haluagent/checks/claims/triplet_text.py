"""Parsing triplets from a model's text as tolerantly as possible; nothing of it is ever evaluated.

The expected form is a JSON list of three strings per line, under the name of its sentence (`S1`). Also read are several
lists on a line, nested lists, round and full-width brackets, single and Chinese quotation marks, quotes within quotes,
numbers without quotes, and `head | relation | tail`. A list that cannot be read is not ignored: its block says so.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

Triplet = tuple[str, str, str]

_HEADER = re.compile(r"^[ \t*#]*(S\d+)\b[ \t*]*[:：.]?[ \t*]*", re.M)
_OPEN, _CLOSE = r"[\[(（【［]", r"[\])）】］]"
_KINDS = ('"“”', "'‘’", "「」『』")
_OPENING = re.compile(rf"{_OPEN}\s*(?P<quote>[{''.join(_KINDS)}])")
_QUOTED_OR_BARE = re.compile(r"\s*(?:[\"“]([^\"“”]*)[\"”]|'([^']*)'|([^,，\"“”]+?))\s*(?:[,，]|$)")
_BARE = re.compile(rf"^[\s\d.*•-]*{_OPEN}(?P<body>[^\[\]]+){_CLOSE}\W*$")


@dataclass
class Block:
    """The triplets written for one sentence, and whether some part could not be read."""

    triplets: list[Triplet] = field(default_factory=list)
    unread: bool = False


def read(text: str, names: Iterable[str]) -> dict[str, Block]:
    """Return the block written under each name; text under none of them is at ""."""
    known = set(names)
    blocks: dict[str, Block] = {}
    headers = [match for match in _HEADER.finditer(text) if match[1] in known]
    ends = [*(header.start() for header in headers), len(text)]
    parts = [("", 0), *((header[1], header.end()) for header in headers)]
    for (name, start), end in zip(parts, ends, strict=True):
        if text[start:end].strip():
            found = _block(text[start:end])
            block = blocks.setdefault(name, Block())
            block.triplets = list(dict.fromkeys([*block.triplets, *found.triplets]))
            block.unread |= found.unread
    return blocks


def _block(text: str) -> Block:
    block = Block()
    for line in text.splitlines():
        found = _line(line)
        block.triplets += found.triplets
        block.unread |= found.unread
    if not block.triplets and block.unread:  # perhaps a list over several lines
        whole = _line(" ".join(text.split()))
        return whole if whole.triplets else block
    return block


def _line(line: str) -> Block:
    block, at = Block(), 0
    last = max((match.start() for match in re.finditer(_CLOSE, line)), default=0)
    while opening := _OPENING.search(line, at):
        if opening.end() > last:  # it is not closed
            block.unread = True
            return block
        parts, at = _list(line, opening)
        block.unread |= not _take(parts, block)
    if at == 0 and (bare := _BARE.match(line) or re.match(r"^(?P<body>[^|]+(?:\|[^|]+)+)$", line)):
        parts = re.split(r"\|" if "|" in bare["body"] else r"[,，;；]", bare["body"])
        block.unread |= len(parts) != 3 or not _take([part.strip(" \t-*•") for part in parts], block)
    elif at == 0 and re.match(rf"\s*{_OPEN}", line):
        block.unread = True
    return block


def _list(line: str, opening: re.Match[str]) -> tuple[list[str], int]:
    """Return the parts of the list that begins at `opening`, and its end; no parts if it cannot be read."""
    quote = f"[{next(kind for kind in _KINDS if opening['quote'] in kind)}]"
    start = opening.end()
    for closing in re.compile(rf"{quote}\s*{_CLOSE}").finditer(line, start):
        rest = line[closing.end() :].lstrip()
        if rest and re.match(quote, rest):  # a bracket inside a part: "Hey (the "remix")"
            continue
        parts = re.split(rf"{quote}\s*[,，、;；]\s*{quote}", line[start : closing.start()])
        if len(parts) >= 3:
            return [_unescaped(part) for part in parts], closing.end()
        if not rest or re.match(rf"[,，;；]?\s*{_OPEN}", rest):
            break
    # A part without quotes: ["Osk", "was built in", 1950]
    if closed := re.compile(_CLOSE).search(line, start):
        body = line[opening.start() + 1 : closed.start()]
        found = list(_QUOTED_OR_BARE.finditer(body))
        if sum(len(match[0]) for match in found) == len(body):
            return [next(filter(None, match.groups()), "") for match in found], closed.end()
    return [], start


def _take(parts: list[str], block: Block) -> bool:
    """Add the triplets of a list's parts: three, a multiple of three, or three whose tail is a list.

    Return False for others.
    """
    parts = [part.strip() for part in parts]
    if len(parts) < 3 or not all(parts):
        return False
    if len(parts) % 3:
        parts = [*parts[:2], ", ".join(parts[2:])]
    block.triplets += [(parts[at], parts[at + 1], parts[at + 2]) for at in range(0, len(parts), 3)]
    return True


def _unescaped(part: str) -> str:
    try:
        read = json.loads(f'"{part}"')
    except ValueError:
        return part.replace('\\"', '"')
    return str(read)
