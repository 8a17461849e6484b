"""Split a response into the sentences that are checked, each with its place. No model is asked.

A line is never joined with the next one, except in code, fenced or not, or in a displayed formula, which are one
unit each. Within a line `sentencex` proposes where sentences end; what follows here adds the ends in Chinese
that it does not know and takes back those that fall inside a quotation, a title, a name or a number.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from sentencex import get_sentence_boundaries

from haluagent.text import code_blocks
from haluagent.text.language import HAN, written_in
from haluagent.types import Sentence, Span

_HAN_NUMBER = "[一二三四五六七八九十百]{1,3}"
# What stands before the text of a line: quotation marks, heading marks, and at most one list marker.
LINE_PREFIX = re.compile(
    rf"""\s*(?:>\s*)*(?:\#{{1,6}}\s+)?
    (?: [-*+•·‣◦▪●○■–—]\s+(?:\[[ xX]\]\s+)?      # bullets and check boxes
      | [•‣◦▪●○■]
      | \d{{1,3}}[.)]\s+                          # 1. and 1)
      | \d{{1,3}}[.．)](?={HAN.pattern})
      | \d{{1,3}}[、）](?!\d)
      | [（(]\d{{1,3}}[）)](?!\s*[-+*/=^×÷<>])    # (1), but not the number in (1) + 2
      | [（(]{_HAN_NUMBER}[）)]
      | {_HAN_NUMBER}、(?![一二三四五六七八九十百])  # 一、 but not 一、二年级
      | \(?(?:[a-zA-Z]|[ivx]{{2,4}})\)\s+         # a), (b) and iv)
      | [①-⑳]
    )?\s*""",
    re.VERBOSE,
)
FENCE = re.compile(r"\s*(`{3,}(?=[^`]*$)|~{3,})")
FORMULA_BLOCKS = {"$$": "$$", r"\[": r"\]"}
MAX_FORMULA_LINES = 40  # a formula that is not closed by then is text

_OPERATOR = re.compile(r"[=<>≈≠≤≥≡∝→⇒⇔±×÷√∑∏∫^]")
_WORD = re.compile(
    rf"(?!(?:sin|cos|tan|log|exp|lim|max|min|mod|gcd|lcm)\b)\b[^\W\d_]{{3,}}"
    rf"|\b(?:it|is|so|we|he|of|to|as|at|by|if|or|be|an)\b|{HAN.pattern}",
    re.I,
)
_COMMAND = re.compile(r"\\[a-zA-Z]+")

# Text in a pair is not split while it is short; a long quotation holds sentences of its own.
_PAIRS = re.compile(
    r"《[^《》]*》|（[^（）]*）|【[^【】]*】|“[^“”]*”|‘[^‘’]*’|「[^「」]*」|『[^『』]*』|\([^()]*\)|`[^`]+`|\"[^\"]*\""
)
MAX_PAIR = 60
_QUOTES = str.maketrans('"“”‘「」『』', " " * 8)
_KNOWN_ENDS = str.maketrans("。！？", "，，，")  # found here, so that `sentencex` need not find them again
_CLOSING = "”’」』）】)]》"
_SAME_MARK = re.compile(r"\"|`|\*{1,3}|_{1,3}")  # these open and close alike: every second one closes
_MAY_CLOSE = _CLOSING + '"`*_'
_QUOTE_END = re.compile(f'[{re.escape(_CLOSING)}"`]')
_CITATION = re.compile(r"\[\d{1,3}(?:[-,，、–]\s*\d{1,3})*\]")
_CHINESE_END = re.compile(r"[。！？；][。！？；!?;…]*|…+(?=[”’」』]?(?:\s|$))")
# After a unit of one letter, which is no initial: 72 km/h. In 4 hours; 20 m. Mass; 50 N. Mass. But: in 1990 J. Smith
_AFTER_UNIT = re.compile(
    r"(?:/[A-Za-z]|°[CF]|\d\s?[mghsldt]|(?<![\d.])(?:\d{1,3}|\d+\.\d+)\s?[NJWVAKCFL])"
    r"[²³]?\.(?=[\"'”’)]?\s+[\"'“‘(]?[A-Z\u4e00-\u9fff])"
)
_SURROGATES = re.compile("[\ud800-\udfff]")  # not text: `sentencex` refuses them
_TOUCHING = re.compile(rf"(?:{HAN.pattern}|[\u3000-\u303f\uff00-\uffef])(?=[A-Za-z])")

# The number that follows belongs to these: "Vol. 3", "Eq. (5)".
_BEFORE_NUMBER = re.compile(
    r"\b(?:No|Nos|Vol|Vols|Ch|Chap|Eq|Eqs|Fig|Figs|Sec|Secs|Art|Ref|Refs|Tab|approx|ca|cf|pp?)\.$", re.I
)
_NUMBER_ALONE = re.compile(r"[^\w]*\d{1,3}[.)]")  # an item's number in the middle of a line, "... 2. Paris"


@lru_cache(maxsize=64)  # every sentence of a response is compared with the same reference
def split(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of `text`, counted from 1, in order and without overlap.

    Each is verbatim, without white space at its ends. List markers and heading marks are left out, and so is
    a piece without any letter or digit (`---`); everything else belongs to some sentence. A fenced code block,
    Python that stands in the text by itself, a displayed formula, a formula on a line of its own and a table row are one sentence each.
    """
    sentences: list[Sentence] = []
    for start, end in _pieces(text):
        piece = text[start:end]
        if any(map(str.isalnum, piece)):
            start += len(piece) - len(piece.lstrip())
            piece = piece.strip()
            sentences.append(Sentence(index=len(sentences) + 1, text=piece, span=(start, start + len(piece))))
    return tuple(sentences)


