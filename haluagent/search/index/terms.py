"""The terms of a text in the local index: pairs of neighbouring Chinese characters, stems of English words, numbers."""

import re
import unicodedata
from collections.abc import Iterator

from haluagent.text.chinese import simplified
from haluagent.text.stemmer import stem

# Scripts written without spaces between words: Han and kana; and Hangul, which then needs no stemmer.
_CJK = "\u3005\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U000323af"
_FIRST_CJK = "\u3005"
_RUN = re.compile(rf"[{_CJK}]+|\d+|[^\W\d_{_CJK}]+")
_BROKEN_LINE = re.compile(rf"(?<=[{_CJK}])[^\S\n]*\n[^\S\n]*(?=[{_CJK}])")
_ACCENTED = re.compile("[\u00c0-\u0590\u1e00-\u1fff]")
_MARKS = re.compile("[\u0300-\u036f]")
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")

LONGEST = 64  # characters of a term; the rest of a longer one is cut

# Characters and words that show how a sentence is built, or that it is a question, but hardly what it is about.
_FUNCTION_CHARACTERS = frozenset("的是了和与吗呢哪谁什么怎何这那其之而则被把些几及或以于由在有为从到个")
_FUNCTION_WORDS = frozenset(
    map(
        stem,
        "a about an and any are as at be been but by can could did do does for from had has have he her his how i if in "
        "into is it its many me much my no not of on or our she should so some such than that the their them then there "
        "these they this those to was we were what when where which who whom whose why will with would you your s t".split(),
    )
)


def terms(text: str, folded: bool = True) -> list[str]:
    """Return the terms of a text, in order; none contains white space or punctuation.

    A run of n Chinese characters gives its n - 1 pairs and its last character, so that every character begins one term.
    Next to a number or a foreign word, with or without a space between, the character and that word also give a term
    (8月, 维生素C). Compatibility forms, case, accents, apostrophes and thousands separators make no difference; nor, where
    `folded`, does it whether a Chinese character is Simplified or Traditional.
    """
    return [term for term, _ in _terms(text, folded)]


def written_terms(query: str) -> dict[str, str]:
    """Return the terms of a query, each with the word that it stands for: an index of others has its own stems."""
    return dict(reversed(list(_terms(query, True))))


def _terms(text: str, folded: bool) -> Iterator[tuple[str, str]]:
    text = _normal(text, folded)
    before, end = "", 0
    for match in _RUN.finditer(text):
        run = match[0]
        joined = before and text[end : match.start()] in ("", " ")
        if run[0] >= _FIRST_CJK:
            pairs = [*map("".join, zip(run, run[1:], strict=False)), run[-1]]
            if joined and before[-1] < _FIRST_CJK:
                pairs.insert(0, before + run[0])
            yield from zip(pairs, pairs, strict=True)
        else:
            run = run[:LONGEST]
            if joined and before[-1] >= _FIRST_CJK:
                yield before[-1] + run, before[-1] + run
            yield stem(run), run
        before, end = run, match.end()


def query_terms(query: str, folded: bool = True) -> list[str]:
    """Return the terms to look for, each once. A single Chinese character is one only if there is nothing else."""
    found = list(dict.fromkeys(terms(query, folded)))
    return [term for term in found if not is_character(term)] or found


def is_character(term: str) -> bool:
    """Return whether a term is a single Chinese character; in the index it occurs only at the end of a run."""
    return len(term) == 1 and term >= _FIRST_CJK


def strength(term: str) -> int:
    """Return how much a term says about a text's subject: 2; 1 if a character of it may be a function word; 0 if it is
    one."""
    if term in _FUNCTION_WORDS or _FUNCTION_CHARACTERS.issuperset(term):
        return 0
    return 2 if _FUNCTION_CHARACTERS.isdisjoint(term) else 1


def _normal(text: str, folded: bool) -> str:
    text = unicodedata.normalize("NFKC", _BROKEN_LINE.sub("", text)).casefold()
    if _ACCENTED.search(text):
        text = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", text)))
    text = _THOUSANDS.sub("", _APOSTROPHE.sub("", text))
    return simplified(text) if folded else text
