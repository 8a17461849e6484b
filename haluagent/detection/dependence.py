"""Which earlier sentences a sentence rests on. It is checked after them, with what was found about them in view."""

import re
from collections.abc import Mapping, Sequence

from haluagent.arithmetic.known import known_numbers
from haluagent.text.numbers import find_numbers
from haluagent.types import Sentence

# How a sentence begins that takes up the one before it. This only decides what is checked first and what is shown.
_BACK = re.compile(
    r"\W*(?:(?:so|thus|hence|therefore|then|this|that|these|those|it|its|they|their|he|she|his|her|consequently|accordingly"
    r"|altogether|as a result|in (?:total|all|sum))\b|因此|所以|因而|从而|于是|由此|这|那|其|它|他|她|该|此|总共|合计|一共|综上)",
    re.IGNORECASE,
)


def dependences(sentences: Sequence[Sentence], given: str) -> Mapping[int, tuple[int, ...]]:
    """Return, by index, the earlier sentences that each sentence rests on: the one before it, where it begins by taking that
    up, and those whose number it carries on, where the number is not in `given`, the texts of the task."""
    known = known_numbers(given)
    numbers = {one.index: {number.value for number in find_numbers(one.text)} - known for one in sentences}
    found: dict[int, tuple[int, ...]] = {}
    for place, one in enumerate(sentences):
        before = sentences[:place]
        rests = {before[-1].index} if before and _BACK.match(one.text) else set()
        rests |= {earlier.index for earlier in before if numbers[earlier.index] & numbers[one.index]}
        if rests:
            found[one.index] = tuple(sorted(rests))
    return found