def _pieces(text: str) -> Iterator[Span]:
    lines = text.splitlines(keepends=True)
    code = {block.span[0]: block.span[1] for block in code_blocks.find(text) if not block.fenced}
    at, start = 0, 0
    while at < len(lines):
        size = _lines_up_to(lines, at, start, code[start]) if start in code else _block_lines(lines, at)
        end = start + sum(map(len, lines[at : at + size]))
        if size > 1 or start in code or FENCE.match(lines[at]):
            yield start, end
        else:
            yield from ((start + a, start + b) for a, b in _line_pieces(lines[at]))
        at, start = at + size, end


def _lines_up_to(lines: list[str], at: int, start: int, end: int) -> int:
    """Return how many lines from `at` on, which begins at `start`, begin before `end`."""
    size = 0
    while at + size < len(lines) and start < end:
        start += len(lines[at + size])
        size += 1
    return size


def _block_lines(lines: list[str], at: int) -> int:
    """Return the number of lines, from `at`, that form one unit. A code block that is not closed continues to the end."""
    if fence := FENCE.match(lines[at]):
        mark = fence[1]
        for index in range(at + 1, len(lines)):
            line = lines[index].strip()
            if len(line) >= len(mark) and not line.strip(mark[0]):
                return index + 1 - at
        return len(lines) - at
    opening = lines[at].strip()[:2]
    closing = FORMULA_BLOCKS.get(opening)
    if closing and closing not in lines[at].strip()[2:]:
        for index in range(at + 1, min(len(lines), at + MAX_FORMULA_LINES)):
            if lines[index].rstrip().endswith(closing):
                return index + 1 - at
    return 1


def _line_pieces(line: str) -> Iterator[Span]:
    prefix = LINE_PREFIX.match(line)
    start = prefix.end() if prefix else 0
    if not any(map(str.isalnum, line[start:])):
        start = 0  # nothing follows, so it was no marker: the answer may be "(3)" or "1."
    content = line[start:].rstrip()
    if content.startswith("|") or _is_formula(content):
        yield start, start + len(content)
        return
    last = 0
    for end in _sentence_ends(content):
        piece = content[last:end].strip()
        if _goes_on(piece, content[end : end + 4].lstrip()):
            continue
        yield start + last, start + end
        last = end
    yield start + last, start + len(content)


