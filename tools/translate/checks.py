"""Faults that make a translation wrong whatever it means: a copy, the wrong language, other numbers, one thing over and
over."""

import re
import unicodedata
from fractions import Fraction
from typing import Literal, NamedTuple

from haluagent.text.normalize import letters
from haluagent.text.numbers import find_numbers
from haluagent.tools.translate.languages import differs

Kind = Literal["empty", "copy", "language", "numbers", "repeated"]

MIN_COPY = 3  # words, or Han characters and kana by twos: shorter texts may stay as they are in another language
_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d{1,20}(?:[.,’'\u00a0\u202f ]\d{3})*(?:[.,]\d+)?")
# 1.5 million is 150万 in another language: numbers with such a word are not compared.
_SCALED = re.compile(
    r"\d\s?(?:[百千万亿萬億만억천]|(?:thousand|million|billion|hundred|dozen|mill|mil\b|mio|mrd|tsd|mila|тыс|млн|млрд|hundert|tausend|cent))",
    re.I,
)
_REPEATED = re.compile(r"([^\W\d_][\w\s,，、.]{1,30}?)\1{5,}")
_LOOKED_AT = 5000  # characters, for repetition


class Fault(NamedTuple):
    """`found` is what the response has, `expected` what it should have: numbers, or a language's code."""

    kind: Kind
    found: str = ""
    expected: str = ""


def fault(text: str, given: str, target: str) -> Fault | None:
    """Return why `given` cannot be a translation of `text` into the language `target`; None where only its meaning can
    tell."""
    plain, other = letters(given), letters(text)
    if not plain:
        return Fault("empty") if other else None
    if plain == other and _size(text) >= MIN_COPY:
        return Fault("copy")
    if (written := differs(_without_words(given, text), target)) is not None:
        return Fault("language", written, target)
    if (repeated := _REPEATED.search(given[:_LOOKED_AT])) and not _REPEATED.search(text[:_LOOKED_AT]):
        return Fault("repeated", repeated[1].strip())
    return _other_numbers(text, given)


def _without_words(given: str, text: str) -> str:
    """Leave out the words that the text has too: names stay as they are in another language."""
    known = {word.casefold() for word in _WORD.findall(text)}
    return _WORD.sub(lambda word: "" if word[0].casefold() in known else word[0], given)


def _size(text: str) -> int:
    """Return about how many words a text has."""
    unspaced = re.findall(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]", text)
    return len(unspaced) // 2 + len(re.findall(r"[^\W\d_\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]+", text))


def _other_numbers(text: str, given: str) -> Fault | None:
    """Find a number in digits that the translation lacks, while it has one in digits that the text lacks.

    `3` may become `three`: numbers in Chinese and English words are read as well, to see that they are there.
    """
    if _SCALED.search(text) or _SCALED.search(given):
        return None
    missing = _unmatched(text, given)
    extra = _unmatched(given, text)
    return Fault("numbers", ", ".join(extra), ", ".join(missing)) if missing and extra else None


def _unmatched(text: str, other: str) -> list[str]:
    """Return the numbers in digits of a text that the other one does not have, neither in digits nor in words."""
    known = {value for _, values in _digits(other) for value in values} | {
        number.value for number in find_numbers(other)
    }
    known |= {hour + change for hour in known for change in (12, -12) if 13 <= max(hour, hour + change) <= 24}
    return [shown for shown, values in _digits(text) if not values & known]


def _digits(text: str) -> list[tuple[str, set[Fraction]]]:
    """Return each number in digits as it is written, and what it may be: `1.000` is 1000 in some languages, and 1 in
    others."""
    found = []
    for match in _NUMBER.finditer(unicodedata.normalize("NFKC", text)):
        digits = re.findall(r"\d+", match[0])
        values = {Fraction("".join(digits))}
        if len(digits) > 1:
            values.add(Fraction(f"{''.join(digits[:-1])}.{digits[-1]}"))
        found.append((match[0], values))
    return found
