"""Compare what a sentence says of a cited work with what a registry says of it: title, first author, year.

Only what can belong to no other work is compared: what stands in one bracket with the DOI, `(Smith et al., 2021, doi:…)`; an
entry of a list of references, `Smith, J. (2021). Title. Journal. doi:…`; and a title that is called one right before the DOI,
`the paper “…” (doi:…)`.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from haluagent.protocols import Publication
from haluagent.text.words import words
from haluagent.types import Span

ALIKE = 0.8  # share of the shorter title's words that both have
UNLIKE = 0.25
LONGEST = 200  # characters of an entry between title and DOI
SHORTEST = 3  # words, or pairs of Chinese characters, of a title that is compared

_WORD = r"[A-Z\u00c0-\u00de][\w’'-]+"
_NAME = rf"{_WORD}(?: {_WORD})?|[\u4e00-\u9fff]{{2,4}}?"
_YEAR = r"(?:1[5-9]|20)\d{2}(?!\d)"
_LABEL = r"(?:(?:doi|arXiv)\s?[:：]?\s*)?(?:https?://(?:dx\.|www\.)?(?:doi|arxiv)\.org/(?:abs/)?)?\Z"
_JOURNAL = r"(?:(?:[A-Z][\w.]*(?: (?:of|the|and|in|for|&|[A-Z][\w.]*)){0,7}|《[^《》]+》)[,，;；]\s*)?"
_IN_BRACKET = re.compile(
    rf"[(（\[]\s*(?P<name>{_NAME})(?P<others>,? (?:and|&) {_WORD}| et al\.?|\s?等人?)?\s?[,，]?\s*(?P<year>{_YEAR})[a-z]?"
    rf"\s?[,，;；:：]\s*{_JOURNAL}{_LABEL}",
)
_ENTRY = re.compile(
    rf"\A\s*(?:\[\d+\]\s*)?(?P<name>{_NAME}),? (?:[A-Z]\.[ -]?)+[^()]{{0,200}}\((?P<year>{_YEAR})\)\.?\s*"
    r"(?:[“\"](?P<quoted>[^“”\"]+)[”\"]|(?P<title>[^.?!]+)[.?!])"
)
_CALLED = re.compile(
    r"(?:\b(?:paper|article|study|preprint|book|entitled|titled)\s?,?\s?(?:[“\"](?P<en>[^“”\"\n]+)[”\"]|\*(?P<slanted>[^*\n]+)\*))"
    r"|(?:论文|文章|专著|题为|一文)\s?(?:《(?P<zh>[^《》\n]+)》|[“「](?P<zh_quoted>[^“”「」\n]+)[”」])"
)

_BESIDE = re.compile(rf"[”\"》」*]?\s*[,，]?\s*[(（\[]?\s*(?:{_YEAR}[,，]\s*)?{_LABEL}", re.IGNORECASE)
_ANOTHER = re.compile(r"[(（]\d{4}|\[\d+\]|doi|https?:", re.IGNORECASE)

_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "æ": "ae", "Æ": "AE", "đ": "d", "ı": "i"})
_GROUP = re.compile(
    r"\w+\W+\w+\W+\w|collaborat|consorti|group|team|investigator|committee|network|society|organi[sz]ation"
)
_FOREIGN = re.compile(
    r"\b(?:der|das|und|von|zur|zum|im|einer?|uber|fur|les?|la|des|et|du|une?|pour|dans|sur|el|los|las|del?|para|con|il|lo|gli|di|della|"
    r"da|dos|het|een|och)\b"
)

Field = Literal["title", "author", "year"]


@dataclass(frozen=True)
class Stated:
    """What a sentence says of a work, with its place; and what the registry has instead, where it is something else. `same` is None
    where that cannot be told."""

    field: Field
    text: str
    span: Span
    same: bool | None


def compare(text: str, before: str, place: Span, work: Publication) -> list[Stated]:
    """Return what a sentence says of the work whose DOI stands at a place in it, each compared with the registry's. `before` is what
    stands before the sentence in its line; a span in there is negative."""
    line, offset = before + text, len(before)
    named = _named(line, work)
    head = line[: offset + place[0]]
    dated = any(str(year) in head for year in work.years)
    cited = _IN_BRACKET.search(head) or _entry(head)
    found: list[Stated] = []

    def add(field: Field, match: re.Match[str], group: str, shift: int, same: bool | None) -> None:
        start, end = match.span(group)
        found.append(Stated(field, match[group], (start - shift, end - shift), same))

    if cited:
        author, year = _same_author(cited["name"], work), _same_year(int(cited["year"]), work)
        alone = cited.re is _IN_BRACKET and not cited["others"]  # a name, or a journal, a month, a publisher
        add("author", cited, "name", offset, author or None if alone else author)
        add("year", cited, "year", offset, year or None if alone and not author else year)
    for match, groups, shift in (
        (cited, _ENTRY.groupindex, offset),
        (_called(text[: place[0]]), _CALLED.groupindex, 0),
    ):
        for group in groups if match else ():
            if match and group not in ("name", "year") and match.groupdict().get(group):
                same = _same_title(match[group], work, dated)
                add("title", match, group, shift, None if same is False and named else same)
    return found


def _entry(head: str) -> re.Match[str] | None:
    """Return the entry of a list of references that a text ends in, if it is the only one there."""
    entry = _ENTRY.search(head)
    if entry is None:
        return None
    rest = re.sub(_LABEL, "", head[entry.end() :], flags=re.IGNORECASE)
    return None if len(rest) > LONGEST or _ANOTHER.search(rest) else entry


def _called(head: str) -> re.Match[str] | None:
    """Return the title that a text calls one and ends in."""
    titles = list(_CALLED.finditer(head))
    return titles[-1] if titles and _BESIDE.fullmatch(head, titles[-1].end()) else None


def _named(text: str, work: Publication) -> bool:
    """Return whether an author of the work is named in the text: what else it says may then be another of their titles."""
    plain = _spelled(text)
    return any(re.search(rf"(?<!\w){re.escape(_spelled(name))}(?!\w)", plain) for name in work.authors)


def _same_title(title: str, work: Publication, dated: bool) -> bool | None:
    """Compare by words; None where a title is short, or may be a translation (it shares no word, and the year fits) or another
    edition's."""
    one, other = words(_plain(title)), words(_plain(work.title))
    if min(len(one), len(other)) < SHORTEST or _script(title) != _script(work.title):
        return None
    share = len(one & other) / min(len(one), len(other))
    if share >= ALIKE:
        return True
    translated = (dated and not share) or any(_FOREIGN.search(_plain(one)) for one in (title, work.title))
    return False if share <= UNLIKE and not translated else None


