"""Numbers written in words: English (`twenty-five`, `two dozen`) and Chinese (`二十五`, `1.5亿`, `三分之二`)."""

import re
from fractions import Fraction
from functools import lru_cache

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_SMALL = {word: value for value, word in enumerate(_ONES)} | {word: 20 + 10 * i for i, word in enumerate(_TENS)}
SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "dozen": 12}
HAN_SCALES = {"百": 100, "千": 1000, "万": 10**4, "百万": 10**6, "千万": 10**7, "亿": 10**8, "万亿": 10**12}

HAN_DIGITS = "零〇一二两三四五六七八九"
HAN_NUMERALS = HAN_DIGITS + "十百千万亿"
# Bounded, so that no search in a long text takes long.
HAN_NUMBER = rf"[{HAN_NUMERALS}]{{1,20}}(?:点[{HAN_DIGITS}]{{1,20}})?"
_WORD = "|".join(sorted([*_SMALL, *SCALES], key=len, reverse=True))
ENGLISH_NUMBER = rf"(?:half(?: an?)?|{_WORD})(?:(?:-|\s{{1,3}}and\s{{1,3}}|\s{{1,3}})(?:{_WORD})){{0,8}}"
_MAX_HAN = 20


def read_english(text: str) -> Fraction | None:
    """Return the number that `text` spells in lower-case English, None where it spells none or several (`two
    three`)."""
    parts = [word for word in re.split(r"[\s-]+", text.lower()) if word not in ("and", "a", "an")]
    total, group, last = Fraction(0), Fraction(0), 0
    for position, word in enumerate(parts):
        if word == "half":
            if position:
                return None
            group = Fraction(1, 2)
        elif word in _SMALL:
            value = _SMALL[word]
            if position and (last < 20 or (last < 100 and value >= 10)):
                return None
            group += value
            last = value
        elif word in SCALES:
            scale = SCALES[word]
            group = (group or Fraction(1)) * scale
            if scale >= 1000:
                total, group = total + group, Fraction(0)
            last = scale
        else:
            return None
    return total + group if parts else None


@lru_cache(maxsize=4096)
def read_han(text: str) -> Fraction | None:
    """Return the number that Chinese numerals spell (`二十五`, `3万5千`, `一点五`), None where they spell none."""
    if not text or len(text) > _MAX_HAN:
        return None
    import cn2an  # not at the top: with its dependencies it takes longer to load than this package

    try:
        return Fraction(str(cn2an.cn2an(text.replace("〇", "零"), "smart")))
    except (ValueError, KeyError, IndexError, AttributeError, TypeError):
        return None


def read_whole(text: str) -> int | None:
    """Return the whole number that a text is, in digits, English words or Chinese numerals; None where it is none."""
    if text[0].isdigit():
        return int(text.replace(",", ""))
    value = read_english(text) if text.isascii() else read_han(text)
    return int(value) if value is not None and value.denominator == 1 else None
