"""English words to their stems, as in M. F. Porter, "An algorithm for suffix stripping", Program 14 (3), 1980.

Written in Python although SQLite has the same stemmer: the query, the ranking and the snippet need the stems too, and a
stem that is read back out of a table of SQLite takes thirty times as long. docs/dependencies.md says why no library.
"""

import re
from functools import lru_cache

LONGEST = 40  # letters; what is longer is no word

_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble", "logi": "log",
}  # fmt: skip
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = dict.fromkeys(
    "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split(),
    "",
)


def _longest_first(endings: dict[str, str]) -> re.Pattern[str]:
    return re.compile(f"(?:{'|'.join(sorted(endings, key=len, reverse=True))})$")


_TABLES = [(table, _longest_first(table)) for table in (_STEP_2, _STEP_3)]
_ENDING_4 = _longest_first(_STEP_4)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the stem of a lower-case word; the word itself where it is short, long or not of plain letters."""
    if not (2 < len(word) <= LONGEST and word.isascii() and word.isalpha()):
        return word
    word = _past_and_gerund(_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    for table, ending in _TABLES:
        found = ending.search(word)
        if found and _measure(word[: found.start()]) > 0:
            word = word[: found.start()] + table[found[0]]
    return _final(_suffix(word))


def _shape(word: str) -> str:
    """`v` for each vowel and `c` for each consonant; y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """Porter's m: how often a vowel is followed by a consonant."""
    return _shape(word).count("vc")


def _has_vowel(word: str) -> bool:
    return "v" in _shape(word)


def _double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _shape(word)[-1] == "c"


def _short(word: str) -> bool:
    """Porter's *o: it ends in consonant, vowel, consonant, and the last is none of w, x, y."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past_and_gerund(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        base = word.removesuffix(ending)
        if base != word and _has_vowel(base):
            if base.endswith(("at", "bl", "iz")) or (_measure(base) == 1 and _short(base)):
                return base + "e"
            return base[:-1] if _double(base) and base[-1] not in "lsz" else base
    return word


def _suffix(word: str) -> str:
    found = _ENDING_4.search(word)
    if not found:
        return word
    base = word[: found.start()]
    if _measure(base) < 2 or (found[0] == "ion" and base[-1] not in "st"):
        return word
    return base


def _final(word: str) -> str:
    if word.endswith("e"):
        base = word[:-1]
        if _measure(base) > 1 or (_measure(base) == 1 and not _short(base)):
            word = base
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word