def _is_formula(line: str) -> bool:
    """Return whether a line has an operator and no words."""
    plain, commands = _COMMAND.subn(" ", line)
    return bool(commands or _OPERATOR.search(plain)) and not _WORD.search(plain)


def _goes_on(piece: str, rest: str) -> bool:
    """Return whether a sentence continues after its proposed end."""
    if not any(map(str.isalnum, piece)) or _NUMBER_ALONE.fullmatch(piece):
        return True
    return rest[:1] in tuple("(0123456789") and bool(_BEFORE_NUMBER.search(piece[-8:]))


def _sentence_ends(line: str) -> list[int]:
    """Return the offsets in `line` where a sentence ends and another one follows, ascending."""
    pairs = [match.span() for match in _PAIRS.finditer(line)]
    short = [(a, b) for a, b in pairs if b - a <= MAX_PAIR]
    titles = {b for a, b in pairs if line[a] in "《（【(`"}
    closing = _closing_marks(line)
    kept: list[int] = []
    at = 0
    for mark_end, end in sorted({(end, _after_closing(line, end, closing)) for end in _proposed(line, pairs)}):
        while at < len(short) and short[at][1] <= end:
            at += 1
        inside = at < len(short) and short[at][0] < end
        if not inside and end < len(line) and _is_end(line, mark_end, end, titles):
            kept.append(end)
    return kept


def _proposed(line: str, pairs: list[Span]) -> Iterator[int]:
    """Return the offsets after the mark that may end a sentence; what closes with the sentence may still follow."""
    masked = _SURROGATES.sub("\ufffd", line)
    # `sentencex` knows an abbreviation only after white space: 他是Dr. Wang.
    masked = _TOUCHING.sub(" ", masked).translate(_KNOWN_ENDS)
    # It never splits inside quotation marks: take them away where the quotation is long.
    for start, end in pairs:
        if end - start > MAX_PAIR:
            masked = masked[:start] + masked[start:end].translate(_QUOTES) + masked[end:]
    language = written_in(line)
    for boundary in get_sentence_boundaries(language, masked):
        start, end = boundary["start_index"], boundary["end_index"]
        end = start + len(masked[start:end].rstrip())
        if line[end : end + 1].isspace():
            yield end
        while end > start and line[end - 1] in _MAY_CLOSE:
            end -= 1
        yield end
    for ends in (_CHINESE_END, _AFTER_UNIT):
        for match in ends.finditer(line):
            yield match.end()


def _closing_marks(line: str) -> dict[int, int]:
    """Return the start and end of each closing mark that looks the same as the opening one, such as `"`."""
    closing: dict[int, int] = {}
    opened: set[str] = set()
    for match in _SAME_MARK.finditer(line):
        if match[0] in opened:
            closing[match.start()] = match.end()
        opened ^= {match[0]}
    return closing


def _after_closing(line: str, end: int, closing: dict[int, int]) -> int:
    """Return `end` moved behind the quotes, brackets, emphasis marks and citations that belong to the sentence."""
    while end < len(line):
        if end in closing:
            end = closing[end]
        elif line[end] in _CLOSING:
            end += 1
        elif citation := _CITATION.match(line, end):
            end = citation.end()
        else:
            break
    return end


def _is_end(line: str, mark_end: int, end: int, titles: set[int]) -> bool:
    """Return whether a sentence may end at `end`, by its mark and what follows."""
    if line[end].isspace():
        return True
    mark = line[mark_end - 1]
    if mark in ".!?":
        # Without white space it is a name or a number, 3.14 or java.lang, except between Chinese characters.
        return mark_end == end and bool(HAN.match(line[mark_end - 2 : mark_end - 1]) and HAN.match(line[end]))
    if _QUOTE_END.search(line, mark_end, end):
        # “真的吗？”她问。 goes on, and so does a title or a remark; 他说：“好。” has ended, and so has “好！”“好！”
        return end not in titles and (mark == "。" or line[end] in "“‘「『")
    return True
