"""Whether a text states a result as true of ordinary numbers: not denied, quoted, supposed or said by others."""

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import lru_cache

from haluagent.types import Span

_DENIED = re.compile(
    r"\b(?:not?|never|neither|nor|cannot|wrong\w*|false\w*|incorrect\w*|mist\w+|err\w+|untrue|myth|joke|if|suppose|imagine|"
    r"pretend|claim\w*|instead|rather|unlike|believe\w*|thinks?|thought|writes?|wrote|answered|guess\w*|reported|motto|slogan|misread\w*|sa(?:y|ys|id)|told|contradict\w*|absurd|typo|pitfall)\b|n[’']t\b|≠|!=|[❌✗✘]|"
    r"[不没非错误假若勿未伪]|如果|并无|[认以]为|相信|[声宣]称|据说|矛盾|算成|算得|写成|口号|荒谬|反例",
    re.IGNORECASE,
)
_OTHER_NUMBERS = re.compile(
    r"\b(?:mod(?:ulo|ulus)?|binary|octal|hex(?:adecimal)?|base|clock|boolean|xor|gf|db|estimat\w*|significant|floor\w*|trunc\w*|integer|rounded|"
    r"round(?:s|ing)? (?:up|down)|"
    r"code|python|java\w*|in c|sql)\b|\bZ/[0-9]|进制|取模|模\s?[0-9]|同余|取整|整除|余数|四舍五入|进一|去尾|钟面|代码|布尔|估算|估计",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"“[^“”\n]{1,300}”|\"[^\"\n]{1,300}\"|「[^「」\n]{1,300}」|『[^『』\n]{1,300}』|‘[^‘’\n]{1,300}’")
_CLAUSE = re.compile(r"[,，;；。！？!?\n]+")


def why_open(text: str, span: Span, holds: bool) -> str:
    """Return why a text may not state what stands at a place as true; empty where it does.

    A denial anywhere keeps a result from being wrong, and one in its own clause from being right.
    """
    start, end = span
    said = _said(text)
    quoted = bisect_left(said.quoted, (start, 0))
    if quoted and end < said.quoted[quoted - 1][1]:
        return "it is quoted"
    if said.other_numbers:
        return "it may be another arithmetic"
    before = bisect_right(said.marks, start, key=lambda mark: mark[1])
    after = bisect_left(said.marks, end, key=lambda mark: mark[0])
    clause = (
        said.marks[before - 1][1] if before else 0,
        said.marks[after][1] if after < len(said.marks) else len(text),
    )
    denied = (
        bisect_left(said.denials, clause[0]) < bisect_left(said.denials, clause[1]) if holds else bool(said.denials)
    )
    return "it may be denied" if denied or said.asked else ""


@dataclass(frozen=True)
class _Said:
    """What is read once for all equations of a text: its quotations, the marks between its clauses, and its words."""

    quoted: list[Span]
    marks: list[Span]
    other_numbers: bool
    denials: list[int]
    asked: bool


@lru_cache(maxsize=16)
def _said(text: str) -> _Said:
    return _Said(
        [match.span() for match in _QUOTED.finditer(text)],
        [match.span() for match in _CLAUSE.finditer(text)],
        _OTHER_NUMBERS.search(text) is not None,
        [match.start() for match in _DENIED.finditer(text)],
        text.rstrip().endswith(("?", "？")),
    )
