"""Find what a text cites by an identifier: ISBN, ISSN, DOI, arXiv id, PMID, address of a page.

Whether it is well-formed is decided here, without a network: check digits of an ISBN (ISO 2108) and an ISSN (ISO 3297), the
prefix of a DOI (ISO 26324), the month and the length of an arXiv id (https://info.arxiv.org/help/arxiv_identifier.html), the
length of a PMID. A number counts only behind its label (`ISBN 978-…`), so that telephone numbers and versions are none.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

from haluagent.text.places import Taken
from haluagent.types import Span

Kind = Literal["isbn", "issn", "doi", "arxiv", "pmid", "url"]
Wrong = Literal["check", "length", "prefix", "directory", "registrant", "month", "early", "digits", "pmid"]
MAX_TEXT = 8_000  # characters of a sentence that are read
MAX_LENGTH = 500  # characters of an identifier

# Each in the place of one character, so that offsets stay as they are.
_PLAIN = {code: code - 0xFEE0 for code in (*range(0xFF10, 0xFF1B), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))}
_PLAIN |= dict.fromkeys(map(ord, "‐‑‒–−－"), ord("-")) | dict.fromkeys(map(ord, "\u00a0\u3000\u2009"), ord(" "))

_HAN = "\u3400-\u9fff"
_ENDS = rf"\s\"“”‘’「」『』《》【】（），。；、！？|`\\^{{}}{_HAN}"
_OF = r"(?: (?:of|for) [^\d\n.;]{1,60}? (?:is|was))?"
_BEHIND = rf"(?:\s?[(（][^()（）\d]{{0,12}}[)）])?{_OF}\s?(?:number|no\.|code|is|was|号码|编号|号)?\s?(?:为|是|:)?\s*"
_ISBN = re.compile(
    rf"(?:(?<![A-Za-z])[ep]?-?ISBN(?:[- ]?1[03](?=[\s:(（为是]))?|国际标准书号(?:\s?[(（]ISBN[)）])?){_BEHIND}"
    r"(?P<value>\d(?:[ -]?[\dXx]){6,20})(?![\dA-Za-z]|-\d)",
    re.IGNORECASE,
)
_ISSN = re.compile(
    rf"(?:(?<![A-Za-z])[ep]?-?ISSN(?:-L)?|国际标准[连期]续?[出刊]版?物?号(?:\s?[(（]ISSN[)）])?){_BEHIND}"
    r"(?P<value>\d{4}[- ]?\d{3}[\dXx])(?![\dA-Za-z]|-\d)",
    re.IGNORECASE,
)
_DOI_LABEL = rf"(?:(?<![A-Za-z.])doi{_BEHIND}(?:(?:https?://)?(?:dx\.)?doi\.org/)?|(?:https?://)?(?:dx\.)?doi\.org/)"
_DOI = re.compile(
    rf"(?:(?P<label>{_DOI_LABEL})|(?<![\w./-]))(?P<value>(?P<directory>\d{{1,5}})\.(?P<registrant>\d{{1,9}})(?:\.\d{{1,9}})*/[^{_ENDS}]{{1,{MAX_LENGTH}}})",
    re.IGNORECASE,
)
_ARXIV = re.compile(
    r"(?:(?<![A-Za-z])arXiv(?:\s?(?:preprint|预印本))?(?:\s(?:id|number|编号))?(?:\s?:\s?|\s)(?:arXiv\s?:\s?)?|arxiv\.org/(?:abs|pdf|html)/)"
    r"(?P<value>(?P<year>\d{2})(?P<month>\d{2})\.(?P<number>\d{4,6}))(?:v\d{1,2})?(?![\w-]|\.\d)",
    re.IGNORECASE,
)
_OLD_ARXIV = re.compile(
    r"(?:(?<![A-Za-z])arXiv\s?:\s?|arxiv\.org/(?:abs|pdf)/)"
    r"(?P<value>[a-z-]{2,10}(?:\.[a-z]{2})?/(?P<year>\d{2})(?P<month>\d{2})(?P<number>\d{3}))(?:v\d{1,2})?(?![\w-]|\.\d)",
    re.IGNORECASE,
)
_PMID = re.compile(
    r"(?:(?<![A-Za-z])PMID\s?[:#]?\s?|pubmed\.ncbi\.nlm\.nih\.gov/)(?P<value>\d{1,15})(?!\d)", re.IGNORECASE
)
_URL = re.compile(rf"(?P<value>https?://[^{_ENDS}<>]{{4,{MAX_LENGTH}}})(?P<next>[{_HAN}])?", re.IGNORECASE)
_LINK = re.compile(r"(?:https?://)?(?:www\.|export\.)?\Z", re.IGNORECASE)
_LEADS = re.compile(
    r"(?:(?:\b(?:see|cf\.?|via|source|link|doi|at|available at|available from|retrieved from)|[参详]?见|来源|链接|网址|出处)"
    r"(?:\]\(|\s?[:：]?\s?))+\Z",
    re.IGNORECASE,
)
# Where a DOI may end before what is written right behind it: a mark, a tag, a bracket, a dash, the next sentence.
_CUTS = tuple(
    re.compile(cut, re.ASCII)
    for cut in (
        r"[^A-Za-z0-9._;()/:<>+-].*", r"</?[A-Za-z].*", r"(?:\[[^\[\]]*\]|\([^()]*\))+\Z", r"--.*", r"[.:;][A-Z][a-z]*\Z", r";.*",
    )
)  # fmt: skip
_FILLER = re.compile(r"(?:97[89]|10\.\d+/)?(?P<digits>[\d.]{4,})[\dX]")
_YEARS = re.compile(r"(?:1[89]|20)\d\d-(?:1[89]|20)\d\d")
_PAIRS = {")": "(", "]": "[", ">": "<", "）": "（"}


@dataclass(frozen=True)
class Identifier:
    """An identifier in a text.

    `value` is what it says, without label and hyphens; `others` are other ways to read where a DOI ends. `span` is its place with
    its label, `place` without. `wrong` says why nothing can have it. `sure` is whether it can be nothing else.
    """

    kind: Kind
    value: str
    span: Span
    place: Span
    wrong: Wrong | None = None
    others: tuple[str, ...] = ()
    sure: bool = True


def plainly(text: str) -> str:
    """Return a text with plain letters, digits, hyphens and blanks in the place of others, each of which stays where it is."""
    return text.translate(_PLAIN)


def is_filler(value: str) -> bool:
    """Return whether an identifier only shows what one looks like: 1234567890, 978-0-000-00000-0."""
    filler = _FILLER.fullmatch(value)
    digits = filler["digits"].replace(".", "") if filler else ""
    return bool(digits) and (digits in "1234567890123" or len(set(digits)) == 1)


def find_identifiers(text: str) -> list[Identifier]:
    """Return the identifiers of a text in their order. One in an address is read as what it is, and no address."""
    plain = plainly(text[:MAX_TEXT])
    taken = Taken(len(plain))
    found: list[Identifier] = []
    readers: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Identifier | None]], ...] = (
        (_ISBN, _isbn), (_ISSN, _issn), (_ARXIV, _arxiv), (_OLD_ARXIV, _arxiv),
        (_DOI, lambda match: _doi(match, text)), (_PMID, _pmid), (_URL, _url),
    )  # fmt: skip
    for pattern, read in readers:
        for match in pattern.finditer(plain):
            if taken.meets(match.span("value")):
                continue
            if one := read(match):
                found.append(_with_lead(one, plain))
            taken.add((_link(plain, match.start()), match.end()))
    return sorted(found, key=lambda one: one.place)


def _with_lead(one: Identifier, text: str) -> Identifier:
    """Return an identifier whose span begins with what only leads to it (`see https://`)."""
    start = _link(text, one.span[0])
    lead = _LEADS.search(text, max(0, start - 40), start)
    span = (lead.start() if lead else start, one.span[1])
    return Identifier(one.kind, one.value, span, one.place, one.wrong, one.others, one.sure)


def _link(text: str, start: int) -> int:
    """Return where the address begins whose host begins at `start`."""
    link = _LINK.search(text, max(0, start - 20), start)
    return link.start() if link else start


def _isbn(match: re.Match[str]) -> Identifier | None:
    """Read an ISBN. What follows after a blank may be another number: the first groups that make an ISBN are one. One of 13 digits
    that has fewer may go on in the next line."""
    groups = match["value"].upper().split(" ")
    readings = [" ".join(groups[: index + 1]) for index in range(len(groups))]
    compact = {reading: re.sub(r"[ -]", "", reading) for reading in readings}
    start = match.start("value")

    def made(reading: str, wrong: Wrong | None) -> Identifier:
        end = start + len(reading)
        return Identifier("isbn", compact[reading], (match.start(), end), (start, end), wrong)

    for reading in readings:
        if _isbn_holds(compact[reading]):
            return made(reading, None)
    for reading in (readings[0], readings[-1]):
        if re.fullmatch(r"(?!97[89])\d{9}[\dX]|97[89]\d{10}", compact[reading]):
            return made(reading, "check")
        if re.fullmatch(r"\d{13}", compact[reading]):
            return made(reading, "prefix")
    if len(readings) == 1 and re.fullmatch(r"(?!97[89])\d{11,12}|\d{14}", compact[readings[0]]):
        return made(readings[0], "length")
    return None


def _isbn_holds(value: str) -> bool:
    if re.fullmatch(r"\d{9}[\dX]", value):
        return sum((10 - index) * (10 if digit == "X" else int(digit)) for index, digit in enumerate(value)) % 11 == 0
    if re.fullmatch(r"97[89]\d{10}", value):
        return sum((1, 3)[index % 2] * int(digit) for index, digit in enumerate(value)) % 10 == 0
    return False


def _issn(match: re.Match[str]) -> Identifier | None:
    if _YEARS.fullmatch(match["value"]):
        return None
    value = re.sub(r"[ -]", "", match["value"]).upper()
    total = sum((8 - index) * (10 if digit == "X" else int(digit)) for index, digit in enumerate(value))
    return _made("issn", match, value, None if total % 11 == 0 else "check")


def _arxiv(match: re.Match[str]) -> Identifier:
    when, digits = int(match["year"] + match["month"]), len(match["number"])
    wrong: Wrong | None = None
    if not 1 <= int(match["month"]) <= 12:
        wrong = "month"
    elif digits > 3:
        wrong = "early" if when < 704 else "digits" if digits != (5 if when > 1412 else 4) else None
    return _made("arxiv", match, match["value"].lower(), wrong)


def _doi(match: re.Match[str], text: str) -> Identifier | None:
    """Read a DOI, and where else it may end in the text as it was written."""
    labelled = match["label"] is not None
    value = _trimmed(match["value"])
    if value.endswith("/"):
        return None
    wrong: Wrong | None = (
        "directory" if match["directory"] != "10" else "registrant" if len(match["registrant"]) < 4 else None
    )
    if wrong and not labelled:
        return None
    start = match.start("value")
    written = text[start : start + len(value)]
    readings = [unquote(value), *(plainly(_trimmed(cut.sub("", written))) for cut in _CUTS)]
    others = tuple(other for other in dict.fromkeys(readings) if other != value and re.search("/.", other))
    return _made("doi", match, value, wrong, others, sure=labelled)


def _pmid(match: re.Match[str]) -> Identifier:
    return _made("pmid", match, match["value"], "pmid" if len(match["value"]) > 8 else None)


def _url(match: re.Match[str]) -> Identifier | None:
    value = _trimmed(match["value"])
    return _made("url", match, value, sure=not match["next"] or len(value) < len(match["value"]))


def _made(
    kind: Kind,
    match: re.Match[str],
    value: str,
    wrong: Wrong | None = None,
    others: tuple[str, ...] = (),
    sure: bool = True,
) -> Identifier:
    start = match.start("value")
    end = start + len(value) if kind in ("doi", "url") else match.end()
    return Identifier(kind, value, (match.start(), end), (start, end), wrong, others, sure)


def _trimmed(value: str) -> str:
    """Return an address without the marks of the sentence around it. A bracket that it opened itself belongs to it."""
    value = value.split("](")[0]
    while value and (value[-1] in ".,;:!?'*_~" or value[-1] in _PAIRS):
        if (opening := _PAIRS.get(value[-1])) and value.count(opening) >= value.count(value[-1]):
            break
        value = value[:-1]
    return value