def _same_author(name: str, work: Publication) -> bool | None:
    """Look the name up among the registry's; None where it has none, has them in another script, or where one may be a
    group or an abbreviation."""
    known = [author for author in work.authors if _script(author) == _script(name)]
    if len(known) < len(work.authors) or not known:
        return None
    if any(
        _parts(name) & _parts(author) or (_script(name) == "han" and name.startswith(author[:1])) for author in known
    ):
        return True
    return None if name.isupper() or any(_GROUP.search(_plain(author)) for author in known) else False


def _parts(name: str) -> set[str]:
    """Return the words of a name, and all of it as one (MacDonald, Mac Donald)."""
    spelled = _spelled(name)
    return {re.sub(r"\W", "", spelled), *re.findall(r"\w+", spelled)}


def _same_year(year: int, work: Publication) -> bool | None:
    """Compare years. An earlier one may be that of the first print, and one year more that of a volume."""
    if not work.years:
        return None
    if any(abs(year - known) <= 1 for known in work.years):
        return True if year in work.years else None
    return False if year > max(work.years) else None


def _script(text: str) -> str:
    return "han" if re.search(r"[\u3400-\u9fff]", text) else "latin"


def _spelled(text: str) -> str:
    """Return a name as it is without umlauts, however they are written (Müller, Mueller, Muller)."""
    return re.sub(r"([aou])e", r"\1", _plain(text))


def _plain(text: str) -> str:
    """Return a text without capitals and accents."""
    parts = unicodedata.normalize("NFKD", text.translate(_LETTERS))
    return "".join(character for character in parts if not unicodedata.combining(character)).casefold()
