"""Simplified and Traditional Chinese characters, folded together for searching.

The table is `traditional.txt`, made from OpenCC's character dictionaries (https://github.com/BYVoid/OpenCC, Apache-2.0). Folding goes
character by character, so 发 stands for 發 and 髮: good enough to find a text, not to write one.
"""

from functools import cache
from importlib.resources import files
from itertools import product

MOST_SPELLINGS = 8  # of a term: enough for two characters with the forms that occur


def simplified(text: str) -> str:
    """Return the text with every Traditional character as its Simplified one. Its length stays the same."""
    return text.translate(_folding())


def spellings(term: str) -> list[str]:
    """Return the ways a few characters may be written: all of them Simplified, or each in one of its Traditional forms, the
    most usual first; at most `MOST_SPELLINGS`."""
    plain = simplified(term)
    forms = [_forms().get(character, character) for character in plain]
    written = dict.fromkeys([term, plain])
    for characters in product(*forms):
        if len(written) == MOST_SPELLINGS:
            break
        written["".join(characters)] = None
    return list(written)


@cache
def _forms() -> dict[str, str]:
    """Return the Traditional forms of each Simplified character that differs from one."""
    lines = files(__package__).joinpath("traditional.txt").read_text("utf-8").splitlines()
    return {line[0]: line[1:] for line in lines if not line.startswith("#")}


@cache
def _folding() -> dict[int, str]:
    return {ord(form): plain for plain, forms in _forms().items() for form in forms if form != plain}
