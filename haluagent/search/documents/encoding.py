"""The encoding of a text file, found by what its text would look like."""

import codecs
import re
from functools import lru_cache

from haluagent.errors import HaluAgentError

SAMPLE = 20_000  # characters looked at
PLAUSIBLE = 0.7  # least share of common characters; Chinese text in the right encoding has 0.74 and more
DAMAGED = 0.02  # with a share of broken characters up to this, it is UTF-8 with a few bytes wrong
WESTERN_SHARE = 0.2  # a text with more characters than this outside ASCII is in no Western language

_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_CHINESE, _UTF_16 = ("gb18030", "big5"), ("utf-16-le", "utf-16-be")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_BIG5_COMMON = range(0xA1, 0xC7)  # first bytes of punctuation and of the frequent characters


class Unreadable(HaluAgentError):
    """A file, or a part of one, without a text that can be read. The message does not name the file."""


def decode(data: bytes) -> str:
    """Decode the text of a file in UTF-8, UTF-16, GB18030, Big5 or Windows-1252, with or without a byte order mark.

    What is not UTF-8 is read in the encoding that gives the most common characters; a few broken bytes in UTF-8 become
    U+FFFD. Raises Unreadable where there is no such encoding.
    """
    marked = next((encoding for mark, encoding in _MARKS.items() if data.startswith(mark)), None)
    text = _whole(data, marked or "utf-8")
    if not marked and (text is None or "\0" in text):  # ASCII in UTF-16 is UTF-8 with a NUL beside each letter
        text = _guess(data)
    if text is None or "\0" in text:
        raise Unreadable("it is no text in UTF-8, UTF-16 or GB18030: convert it to UTF-8, for example with iconv")
    return text


def _guess(data: bytes) -> str | None:
    found = [(encoding, text) for encoding in _CHINESE + _UTF_16 if (text := _whole(data, encoding)) is not None]
    scored = [(_plausibility(text, encoding in _UTF_16), text) for encoding, text in found]
    best, text = max(scored, key=lambda pair: pair[0], default=(0.0, ""))
    if best >= PLAUSIBLE:
        return text
    damaged = data.decode("utf-8", "replace")
    if damaged.count("\ufffd") <= DAMAGED * len(_NOT_ASCII.findall(damaged)):
        return damaged
    western = _whole(data, "cp1252")
    if western is None or len(_NOT_ASCII.findall(western)) > WESTERN_SHARE * len(western):
        return None
    return western


def _whole(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _plausibility(text: str, with_ascii: bool) -> float:
    """Return the share of common characters, in [0, 1]. ASCII proves nothing where it is the same bytes in every encoding."""
    sample = text[:SAMPLE]
    others = _NOT_ASCII.findall(sample)
    unlikely = len(_CONTROL.findall(sample))
    likely = sum(map(_is_common, others)) + (len(sample) - len(others) - unlikely if with_ascii else 0)
    total = len(sample) if with_ascii else len(others) + unlikely
    return likely / total if total else 1.0


@lru_cache(maxsize=1 << 16)
def _is_common(character: str) -> bool:
    """Return True for a character in GB 2312, or in the frequent part of Big5: the characters of everyday simplified or
    traditional Chinese."""
    if len(character.encode("gb2312", "ignore")) == 2:
        return True
    code = character.encode("big5", "ignore")
    return len(code) == 2 and code[0] in _BIG5_COMMON
